"""Exact draws of a signed query in proportion to exp(beta |miss|), over maintained answers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.draw_state import (
    BEGIN,
    CANDIDATE,
    EVALUATIONS,
    PHASE,
    SIGN,
    run_on,
)
from winnow.core.noisy_top.proposals import TapeWords
from winnow.release.rounds.kernels.distribution import Distribution

Integers = NDArray[np.int64]

LARGEST_UNITS = 1 << 59
"""Scores are whole multiples of 2^-g with N 2^g below this."""
_FINEST = 24


def fraction_bits(total: int) -> int:
    """g: scores are kept in units of 2^-g rows."""
    return min(_FINEST, LARGEST_UNITS.bit_length() - 1 - total.bit_length())


def per_unit_of(beta: Fraction) -> float:
    """beta/ln 2, rounded up by 2^-48 of itself: more than all roundings of its use."""
    return float(beta) / 0.6931471805599453 * (1.0 + 2.0**-48)


class BlockSampler:
    """Private state of draws against one workload: counts in units, and blocks of queries.

    ``counts`` are whole numbers between 0 and 2 `total`; ``rate`` is the factor of a count in
    the exponent.
    """

    def __init__(self, counts: Integers, distribution: Distribution, rate: Fraction) -> None:
        from winnow.release.rounds.kernels.block_draw import BEST, STATE, QueryBlocks, draw

        self._draw = draw
        bits = fraction_bits(distribution.total)
        self._units = float(distribution.total << bits)
        self._beta = rate / (1 << bits)
        counts = counts << bits
        firsts, parents = distribution.blocks()
        size, blocks = len(counts), len(firsts)
        self._blocks = QueryBlocks(
            counts,
            firsts,
            parents,
            np.maximum.reduceat(counts, firsts).astype(np.float64),
            slack=distribution.slack * self._units + 1.0,
            beta=float(self._beta),
            per_unit=per_unit_of(self._beta),
            depth=size.bit_length() + 1,
            reach=60 - size.bit_length(),
            evaluated=np.zeros(blocks, np.bool_),
            block_bounds=np.zeros(blocks, np.int32),
            bounds=np.zeros(size, np.int32),
            weights=np.zeros(blocks, np.int64),
        )
        self._plain = tuple(self._blocks)
        self._state = np.zeros(STATE, np.int64)
        self._state[BEST] = 1 << 20

    def draw(self, distribution: Distribution, words: TapeWords) -> tuple[int, int]:
        """A maintained query and a sign."""
        answers, mass = distribution.maintained_answers()
        state = self._state
        state[PHASE] = BEGIN
        against = answers, self._units / mass
        run_on(
            lambda buffer, place: self._draw(self._plain, against, buffer, place, state),
            words,
            state,
            lambda _: self._beta,
        )
        return int(state[CANDIDATE]), int(state[SIGN])

    @property
    def _all_evaluations(self) -> int:
        """For benchmarks: it depends on private data."""
        return int(self._state[EVALUATIONS])
