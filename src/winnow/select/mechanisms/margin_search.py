"""Where the search of the large margin mechanism stops, on universes that nobody can list.

The search [LMM, Alg 1] looks at the sorted counts s(1) >= s(2) >= ... and stops at the first
rank l with  s(1) - s(l+1) + Z > Z_l + G + T(l)  (all in units of the sensitivity), at the last
rank otherwise. Here the counts come lazily, in classes of equal counts. The first ranks are
tested one by one, as for explicit scores. Beyond those, all ranks of a class have one margin and
T grows like ln l, so the first that passes is found by inverting the cumulative hazard over
pieces that double in length (``first_passing``): exactly the same law, whether a class
has ten members or 10^12, or infinitely many.

Counts are listed only where a test can still pass. No margin exceeds s(1), and the noise of every
test is on the tape, so it is known beforehand which tests pass at a bound above their margins.
A test that fails at such a bound fails, as a smaller margin helps nobody: of all those the search
looks only at the first that passes at its bound, a candidate. If no test is one, the search is
over and has listed nothing but the largest count. A candidate's noise says which margin g it
needs. So its outcome is the answer to one question, whether at most l candidates of the universe
have s(1) - g + 1 or more, and a listing that ends after a few more than l answers it: either all
of those are listed, or there are more. In the second case s(l+1) is at least s(1) - g + 1, which
is a better bound for all ranks until there. Each outcome is that of the test with its own margin
and its own noise, whatever is listed before, and in whichever steps.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import floor

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.checks import Real, exact
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.core.noisy_top.ranked import CountListing, count_at
from winnow.core.tape import Tape
from winnow.select.kernels.first_passing import Piece, first_passing

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64] | Floats
"""Ranks beyond 2^63 come as float64: what that rounds is far below the rounding up."""
THRESHOLDS = ("tight", "printed")

_ROUND_UP = 1.0 + 2.0**-40  # far above the error of log and of the polynomial below


def needed_margin(ranks: Ranks, epsilon: float, delta: float, thresholds: str) -> Floats:
    """t(l): the margin at which the last step on the l best items is private.

    t(l) = 6 (1 + ln(3 l/delta)/epsilon) [LMM, Alg 1]. At l = 1 the last step returns the
    best item without noise, so it suffices that neighbours agree on it: t(1) = 2
    (the tightened thresholds of the errata).
    """
    r = ranks.astype(np.float64)
    needed = 6.0 * (1.0 + np.log(3.0 * r / delta) / epsilon) * _ROUND_UP
    if thresholds == "tight":
        needed = np.where(ranks == 1, np.minimum(needed, 2.0), needed)
    return needed


def stopping_margin(ranks: Ranks, epsilon: float, delta: float, thresholds: str) -> Floats:
    """T(l): the noisy margin at which the search stops at rank l.

    ``printed`` adds one tail bound for each of the three noises [LMM, Alg 1].
    ``tight`` adds q(l), the upper quantile of their sum Z - G - Z_l at level
    (2 delta/3)/(l (l+1)). Why it is enough: if the margin is at most t(l), the search
    stops at l only when Z - G - Z_l > T(l) - t(l) = q(l), which has that probability;
    over all l these sum to at most 2 delta/3, the mass that the proof of LMM Theorem 2
    gives away before its last step.
    """
    r = ranks.astype(np.float64)
    needed = needed_margin(ranks, epsilon, delta, thresholds)
    if thresholds == "printed":
        noise = (
            3.0 * np.log(3.0 / (2.0 * delta))
            + 6.0 * np.log(3.0 / delta)
            + 12.0 * np.log(3.0 * r * (r + 1.0) / delta)
        ) / epsilon
    else:
        noise = three_laplace_quantile((2.0 * delta / 3.0) / (r * (r + 1.0)), epsilon)
    total: Floats = (noise + needed) * _ROUND_UP
    return total


def three_laplace_tail(x: Floats, epsilon: float) -> Floats:
    """Pr[Z - G - Z_l > x], x >= 0, for Laplace scales 3, 6 and 12 over epsilon.

    The characteristic function is the product of 1/(1 + b^2 t^2) over three distinct
    scales; its partial fractions are a signed mixture of the three Laplace laws with
    weights 1/45, -4/9 and 64/45.
    """
    y = np.exp(-np.asarray(x, np.float64) * epsilon / 12.0)
    return y * (32.0 / 45.0 - y * (2.0 / 9.0 - y * y / 90.0))


def three_laplace_quantile(p: Floats, epsilon: float) -> Floats:
    """An x with Pr[Z - G - Z_l > x] <= p (p < 1/2), tight to about 1e-11 relative.

    In y = exp(-epsilon x/12) the tail is an increasing concave polynomial on (0, 1], so
    Newton's iteration from below converges from below; y is then rounded down.
    """
    p = np.asarray(p, np.float64)
    y = 45.0 / 32.0 * p
    for _ in range(8):
        value = y * (32.0 / 45.0 - y * (2.0 / 9.0 - y * y / 90.0)) - p
        slope = 32.0 / 45.0 - y * (4.0 / 9.0 - 4.0 / 90.0 * y * y)
        y = y - value / slope
    return -12.0 / epsilon * np.log(y * (2.0 - _ROUND_UP))


LAST_RANK = 2**200
"""Beyond this rank the search does not stop any more: T is infinite there, which is allowed,
since larger thresholds are at least as private."""

ONE_BY_ONE = Border(
    1 << 13,
    "ranks tested one by one",
    decides="at which rank the search for a margin is, and how many candidates have one count",
    ways="each rank has noise of its own; the first of many that passes is drawn by its hazard",
    same="law",
    because="the tests of a rank are independent, and the hazard is that of one after another",
)
"""So many ranks are tested one by one; any number gives the same law."""

_FEW = 256
"""A listing that decides a test at rank l goes on until 4 l and so many: a pass over baskets takes
longer than as many itemsets, which often decide the next tests, too."""


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
    one_by_one: int | None = None
    """None: as ``ONE_BY_ONE`` says."""
    last_rank: int = LAST_RANK

    @property
    def _singly(self) -> int:
        return int(ONE_BY_ONE.at) if self.one_by_one is None else self.one_by_one

    def stopping_rank(self, ranked: CountListing, tape: Tape) -> int | None:
        """The rank at which the search stops; None: it never does (endless universe)."""
        tests = laplace_tests(exact("epsilon", self.epsilon), tape)
        last = self.last_rank if ranked.total is None else ranked.total - 1
        margins = _Margins(ranked, self.sensitivity, last)
        near, rank = max(0, min(last, self._singly)), 1
        while (candidate := self._near(tests, margins, rank, near)) is not None:
            if margins.known(candidate):
                return candidate
            needed = self._needed_gap(tests, candidate, margins.top)
            if not margins.exceeds(candidate, margins.top - needed + 1):
                return candidate
            rank = candidate + 1
        stop = first_passing(
            tests,
            near + 1,
            partial(self._pieces, margins),
            lambda rank: margins.at(rank) - self._threshold(rank),
            tape.child("far-0"),
        )
        return ranked.total if stop is None else stop

    def _near(self, tests: LaplaceTests, margins: _Margins, first: int, last: int) -> int | None:
        """The first of some ranks that passes at its bound, in chunks: it mostly comes early."""
        size, offset = 256, partial(self._highest_offset, margins)
        while first <= last:
            stop = min(last, first + size - 1)
            ranks = np.arange(first, stop + 1)
            needed = self._needed(ranks)
            gaps = margins.bounds(ranks)
            errors = 2.0**-49 * (gaps + needed)

            passed = np.flatnonzero(tests.outcomes(first, gaps - needed, errors, offset))
            if len(passed):
                return first + int(passed[0])
            first, size = stop + 1, 4 * size
        return None

    def _needed_gap(self, tests: LaplaceTests, rank: int, high: int) -> int:
        """The least gap between counts at which a rank passes that does so at `high`, exactly."""
        low = -1  # no gap is smaller than 0
        bar = self._threshold(rank) + Fraction(float(tests.bars(np.array([rank]))[0][0]))
        likely = floor(bar * self.sensitivity) + 1
        for gap in (likely, likely - 1, likely + 1):
            if low < gap < high:
                low, high = (low, gap) if self._passes(tests, rank, gap) else (gap, high)
        while high - low > 1:
            gap = (low + high) // 2
            low, high = (low, gap) if self._passes(tests, rank, gap) else (gap, high)
        return high

    def _passes(self, tests: LaplaceTests, rank: int, gap: int) -> bool:
        """Whether a rank passes if the next count lies `gap` below the largest."""
        offset = gap / self.sensitivity - self._threshold(rank)
        value = np.array([float(offset)])
        return bool(tests.outcomes(rank, value, 2.0**-50 * np.abs(value), lambda _: offset)[0])

    def _highest_offset(self, margins: _Margins, rank: int) -> Fraction:
        return margins.bound(rank) - self._threshold(rank)

    def _pieces(self, margins: _Margins, rank: int) -> list[Piece]:
        """The ranks from one on in pieces; T grows, and float64 errors are far below 2^-30."""
        pieces = margins.pieces(rank)
        firsts = np.array([float(first) for _, first, _ in pieces])
        least = (Fraction(t) * Fraction(2**30 - 1, 2**30) for t in self._needed(firsts).tolist())
        return [
            Piece(first, size, margin - threshold)
            for (margin, first, size), threshold in zip(pieces, least, strict=True)
        ]

    def _needed(self, ranks: Ranks) -> Floats:
        return stopping_margin(ranks, float(self.epsilon), float(self.delta), self.thresholds)

    def _threshold(self, rank: int) -> Fraction:
        """T(l): the float64 that is used is the threshold."""
        return Fraction(float(self._needed(np.array([float(rank)]))[0]))


class _Margins:
    """s(1) - s(l+1) over the sensitivity, for the ranks l = 1 .. last, as far as they are known."""

    def __init__(self, ranked: CountListing, sensitivity: Fraction, last: int) -> None:
        self._ranked, self._sensitivity, self._last = ranked, sensitivity, last
        self.top = ranked.top()
        self._least: list[tuple[int, int]] = []
        """(rank, count): s(l+1) is not below the count for l up to the rank."""
        self._read()

    def _read(self) -> None:
        """Ranks in runs of one bound: those of listed classes, where it is the gap, and others."""
        counts, sizes = self._ranked.classes()
        self._gaps = [self.top - count for count in counts.tolist()]
        self._ends = list(accumulate(sizes))  # the first rank behind each run
        self._listed = self._ends[-1] if self._ends else 0
        for rank, count in (*sorted(self._least), (self._last, 0)):
            if rank >= (self._ends[-1] if self._ends else 0):
                self._gaps.append(self.top - count)
                self._ends.append(rank + 1)

    def known(self, rank: int) -> bool:
        """Whether the bound of a rank is its margin."""
        return rank < self._listed or self._ranked.floor == 1

    def exceeds(self, rank: int, count: int) -> bool:
        """Whether more candidates than `rank` have a count or more; few more are listed."""
        most = 4 * rank + _FEW
        self._ranked.lower(count, most)
        crowded = self._ranked.floor > count
        if crowded:
            better = [(r, c) for r, c in self._least if r > most or c > count]
            self._least = [*better, (most, count)]
        self._read()
        return crowded or self._gaps[bisect_right(self._ends, rank)] <= self.top - count

    def at(self, rank: int) -> Fraction:
        """The margin at one rank; counts are listed until it is known."""
        gap = Fraction(self.top - count_at(self._ranked, rank))
        self._read()
        return gap / self._sensitivity

    def bound(self, rank: int) -> Fraction:
        """A bound above the margin at one rank."""
        return Fraction(self._gaps[bisect_right(self._ends, rank)]) / self._sensitivity

    def bounds(self, ranks: NDArray[np.int64]) -> Floats:
        """The bounds at many ranks, correctly rounded up to two operations."""
        ends = np.array([min(end, 2**62) for end in self._ends], np.int64)
        places = np.searchsorted(ends, ranks, side="right")
        gaps = np.array(self._gaps, np.int64)
        return np.asarray(gaps[places].astype(np.float64) / float(self._sensitivity))

    def pieces(self, rank: int) -> list[tuple[Fraction, int, int]]:
        """(bound, first rank, ranks) from a rank on; within a run they double in length."""
        listed = []
        place = bisect_right(self._ends, rank)
        while place < len(self._ends):
            end = min(self._ends[place], self._last + 1)
            while rank < end:
                size = min(end - rank, rank)
                listed.append((self._gaps[place] / self._sensitivity, rank, size))
                rank += size
            place += 1
        return listed
