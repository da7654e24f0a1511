"""Columns of numbers: a public grid, the nearest point of it, and what lies beyond."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.core.number_grid import GridLabels
from winnow.core.workloads.conditions import mask_of
from winnow.learn.features import Feature

PAY = {"type": "number", "low": 0, "high": 200, "step": 0.01}


def codes_of(source: Any, **how: Any) -> list[int]:
    table = wn.read_table(source, schema={"pay": {**PAY, **how}}, relation="add-remove")
    codes, weights = table.rows._content
    return np.repeat(codes[0], weights).tolist()


def frame(*values: float | None) -> pd.DataFrame:
    return pd.DataFrame({"pay": np.array([np.nan if v is None else v for v in values], float)})


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "duckdb"])
def test_every_reader_takes_the_nearest_point_of_the_grid(kind: str, tmp_path: Path) -> None:
    held = frame(0, 12.34, 12.344, 12.346, 199.999, 200, 0.01)
    source: Any = held
    if kind == "csv":
        source = tmp_path / "pay.csv"
        held.to_csv(source, index=False)
    elif kind == "parquet":
        source = tmp_path / "pay.parquet"
        held.to_parquet(source)
    elif kind == "duckdb":
        import duckdb

        connection = duckdb.connect()
        connection.register("held", held)
        source = connection, "held"
    assert codes_of(source) == [0, 1, 1234, 1234, 1235, 20000, 20000]


def test_what_lies_beyond_is_refused_or_clipped_or_dropped() -> None:
    held = frame(-0.001, 5, 200.001)
    with pytest.raises(wn.DataError, match="outside the schema") as refused:
        codes_of(held)
    assert '"clip": true' in str(refused.value) and "200" not in str(refused.value)
    assert codes_of(held, clip=True) == [0, 500, 20000]
    assert codes_of(held, drop=True) == [500]
    assert codes_of(frame(-np.inf, 5, np.inf), clip=True) == [0, 500, 20000]


def test_missing_values_are_a_code_of_their_own_or_outside() -> None:
    held = frame(1, None, 2)
    assert codes_of(held, missing=True) == [100, 200, 20001]
    with pytest.raises(wn.DataError, match="an empty one"):
        codes_of(held, clip=True)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"low": 1, "high": 1}, "is not below"),
        ({"low": 0, "high": 1, "step": 0.3}, "does not divide .* give high=1.2"),
        ({"low": 0, "high": 1, "step": -1}, "is not positive"),
        ({"low": 0}, "has no high"),
        ({"low": 0, "high": 1, "unit": 2}, "takes no unit"),
        ({"low": float("nan"), "high": 1}, "not finite"),
        ({"low": 0, "high": float("inf")}, "not finite"),
        ({"low": 0, "high": "a"}, "not a number"),
        ({"low": 0, "high": 2**31, "step": 1}, "at most"),
        ({"low": 2**60, "high": 2**60 + 8, "step": 1}, "larger step"),
        ({"low": 0, "high": 1, "type": "day"}, "unknown"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused_with_the_reason(
    said: dict[str, Any], problem: str
) -> None:
    with pytest.raises(wn.ParameterError, match=problem):
        wn.Schema.parse({"pay": {"type": "number", **said}})


def test_the_largest_grid_is_taken_and_costs_no_list() -> None:
    schema = wn.Schema.parse({"pay": {"type": "number", "low": 1, "high": 2**31 - 3}})
    labels = schema.columns[0].labels
    assert isinstance(labels, GridLabels) and labels[-1] == 2**31 - 3 and len(labels) == 2**31 - 3
    assert "10^9.3 cells" in repr(schema) and "1, 2, 3" in schema._repr_html_()


def test_a_declaration_comes_back_as_it_was_written() -> None:
    for said in (
        PAY,
        {**PAY, "clip": True, "missing": "unknown"},
        {**PAY, "low": -0.5, "drop": True},
    ):
        schema = wn.Schema.parse({"pay": said})
        assert schema.to_dict() == {"pay": said} and wn.Schema.parse(schema.to_dict()) == schema


def test_conditions_are_about_numbers_of_the_grid() -> None:
    column = wn.Schema.parse(
        {"pay": {"type": "number", "low": -1, "high": 1, "step": 0.5}}
    ).columns[0]
    assert np.flatnonzero(mask_of(column, (-0.5, 1))).tolist() == [1, 2, 3]
    assert np.flatnonzero(mask_of(column, (None, 0.2))).tolist() == [0, 1, 2]
    assert np.flatnonzero(mask_of(column, [0.5, -1])).tolist() == [0, 3]
    for wrong in (0.3, "0.5", True, 7):
        with pytest.raises(wn.ParameterError, match="not a number of the column"):
            mask_of(column, wrong)


def test_small_grids_are_tabulated_by_their_numbers() -> None:
    table = wn.read_table(
        frame(0, 1, 1, 2), schema={"pay": {"type": "number", "low": 0, "high": 3}}
    )
    found = wn.tabulate(table, ["pay"], values=["pay"], epsilon=50).value.tables[0]
    assert found.labels == [(0, 1, 2, 3)]
    assert np.round(found.estimate).tolist() == [1, 2, 1, 0]
    assert np.round(found.sums["pay"].estimate).tolist() == [0, 2, 2, 0]
    large = wn.read_table(frame(1), schema={"pay": {**PAY, "high": 10**6}})
    with pytest.raises(wn.ParameterError, match="a larger step"):
        wn.tabulate(large, ["pay"], values=["pay"], epsilon=1, run=wn.Run(memory="100GB"))


def test_rules_are_learned_on_small_grids_with_cuts_between_their_numbers() -> None:
    feature = Feature.of_column(
        wn.Column.parse("pay", {"type": "number", "low": 0, "high": 2, "clip": True})
    )
    assert feature.cuts == (0.5, 1.5) and feature.cardinality == 3
    large = Feature.of_column(wn.Column.parse("pay", PAY | {"high": 10**6}))
    assert large.kind == "grid"  # private quantiles cut it
