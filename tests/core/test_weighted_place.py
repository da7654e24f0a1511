"""A place by weights that are too long for floats, and uniform integers for many bounds."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from winnow.core.noisy_top import weighted_place as module
from winnow.core.noisy_top.classes import _first_row
from winnow.core.noisy_top.weighted_place import weighted_place
from winnow.core.tape import Tape

WEIGHTS = [
    [3, 5, 0, 2],
    [math.comb(3_000, j) for j in range(1_480, 1_520)],
    [2**4_000, 1, 2**3_999],
    [1],
]


def logs_of(weights: list[int]) -> np.ndarray:
    return np.array([math.log(each) if each else -np.inf for each in weights])


@pytest.mark.parametrize("weights", WEIGHTS)
def test_floats_and_whole_weights_give_one_place(weights: list[int]) -> None:
    for seed in range(300):
        quick = weighted_place(Tape.seeded(seed).stream(), logs_of(weights), 1e-9, lambda: weights)
        left_open = weighted_place(
            Tape.seeded(seed).stream(), logs_of(weights), 1.0, lambda: weights
        )
        assert quick == left_open


def test_a_place_has_the_law_of_its_weight_whatever_floats_leave_open() -> None:
    weights = [3, 5, 0, 2]
    for error in (1e-9, 1.0):
        found = [
            weighted_place(Tape.seeded(seed).stream(), logs_of(weights), error, lambda: weights)
            for seed in range(2_000)
        ]
        often = np.bincount(found, minlength=4)
        assert often[2] == 0
        assert stats.chisquare(often[[0, 1, 3]], 200 * np.array([3, 5, 2])).pvalue > 1e-4


def test_as_many_bits_as_it_takes_decide_an_edge() -> None:
    """The first bits lie on the edge of two equal weights: the next ones decide, both ways."""
    found = {
        module._exactly(Tape.seeded(seed).stream(), (1 << 63) - 1 + seed % 2, [1, 1])
        for seed in range(20)
    }
    assert found == {0, 1}
    third = (1 << 64) // 3  # 1/3 lies inside its interval
    drawn = {module._exactly(Tape.seeded(seed).stream(), third, [1, 2]) for seed in range(40)}
    assert drawn == {0, 1}


@pytest.mark.parametrize("bound", [3, 3 << 30, 1, 2**32 - 1, 2**32, 2**40 + 1])
def test_uniform_integers_are_uniform_below_each_bound(bound: int) -> None:
    drawn = Tape.seeded(5).stream().below_each(np.full(30_000, bound))
    assert drawn.min() >= 0 and drawn.max() < bound
    edges = [0, bound // 3, 2 * bound // 3, bound] if bound > 1 else [0, 1]
    often = [int(((drawn >= low) & (drawn < high)).sum()) for low, high in pairwise(edges)]
    assert len(often) == 1 or stats.chisquare(often).pvalue > 1e-4


def test_without_drawing_anew_a_bound_is_seen_to_be_biased(monkeypatch: pytest.MonkeyPatch) -> None:
    from winnow.core import tape

    monkeypatch.setattr(tape, "_LOW", np.uint64(0))  # the low half is never below a positive rest
    monkeypatch.setattr(tape, "_WORDS", np.uint64(3 << 30))  # and the rest is 0: all are kept
    drawn = Tape.seeded(5).stream().below_each(np.full(30_000, 3 << 30))
    often = np.bincount(drawn % 3, minlength=3)
    assert stats.chisquare(often).pvalue < 1e-9


def test_bounds_on_both_sides_of_a_word_are_drawn_side_by_side() -> None:
    bounds = np.tile(np.array([7, 2**40, 1, 2**50, 2**32]), 4_000)
    drawn = Tape.seeded(6).stream().below_each(bounds)
    assert (drawn >= 0).all() and (drawn < bounds).all()
    for bound in (7, 2**40, 2**50, 2**32):
        halves = drawn[bounds == bound] * 2 < bound - bound % 2
        assert abs(float(halves.mean()) - (bound // 2) / bound) < 5 * 0.5 / math.sqrt(4_000)


def test_rows_after_one_that_takes_all_have_no_weight() -> None:
    """A level of 2 with 1 free: such rows stand after one that every list has at its level."""
    for seed in range(40):
        assert _first_row(np.array([2, 2, 1]), np.array([2, 1, 1]), Tape.seeded(seed).stream()) == 0
