"""Integers by rank, largest first, sorted from the top and only as far as it is asked for.

Lists and sets of the best k mostly look at the largest few thousand of very many counts, and
sorting all of them would take longer than everything else. So only the values above a cut
are sorted, and those that are equal to it are counted, be it one or all; the rest is sorted
when a question goes below it. The cut is guessed from a sample at fixed distances: a bad
guess costs time and changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.threads import each, ranges

Integers = NDArray[np.int64]

_SMALL = 1 << 13
"""So many values are sorted at once."""

_TOP = 1 << 12
"""About so many values lie above the cut (more where k is large)."""

_CHUNK = 1 << 14

FEW_VALUES = Border(
    8,
    "values looked for",
    decides="how many different scores the drawn ranks have, and below which a draw asks",
    ways="each is looked for in a pass; all scores are sorted",
    same="value",
    because="both give the positions of the same ranks, equal scores by position",
)
"""So many different values are looked for one by one, and so many thresholds counted."""

MANY_EQUAL = Border(
    1 << 12,
    "equal scores sorted",
    decides="how many scores are as large as the smallest that was drawn",
    ways="they are sorted with their positions; each drawn score is looked for by itself",
    same="value",
    because="both give the positions of the same ranks, equal scores by position",
)
"""So many scores are sorted faster than each drawn one is looked for."""


class Ranking:
    """The ranks 0, 1, ... of integers in descending order, equal ones by position."""

    def __init__(self, values: Integers, k: int = 1) -> None:
        """At least the k largest are wanted. The range of the values fits 64 bits."""
        self.values = values
        self.size = len(values)
        self.lowest = min(each(lambda part: int(values[slice(*part)].min()), ranges(self.size)))
        self._counted = 0
        self._level = 0
        """The cut, from the lowest value."""
        self._reached = self.size
        """How many values are not below it."""
        self._candidates: Integers | None = self._above_cut(k)
        """The positions of the values above the cut, ascending; None: of all."""
        self._top = self._sorted()
        """Those values, ascending, counted from the lowest one."""

    def _above_cut(self, k: int) -> Integers | None:
        wanted = max(_TOP, 8 * k)
        if self.size > max(_SMALL, 8 * wanted):
            sample = self.values[:: self.size // 1024]
            place = len(sample) - 1 - wanted * len(sample) // self.size
            cut = np.partition(sample, place)[place]
            reached, above = self._cut_at(int(cut))
            if k <= reached and len(above) <= self.size // 2:
                self._level, self._reached = int(cut) - self.lowest, reached
                return above
        return None

    def _cut_at(self, cut: int) -> tuple[int, Integers]:
        """How many values are not below a cut, and the positions of those above it."""

        def looked(part: tuple[int, int]) -> tuple[int, Integers]:
            values = self.values[slice(*part)]
            return int(np.count_nonzero(values >= cut)), part[0] + np.flatnonzero(values > cut)

        found = each(looked, ranges(self.size))
        return sum(reached for reached, _ in found), np.concatenate([above for _, above in found])

    def _sorted(self) -> Integers:
        part = self.values if self._candidates is None else self.values[self._candidates]
        top = part - self.lowest
        top.sort()
        return top

    def ascending(self) -> Integers:
        """All values counted from the lowest one, in ascending order."""
        if self._candidates is not None:
            self._candidates, self._reached = None, self.size
            self._top = self._sorted()
        return self._top

    @property
    def listed(self) -> int:
        """How many values are known by their rank."""
        return self.size

    @property
    def complete(self) -> bool:
        """Whether all that is not listed is known to be 0."""
        return True

    def deepen(self) -> None:
        """Everything is listed."""

    @property
    def count_at(self) -> Callable[[int], int]:
        """The value at a rank from 0, up to a constant that is the same for all ranks."""
        return self.ascending()[::-1].item

    def leaders(self, k: int) -> Integers:
        """The k largest, largest first, counted from the lowest one."""
        return self._at(np.arange(k))

    def _at(self, ranks: Integers) -> Integers:
        """The values at some ranks, counted from the lowest one."""
        if len(ranks) and int(ranks.max()) >= self._reached:
            self.ascending()
        top = self._top
        values = np.full(len(ranks), self._level, np.int64)
        inside = ranks < len(top)
        values[inside] = top[len(top) - 1 - ranks[inside]]
        return values

    def at_least(self, thresholds: Integers) -> Integers:
        """How many values reach each of some thresholds, which descend, from the lowest one."""
        top = self._top
        counted: Integers = len(top) - top.searchsorted(thresholds)
        if len(top) == self.size or thresholds[-1] > self._level:
            return counted
        counted = np.where(thresholds > self._level, counted, self.size)
        counted[thresholds == self._level] = self._reached
        between = (thresholds > 0) & (thresholds < self._level)
        unknown, which = np.unique(thresholds[between], return_inverse=True)
        self._counted += len(unknown)
        if self._counted > FEW_VALUES.at:  # sorting pays
            self.ascending()
            return self.at_least(thresholds)
        reached = [np.count_nonzero(self.values >= t) for t in unknown + self.lowest]
        counted[between] = np.array(reached, np.int64)[which]
        return counted

    def positions(self, ranks: list[int]) -> list[int]:
        """Where the values of these ranks stand."""
        places = np.array(ranks)
        values = self._at(places)
        top = self._top
        result = np.empty(len(places), np.int64)
        inside = places < len(top)
        if inside.any():
            result[inside] = self._in_top(places[inside], values[inside])
        if not inside.all():
            result[~inside] = self._equal(self._level, places[~inside] - len(top))
        listed: list[int] = result.tolist()
        return listed

    def _in_top(self, places: Integers, positions: Integers) -> Integers:
        """The positions of ranks among the sorted values."""
        top = self._top
        lowest = int(positions.min())
        reached = len(top) - int(top.searchsorted(lowest))
        if reached > max(MANY_EQUAL.at, 8 * len(places)):
            return self._by_value(places, positions)
        above = self._candidates
        if above is None:
            above = np.flatnonzero(self.values >= lowest + self.lowest)
        else:
            above = above[self.values[above] >= lowest + self.lowest]
        # backwards twice, so that the stable order lists equal values by position
        backwards = above[::-1]
        order = backwards[np.argsort(self.values[backwards], kind="stable")]
        return np.asarray(order[len(order) - 1 - places])

    def _by_value(self, places: Integers, positions: Integers) -> Integers:
        """Each rank among the positions of its own value."""
        top = self._top
        different, which = np.unique(positions, return_inverse=True)
        lows, highs = top.searchsorted(different), top.searchsorted(different, side="right")
        indices = places - (len(top) - highs[which])
        result = np.empty(len(places), np.int64)
        looked_for = np.arange(len(different))
        many = len(different) > FEW_VALUES.at
        if many:
            order = np.argsort(self.values)[self.size - len(top) :]  # equal values in any order
            result = order[lows[which]]
            looked_for = np.flatnonzero(highs - lows > 1)  # others stand alone
        by_value = np.argsort(which, kind="stable")
        ends = np.cumsum(np.bincount(which))
        for value in looked_for.tolist():
            wanted = by_value[ends[value - 1] if value else 0 : ends[value]]
            if many:
                result[wanted] = np.sort(order[lows[value] : highs[value]])[indices[wanted]]
            else:
                result[wanted] = self._equal(int(different[value]), indices[wanted])
        return result

    def _equal(self, value: int, indices: Integers) -> Integers:
        """The positions of a value, counted in their order, at some indices.

        Chunks are counted and only those that hold an index are listed: as fast whether all
        values are equal or one.
        """
        equal = self.values == value + self.lowest
        starts = range(0, self.size, _CHUNK)
        ends = np.cumsum([np.count_nonzero(equal[start : start + _CHUNK]) for start in starts])
        chunks = np.searchsorted(ends, indices, side="right")
        result = np.empty(len(indices), np.int64)
        for chunk in np.unique(chunks):
            start = int(chunk) * _CHUNK
            listed = start + np.flatnonzero(equal[start : start + _CHUNK])
            before = int(ends[chunk]) - len(listed)
            here = chunks == chunk
            result[here] = listed[indices[here] - before]
        return result
