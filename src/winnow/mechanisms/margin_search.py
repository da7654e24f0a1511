"""Where the search of the large margin mechanism stops, on universes that nobody can list.

The search [LMM, Alg 1] looks at the sorted counts s(1) >= s(2) >= ... and stops at the first
rank l with  s(1) - s(l+1) + Z > Z_l + G + T(l)  (all in units of the sensitivity), at the last
rank otherwise. Here the counts come lazily, in classes of equal counts. The first ranks are
tested one by one, as for explicit scores. Beyond those, all ranks of a class have one margin and
T grows like ln l, so the first that passes is found by inverting the cumulative hazard over
pieces that double in length (``kernels.first_passing``): exactly the same law, whether a class
has ten members or 10^12, or infinitely many.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winnow.domain.checks import Real, exact
from winnow.kernels.first_passing import Piece, first_passing
from winnow.kernels.laplace_tests import LaplaceTests
from winnow.kernels.ranked import Ranked
from winnow.mechanisms.margin_thresholds import Floats, stopping_margin
from winnow.random.bounded import noise
from winnow.random.laws import Law
from winnow.random.tape import Tape

LAST_RANK = 2**200
"""Beyond this rank the search does not stop any more: T is infinite there, which is allowed,
since larger thresholds are at least as private."""

ONE_BY_ONE = 1 << 13
"""So many ranks are tested one by one; any number gives the same law."""


def laplace_tests(epsilon: Fraction, tape: Tape) -> LaplaceTests:
    """The comparisons of the search: Z and G are shared, Z_l belongs to rank l [LMM, Alg 1]."""
    return LaplaceTests(tape, (3 / epsilon, 6 / epsilon), 12 / epsilon)


@dataclass(frozen=True)
class MarginSearch:
    """The public parameters of the search."""

    epsilon: Real
    delta: Real
    thresholds: str
    sensitivity: Fraction
    one_by_one: int = ONE_BY_ONE
    last_rank: int = LAST_RANK

    def stopping_rank(self, ranked: Ranked, tape: Tape) -> int | None:
        """The rank at which the search stops; None: it never does (endless universe)."""
        tests = laplace_tests(exact("epsilon", self.epsilon), tape)
        shared = tests._shared(tape.child("common"))[0]
        top = ranked.top(self._reach(tests, 1, shared))
        rank, part = 1, 0
        while True:
            margins = _Margins(ranked, top, self.sensitivity, self.last_rank)
            last = margins.last
            near = min(self.last_rank if last is None else last, self.one_by_one)
            if rank <= near:
                found = self._near(tests, margins, rank, near)
                if found is not None:
                    return found
                rank = near + 1
            if rank <= (self.last_rank if last is None else last):
                pieces = [
                    Piece(first, size, margin - self._least(first))
                    for margin, first, size in margins.pieces(rank)
                ]
                found = first_passing(
                    tests, pieces, partial(self._offset, margins), tape.child(f"far-{part}")
                )
                if found is not None:
                    return found
                part += 1
                rank = last + 1 if last is not None else rank
            if ranked.floor == 1:
                return ranked.total
            if rank <= self.one_by_one and self._certain(tests, rank, top - ranked.floor + 1):
                return rank
            below = ranked.floor - 1 - (top - ranked.floor) // 16
            ranked.lower(max(1, min(below, top - self._reach(tests, rank, shared))))

    def _near(self, tests: LaplaceTests, margins: _Margins, first: int, last: int) -> int | None:
        """Ranks first..last one by one, in chunks: the search mostly stops early."""
        size, offset = 256, partial(self._offset, margins)
        while first <= last:
            stop = min(last, first + size - 1)
            ranks = np.arange(first, stop + 1)
            needed = self._needed(ranks)
            gaps = margins.floats(ranks)
            errors = 2.0**-49 * (gaps + needed)

            passed = np.flatnonzero(tests.outcomes(first, gaps - needed, errors, offset))
            if len(passed):
                return first + int(passed[0])
            first, size = stop + 1, 4 * size
        return None

    def _certain(self, tests: LaplaceTests, rank: int, gap: int) -> bool:
        """Whether a rank stops the search if its margin is `gap` counts, or more.

        The next count is not listed yet, but it lies below the floor: where the test passes
        with the least margin that this leaves, it passes.
        """
        offset = Fraction(gap) / self.sensitivity - self._threshold(rank)
        value = np.array([float(offset)])
        return bool(tests.outcomes(rank, value, 2.0**-50 * np.abs(value), lambda _: offset)[0])

    def _offset(self, margins: _Margins, rank: int) -> Fraction:
        return margins.at(rank) - self._threshold(rank)

    def _needed(self, ranks: NDArray[np.int64] | Floats) -> Floats:
        return stopping_margin(ranks, float(self.epsilon), float(self.delta), self.thresholds)

    def _threshold(self, rank: int) -> Fraction:
        """T(l): the float64 that is used is the threshold."""
        return Fraction(float(self._needed(np.array([float(rank)]))[0]))

    def _least(self, rank: int) -> Fraction:
        """A bound below T from this rank on: T grows, and float64 errors are far smaller."""
        return self._threshold(rank) * Fraction(2**30 - 1, 2**30)

    def _reach(self, tests: LaplaceTests, rank: int, shared: float) -> int:
        """How far below the top the search will look, roughly: only a matter of time.

        The least gap that would stop it at one of the ranks from here to three times as far,
        by their own noises, which the tape has already.
        """
        ranks = np.arange(rank, 3 * rank + 16)
        own = tests.tape.child("own")
        z, _ = noise(Law.LAPLACE, own.words(rank, len(ranks)), own.extension(ranks, 0)[:, 0], None)
        margin = float((self._needed(ranks) - shared - float(tests.scale) * z).min())
        return int(min(2.0**62, max(0.0, margin * float(self.sensitivity)))) + 1


class _Margins:
    """s(1) - s(l+1) over the sensitivity, for the ranks l whose next count is listed."""

    def __init__(self, ranked: Ranked, top: int, sensitivity: Fraction, last_rank: int) -> None:
        counts, sizes = ranked.classes()
        self._gaps = [top - count for count in counts.tolist()]
        self._ends: list[int] = []  # how many candidates have at least the class's count
        total = 0
        for size in sizes:
            total += size
            self._ends.append(total)
        self.last: int | None = total - 1
        """The last rank that can be tested; None: there is always another."""
        if ranked.floor == 1:
            if ranked.total is None:
                self._gaps.append(top)
                self._ends.append(max(last_rank, total) + 1)
                self.last = None
            elif ranked.total > total:
                self._gaps.append(top)
                self._ends.append(ranked.total)
                self.last = ranked.total - 1
        self._sensitivity = sensitivity

    def at(self, rank: int) -> Fraction:
        """The margin at one rank."""
        return Fraction(self._gaps[bisect_right(self._ends, rank)]) / self._sensitivity

    def floats(self, ranks: NDArray[np.int64]) -> Floats:
        """The margins at many ranks, correctly rounded up to two operations."""
        ends = np.array([min(end, 2**62) for end in self._ends], np.int64)
        places = np.searchsorted(ends, ranks, side="right")
        gaps = np.array(self._gaps, np.int64)
        return np.asarray(gaps[places].astype(np.float64) / float(self._sensitivity))

    def pieces(self, rank: int) -> list[tuple[Fraction, int, int]]:
        """(margin, first rank, ranks) from a rank on; within a class they double in length."""
        found = []
        place = bisect_right(self._ends, rank)
        while place < len(self._ends):
            end = self._ends[place]
            while rank < end:
                size = min(end - rank, rank)
                found.append((self._gaps[place] / self._sensitivity, rank, size))
                rank += size
            place += 1
        return found
