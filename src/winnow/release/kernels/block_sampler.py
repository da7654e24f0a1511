"""Exact draws of a signed query in proportion to exp(beta |miss|), over maintained answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.proposals import TapeWords, exact_acceptance
from winnow.errors import InternalError
from winnow.release.kernels.hypothesis import Hypothesis

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

    def __init__(self, counts: Integers, hypothesis: Hypothesis, rate: Fraction) -> None:
        from winnow.release.kernels.block_draw import STATE, draw

        self._draw = draw
        bits = fraction_bits(hypothesis.total)
        self._units = float(hypothesis.total << bits)
        self._beta = rate / (1 << bits)
        self._counts = counts << bits
        self._firsts, self._parents = hypothesis.blocks()
        self._highest = np.maximum.reduceat(self._counts, self._firsts).astype(np.float64)
        size, blocks = len(counts), len(self._firsts)
        self._depth = size.bit_length() + 1
        self._reach = 60 - size.bit_length()
        self._looked = np.zeros(blocks, np.bool_)
        self._block_bounds = np.zeros(blocks, np.int32)
        self._bounds = np.zeros(size, np.int32)
        self._weights = np.zeros(blocks, np.int64)
        self._state = np.zeros(STATE, np.int64)
        self._state[3] = 1 << 20
        slack = hypothesis.slack * self._units + 1.0
        self._fixed: tuple[Any, ...] = (
            self._counts, self._firsts, self._parents, self._highest, slack,
            float(self._beta), per_unit_of(self._beta), self._depth, self._reach, self._looked,
            self._block_bounds, self._bounds, self._weights,
        )  # fmt: skip

    def draw(self, hypothesis: Hypothesis, words: TapeWords) -> tuple[int, int]:
        """A maintained query and a sign."""
        answers, mass = hypothesis.maintained_answers()
        state = self._state
        state[0] = 0
        scale = self._units / mass
        while True:
            status, words.place = self._draw(
                answers, scale, *self._fixed, words.buffer, words.place, state
            )
            if status == 1:
                words.refill()
            elif status == 3:
                raise InternalError("a certified bound was exceeded; please report this defect")
            elif status == 0 or self._settle(words):
                return int(state[5]), int(state[6])

    def _settle(self, words: TapeWords) -> bool:
        """Decide exactly what the filter left open."""
        _, _, _, _, _, _, sign, bound, score, at = (int(x) for x in self._state)
        return exact_acceptance(words.tape, words.first + at, self._beta * sign * score, bound)

    @property
    def _all_evaluations(self) -> int:
        """For benchmarks: it depends on private data."""
        return int(self._state[4])
