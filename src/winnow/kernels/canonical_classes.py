"""The k-subsets of Canonical in classes (h, t), in rectangles of classes."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from winnow.kernels.log_binomial import log_binomial, log_difference
from winnow.random.tape import BitStream

Block = tuple[int, int, int, int]
"""h from h0 to h1 and t from t0 to t1: a subset holds the best h items and misses the next,
and its last item has rank t."""


class CanonicalClasses:
    """All k-subsets of d ranked items by head h and tail t [Canonical, Def 3.4 as in the errata].

    Class (h, t) has C(t-h-2, k-1-h) subsets. The subsets of the best T items that hold the
    best a are C(T-a, k-a) (hockey stick), so a rectangle's count is a difference of four
    binomials. The loss (1-gamma) x[h+1] - gamma x[t] grows as h falls and t grows, so the
    best class of a rectangle is its corner (h1, t0).
    """

    def __init__(
        self,
        scores: NDArray[np.int64],
        k: int,
        gamma: Fraction,
        scale: Fraction,
        rounded_by: Fraction | None = None,
    ) -> None:
        """`scores` descend. With `rounded_by` = s the loss is ceil((x[h+1] - x[t])/(2 s))."""
        self.d, self.k = len(scores), k
        self._rounded_by = rounded_by
        self._head, self._tail = gamma.denominator - gamma.numerator, gamma.numerator
        self._scale = scale if rounded_by is not None else scale / gamma.denominator
        self._rough_scale = float(self._scale)
        self._scores = scores
        self._reference = int(scores[k - 1])

    def roots(self) -> list[Block]:
        """The top k by itself, and everything else."""
        top = (self.k - 1, self.k - 1, self.k, self.k)
        return [top] if self.k == self.d else [top, (0, self.k - 1, self.k + 1, self.d)]

    def _loss(self, h: int, t: int) -> int:
        """The loss of class (h, t) beyond that of the top k, in units of 1/denominator."""
        missing, last = int(self._scores[h]), int(self._scores[t - 1])
        if t == self.k:
            missing = last  # the top k itself: its loss is the reference
        if self._rounded_by is not None:
            step = self._rounded_by
            return -((last - missing) * step.denominator // (2 * step.numerator))
        return self._head * (missing - self._reference) + self._tail * (self._reference - last)

    def is_class(self, block: Block) -> bool:
        """Whether all subsets of the block have one loss."""
        h0, h1, t0, t1 = block
        return self._loss(h0, t1) == self._loss(h1, t0)

    def split(self, block: Block) -> list[Block]:
        """Halves in the direction in which the loss varies most."""
        h0, h1, t0, t1 = block
        across_h = self._loss(h0, t0) - self._loss(h1, t0)
        across_t = self._loss(h1, t1) - self._loss(h1, t0)
        by_head = h1 > h0 and (across_h >= across_t or t0 == t1)
        return self._halves(block, by_head)

    def _halves(self, block: Block, by_head: bool) -> list[Block]:
        h0, h1, t0, t1 = block
        if by_head:
            middle = (h0 + h1) // 2
            return [(h0, middle, t0, t1), (middle + 1, h1, t0, t1)]
        middle = (t0 + t1) // 2
        return [(h0, h1, t0, middle), (h0, h1, middle + 1, t1)]

    def score(self, block: Block) -> Fraction:
        """Minus the least loss of the block, scaled."""
        return -self._scale * self._loss(block[1], block[2])

    def rough_score(self, block: Block) -> float:
        """The same to a relative 2^-51: three roundings."""
        return -self._rough_scale * self._loss(block[1], block[2])

    def log_count(self, block: Block) -> tuple[float, float]:
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

    def count(self, block: Block) -> int:
        """The number of subsets."""
        h0, h1, t0, t1 = block
        if t0 == self.k:
            return 1
        return self._within(h0, h1, t1) - self._within(h0, h1, t0 - 1)

    def _within(self, h0: int, h1: int, t: int) -> int:
        """Subsets with head from h0 to h1 and tail at most t."""
        k = self.k
        return comb(t - h0, k - h0) - comb(t - h1 - 1, k - h1 - 1)

    def sample(self, block: Block, stream: BitStream) -> list[int]:
        """The ranks of a subset, uniform in a block of equal loss, ascending."""
        whole = block[:2] == (0, self.k - 1) and block[2] > self.k
        while block[2] < block[3] or (block[0] < block[1] and not whole):
            halves = self._halves(block, block[2] == block[3])
            first = self.count(halves[0])
            pick = stream.below(first + self.count(halves[1]))
            block = halves[0] if pick < first else halves[1]
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
    for last in range(size - members, size):
        pick = stream.below(last + 1)
        chosen.add(last if pick in chosen else pick)
    return sorted(chosen)
