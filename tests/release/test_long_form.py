"""Answers in long form: one column for each attribute, with errors and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.releasing import flat_release

SCHEMA = {"town": {"values": ["a", "b"]}, "age": {"edges": [0, 40, 60, 99]}, "estimate": 2}
FRAME = pd.DataFrame({"town": ["a", "b"] * 200, "age": [30, 50, 70, 80] * 100, "estimate": 0})


def release(workload: Any, **options: Any) -> Any:
    held = wn.read_table(FRAME, schema=SCHEMA)
    return flat_release(held, workload, epsilon=1, delta=1e-6, seed=3, **options)


def test_marginals_have_a_column_for_each_attribute() -> None:
    found = release(wn.marginals(2), method="tables")
    frame = found.to_pandas()
    named = ["query", "town", "age", "estimate", "estimate_", "unbiased", "standard_error",
             "low", "high"]  # fmt: skip
    assert list(frame) == named
    assert len(frame) == found.value.workload.size
    assert np.allclose(frame["estimate_"], found.value.counts())
    assert (frame.low < frame["estimate_"]).all()
    first = frame[frame.town.notna() & frame.age.notna()]
    assert len(first) == 6
    assert set(first.age) == {"[0, 40)", "[40, 60)", "[60, 99]"}


def test_wider_levels_give_wider_intervals_around_the_same_estimates() -> None:
    found = release(wn.marginals(1), method="tables")
    narrow, wide = found.to_pandas(level=0.5), found.to_pandas(level=0.99)
    assert (wide.high - wide.low > narrow.high - narrow.low).all()


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """300 counts at 95 %: less than 88 % inside has a chance below 1e-6."""
    held = wn.read_table(pd.DataFrame({"code": list(range(300)) * 2}), schema={"code": 300})
    found = wn.release(held, wn.marginals(1), epsilon=1, delta=1e-6, method="tables", seed=1)
    rows = found.to_pandas()
    assert ((rows.low <= 2) & (rows.high >= 2)).mean() > 0.88


def test_ranges_and_predicates_say_what_they_speak_of() -> None:
    queries = wn.ranges("age", count=2) + wn.where(town="a", age=(0, 60))
    frame = release(queries, method="tables").to_pandas()
    assert frame.town.isna().tolist()[:2] == [True, True]
    assert "town=a" in frame.town.tolist()[-1]
    assert all(isinstance(text, str) for text in frame.age)


def test_rounds_have_error_estimates_and_other_workloads_have_none() -> None:
    found = release(wn.marginals(2), method="mwem", rounds=2).value
    assert list(found.to_pandas())[-2:] == ["estimate_", "error"]
    assert list(found.to_pandas(workload=wn.marginals(1)))[-1] == "estimate_"


def test_a_marginal_takes_names_or_a_list_of_them() -> None:
    value = release(wn.marginals(2)).value
    assert (value.marginal("town", "age") == value.marginal(["town", "age"])).all()
    with pytest.raises(wn.ParameterError, match="no column is named"):
        value.marginal()


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_the_guarantee_lies_beside_every_file(tmp_path: Any, ending: str) -> None:
    import json

    found = release(wn.marginals(1))
    about = {"guarantee": found.guarantee.to_dict()}
    path = tmp_path / f"rows{ending}"
    found.value.save(path, about=about)
    if ending == ".csv":
        held = json.loads((tmp_path / "rows.csv.receipt.json").read_text())
    elif ending == ".json":
        held = json.loads(path.read_text())["about"]
    else:
        import pyarrow.parquet as pq

        held = json.loads(pq.read_schema(path).metadata[b"winnow"])
    assert held == about


def test_counts_as_they_were_drawn_are_whole_numbers() -> None:
    held = wn.read_table(FRAME, schema=SCHEMA, relation="add-remove")
    one = wn.tabulate(held, by=["town", "age"], epsilon=1, seed=1).value
    assert one.layers[0].whole
    frame = one.to_pandas()
    assert frame["estimate"].dtype == np.int64
    assert np.abs(frame["estimate"] - one.tables[0].estimate.ravel()).max() < 1e-6
    public = wn.tabulate(held.under("substitution"), by=["town", "age"], epsilon=1, seed=1).value
    assert public.to_pandas()["estimate"].dtype == np.float64  # adjusted to the public total


def test_an_epsilon_is_written_as_it_was_asked_for() -> None:
    from winnow.privacy.rounding import written_up

    assert written_up(0.9999999999999999) == 1.0
    assert written_up(0.30000000000000004) == 0.30000000000000004  # never below
    assert written_up(0.1) == 0.1
    assert written_up(1.00001) == 1.00001
    assert written_up(0.99) == 0.99
    stated = wn.Guarantee(0.9999999999999999, 1e-6, wn.Relation.ADD_REMOVE).to_dict()
    assert stated["epsilon"] == 1.0
