"""Product sets are read off marginal tables all at once, and mean the same as one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow import Schema, Workload
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.release.kernels.distribution import Distribution
from winnow.release.kernels.table_queries import codes_of

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
