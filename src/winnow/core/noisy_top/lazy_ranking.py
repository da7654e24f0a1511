"""Counts by rank, listed from the top and only as deep as a question goes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.ranked import CountListing, ensure_listed
from winnow.core.noisy_top.ranking import Ranking

Integers = NDArray[np.int64]


class LazyRanking(Ranking):
    """The ranks of a universe of known size; those of a count stand in any order."""

    def __init__(self, universe: CountListing, k: int) -> None:
        """At least the k largest are wanted."""
        if universe.total is None:
            raise ValueError("an endless universe has no sorted counts")
        self._universe = universe
        self.size, self.lowest = universe.total, 0
        ensure_listed(universe, k)
        self._read()

    def _read(self) -> None:
        counts, sizes = self._universe.classes()
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
        return self._universe.floor == 1

    def deepen(self) -> None:
        """List further."""
        floor = self._universe.floor
        self._universe.lower(max(1, min(floor - 1, floor // 2)))
        self._read()

    @property
    def count_at(self) -> Callable[[int], int]:
        """The count at a rank from 0; beyond what is listed, the most that it can be."""
        return self._count_at

    def _count_at(self, rank: int) -> int:
        if rank >= self.listed:
            return 0 if self.complete else self._universe.floor - 1
        return int(self._counts[bisect_right(self._ends, rank)])

    def leaders(self, k: int) -> Integers:
        """The k largest, largest first."""
        return np.array([self._count_at(rank) for rank in range(k)], np.int64)

    def at_least(self, thresholds: Integers) -> Integers:
        """How many counts reach each of some thresholds."""
        asked = [t for t in thresholds.tolist() if t > 0]
        if asked and min(asked) < self._universe.floor:
            self._universe.lower(min(asked))
            self._read()
        reached = self._above[np.searchsorted(self._ascending, thresholds)]
        return np.where(thresholds > 0, reached, np.int64(self.size))
