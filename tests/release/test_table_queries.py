"""Product sets are read off marginal tables all at once, and mean the same as one by one."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow import Schema, Workload
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.release.rounds.kernels.distribution import Distribution
from winnow.release.rounds.kernels.table_queries import codes_of
from winnow.release.rounds.kernels.tables import MarginalTables

SHAPE = (3, 1, 4, 2)
SCHEMA = Schema.parse(dict(zip("abcd", SHAPE, strict=True)))

_masks = [st.lists(st.booleans(), min_size=n, max_size=n) for n in SHAPE]
product_sets = st.dictionaries(st.integers(0, 3), st.none(), max_size=4).flatmap(
    lambda columns: st.fixed_dictionaries({column: _masks[column] for column in columns})
)  # an empty dictionary holds all rows, a mask without a code none


@settings(max_examples=40, deadline=None)
@given(st.lists(product_sets, min_size=1, max_size=6), st.lists(st.floats(-2, 2), max_size=4))
def test_product_sets_read_off_tables_are_the_sums_of_their_cells(
    sets: list[dict[int, list[bool]]], steps: list[float]
) -> None:
    part = ConjunctionPart(SCHEMA, tuple(sets))
    beside = MarginalPart(SCHEMA, (0, 2))
    state = Distribution(Workload(SCHEMA, (beside, part)), 100)
    for place, step in enumerate(steps):
        state.update(place % state.size, step)
    right = [float(part.row(j) @ state.weights()) for j in range(part.size)]
    assert part.answers(state.weights()) == pytest.approx(right, abs=1e-12)
    assert state.answers()[beside.size :] == pytest.approx(right, abs=1e-12)
    alone = [state.answer(beside.size + j) for j in range(part.size)]
    assert alone == pytest.approx(right, abs=1e-12)


def test_the_codes_of_a_product_set_are_those_of_its_masks() -> None:
    part = ConjunctionPart(SCHEMA, ({2: np.array([True, False, False, True])}, {}))
    assert {c: list(np.atleast_1d(held)) for c, held in codes_of(part.form, SHAPE, 0).items()} == {
        2: [0, 3]
    }
    assert codes_of(part.form, SHAPE, 1) == {}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_tables_follow_a_step_on_any_product_set(data: st.DataObject) -> None:
    """Ranges, lists with gaps, single codes and free columns, next to each other or not."""
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5), "shape"))
    columns = range(len(shape))
    kept = [names for size in range(len(shape) + 1) for names in combinations(columns, size)]
    tables, rng = MarginalTables(shape, kept), np.random.default_rng(0)
    weights, sums = rng.random(math.prod(shape)), np.zeros(math.prod(shape))
    tables.fill(weights)
    held = np.ones(shape, bool)
    codes: dict[int, Any] = {}
    for column in columns:
        inside = data.draw(st.sets(st.integers(0, shape[column] - 1), min_size=1), "codes")
        chosen = np.array(sorted(inside))
        if data.draw(st.booleans(), "free"):
            continue
        range_of = (int(chosen[0]), int(chosen[-1]) + 1)
        is_range = range_of[1] - range_of[0] == len(chosen)
        codes[column] = range_of if is_range and data.draw(st.booleans()) else chosen
        mask = np.isin(np.arange(shape[column]), chosen)
        held &= mask.reshape([-1 if c == column else 1 for c in columns])
    before = weights.copy()
    tables.scale(weights, sums, 2.0, 1.5, codes)
    expected = np.where(held.reshape(-1), 1.5 * before, before)
    assert np.array_equal(weights, expected)
    assert np.allclose(sums, -2.0 * (expected - before))
    for names in kept:
        others = tuple(c for c in columns if c not in names)
        table = expected.reshape(shape).sum(axis=others).reshape(-1)
        base = tables.base[names]
        assert np.allclose(tables.values[base : base + table.size], table)
