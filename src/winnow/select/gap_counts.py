"""How many scores lie within some distance of the best one, for many distances, in one pass.

Every score is put into one of a public number of bins by its gap to the best. The bin grows
with the gap (each float64 operation below is monotone), so the scores in lower bins than a
distance has are certain to lie within it. That bounds the counts from below without sorting:
the work is one pass, whether all scores are equal or none.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.draw import Scores, gaps_to, pays_to_compile

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_CHUNK = 1 << 14


class GapCounts:
    """The bins 0 (below `low`), 1 .. bins (up to `high`) and bins + 1 of all gaps."""

    def __init__(self, scores: Scores, low: float, high: float, bins: int) -> None:
        self.scores, self.bins = scores, bins
        self.top = scores.max()
        self.factor = bins / (high - low)
        self.shift = 1.0 - low * self.factor
        self.before = np.concatenate([[0], np.cumsum(self._histogram())])
        """before[b]: how many gaps lie in lower bins than b."""

    def _histogram(self) -> Integers:
        counts = np.zeros(self.bins + 2, np.int64)
        if pays_to_compile(self.scores):
            from winnow.select.kernels.gap_bins import count_bins

            count_bins(self.scores, self.top, self.factor, self.shift, counts)
            return counts
        for start in range(0, len(self.scores), _CHUNK):
            part = self.bins_of(gaps_to(self.top, self.scores[start : start + _CHUNK]))
            counts += np.bincount(part, minlength=len(counts))
        return counts

    def bins_of(self, gaps: Floats) -> Integers:
        """The bin of each distance, which may be negative."""
        places = np.clip(gaps * self.factor + self.shift, 0.0, self.bins + 1.0)
        return places.astype(np.int64)

    def at_least(self, distances: Floats) -> Integers:
        """A lower bound on how many scores lie closer than each distance."""
        return self.before[self.bins_of(distances)]

    def enough(self, wanted: Integers) -> Floats:
        """Distances within which more scores than wanted are certain to lie; infinite: unknown."""
        first = np.searchsorted(self.before[: self.bins + 2], wanted, side="right")
        slack = 2.0**-48 * (first + abs(self.shift))
        edges = (first - self.shift + slack) / self.factor
        return np.where(first <= self.bins + 1, edges, np.inf)

    def within(self, distance: Fraction) -> int:
        """How many scores lie no further than this below the best, exactly."""
        return int(np.count_nonzero(self._no_further(distance)))

    def at_rank(self, rank: int) -> np.int64 | np.float64:
        """The score at a rank from 0: its bin, sorted."""
        place = int(np.searchsorted(self.before, rank, side="right")) - 1
        slack = 2.0**-48 * (place + 1 + abs(self.shift))
        inside, above = np.ones(len(self.scores), bool), 0
        if place > 0:  # no score of the bin is nearer than this
            nearer = self._no_further(Fraction((place - self.shift - slack) / self.factor))
            above = int(np.count_nonzero(nearer))
            np.logical_not(nearer, out=inside)
        if place <= self.bins:
            inside &= self._no_further(Fraction((place + 1 - self.shift + slack) / self.factor))
        found: np.int64 | np.float64 = np.sort(self.scores[inside])[above - rank - 1]
        return found

    def _no_further(self, distance: Fraction) -> NDArray[np.bool_]:
        """Which scores lie at most this far below the best, exactly."""
        least = Fraction(self.top.item()) - distance
        if self.scores.dtype != np.int64:
            return np.asarray(self.scores >= nearest_above(least))
        whole = math.ceil(least)
        if whole > 2**63 - 1:
            return np.zeros(len(self.scores), bool)
        return np.asarray(self.scores >= max(whole, -(2**63)))


def nearest_above(number: Fraction) -> float:
    """The least float64 that is not below a number."""
    try:
        found = float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.finfo(np.float64).max
    return found if Fraction(found) >= number else float(np.nextafter(found, np.inf))
