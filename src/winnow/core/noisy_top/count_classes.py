"""Counts by their classes: how many candidates have each count, and nothing of who they are.

An engine that holds very many counts tells these numbers and, at the end, the names of a few
places. Everything is drawn from them, exactly: candidates with one count are alike, so a draw
names a class and a uniform place in it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.ranking import Ranking
from winnow.core.noisy_top.rounds import InBlocks, ScoreBlock, levels, peeled, reach_of
from winnow.core.noisy_top.universe import ByRank, Found, InClasses
from winnow.core.tape import BitStream, Tape
from winnow.core.utility import Utility

Integers = NDArray[np.int64]
Place = tuple[int, int]
"""A count, and a place among the candidates that have it."""


class ListedClasses(InClasses):
    """Classes that are all known; a member is a count and a place. Private."""

    floor = 1

    def __init__(self, sizes: Mapping[int, int]) -> None:
        """``sizes`` has the number of candidates for each count, from 0."""
        self.counts = np.array(sorted(sizes, reverse=True), np.int64)
        """Decreasing; 0 is among them where candidates of that count exist."""
        self._listed: list[int] = self.counts.tolist()
        self.sizes = [sizes[count] for count in self._listed]
        self.ends = list(accumulate(self.sizes))
        self.total = self.size
        self._seen = self.counts[: len(self.counts) - (0 in sizes)]

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.ends[-1] if self.ends else 0

    def top(self, reach: int = 0) -> int:
        """The largest count."""
        return int(self.counts[0]) if len(self.counts) else 0

    def lower(self, floor: int, most: int | None = None) -> None:
        """Everything is listed."""

    def classes(self) -> tuple[Integers, list[int]]:
        """Positive counts, decreasing, and their classes' sizes."""
        return self._seen, self.sizes[: len(self._seen)]

    def member(self, count: int, index: int) -> Place:
        """A place of this count."""
        return count, index


class CountClasses(ListedClasses):
    """Of these every candidate has a place, also those of count 0, and so has every rank."""

    def unseen(self, stream: BitStream) -> Any:
        """A uniform place of count 0."""
        return 0, stream.below(self.sizes[-1])

    def count_at(self, rank: int) -> int:
        """The count at a rank from 0."""
        return self._listed[bisect_right(self.ends, rank)]

    def places(self, ranks: list[int]) -> list[Place]:
        """The places of ranks: equal counts are ranked by their place."""
        drawn = []
        for rank in ranks:
            which = bisect_right(self.ends, rank)
            before = self.ends[which - 1] if which else 0
            drawn.append((int(self.counts[which]), rank - before))
        return drawn

    def scores_at(self, ranks: Sequence[int]) -> Integers:
        """Every rank is listed."""
        return np.array([self.count_at(rank) for rank in ranks], np.int64)

    def by_rank(self, utility: Utility, k: int, *, whole: bool = False) -> ByRank:
        """Counts are whole steps as they are, and a rank has a place."""

        def named(ranks: list[int], stream: BitStream) -> list[Found]:
            return self._found(ranks)

        return ByRank(ClassRanking(self), utility, 1, named)

    def peeled(self, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """In blocks of similar counts."""
        return self._found(peeled(self.in_blocks(scale, k), tape, scale))

    def _found(self, ranks: list[int]) -> list[Found]:
        return [(place[0], place) for place in self.places(ranks)]

    def front(self, most: int) -> Integers:
        """Those of the largest that somebody has."""
        leaders = self.leaders(most)
        return leaders[leaders > 0]

    def leaders(self, most: int) -> Integers:
        """The largest counts, at most so many of them, largest first."""
        capped = np.minimum(np.array(self.sizes, np.int64), most)
        return np.repeat(self.counts, capped)[:most]

    def in_blocks(self, scale: Fraction, k: int) -> InBlocks:
        """The candidates by rank, in blocks of similar counts, for rounds of permute-and-flip."""
        ranks = list(range(k))
        best = [self.count_at(rank) for rank in ranks]
        above = int(np.count_nonzero(self.counts > best[-1]))
        reach = math.ceil(reach_of(self.size, k))
        level = levels(best[0], self.counts, scale)
        level[above:] = np.minimum(levels(best[-1], self.counts[above:], scale), reach)
        first = np.append(True, level[1:] != level[:-1])
        first[above] = True
        firsts = np.flatnonzero(first).tolist()
        blocks = []
        for which, end in zip(firsts, [*firsts[1:], len(level)], strict=True):
            before = self.ends[which - 1] if which else 0
            members = _Ranks(self, before)
            blocks.append(ScoreBlock(members, self.ends[end - 1] - before, int(self.counts[which])))
        return InBlocks(blocks, self.counts.dtype, ranks, best)


class _Ranks:
    """Consecutive ranks; only places that were exchanged are kept."""

    def __init__(self, classes: CountClasses, first: int) -> None:
        self._classes, self._first = classes, first
        self._moved: dict[int, int] = {}

    def item(self, place: int) -> int:
        """The rank that stands at a place."""
        return self._first + self._moved.get(place, place)

    def score(self, place: int) -> int:
        """The count at that rank."""
        return self._classes.count_at(self.item(place))

    def swap(self, one: int, other: int) -> None:
        """Exchange two places."""
        moved = self._moved
        moved[one], moved[other] = moved.get(other, other), moved.get(one, one)


class ClassRanking(Ranking):
    """The ranks of all candidates, from their classes alone."""

    def __init__(self, classes: CountClasses) -> None:
        self._classes = classes
        self.size = classes.size
        self.lowest = int(classes.counts[-1])

    @property
    def count_at(self) -> Callable[[int], int]:
        """The count at a rank from 0."""
        return self._classes.count_at

    @cached_property
    def _steps(self) -> tuple[Integers, Integers]:
        """The values, ascending, and how many candidates have each or more, and none."""
        reaching = np.array([*self._classes.ends[::-1], 0], np.int64)
        return self._classes.counts[::-1] - self.lowest, reaching

    def leaders(self, k: int) -> Integers:
        """The k largest, largest first, counted from the lowest one."""
        return self._classes.leaders(k) - self.lowest

    def at_least(self, thresholds: Integers) -> Integers:
        """How many reach each of some thresholds, counted from the lowest one."""
        values, reaching = self._steps
        return reaching[np.searchsorted(values, thresholds)]
