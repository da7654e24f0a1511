"""How a source is read is said by objects, which refuse what would do nothing."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import winnow as wn

LOG = pd.DataFrame({"who": ["a", "a", "b"], "what": ["x", "y", "x"], "gain": [1, 2, 3]})
COUNTED: dict[str, Any] = {"item": "what", "person": "who"}


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda: wn.counts(LOG, **COUNTED, text=","), "text=',' is not a wn.TextFormat"),
        (lambda: wn.counts(LOG, **COUNTED, reading="2GB"), "reading='2GB' is not a wn.Reading"),
        (lambda: wn.Reading(keep="disk"), "keep='disk' is unknown"),
        (lambda: wn.Reading(parts=0), "parts=0 is below 1"),
        (lambda: wn.TextFormat(names=[]), "is empty"),
        (lambda: wn.TextFormat(line_breaks="no"), "line_breaks='no' is not True or False"),
        (lambda: wn.Pairs("x", "x"), "cannot be both"),
        (lambda: wn.Pairs(1, "x"), "is not a name; give a text"),
        (lambda: wn.Lines(""), "one character or more"),
        (lambda: wn.read_baskets(LOG, unit="basket", layout=3), "layout='3' is unknown"),
        (
            lambda: wn.read_table(LOG, schema={"gain": 4}, reading=wn.Reading(parts=2)),
            "does nothing here; this reader takes memory, keep, salt",
        ),
        (
            lambda: wn.scores(LOG, id="what", score="gain", reading=wn.Reading(keep="engine")),
            "does nothing here; this reader takes memory",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(read: Any, what: str) -> None:
    with pytest.raises(wn.InputError) as caught:
        read()
    assert what in str(caught.value)


def test_a_word_for_a_layout_is_the_object_with_its_defaults() -> None:
    for layout in ("indicators", wn.Indicators()):
        held = wn.read_baskets(LOG[["gain"]] > 1, unit="basket", layout=layout)
        assert held.labels == ["gain"]
