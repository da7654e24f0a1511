"""Private linear programs keep what they charge, and the audit sees when they do not."""

from __future__ import annotations

import pytest

from winnow.lp.audit import lp_enumerated, lp_faithful, lp_twins


def test_tiny_programs_of_both_kinds_keep_their_bounded_range() -> None:
    results = list(lp_enumerated(quick=True))
    assert len(results) == 3  # rows of people under both relations
    assert all(result.passed for result in results)
    assert all(result.measured > 0.99 * result.claimed for result in results)  # it is tight


@pytest.mark.slow
def test_the_real_solvers_draw_the_enumerated_probabilities() -> None:
    assert all(result.passed for result in lp_faithful(quick=True, seed=7))


def test_the_printed_mistakes_are_caught() -> None:
    results = list(lp_twins(quick=True, seed=7))
    assert len(results) == 6
    assert all(result.passed for result in results)
