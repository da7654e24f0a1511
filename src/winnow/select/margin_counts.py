"""Where the search of the large margin mechanism stops, without sorting the scores.

Rank l stops the search when s(1) - s(l+1) exceeds a bar that the noise decides and no score:
T(l) minus the noises. In other words: when at most l scores lie within the bar of the best.
So the bars come first, from the tape alone, and the scores are counted (``GapCounts``): one
pass for all bars at once leaves a rank or two that may stop the search, and a further pass
for each of those decides. What this takes depends on the number of scores; how they are
spread, and which are equal, changes it by little.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.core.noisy_top.draw import Scores
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.select.gap_counts import GapCounts
from winnow.select.margin_search import Floats

Integers = NDArray[np.int64]
Thresholds = Callable[[Integers], Floats]

_PARTS = 64
"""T is bounded over runs of 1/64 of a rank, and a bin is 1/64 of the noise wide: both add
about 1/64 to the one rank that has to be looked at."""
_MOST_BINS = 1 << 14
_LARGEST_NOISE = 23.0
"""Laplace noise of scale 1 lies within, unless its first word is 0 or all ones."""


@dataclass
class MarginCounts:
    """The search over all ranks of explicit scores; T is given by `thresholds`."""

    scores: Scores
    sensitivity: Fraction
    tests: LaplaceTests
    thresholds: Thresholds
    _shared: float = field(init=False)
    _counts: GapCounts = field(init=False)

    def __post_init__(self) -> None:
        shared, error = self.tests._shared(self.tests.tape.child("common"))
        self._shared = shared + error  # only bounds from below are made of it
        ends = self.thresholds(np.array([1, len(self.scores) - 1]))
        reach = _LARGEST_NOISE * float(self.tests.scale)
        unit = float(self.sensitivity)
        low = max(0.0, (float(ends.min()) - shared - reach) * unit)
        high = max(0.0, (float(ends.max()) - shared + reach) * unit) + unit
        noise = float(self.tests.scale) * unit
        bins = min(_MOST_BINS, math.ceil(_PARTS * (high - low) / noise))
        self._counts = GapCounts(self.scores, low, high, bins)

    def stopping_rank(self) -> int:
        """The rank at which the search stops; the last one if no test passes."""
        limits = self._limits()
        found: int | None = None
        first = 1
        for words in self.tests.tape.child("own").chunks(0, len(self.scores) - 1):
            hits = words <= limits[first - 1 : first - 1 + len(words)]
            near = np.flatnonzero(hits) if found is None else hits[:0]
            if len(near):
                found = self._first(first + near, words[near])
            first += len(words)  # all words are read: where the search ends takes no less time
        if found is None:
            self._passes(len(self.scores) - 1)  # for nothing: it takes as long as finding one
            return len(self.scores)
        return found

    def best(self, size: int) -> NDArray[np.bool_]:
        """Which candidates are the `size` best, ties by position."""
        if size == 1:
            chosen = np.zeros(len(self.scores), bool)
            chosen[int(self.scores.argmax())] = True
            return chosen
        edge = self._counts.at_rank(size - 1)
        chosen = self.scores > edge
        level = np.flatnonzero(self.scores == edge)
        chosen[level[: size - int(np.count_nonzero(chosen))]] = True
        return chosen

    def _limits(self) -> NDArray[np.uint32]:
        """For each rank the largest first word with which its test may pass."""
        starts, sizes = _runs(len(self.scores) - 1)
        least = self.thresholds(starts) * (1.0 - 2.0**-30) - self._shared
        enough = self._counts.enough(starts + sizes - 1) / float(self.sensitivity)
        with np.errstate(over="ignore", invalid="ignore"):
            needed = (least - enough) / float(self.tests.scale)
            slack = 2.0**-40 * (np.abs(least) + np.abs(enough)) / float(self.tests.scale) + 2.0**-30
            needed = np.where(np.isinf(enough), -np.inf, needed - slack)
            tail = np.where(
                needed >= 0.0,
                0.5 * np.exp(-np.abs(needed)),
                1.0 - 0.5 * np.exp(-np.abs(needed)),
            )
        words = np.minimum(np.floor(tail * 2.0**32 * (1.0 + 2.0**-30)) + 1.0, 2.0**32 - 1.0)
        return np.repeat(words.astype(np.uint32), sizes)

    def _first(self, ranks: Integers, words: NDArray[np.uint32]) -> int | None:
        """The first of some ranks whose test passes."""
        size = 64
        while len(ranks):
            for rank in ranks[:size][self._open(ranks[:size], words[:size])]:
                if self._passes(int(rank)):
                    return int(rank)
            ranks, words, size = ranks[size:], words[size:], 4 * size
        return None

    def _open(self, ranks: Integers, words: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """The ranks that do not fail for sure, by the first words of their noises."""
        least = words * 2.0**-32
        with np.errstate(divide="ignore"):
            most = np.where(least < 0.5, -np.log(2.0 * least), np.log(2.0 * (1.0 - least)))
        own = float(self.tests.scale) * (most + 2.0**-30)
        needed = self.thresholds(ranks)
        bars = needed - self._shared - own
        bars -= 2.0**-40 * (needed + abs(self._shared) + np.where(np.isinf(own), 0.0, np.abs(own)))
        return np.asarray(self._counts.at_least(bars * float(self.sensitivity)) <= ranks)

    def _passes(self, rank: int) -> bool:
        """Whether at most `rank` scores lie within the bar of the best."""
        threshold = float(self.thresholds(np.array([rank]))[0])
        bars, errors = self.tests.bars(np.array([rank - 1]))
        bar, error = Fraction(threshold) + Fraction(float(bars[0])), float(errors[0])
        if math.isfinite(error):
            if self._counts.within((bar + Fraction(error)) * self.sensitivity) <= rank:
                return True
            if self._counts.within((bar - Fraction(error)) * self.sensitivity) > rank:
                return False
        top, other = (Fraction(self._counts.at_rank(place).item()) for place in (0, rank))
        offset = (top - other) / self.sensitivity - Fraction(threshold)
        value = np.array([float(offset)])
        error_of_it = 2.0**-50 * np.abs(value)
        return bool(self.tests.outcomes(rank - 1, value, error_of_it, lambda _: offset)[0])


@lru_cache(maxsize=8)
def _runs(ranks: int) -> tuple[Integers, Integers]:
    """The first ranks and lengths of runs that cover 1 .. ranks, public."""
    starts = [1]
    while starts[-1] + max(1, starts[-1] // _PARTS) <= ranks:
        starts.append(starts[-1] + max(1, starts[-1] // _PARTS))
    return np.array(starts), np.diff([*starts, ranks + 1])
