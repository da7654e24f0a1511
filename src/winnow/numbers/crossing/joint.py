"""Several quantiles of private rows at once, drawn exactly by the exponential mechanism.

Of ascending lists o_1 <= ... <= o_m of points, let n_j rows lie between o_(j-1) and o_j, and s_j be
how many should. A list has probability ~ exp(-rate loss), loss = sum_j |n_j - s_j|.
[Gillenwater-Joseph-Kulesza 2021]

How a list is drawn. All points between two rows are a gap: they have the same rows below them. Far
from all targets, whole runs of gaps are put together. ``kernels.joint`` finds weights of lists that
are never too small: a step to or from a run of gaps weighs what it can weigh at most, and sums are
raised by more than they can be off. From the last quantile on, gaps are chosen by whole numbers,
floor(2^40 w) + 1 for a weight w, the largest being 1; so the probability Q of a way is an exact
fraction. Inside its gaps a list is uniform among N. It is kept with probability

    N exp(-rate loss) / (Q exp(ceiling)),

loss being the exact one of the list; else all of it is drawn again. So the law is exact, whatever
was rounded, if this is at most 1.

It is: let w_1, w_2, ... be the weights among which one is chosen, W what was stored for their sum,
W >= sum w in exact numbers. A chosen one has a probability of at least w/W e^-t, with t = M 2^-40 +
2^-40 for M choices. Multiplied along the way, each W cancels against the w of the choice before it
(which is that W, times its step), and what is left is Q >= weight/(total e^(sum of all t)), where
the weight of the way is at least N exp(-rate loss). ``ceiling`` is log total + sum of all t, and
some more for the rounding of each w.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import exp, log
from winnow.core.exponential_choice import kept_exactly
from winnow.core.tape import BitStream, Tape
from winnow.numbers.crossing.segment import WINDOW, Segment

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_BITS = 40
_MOST_EXPONENT = 700.0


@dataclass(frozen=True)
class JointTarget:
    """Which shares of the rows should lie between quantiles, and how fast probabilities fall."""

    parts: tuple[int, ...]
    """The quantiles in ascending order, of ``whole``."""
    whole: int
    rate: Fraction
    """The exponent of one row."""

    @property
    def between(self) -> tuple[int, ...]:
        """The parts between quantiles, and at both ends: they add up to ``whole``."""
        ends = (0, *self.parts, self.whole)
        return tuple(b - a for a, b in pairwise(ends))

    def reach(self, points: int) -> int:
        """Rows on each side of a target: lists beyond weigh e^-45 of the best one together.

        The loss of a list is at least twice the distance of each of its points from its target.
        """
        lists = len(self.parts) * math.log(points)
        return max(0, math.ceil((lists + WINDOW.at) / (2 * float(self.rate))) + 1)


def slack(gaps: int, target: JointTarget, rows: int, lists: float) -> float:
    """By how much a logarithm of a sum may be off.

    No number on the way is larger than what all steps can cost, and the lists of a gap count. A
    step of a chain of sums rounds four numbers of that size by 2^-53, and knows a logarithm to
    2^-45.
    """
    largest = 100.0 + 4 * float(target.rate) * rows + 2 * lists
    chain = gaps + 4 * len(target.parts) + 64
    return chain * (2.0**-50 * largest + 2.0**-44)


def above(gaps: int, many: int, each: float) -> float:
    """What a ceiling allows for the choices of a way, and the rounding of their weights."""
    return (2 * many + 1) * ((gaps + many + 3) * 2.0**-_BITS + 4 * each)


def most_tries(rows: int, points: int, target: JointTarget) -> float:
    """Of how many proposed lists one is kept at least, where no gap is put together."""
    many = len(target.parts)
    gaps = min(rows, 2 * many * target.reach(points)) + 2 * many + 1
    lists = many * math.log(points)
    allowed = above(gaps, many, slack(gaps, target, rows, lists))
    return math.exp(min(2 * allowed, 700.0))


def drawn_lists(segment: Segment, target: JointTarget, tape: Tape) -> Integers:
    """An ascending list of points of the segment, with probability ~ exp(-rate loss)."""
    weights = _Weights(_gaps(segment, target), target, len(segment.rows))
    stream, clocks = tape.child("proposed").stream(), tape.child("kept")
    attempt = 0
    while True:
        way, chance = weights.way(stream)
        points, lists = _points(weights.gaps, way, stream)
        missed = loss(np.searchsorted(segment.rows, points), len(segment.rows), target)
        exponent = target.rate * missed / target.whole + Fraction(weights.ceiling)
        if kept_exactly(clocks, attempt, exponent, lists / chance):
            return points
        attempt += 1


def loss(below: Integers, rows: int, target: JointTarget) -> int:
    """How far the rows between quantiles are from those that are wanted, in parts of a row."""
    ends = [0, *below.tolist(), rows]
    pairs = zip(ends, ends[1:], target.between, strict=False)
    return sum(abs(target.whole * (b - a) - part * rows) for a, b, part in pairs)


@dataclass(frozen=True)
class _Gaps:
    """Runs of points, and how many rows lie below the first and the last of each."""

    starts: Integers
    sizes: Integers
    lo: Integers
    hi: Integers


def _gaps(segment: Segment, target: JointTarget) -> _Gaps:
    """One gap for each number of rows below its points; far from all targets one for many."""
    rows, n = segment.rows, len(segment.rows)
    reach = target.reach(segment.stop - segment.start)
    edges = np.concatenate([[segment.start - 1], rows, [segment.stop - 1]])
    wide = np.flatnonzero(np.diff(edges) > 0)  # between rows that are tied there is no point
    middles = [part * n // target.whole for part in target.parts]
    places = np.searchsorted(wide, middles, side="right")
    below = wide[np.maximum(places - 1, 0)]
    above = wide[np.minimum(places, len(wide) - 1)]
    if (below < middles).any():  # rows are tied there: points beside them miss so many
        reach += reach + loss(below, n, target) // target.whole + 1
    near = np.zeros(n + 2, np.int64)
    for middle, least, most in zip(middles, below.tolist(), above.tolist(), strict=True):
        near[max(0, min(least, middle) - reach)] += 1
        near[min(n + 1, max(most, middle + 1) + reach + 1)] -= 1
    single = np.cumsum(near[: n + 1])[wide] > 0
    begins = single.copy()  # of a gap by itself, and of a run of others
    begins[0] = True
    begins[1:] |= single[1:] != single[:-1]
    firsts = np.flatnonzero(begins)
    lo, hi = wide[firsts], wide[np.append(firsts[1:], len(wide)) - 1]
    return _Gaps(edges[lo] + 1, edges[hi + 1] - edges[lo], lo, hi)


@dataclass(frozen=True)
class _Weights:
    """Logarithms of the weights of lists, each a little too large."""

    gaps: _Gaps
    target: JointTarget
    rows: int

    @cached_property
    def _slots(self) -> Floats:
        return np.array([part * self.rows / self.target.whole for part in self.target.between])

    @property
    def _rate(self) -> float:
        return float(self.target.rate)

    @cached_property
    def _lists(self) -> Floats:
        """How many ascending lists of 1, 2, ... points a gap has: C(size + t - 1, t)."""
        sizes = self.gaps.sizes.astype(np.float64)
        steps = [log(sizes + t) - log(np.array([t + 1.0])) for t in range(len(self.target.parts))]
        return np.cumsum(np.array(steps), axis=0)

    @cached_property
    def _slack(self) -> float:
        """No logarithm of a sum is further off."""
        most = float(self._lists.max())
        return slack(len(self.gaps.lo), self.target, self.rows, most)

    @cached_property
    def _found(self) -> tuple[Floats, Floats]:
        from winnow.numbers.kernels.joint import lists_by_gap

        many, size = len(self.target.parts), len(self.gaps.lo)
        first, ended = np.empty((many, size)), np.empty((many, size))
        lo, hi = self.gaps.lo.astype(np.float64), self.gaps.hi.astype(np.float64)
        lists_by_gap(
            lo, hi, self._lists, self._slots, self._rate, self._slack, first, ended, np.empty(size)
        )
        return first, ended

    @cached_property
    def _last(self) -> Floats:
        """Of whole lists, by the gap of their last quantile."""
        above_least, above_most = self.rows - self.gaps.hi, self.rows - self.gaps.lo
        missed = self._missed(self._slots[-1], above_least, above_most)
        return np.asarray(self._found[1][-1] - missed)

    def _missed(self, slot: float, least: Integers, most: Integers) -> Floats:
        away = np.maximum(0.0, np.maximum(least - slot, slot - most))
        return np.asarray(self._rate * away)

    @cached_property
    def ceiling(self) -> float:
        """The logarithm of what a proposed list weighs at most, over its probability."""
        last, many = self._last, len(self.target.parts)
        top = float(last.max())
        scaled = exp(np.maximum(last - top, -_MOST_EXPONENT))
        total = top + math.log(float(scaled.sum()))
        return total + above(len(last), many, self._slack)

    def way(self, stream: BitStream) -> tuple[list[tuple[int, int]], Fraction]:
        """Gaps with how many quantiles each has, in order, and the probability of all choices."""
        first, ended = self._found
        chance = Fraction(1)
        gaps: list[tuple[int, int]] = []
        gap, part = _chosen(self._last, stream)
        chance *= part
        left = len(self.target.parts)  # quantiles that have no gap yet
        while True:
            t, part = _chosen(self._runs(first, gap, left), stream)
            chance *= part
            gaps.append((gap, t + 1))
            left -= t + 1
            if left == 0:
                return gaps[::-1], chance
            gap, part = _chosen(self._before(ended[left - 1], gap, left), stream)
            chance *= part

    def _runs(self, first: Floats, gap: int, left: int) -> Floats:
        """Of 1, 2, ... quantiles in a gap, the last of all that are left."""
        width = float(self.gaps.hi[gap] - self.gaps.lo[gap])
        missed = self._rate * np.maximum(0.0, self._slots[1:left][::-1] - width)
        passed = np.concatenate([[0.0], np.cumsum(missed)])
        return np.asarray(first[:left, gap][::-1] + self._lists[:left, gap] - passed)

    def _before(self, ended: Floats, gap: int, left: int) -> Floats:
        """Of the gap before one whose first quantile has ``left`` others below it."""
        least = self.gaps.lo[gap] - self.gaps.hi[:gap]
        most = self.gaps.hi[gap] - self.gaps.lo[:gap]
        return np.asarray(ended[:gap] - self._missed(self._slots[left], least, most))


def _chosen(logs: Floats, stream: BitStream) -> tuple[int, Fraction]:
    """A place, and the probability that it had."""
    away = logs - logs.max()
    weights = np.where(away > -_MOST_EXPONENT, exp(np.maximum(away, -_MOST_EXPONENT)), 0.0)
    whole = np.floor(np.ldexp(weights, _BITS)).astype(np.int64) + 1
    sums = np.cumsum(whole)
    place = int(np.searchsorted(sums, stream.below(int(sums[-1])), side="right"))
    return place, Fraction(int(whole[place]), int(sums[-1]))


def _points(gaps: _Gaps, way: Sequence[tuple[int, int]], stream: BitStream) -> tuple[Integers, int]:
    """Ascending points in the gaps of a way, and how many lists have this way.

    Of s points t ascending ones, with repetition, are t different ones of s + t - 1, less 0, 1, ...
    [Floyd's sampling: each set of t is as likely]
    """
    points: list[int] = []
    lists = 1
    for gap, t in way:
        size, start = int(gaps.sizes[gap]), int(gaps.starts[gap])
        lists *= math.comb(size + t - 1, t)
        chosen: set[int] = set()
        for top in range(size - 1, size + t - 1):
            at = stream.below(top + 1)
            chosen.add(top if at in chosen else at)
        points += [start + each - place for place, each in enumerate(sorted(chosen))]
    return np.array(points, np.int64), lists
