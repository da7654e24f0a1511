"""Exact draws of a signed query in proportion to exp(beta |miss|), where evaluation is costly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.proposals import TapeWords, exact_acceptance
from winnow.core.workloads.bits import BitsPart
from winnow.errors import InternalError
from winnow.release.kernels.block_sampler import LARGEST_UNITS, per_unit_of
from winnow.release.kernels.hypothesis import Hypothesis, Region

Integers = NDArray[np.int64]

_LANE = 30  # whole weights of all cells together stay below 2^30, so that they fit int32
_COARSEST = 10
_NEW_EPOCH = 0.25  # in units of ln 2: how far a reference may be away to set keys by it
_LAZY_START = 4.0  # with less than this to gain or lose, no scan is needed to begin with
_PART, _SMALL_PART = 16, 128  # evaluations allowed in a draw, as a part of all queries
_FREE = 16  # proposals allowed for each evaluation


def dense_fraction_bits(total: int, grid: int) -> int:
    """g: weights and scores are whole multiples of 2^-g rows."""
    narrow = _LANE - total.bit_length()
    if narrow >= _COARSEST and grid << _LANE < LARGEST_UNITS:
        return narrow
    return min(20, LARGEST_UNITS.bit_length() - 1 - (total * grid).bit_length())


class ClockedSampler:
    """Private state of draws against one workload: keys, epochs, and counts in units.

    ``counts`` are whole numbers between 0 and 2 `total` grid, the maintained queries first.
    """

    def __init__(self, counts: Integers, hypothesis: Hypothesis, rate: Fraction) -> None:
        from winnow.core.kernels.groups import BUCKETS, CHUNK, SLOTS
        from winnow.release.kernels.clocked_draw import STATE, begin, draw, scan

        self._begin, self._scan_all, self._draw_one = begin, scan, draw
        dense = hypothesis.dense
        grids = [1, *(int(r.part.grid) for r in dense if not isinstance(r.part, BitsPart))]
        bits = dense_fraction_bits(hypothesis.total, max(grids))
        self._units = hypothesis.total << bits
        self._exact = [rate / (grid << bits) for grid in grids]
        firsts = [0, *(hypothesis.maintained_size + r.base for r in dense
                       if not isinstance(r.part, BitsPart))]  # fmt: skip
        size = len(counts)
        self._size = size
        self._counts = counts << bits
        self._bits, self._values = _joined(dense, hypothesis.cells)
        self._firsts = np.array(firsts, np.int64)
        self._betas = np.array([float(beta) for beta in self._exact])
        self._per_units = np.array([per_unit_of(beta) for beta in self._exact])
        self._rate = self._per_units[0]
        rounding = int(hypothesis.slack * self._units + 1)
        self._slack = hypothesis.cells + 2 + 2 * rounding if hypothesis.maintained else 0
        highest = max(
            -(-int(self._counts[first:stop].max(initial=0)) // grid)
            for first, stop, grid in zip(firsts, [*firsts[1:], size], grids, strict=True)
        )
        # no answer is below 0 or above `units` by more than its rounding and that of the cells
        highest = max(highest, self._units) + hypothesis.cells + self._slack + rounding
        self._cap = float(self._rate * highest * (1.0 + 2.0**-40) + 1e-9)
        whole = hypothesis.whole_weights(self._units)
        groups = BUCKETS * SLOTS
        self._keys = np.full(size, self._cap)
        self._group = np.zeros(size, np.int32)
        self._limit = np.zeros(groups, np.int64)
        chunks = -(-size // CHUNK)
        self._pool = np.zeros((chunks + groups, CHUNK), np.int32)
        self._table = np.zeros((groups, chunks), np.int32)
        self._where = np.zeros(size, np.int32)
        self._count = np.zeros(groups, np.int64)
        self._free = np.zeros(chunks + groups + 1, np.int32)
        self._members = np.zeros(SLOTS, np.int64)
        self._bounds = np.zeros(groups, np.int64)
        self._references = np.zeros((SLOTS, len(whole)), whole.dtype)
        self._clocks = np.zeros(SLOTS)
        self._reach = 60 - size.bit_length()
        self._state = np.zeros(STATE, np.int64)
        self._allowed = self._most = size // _PART + 64
        self._seen: tuple[Hypothesis, int] | None = None

    def draw(self, hypothesis: Hypothesis, words: TapeWords) -> tuple[int, int]:
        """A query's place, maintained ones first, and a sign."""
        answers, mass = hypothesis.maintained_answers()
        scale = self._units / mass
        whole = hypothesis.whole_weights(self._units)
        evaluate = (answers, scale, self._counts, self._bits, self._values, whole, self._firsts)
        placed = (
            self._keys, self._group, self._limit, self._pool, self._table, self._where,
            self._count, self._members, self._free,
        )  # fmt: skip
        state = self._state
        if self._seen is None:
            self._first(whole, placed, evaluate)
        elif self._seen[0] is not hypothesis or self._seen[1] != hypothesis.version:
            self._begin(
                whole, self._references, self._clocks, self._rate, self._slack, _NEW_EPOCH,
                self._cap, *placed, state,
            )  # fmt: skip
        self._seen = (hypothesis, hypothesis.version)
        state[0], state[11], state[12] = 0, 0, self._allowed
        state[13] = _FREE * self._allowed
        scanned = False
        while True:
            status, words.place = self._draw_one(
                *evaluate, self._betas, self._per_units, self._clocks, self._cap, *placed,
                self._bounds, self._reach, words.buffer, words.place, state,
            )  # fmt: skip
            if status == 1:
                words.refill()
            elif status == 4:
                self._scan(placed, evaluate)
                scanned = True
                state[0], state[11], state[12], state[13] = 0, 0, 1 << 62, 1 << 62
            elif status == 3:
                raise InternalError("a certified bound was exceeded; please report this defect")
            elif status == 0 or self._settle(words):
                least = self._size // _SMALL_PART + 64
                self._allowed = (
                    max(self._allowed // 2, least)
                    if scanned
                    else min(2 * self._allowed, self._most)
                )
                return int(state[5]), int(state[6])

    def _first(self, whole: NDArray[Any], placed: Any, evaluate: Any) -> None:
        """No key is known: the bound that holds for every query will do, or a scan."""
        if self._cap > _LAZY_START:
            self._scan(placed, evaluate)
            return
        self._references[0, :] = whole
        self._arrange(placed)

    def _arrange(self, placed: Any) -> None:
        from winnow.release.kernels.clocked_draw import arrange_all

        self._state[3] = arrange_all(*placed)

    def _scan(self, placed: Any, evaluate: Any) -> None:
        self._scan_all(
            *evaluate, self._per_units, self._references, self._clocks, self._rate, self._slack,
            *placed, self._state,
        )  # fmt: skip

    def _settle(self, words: TapeWords) -> bool:
        """Decide exactly what the filter left open."""
        place, sign, bound, score, at = (int(x) for x in self._state[5:10])
        beta = self._exact[int(np.searchsorted(self._firsts, place, side="right")) - 1]
        return exact_acceptance(words.tape, words.first + at, beta * sign * score, bound)

    @property
    def _all_evaluations(self) -> int:
        """For benchmarks: it depends on private data."""
        return int(self._state[4])


def _joined(dense: list[Region], cells: int) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """All binary queries in one array and all values on grids in another."""
    bits = [r.part.bits for r in dense if isinstance(r.part, BitsPart)]
    values = [r.part.values for r in dense if not isinstance(r.part, BitsPart)]
    no_bits = np.zeros((0, -(-cells // 64)), np.uint64)
    joined_bits = bits[0] if len(bits) == 1 else np.concatenate([no_bits, *bits])
    if not values:
        return joined_bits, np.zeros((0, cells), np.uint8)
    return joined_bits, values[0] if len(values) == 1 else np.concatenate(values)
