"""A lazily listed universe as the sorted counts that Joint and Canonical ask for."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.kernels.canonical_classes import Block, CanonicalClasses
from winnow.kernels.ranked import Ranked, ensure_listed
from winnow.kernels.ranking import Ranking

Integers = NDArray[np.int64]


class LazyRanking(Ranking):
    """Counts by rank, listed from the top and only as deep as a question goes."""

    def __init__(self, ranked: Ranked, k: int) -> None:
        """At least the k largest are wanted, of a universe of known size."""
        if ranked.total is None:
            raise ValueError("an endless universe has no sorted counts")
        self._ranked = ranked
        self.size, self.lowest = ranked.total, 0
        ensure_listed(ranked, k)
        self._read()

    def _read(self) -> None:
        counts, sizes = self._ranked.classes()
        self._ascending = counts[::-1].copy()
        self._above = np.concatenate([np.cumsum(np.array(sizes, np.int64))[::-1], [0]])
        self._ends = np.cumsum(np.array(sizes, np.int64)).tolist()
        self._counts = counts.tolist()

    @property
    def listed(self) -> int:
        """How many candidates are listed; all that have a count once the floor is 1."""
        return self._ends[-1] if self._ends else 0

    @property
    def complete(self) -> bool:
        """Whether all that is not listed has count 0."""
        return self._ranked.floor == 1

    def deepen(self) -> None:
        """List further."""
        floor = self._ranked.floor
        self._ranked.lower(max(1, min(floor - 1, floor // 2)))
        self._read()

    def count_at(self, rank: int) -> int:
        """The count at a rank from 0; beyond what is listed, the most that it can be."""
        if rank >= self.listed:
            return 0 if self.complete else self._ranked.floor - 1
        return int(self._counts[bisect_right(self._ends, rank)])

    def leaders(self, k: int) -> Integers:
        """The k largest, largest first."""
        return np.array([self.count_at(rank) for rank in range(k)], np.int64)

    def at_least(self, thresholds: Integers) -> Integers:
        """How many counts reach each of some thresholds."""
        asked = [t for t in thresholds.tolist() if t > 0]
        if asked and min(asked) < self._ranked.floor:
            self._ranked.lower(min(asked))
            self._read()
        reached = self._above[np.searchsorted(self._ascending, thresholds)]
        return np.where(thresholds > 0, reached, np.int64(self.size))


class LazyCanonicalClasses(CanonicalClasses):
    """The k-subsets of a lazily listed universe.

    A block whose tails are not listed is bounded by the highest count that these can have,
    and is listed further only when it could still win.
    """

    def __init__(self, ranking: LazyRanking, k: int, gamma: Fraction, scale: Fraction) -> None:
        super().__init__(ranking.leaders(k), k, gamma, scale)
        self._ranking, self.d = ranking, ranking.size

    def _loss(self, h: int, t: int) -> int:
        missing, last = self._ranking.count_at(h), self._ranking.count_at(t - 1)
        if t == self.k:
            missing = last  # the top k itself: its loss is the reference
        return self._head * (missing - self._reference) + self._tail * (self._reference - last)

    def is_class(self, block: Block) -> bool:
        """Whether all subsets of the block have one loss, as far as that is known."""
        known = block[3] <= self._ranking.listed or self._ranking.complete
        return known and super().is_class(block)

    def split(self, block: Block) -> list[Block]:
        """What is listed and what is not, or halves of what is listed."""
        h0, h1, t0, t1 = block
        ranking = self._ranking
        while t0 > ranking.listed and not ranking.complete:
            ranking.deepen()
        if t1 > ranking.listed >= t0:
            return [(h0, h1, t0, ranking.listed), (h0, h1, ranking.listed + 1, t1)]
        if super().is_class(block):  # it is one class now that more is listed
            return [block]
        return super().split(block)
