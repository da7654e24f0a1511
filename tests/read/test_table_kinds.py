"""Tables whose columns hold dates, buckets, missing and dropped values; what receipts say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import winnow as wn
from reference.inside import open_sealed
from reference.reading import as_options

SECRET = "73519"
SOURCE = Path(wn.__file__).parent


def rows_of(table: Any) -> Counter[tuple[Any, ...]]:
    codes, weights = open_sealed(table.rows)
    labels = [column.labels for column in table.schema.columns]
    rows = zip(*(held.tolist() for held in codes), strict=True)
    each = (tuple(names[code] for names, code in zip(labels, row, strict=True)) for row in rows)
    return Counter(dict(zip(each, weights.tolist(), strict=True)))


def read(folder: Any, text: str, declared: Any, **options: Any) -> Counter[tuple[Any, ...]]:
    path = folder / "data.csv"
    path.write_text(text)
    return rows_of(wn.read_table(path, schema=declared, **as_options(options)))


@pytest.mark.parametrize(
    "written", ["2024-02-30", "03.05.2024", "2024-05-03Z", SECRET, " 2024-05-03"]
)
def test_what_is_no_plain_date_is_outside_and_never_clipped(tmp_path: Any, written: str) -> None:
    declared = {"edges": ["2024-01-01", "2025-01-01"], "clip": True, "missing": True, "other": True}
    text = f'day\n{written}\n2024-05-03\n2024-05-03 10:30\n1999-01-01\n""\n'
    found = read(tmp_path, text, {"day": declared})
    assert found == {("[2024-01-01, 2025-01-01]",): 3, ("other",): 1, ("missing",): 1}
    with pytest.raises(wn.InputError) as caught:
        read(tmp_path, text, {"day": {**declared, "other": False}})
    assert written.strip() not in str(caught.value)


def test_missing_values_have_their_code_and_what_is_no_number_has_not(tmp_path: Any) -> None:
    declared = {
        "x": {"edges": [0, 1, 2], "missing": True, "other": True},
        "n": {"codes": 2, "missing": "none", "na": ["NA", "?"], "other": True},
    }
    text = "x,n\n0.5,1\n,NA\nabc,?\nnan,\n5,7\n"
    assert read(tmp_path, text, declared) == {
        ("[0, 1)", 1): 1,
        ("missing", "none"): 1,
        ("other", "none"): 2,
        ("other", "other"): 1,
    }
    frame = pd.DataFrame({"x": [0.5, float("nan"), 5.0], "n": [1.0, float("nan"), 7.0]})
    assert rows_of(wn.read_table(frame, schema=declared)) == {
        ("[0, 1)", 1): 1,
        ("missing", "none"): 1,
        ("other", "other"): 1,
    }


def test_spaces_are_taken_away_only_where_that_is_declared(tmp_path: Any) -> None:
    text = "t,n\n a ,  1\nb\t,1\n   ,1\n"
    trimmed = {
        "t": {"values": ["a", "b", None], "trim": True, "other": True},
        "n": {"codes": 2, "trim": True},
    }
    assert read(tmp_path, text, trimmed) == {("a", 1): 1, ("other", 1): 1, (None, 1): 1}
    plain = {"t": {"values": ["a"], "other": True}, "n": {"codes": 2, "other": True}}
    assert read(tmp_path, text, plain) == {("other", "other"): 1, ("other", 1): 2}


def test_a_dropped_row_changes_nothing_else(tmp_path: Any) -> None:
    declared = {"x": {"values": ["a", "b"], "drop": True}, "y": 3}
    people = [("ann", "a", 0), ("ann", "b", 1), ("ann", "z", 2), ("bob", "a", 1), ("cat", "z", 0)]
    frame = pd.DataFrame(people, columns=["who", "x", "y"])
    options: Any = {"person": "who", "max_rows": 2, "salt": "s"}

    def kept(of: pd.DataFrame) -> Counter[tuple[Any, ...]]:
        return rows_of(
            wn.read_table(of, schema=declared, relation="add-remove", **as_options(options))
        )

    whole = kept(frame)
    for name in ("ann", "bob", "cat"):
        rest = kept(frame[frame.who != name])
        assert not rest - whole  # nobody else's rows come or go
        assert (whole - rest).total() <= 2
    alone = {name: kept(frame[frame.who == name]) for name in ("ann", "bob", "cat")}
    assert sum(alone.values(), Counter()) == whole
    assert alone["cat"].total() == 0


def test_dropping_makes_the_number_of_rows_private() -> None:
    frame = pd.DataFrame({"x": ["a", "z"], "y": [0, 1]})
    declared = {"x": {"values": ["a"], "drop": True}, "y": 2}
    with pytest.raises(wn.InputError, match="add-remove"):
        wn.read_table(frame, schema=declared)
    table = wn.read_table(frame, schema=declared, relation="add-remove")
    assert table.n is None
    for narrow in (table, table.restrict(["y"])):  # the rows are gone from the others, too
        with pytest.raises(wn.InputError, match="add-remove"):
            narrow.under("substitution")
    several = wn.read_table(frame, schema=declared, person="y", max_rows=2)
    assert several.n is None


def test_every_receipt_says_what_the_schema_did() -> None:
    frame = pd.DataFrame({"x": ["a", "b"] * 40, "y": [0, 1] * 40})
    looked = {
        "x": {"values": ["a", "b"], "chosen_by_looking": True},
        "y": {"codes": 1, "other": True},
    }
    table = wn.read_table(frame, schema=looked, relation="add-remove")
    mark = "chosen by looking at the private data, outside the guarantee: 'x'"
    session = wn.Session(table, epsilon=40, delta=1e-3, relation="add-remove", seed=1)
    released = [
        wn.tabulate(table, [["x"]], epsilon=1, seed=1),
        wn.release(
            table.stating(80), wn.marginals(1), epsilon=1, delta=1e-6, seed=1, method="tables"
        ),
        session.top_k("x", k=1, epsilon=1),
        wn.ask(
            table.stating(80), epsilon=4, delta=1e-3, max_queries=3, method="independent", seed=1
        ),
    ]
    for each in released:
        assert mark in each.receipt.schema and "'other': 'y'" in each.receipt.schema
        assert mark in each.receipt.to_dict()["schema"]
        assert ("schema", each.receipt.schema) in each.receipt.lines()
    named = [  # the other verbs name the unit in the same way; a cap has no receipt
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if ".guarantee.about(" in path.read_text(encoding="utf-8")
    ]
    assert sorted(named) == ["ask/opening.py", "core/released.py", "core/run.py", "privacy/cap.py"]
    plain = wn.read_table(frame, schema={"x": {"values": ["a", "b"]}})
    assert "schema" not in wn.tabulate(plain, [["x"]], epsilon=1, seed=1).receipt.to_dict()
