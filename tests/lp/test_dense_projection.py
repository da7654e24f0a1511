"""The Bregman projection: right, dense, and as stable as the corrected Lemma B.3 says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.lp.audit import halved_projection
from winnow.lp.kernels.dense_projection import L1_ERROR, block_sum, project

logs = st.lists(st.floats(-60, 60), min_size=2, max_size=12).map(np.array)


@given(logs, st.data())
@settings(max_examples=100, deadline=None)
def test_the_projection_is_a_dense_distribution_and_equals_the_slow_one(values, data) -> None:
    density = data.draw(st.integers(1, len(values)))
    found = project(values, density)
    assert abs(found.sum() - 1) <= L1_ERROR
    assert found.max() <= 1 / density
    assert np.abs(found - halved_projection(values, density)).sum() <= 1e-6


@given(logs, st.floats(-60, 60), st.data())
@settings(max_examples=150, deadline=None)
def test_one_row_more_moves_the_projection_by_at_most_two_over_s(values, one_more, data) -> None:
    density = data.draw(st.integers(1, len(values)))
    before = np.append(project(values, density), 0.0)
    after = project(np.append(values, one_more), density)
    assert np.abs(before - after).sum() <= 2 / density + 2 * L1_ERROR
    assert (after[:-1] <= before[:-1] + L1_ERROR).all()


def test_the_printed_bound_of_one_over_s_is_passed() -> None:
    """Lemma B.3 as printed is false: a heavy new row moves the projection by 2/s."""
    before = np.append(project(np.zeros(4), 2), 0.0)
    after = project(np.array([0.0, 0.0, 0.0, 0.0, 50.0]), 2)
    assert np.abs(before - after).sum() > 1.99 / 2


def test_many_rows_are_projected_within_the_certified_error() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0, 8, 200_000)
    found = project(values, 5_000)
    assert abs(block_sum(found) - 1) <= L1_ERROR
    assert found.max() <= 1 / 5_000
