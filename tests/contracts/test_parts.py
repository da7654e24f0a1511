"""The contract of every part of a workload: its answers, counts and shapes are those of its rows.

One person's row moves every count by 0 to ``grid`` units: what sensitivities rest on. A class of
parts that is not in ``PARTS``, or that no workload here has, fails by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

import winnow as wn
from contracts.classes import all_classes
from reference.workloads import SCHEMA, WORKLOADS
from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    GridMatrix,
    ProductSets,
    RangeTable,
    WholeTable,
)
from winnow.core.workloads.part import Part
from winnow.core.workloads.parts import PARTS

SUBJECTS: dict[str, Part] = {
    f"{name} {i}": part
    for name, made in WORKLOADS.items()
    for i, part in enumerate(made.over(SCHEMA).parts)
}


@pytest.mark.parametrize("part", SUBJECTS.values(), ids=SUBJECTS)
class TestPart:
    """What every part keeps."""

    def test_rows_hold_whole_grid_units_for_every_cell(self, part: Part) -> None:
        units = units_of(part)
        assert units.shape == (part.size, SCHEMA.cells)
        assert units.min() >= 0 and units.max() <= part.grid
        assert part.schema is SCHEMA

    def test_answers_are_the_sums_of_the_rows(self, part: Part) -> None:
        p = np.random.default_rng(0).dirichlet(np.full(SCHEMA.cells, 0.3))
        answers = part.answers(p)
        assert answers.shape == (part.size,) and answers.dtype == np.float64
        np.testing.assert_allclose(answers, units_of(part) @ p / part.grid, atol=1e-12)
        assert answers.min() >= 0 and answers.max() <= 1 + 1e-12

    def test_counts_are_the_exact_sums_over_people(self, part: Part) -> None:
        codes, weights = people()
        counts = part.counts(codes, weights)
        assert counts.shape == (part.size,) and counts.dtype == np.int64
        np.testing.assert_array_equal(counts, units_of(part) @ histogram(codes, weights))

    def test_one_row_moves_every_count_by_its_units(self, part: Part) -> None:
        """So by at most ``grid``: the sensitivity that mechanisms take."""
        codes, weights = people()
        before = part.counts(codes, weights)
        for place in (0, 17):
            fewer = weights.copy()
            fewer[place] -= 1
            moved = before - part.counts(codes, fewer)
            cell = int(np.ravel_multi_index([c[place] for c in codes], SCHEMA.shape))
            np.testing.assert_array_equal(moved, units_of(part)[:, cell])
            assert moved.min() >= 0 and moved.max() <= part.grid

    def test_its_form_has_the_same_queries(self, part: Part) -> None:
        assert part.form is part.form
        np.testing.assert_array_equal(units_of_form(part), units_of(part))

    def test_queries_inside_some_columns_are_the_same_queries(self, part: Part) -> None:
        for columns in ((0,), (2,), (0, 1), (0, 1, 2)):
            own = wn.Schema(tuple(SCHEMA.columns[i] for i in columns))
            if isinstance(part.form, BitMatrix | GridMatrix):  # they speak of all columns
                with pytest.raises(wn.InputError, match="fit no group"):
                    part.inside(columns, own)
                continue
            found = part.inside(columns, own)
            if found is None:
                continue
            whole, small = found
            axes = tuple(i for i in range(3) if i not in columns)
            spread = np.stack([small.row(q).reshape(own.shape) for q in range(small.size)])
            rows = np.stack([whole.row(q).reshape(SCHEMA.shape) for q in range(whole.size)])
            np.testing.assert_array_equal(rows.max(axis=tuple(a + 1 for a in axes)), spread)
            np.testing.assert_array_equal(rows.min(axis=tuple(a + 1 for a in axes)), spread)

    def test_every_query_has_words_of_its_own(self, part: Part) -> None:
        assert len({part.label(i) for i in range(part.size)}) == part.size
        assert part.title and part.memory() >= 0

    @pytest.mark.parametrize("query", [-1, 10**6, True, "0", 1.0])
    def test_a_query_that_is_not_there_is_refused(self, part: Part, query: object) -> None:
        for ask in (part.row, part.label):
            with pytest.raises(wn.InputError, match="query"):
                ask(query)  # type: ignore[arg-type]

    def test_probabilities_of_other_cells_are_refused(self, part: Part) -> None:
        with pytest.raises(wn.InputError, match="cells"):
            part.answers(np.ones(SCHEMA.cells + 1))


def people() -> tuple[list[np.ndarray], np.ndarray]:
    """Made-up rows with weights."""
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, size, 90).astype(np.int32) for size in SCHEMA.shape]
    return codes, rng.integers(1, 50, 90).astype(np.int64)


def histogram(codes: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    counted = np.zeros(SCHEMA.cells, np.int64)
    np.add.at(counted, np.ravel_multi_index(codes, SCHEMA.shape), weights)
    return counted


def units_of(part: Part) -> np.ndarray:
    """Grid units, a row for each query and a column for each cell, by asking for every row."""
    rows = np.stack([part.row(i) for i in range(part.size)]) * part.grid
    units = np.rint(rows).astype(np.int64)
    np.testing.assert_allclose(rows, units, atol=1e-9)
    return units


def units_of_form(part: Part) -> np.ndarray:
    """The same by the definition of the form, cell by cell."""
    cells = np.indices(SCHEMA.shape).reshape(3, -1)
    match part.form:
        case WholeTable(columns):
            sizes = [SCHEMA.shape[i] for i in columns]
            mine = np.ravel_multi_index([cells[i] for i in columns], sizes)
            found = mine == np.arange(part.size)[:, None]
        case CodeRanges(column, starts, stops):
            code = cells[column]
            found = (starts[:, None] <= code) & (code < stops[:, None])
        case RangeTable(axes):
            inside = [
                [
                    (a <= cells[x.column]) & (cells[x.column] < b)
                    for a, b in zip(x.starts, x.stops, strict=True)
                ]
                for x in axes
            ]
            found = np.array([np.all(each, axis=0) for each in product(*inside)])
        case ProductSets(masks):
            found = np.array(
                [np.all([m[cells[c]] for c, m in mask.items()], axis=0) for mask in masks]
            )
        case BitMatrix(bits):
            x = np.arange(SCHEMA.cells)
            found = (bits[:, x // 64] >> (x % 64).astype(np.uint64)) & np.uint64(1)
        case GridMatrix(values):
            found = values
    return np.asarray(found).astype(np.int64)


def missing(classes: Iterable[type], known: Iterable[type]) -> list[str]:
    parts = {made for made in classes if issubclass(made, Part) and not inspect.isabstract(made)}
    return sorted(made.__qualname__ for made in parts - set(known))


def test_every_part_is_registered_and_under_the_contract() -> None:
    assert missing(all_classes(), PARTS) == []
    assert missing(PARTS, map(type, SUBJECTS.values())) == []
    assert not any(map(inspect.isabstract, PARTS))


def test_a_part_that_is_not_registered_is_named() -> None:
    class NewPart(PARTS[0]):  # type: ignore[valid-type,misc]
        pass

    assert missing([*PARTS, NewPart], PARTS)[0].endswith("NewPart")
