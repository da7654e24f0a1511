"""The k-subsets of Canonical in classes (h, t), in rectangles of classes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from math import comb
from operator import mul

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.log_counts import log_binomial, log_difference, log_product
from winnow.core.noisy_top.ranking import Ranking
from winnow.core.noisy_top.weighted_place import weighted_place
from winnow.core.tape import BitStream

Integers = NDArray[np.int64]

_FAR = 700.0
"""Logarithms further below the largest are of weights that no float64 holds."""

JointBlock = tuple[int, int]
"""All sequences with low <= utility <= high."""


class JointClasses:
    """Sequences S of k distinct items with utility u(S) = -max_i (c_i - c_{S_i}) [Joint, Sec 3].

    With the counts c in descending order and t_r(u) = #{j : c_j >= c_r + u} there are
    N(u) = prod_r (t_r(u) - (r - 1)) sequences of utility u or more: the sets grow with r, so
    row r always finds the r - 1 items already taken among its own. One N(u) takes k binary
    searches; a draw needs a few dozen of them, whatever the range of the counts.

    Blocks are split at multiples of `cell` first and only then inside a cell. So a draw does not
    change when all counts and the cell are multiplied by a power of two: counts in ones and
    counts in fine steps give the same list for the same tape.
    """

    def __init__(self, ranking: Ranking, k: int, scale: Fraction, cell: int = 1) -> None:
        self.k = k
        self.scale = scale
        self._rough_scale = float(scale)
        self._cell = cell
        self._ranking = ranking
        # counted from the smallest, no sum below leaves int64 as long as the range fits it
        self._leaders = ranking.leaders(k)
        self._rows = np.arange(k)
        self._lowest = -(int(self._leaders[0]) // cell)
        """The cell of the least utility; cell c holds utilities above (c - 1) cell to c cell."""
        self._known: dict[int, tuple[NDArray[np.int64], bytes, tuple[float, float]]] = {}

    def reach(self, utility: int) -> NDArray[np.int64]:
        """t_r(u) for the k rows."""
        return self._at(utility)[0]

    def _at(self, utility: int) -> tuple[NDArray[np.int64], bytes, tuple[float, float]]:
        """t_r(u), the same as bytes to compare them, and bounds on the logarithm of N(u)."""
        known = self._known.get(utility)
        if known is None:
            reach = self._ranking.at_least(self._leaders + utility)
            log = log_product(reach - self._rows)
            known = self._known[utility] = reach, reach.tobytes(), log
        return known

    def roots(self) -> list[JointBlock]:
        """What is likely to win, and all that is not: it is looked at only if it does win.

        There are at most d^k sequences, so all those with a scaled utility of 40 below
        -k ln d weigh less than e^-40 times the best one. The least utility is that of the
        last item in the first row.
        """
        weight = self._rough_scale * self._cell
        likely = math.ceil((self.k * math.log(self._ranking.size) + 40.0) / weight)
        if likely >= -self._lowest:
            return [self._cells(self._lowest, 0)]
        return [self._cells(self._lowest, -likely - 1), self._cells(-likely, 0)]

    def _cells(self, first: int, last: int) -> JointBlock:
        return (first - 1) * self._cell + 1, last * self._cell

    def is_class(self, block: JointBlock) -> bool:
        """Whether all sequences of the block have its highest utility."""
        low, high = block
        if high - low >= self._cell:
            return False
        return low == high or self._at(low)[1] == self._at(high)[1]

    def split(self, block: JointBlock) -> list[JointBlock]:
        """Halves by utility; a half without sequences is left out."""
        low, high = block
        middle = (low + high) // 2
        if high - low >= self._cell:
            first, last = -(-low // self._cell), high // self._cell
            middle = (first + last) // 2 * self._cell
        at_middle = self._at(middle + 1)[1]
        halves = []
        if self._at(low)[1] != at_middle:
            halves.append((low, middle))
        if self._at(high + 1)[1] != at_middle:
            halves.append((middle + 1, high))
        return halves

    def score(self, block: JointBlock) -> Fraction:
        """The best utility of the block, scaled."""
        return self.scale * block[1]

    def rough_score(self, block: JointBlock) -> float:
        """A score to a relative 2^-51: three roundings."""
        return self._rough_scale * block[1]

    def log_count(self, block: JointBlock) -> tuple[float, float]:
        """Bounds on the logarithm of N(low) - N(high + 1)."""
        return log_difference(self._at(block[0])[2], self._at(block[1] + 1)[2])

    def count(self, block: JointBlock) -> int:
        """N(low) - N(high + 1)."""
        return self._at_least(block[0]) - self._at_least(block[1] + 1)

    def _at_least(self, utility: int) -> int:
        free = self.reach(utility) - self._rows
        return 0 if free.min() <= 0 else math.prod(free.tolist())

    def sample(self, utility: int, stream: BitStream) -> list[int]:
        """A sequence of ranks, uniform among those of exactly this utility.

        Let i be the first row that attains the minimum: rows before it stay above, row i
        takes one of the t_i(u) - t_i(u+1) items at the level (no earlier row could), rows
        after it take anything left.
        """
        here, above = self.reach(utility), self.reach(utility + 1)
        level, free = here - above, here - self._rows
        rows = np.flatnonzero(level)
        first = int(rows[_first_row(level[rows], free[rows], stream)])
        starts, sizes = self._rows.copy(), np.where(self._rows < first, above, here)
        starts[first] = above[first]
        places = (starts + stream.below_each(sizes - starts)).tolist()
        moved: dict[int, int] = {}  # where a rank stands, if not at its own place
        ranks: list[int] = []
        for row, place in enumerate(places):  # free ranks stand from `row` on [Fisher-Yates]
            ranks.append(moved.get(place, place))
            moved[place] = moved.get(row, row)
        return ranks


def _first_row(level: Integers, free: Integers, stream: BitStream) -> int:
    """The first row at the level: row i has free_above for each one before, and free after it.

    By ``free`` for all rows the weights are level_i/free_i times all 1 - level_j/free_j before.
    The rows after one that takes all that is free have weight 0, whatever stands at their level.
    """
    with np.errstate(divide="ignore"):
        rest = np.maximum(free - level, 0)[:-1]  # whole numbers: no digit of it is lost
        passed = np.cumsum(np.log(rest / free[:-1]))
        logs = np.log(level / free) + np.concatenate([[0.0], passed])

    def weights() -> list[int]:
        after = list(accumulate(free[:0:-1].tolist(), mul, initial=1))[::-1]
        before = accumulate((free - level)[:-1].tolist(), mul, initial=1)
        return [
            one * own * rest for one, own, rest in zip(before, level.tolist(), after, strict=True)
        ]

    error = 2.0**-48 * len(logs) * (2.0 + float(-logs[logs > -_FAR].min()))
    return weighted_place(stream, logs, error, weights)


CanonicalBlock = tuple[int, int, int, int]
"""h from h0 to h1 and t from t0 to t1: a subset holds the best h items and misses the next,
and its last item has rank t."""


class CanonicalClasses:
    """All k-subsets of d ranked items by head h and tail t [Canonical, Def 3.4 as in the errata].

    Class (h, t) has C(t-h-2, k-1-h) subsets. The subsets of the best T items that hold the
    best a are C(T-a, k-a) (hockey stick), so a rectangle's count is a difference of four
    binomials. The loss (1-gamma) x[h+1] - gamma x[t] grows as h falls and t grows, so the
    best class of a rectangle is its corner (h1, t0).

    A rectangle whose tails are not listed is bounded by the highest score that these can have,
    and is listed further only when it could still win.
    """

    def __init__(
        self,
        ranking: Ranking,
        k: int,
        gamma: Fraction,
        scale: Fraction,
        rounded_by: Fraction | None = None,
    ) -> None:
        """With `rounded_by` = s the loss is ceil((x[h+1] - x[t])/(2 s))."""
        self.d, self.k = ranking.size, k
        self._rounded_by = rounded_by
        self._head, self._tail = gamma.denominator - gamma.numerator, gamma.numerator
        self._scale = scale if rounded_by is not None else scale / gamma.denominator
        self._rough_scale = float(self._scale)
        self._ranking, self._count_at = ranking, ranking.count_at
        self._whole = ranking.listed == ranking.size
        self._reference = self._count_at(k - 1)

    def roots(self) -> list[CanonicalBlock]:
        """The top k by itself, and everything else."""
        top = (self.k - 1, self.k - 1, self.k, self.k)
        return [top] if self.k == self.d else [top, (0, self.k - 1, self.k + 1, self.d)]

    def _loss(self, h: int, t: int) -> int:
        """The loss of class (h, t) beyond that of the top k, in units of 1/denominator."""
        missing, last = self._count_at(h), self._count_at(t - 1)
        if t == self.k:
            missing = last  # the top k itself: its loss is the reference
        if self._rounded_by is not None:
            step = self._rounded_by
            return -((last - missing) * step.denominator // (2 * step.numerator))
        return self._head * (missing - self._reference) + self._tail * (self._reference - last)

    def is_class(self, block: CanonicalBlock) -> bool:
        """Whether all subsets of the block have one loss, as far as that is known."""
        h0, h1, t0, t1 = block
        known = self._whole or t1 <= self._ranking.listed or self._ranking.complete
        return known and self._loss(h0, t1) == self._loss(h1, t0)

    def split(self, block: CanonicalBlock) -> list[CanonicalBlock]:
        """What is listed and what is not; or halves where the loss varies most."""
        h0, h1, t0, t1 = block
        if not self._whole:
            ranking = self._ranking
            while t0 > ranking.listed and not ranking.complete:
                ranking.deepen()
            if t1 > ranking.listed >= t0:
                return [(h0, h1, t0, ranking.listed), (h0, h1, ranking.listed + 1, t1)]
            if self.is_class(block):  # it is one class now that more is listed
                return [block]
        across_h = self._loss(h0, t0) - self._loss(h1, t0)
        across_t = self._loss(h1, t1) - self._loss(h1, t0)
        by_head = h1 > h0 and (across_h >= across_t or t0 == t1)
        return self._halves(block, by_head)

    def _halves(self, block: CanonicalBlock, by_head: bool) -> list[CanonicalBlock]:
        h0, h1, t0, t1 = block
        if by_head:
            middle = (h0 + h1) // 2
            return [(h0, middle, t0, t1), (middle + 1, h1, t0, t1)]
        middle = (t0 + t1) // 2
        return [(h0, h1, t0, middle), (h0, h1, middle + 1, t1)]

    def score(self, block: CanonicalBlock) -> Fraction:
        """Minus the least loss of the block, scaled."""
        return -self._scale * self._loss(block[1], block[2])

    def rough_score(self, block: CanonicalBlock) -> float:
        """A score to a relative 2^-51: three roundings."""
        return -self._rough_scale * self._loss(block[1], block[2])

    def log_count(self, block: CanonicalBlock) -> tuple[float, float]:
        """Bounds on the logarithm of the number of subsets."""
        h0, h1, t0, t1 = block
        k = self.k
        if t0 == k:
            return 0.0, 0.0
        if h0 == h1 and t0 == t1:
            return log_binomial(t0 - h0 - 2, k - 1 - h0)
        if h0 == h1:
            return log_difference(
                log_binomial(t1 - h0 - 1, k - h0), log_binomial(t0 - h0 - 2, k - h0)
            )
        if t0 == t1:
            return log_difference(
                log_binomial(t0 - 1 - h0, k - 1 - h0), log_binomial(t0 - h1 - 2, k - h1 - 2)
            )
        with_head = log_difference(log_binomial(t1 - h0, k - h0), log_binomial(t0 - 1 - h0, k - h0))
        beyond = log_difference(
            log_binomial(t1 - h1 - 1, k - h1 - 1), log_binomial(t0 - h1 - 2, k - h1 - 1)
        )
        return log_difference(with_head, beyond)

    def count(self, block: CanonicalBlock) -> int:
        """The number of subsets."""
        h0, h1, t0, t1 = block
        if t0 == self.k:
            return 1
        return self._within(h0, h1, t1) - self._within(h0, h1, t0 - 1)

    def _within(self, h0: int, h1: int, t: int) -> int:
        """Subsets with head from h0 to h1 and tail at most t."""
        k = self.k
        return comb(t - h0, k - h0) - comb(t - h1 - 1, k - h1 - 1)

    def _one_of(self, halves: list[CanonicalBlock], stream: BitStream) -> CanonicalBlock:
        """A half with probability ~ its number of subsets."""
        bounds = np.array([self.log_count(half) for half in halves])
        error = float((bounds[:, 1] - bounds[:, 0])[bounds[:, 1] > -np.inf].max())
        place = weighted_place(
            stream, bounds.mean(axis=1), error, lambda: [self.count(half) for half in halves]
        )
        return halves[place]

    def sample(self, block: CanonicalBlock, stream: BitStream) -> list[int]:
        """The ranks of a subset, uniform in a block of equal loss, ascending."""
        whole = block[:2] == (0, self.k - 1) and block[2] > self.k
        while block[2] < block[3] or (block[0] < block[1] and not whole):
            halves = self._halves(block, block[2] == block[3])
            block = self._one_of(halves, stream)
        h, _, t, _ = block
        if t == self.k:
            return list(range(self.k))
        if whole:  # any subset with this tail
            return [*_uniform_subset(stream, t - 1, self.k - 1), t - 1]
        body = _uniform_subset(stream, t - h - 2, self.k - 1 - h)
        return [*range(h), *(h + 1 + place for place in body), t - 1]


def _uniform_subset(stream: BitStream, size: int, members: int) -> list[int]:
    """A uniform subset of 0 .. size - 1, ascending [Floyd's algorithm]."""
    chosen: set[int] = set()
    lasts = range(size - members, size)
    for last, pick in zip(lasts, stream.below_each(np.array(lasts) + 1).tolist(), strict=True):
        chosen.add(last if pick in chosen else pick)
    return sorted(chosen)
