"""Where the search of the large margin mechanism stops, on universes that nobody can list.

The search [LMM, Alg 1] looks at the sorted counts s(1) >= s(2) >= ... and stops at the first
rank l with  s(1) - s(l+1) + Z > Z_l + G + T(l)  (all in units of the sensitivity), at the last
rank otherwise. Here the counts come lazily, in classes of equal counts. The first ranks are
tested one by one, as for explicit scores. Beyond those, all ranks of a class have one margin and
T grows like ln l, so the first that passes is found by inverting the cumulative hazard over
pieces that double in length (``first_passing``): exactly the same law, whether a class
has ten members or 10^12, or infinitely many.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.bounded import noise
from winnow.core.checks import Real, exact
from winnow.core.laws import Law
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.core.noisy_top.ranked import Ranked
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

    def stopping_rank(self, ranked: Ranked, tape: Tape) -> int | None:
        """The rank at which the search stops; None: it never does (endless universe)."""
        tests = laplace_tests(exact("epsilon", self.epsilon), tape)
        shared = tests._shared(tape.child("common"))[0]
        top = ranked.top(self._reach(tests, 1, shared))
        rank, part = 1, 0
        while True:
            margins = _Margins(ranked, top, self.sensitivity, self.last_rank)
            last = margins.last
            near = min(self.last_rank if last is None else last, self._singly)
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
            if rank <= self._singly and self._certain(tests, rank, top - ranked.floor + 1):
                return rank
            below = ranked.floor - 1 - (top - ranked.floor) // 16
            ranked.lower(max(1, min(below, top - self._reach(tests, rank, shared, margins))))

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

    def _reach(
        self, tests: LaplaceTests, rank: int, shared: float, margins: _Margins | None = None
    ) -> int:
        """How far below the top the search will look, roughly: only a matter of time.

        The least gap that would stop it at one of the ranks from here to three times as far,
        by their own noises, which the tape has already. Where some counts are known: that of the
        first rank that will stop it if candidates go on to double as they did last.
        """
        if rank > self._singly:  # a class of very many was passed at once
            far = float(self._needed(np.array([float(rank)]))[0]) - shared
            return int(min(2.0**62, max(0.0, far * float(self.sensitivity)))) + 1
        ranks = np.arange(rank, 3 * rank + 16)
        own = tests.tape.child("own")
        z, _ = noise(Law.LAPLACE, own.words(rank, len(ranks)), own.extension(ranks, 0)[:, 0], None)
        wanted = self._needed(ranks) - shared - float(tests.scale) * z
        margin = float(wanted.min())
        if margins is not None and rank > 4:
            half, last = margins.floats(np.array([rank // 2, rank - 1])).tolist()
            expected = last + (last - half) * np.log2(ranks / (rank // 2)) - (last - half)
            stops = np.flatnonzero(wanted <= expected)
            margin = max(margin, float(expected[stops[0] if len(stops) else -1]))
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
