"""Bins as a further column: tables by bins, values as they are, in memory and in an engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn

SCHEMA = {
    "pay": {"type": "number", "low": 0, "high": 1000, "step": 0.01, "missing": True},
    "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
    "town": {"values": ["north", "south"]},
}
EDGES = [0, 100, 500, 1000]


def people(**more: Any) -> Any:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "pay": np.r_[rng.uniform(0, 1000, 2970).round(2), np.full(30, np.nan)],
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, 3000), "D"),
            "town": rng.choice(["north", "south"], 3000),
        }
    )
    return frame, wn.read_table(frame, schema=SCHEMA, relation="add-remove", **more)


@pytest.mark.parametrize("keep", ["memory", "engine"])
def test_tables_are_by_bins_and_means_from_values(keep: str) -> None:
    frame, table = people(reading=wn.Reading(keep=keep))
    held = wn.in_bins(table, "pay", EDGES)
    labels = ("0 to 99.99", "100 to 499.99", "500 to 1000", "missing")
    assert held.schema.columns[-1].values == labels
    assert held.schema.names[:3] == table.schema.names
    counted = wn.tabulate(held, [["pay_bin", "town"]], epsilon=1000, seed=1).to_pandas()
    assert int(counted["estimate"].sum()) == len(frame)
    found = wn.moments(held, "pay", ["mean"], by=["pay_bin"], epsilon=1000, seed=1).value
    means = found.of("pay", "mean").value
    own = pd.cut(frame["pay"], [-1, 99.995, 499.995, 1000], labels=False)
    assert means[:3] == pytest.approx(frame.groupby(own)["pay"].mean().to_numpy(), abs=1)


def test_dates_have_bins_between_dates() -> None:
    frame, table = people()
    held = wn.in_bins(table, "day", ["2024-01-01", "2024-04-01", "2024-12-31"], name="quarter")
    found = wn.tabulate(held, [["quarter"]], epsilon=1000, seed=1).to_pandas()
    assert found["quarter"].tolist() == ["2024-01-01 to 2024-03-31", "2024-04-01 to 2024-12-31"]
    assert int(found["estimate"].iloc[0]) == int((frame["day"] < "2024-04-01").sum())


def test_synthetic_rows_and_a_release_take_the_bins() -> None:
    _, table = people()
    held = wn.in_bins(table, "pay", 4).restrict(["pay_bin", "town"])
    made = wn.release(held, wn.marginals(2), epsilon=5, seed=1).value
    assert set(made.sample(50, seed=1)["pay_bin"]) <= set(held.schema.columns[0].values)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (("pay", [0, 0, 5]), "do not ascend"),
        (("pay", [-1, 5]), "reach beyond"),
        (("pay", "20"), "neither a number of bins"),
        (("pay", 0), "0 bins"),
        (("town", 3), "not as numbers"),
        (("salary", 3), "no column"),
        (("day", [0, 5]), "is not a date"),
        (("pay", [0, float("nan")]), "not finite"),
    ],
)
def test_what_are_no_bins_is_refused(asked: Any, problem: str) -> None:
    _, table = people()
    with pytest.raises(wn.ParameterError, match=problem):
        wn.in_bins(table, *asked)


def test_a_name_that_is_taken_is_refused() -> None:
    _, table = people()
    with pytest.raises(wn.ParameterError, match="give another name="):
        wn.in_bins(table, "pay", 3, name="town")
