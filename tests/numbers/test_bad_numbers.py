"""Numbers that cannot be, tables without rows, groups without people: an error, or the same law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn

NUMBER = {"type": "number", "low": 0, "high": 1000, "step": 0.5}
SCHEMA = {"x": {**NUMBER, "missing": True}, "town": {"values": ["a", "b", "c"]}}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (np.inf, "a value outside the schema"),
        (-np.inf, "a value outside the schema"),
        (np.nan, "or an empty one"),
        (2000.0, "a value outside the schema"),
        (-1.0, "a value outside the schema"),
        (10.0**30, "a value outside the schema"),
        ("many", "declares it as numbers"),
        (True, "declares it as numbers"),
    ],
)
def test_a_value_that_is_no_number_of_the_grid_is_refused_when_read(
    value: Any, problem: str
) -> None:
    with pytest.raises(wn.DataError, match=problem) as caught:
        wn.read_table(pd.DataFrame({"x": [value]}), schema={"x": NUMBER})
    assert str(value) not in str(caught.value) or isinstance(value, bool)


@pytest.mark.parametrize("clipped", [np.inf, 10.0**30])
def test_a_value_beyond_is_clipped_where_that_is_declared(clipped: float) -> None:
    table = wn.read_table(
        pd.DataFrame({"x": [clipped] * 40}), schema={"x": NUMBER | {"clip": True}}
    )
    assert wn.quantiles(table, "x", epsilon=50, seed=1).value.values.tolist() == [1000.0]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"low": 5, "high": 1}, "low=5 is not below high=1"),
        ({"low": 5, "high": 5}, "low=5 is not below high=5"),
        ({"low": 0, "high": 1, "step": 0.3}, "does not divide"),
        ({"low": 0, "high": 1, "step": 0}, "step=0 is not positive"),
        ({"low": 0, "high": float("inf")}, "not finite"),
        ({"low": float("nan"), "high": 1}, "not finite"),
        ({"low": 0, "high": 1, "step": float("nan")}, "not finite"),
        ({"low": "a", "high": 1}, "not a number"),
        ({"low": 0}, "no high"),
        ({"low": 0, "high": 1, "steps": 1}, "no steps"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(form: Any, problem: str) -> None:
    with pytest.raises(wn.ParameterError, match=problem):
        wn.Schema.parse({"x": {"type": "number", **form}})


RELEASES: dict[str, Callable[[Any], Any]] = {
    "quantiles": lambda t: wn.quantiles(t, "x", [0, 0.5, 1], epsilon=1, seed=1),
    "quantiles, joint": lambda t: wn.quantiles(
        t, "x", [0.2, 0.8], epsilon=1, seed=1, method="joint"
    ),
    "quantiles of groups": lambda t: wn.quantiles(t, "x", by=["town"], epsilon=1, seed=1),
    "moments": lambda t: wn.moments(t, "x", ["sum", "mean", "deviation"], epsilon=1, seed=1),
    "means of groups": lambda t: wn.moments(t, "x", ["mean"], by=["town"], epsilon=1, seed=1),
    "private bounds": lambda t: wn.moments(t, "x", "mean", epsilon=1, bounds="auto", seed=1),
    "bounds": lambda t: wn.bounds(t, "x", epsilon=1, seed=1),
    "histogram": lambda t: wn.histogram(t, "x", bins=4, epsilon=1, seed=1),
    "private bins": lambda t: wn.histogram(t, "x", bins=4, split="quantiles", epsilon=1, seed=1),
}
EMPTY = pd.DataFrame({"x": np.zeros(0), "town": np.zeros(0, object)})
FEW = {
    "no row": EMPTY,
    "one row": pd.DataFrame({"x": [3.0], "town": ["a"]}),
    "missing values only": pd.DataFrame({"x": [np.nan] * 5, "town": ["a"] * 5}),
}


@pytest.mark.parametrize("relation", ["add-remove", "substitution"])
@pytest.mark.parametrize("rows", FEW)
@pytest.mark.parametrize("name", RELEASES)
def test_no_rows_and_one_row_are_answered_as_any_others(
    name: str, rows: str, relation: str
) -> None:
    table = wn.read_table(FEW[rows], schema=SCHEMA, relation=relation)
    columns = RELEASES[name](table).to_columns() if name != "bounds" else {}
    if name == "bounds":
        found = RELEASES[name](table).value
        assert 0 <= found.low <= found.high <= 1000
    for column, held in columns.items():
        if column in ("value", "low", "high", "count"):
            assert np.all(np.isfinite(held.astype(float))), column
