"""Every released table says in its file what was counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import winnow as wn
from winnow.core.saving import Saved

SAID = "at most 2 rows of each person"
SCHEMA = {"x": {"type": "number", "low": 0, "high": 9}, "g": {"values": ["a", "b"]}}


def people() -> wn.SealedTable:
    import pandas as pd

    rows = {"person": [f"p{i // 3}" for i in range(90)], "x": [i % 10 for i in range(90)]}
    frame = pd.DataFrame({**rows, "g": ["a", "b"] * 45})
    return wn.read_table(frame, schema=SCHEMA, person="person", max_rows=2, relation="add-remove")


RELEASES: dict[str, Callable[[wn.SealedTable], wn.Released[Any]]] = {
    "quantiles": lambda t: wn.quantiles(t, "x", epsilon=1),
    "moments": lambda t: wn.moments(t, "x", epsilon=1),
    "regression": lambda t: wn.regress(t, "x", epsilon=1),
    "bounds": lambda t: wn.bounds(t, "x", epsilon=1),
    "histogram": lambda t: wn.histogram(t, "x", bins=3, epsilon=1),
    "tables": lambda t: wn.tabulate(t, ["g"], epsilon=1),
    "description": lambda t: wn.describe(t, epsilon=1),
}


@pytest.mark.parametrize("kind", list(RELEASES))
def test_a_saved_table_says_what_was_counted(kind: str, tmp_path: Path) -> None:
    released = RELEASES[kind](people())
    assert isinstance(released.value, Saved) and released.receipt.counted == SAID
    for name, about in (("with.csv", released.to_about()), ("without.csv", None)):
        released.value.save(tmp_path / name, about=about)
        head, first, *_ = (tmp_path / name).read_text().splitlines()
        assert head.endswith(",counted") and first.endswith(SAID)
    assert (tmp_path / "with.csv.receipt.json").exists()
    released.value.save(tmp_path / "all.json", about=released.to_about())
    told = json.loads((tmp_path / "all.json").read_text())
    assert told["about"]["receipt"]["counted"] == SAID
    assert SAID in released.value._repr_html_()


def test_lists_of_groups_say_what_was_counted(tmp_path: Path) -> None:
    import pandas as pd

    log = pd.DataFrame({"who": ["a", "a", "b", "c"], "page": list("xyxx"), "land": list("pppq")})
    counts = wn.counts(
        log, item="page", person="who", max_items=1, items=["x", "y"],
        by=wn.Groups("land", names=["p", "q"], most=1),
    )  # fmt: skip
    released = wn.top_k(counts, k=1, epsilon=5)
    released.value.save(tmp_path / "lists.csv", about=released.to_about())
    assert released.receipt.counted
    assert released.receipt.counted in (tmp_path / "lists.csv").read_text().splitlines()[1]
