"""Integers by rank, largest first, sorted from the top and only as far as it is asked for.

Lists and sets of the best k mostly look at the largest few thousand of very many counts, and
sorting all of them would take longer than everything else. So only the values above a cut
are sorted; the rest is sorted when a question goes below it. The cut is guessed from a
sample at fixed distances: a bad guess costs time and changes no answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_SMALL = 1 << 13
"""So many values are sorted at once."""

_TOP = 1 << 12
"""About so many values lie above the cut (more where k is large)."""

_FEW = 8
"""So many different values are looked for one by one, and so many thresholds counted."""


class Ranking:
    """The ranks 0, 1, ... of integers in descending order, equal ones by position."""

    def __init__(self, values: Integers, k: int = 1) -> None:
        """At least the k largest are wanted. The range of the values fits 64 bits."""
        self.values = values
        self.size = len(values)
        self.lowest = int(values.min())
        self._counted = 0
        self._candidates: Integers | None = self._above_cut(k)
        """The positions of the largest values, ascending; None: of all."""
        self._top = self._sorted()
        """The largest values, ascending, counted from the lowest one."""

    def _above_cut(self, k: int) -> Integers | None:
        wanted = max(_TOP, 8 * k)
        if self.size > max(_SMALL, 8 * wanted):
            sample = self.values[:: self.size // 1024]
            place = len(sample) - 1 - wanted * len(sample) // self.size
            cut = np.partition(sample, place)[place]
            above = np.flatnonzero(self.values >= cut)
            if k <= len(above) <= self.size // 2:
                return above
        return None

    def _sorted(self) -> Integers:
        part = self.values if self._candidates is None else self.values[self._candidates]
        top = part - self.lowest
        top.sort()
        return top

    def ascending(self) -> Integers:
        """All values counted from the lowest one, in ascending order."""
        if self._candidates is not None:
            self._candidates = None
            self._top = self._sorted()
        return self._top

    def leaders(self, k: int) -> Integers:
        """The k largest, largest first, counted from the lowest one."""
        return self._top[: -k - 1 : -1] if k <= len(self._top) else self.ascending()[: -k - 1 : -1]

    def at_least(self, thresholds: Integers) -> Integers:
        """How many values reach each of some thresholds, which descend, from the lowest one."""
        top = self._top
        if len(top) == self.size or thresholds[-1] >= top[0]:
            counted: Integers = len(top) - top.searchsorted(thresholds)
            return counted
        between = (thresholds > 0) & (thresholds < top[0])
        unknown, which = np.unique(thresholds[between], return_inverse=True)
        self._counted += len(unknown)
        if self._counted > _FEW:  # sorting pays
            self.ascending()
            return self.at_least(thresholds)
        counted = np.where(thresholds > 0, len(top) - top.searchsorted(thresholds), self.size)
        reached = [np.count_nonzero(self.values >= t) for t in unknown + self.lowest]
        counted[between] = np.array(reached, np.int64)[which]
        return counted

    def positions(self, ranks: list[int]) -> list[int]:
        """Where the values of these ranks stand."""
        places = np.array(ranks)
        top = self._top if int(places.max()) < len(self._top) else self.ascending()
        found = top[len(top) - 1 - places]
        lowest = int(found.min())
        reached = len(top) - int(top.searchsorted(lowest))
        if reached <= max(_TOP, 8 * len(ranks)):
            above = self._candidates
            if above is None:
                above = np.flatnonzero(self.values >= lowest + self.lowest)
            else:
                above = above[self.values[above] >= lowest + self.lowest]
            # backwards twice, so that the stable order lists equal values by position
            backwards = above[::-1]
            order = backwards[np.argsort(self.values[backwards], kind="stable")]
            return [int(p) for p in order[len(order) - 1 - places]]
        return self._by_value(top, places, found)

    def _by_value(self, top: Integers, places: Integers, found: Integers) -> list[int]:
        """Each rank among the positions of its own value."""
        different = np.unique(found)
        if len(different) > _FEW:
            order = np.argsort(self.values)  # equal values in any order
        result = [0] * len(places)
        for value in different:
            low, high = top.searchsorted(value), top.searchsorted(value, side="right")
            if len(different) > _FEW:
                low, high = (edge + self.size - len(top) for edge in (low, high))
                equal = np.sort(order[low:high])
            else:
                equal = np.flatnonzero(self.values == value + self.lowest)
            first = len(top) - int(top.searchsorted(value, side="right"))
            for place in np.flatnonzero(found == value):
                result[place] = int(equal[places[place] - first])
        return result
