"""Where the search of the large margin mechanism stops, without sorting the scores.

Rank l stops the search when s(1) - s(l+1) exceeds a bar that the noise decides and no score:
T(l) minus the noises. In other words: when at most l scores lie within the bar of the best.
So the bars come first, from the tape alone, and the scores are counted (``GapCounts``): one
pass for all bars at once leaves a rank or two that may stop the search, and a further pass
for each of those decides. What this takes depends on the number of scores; how they are
spread, and which are equal, changes it by little.

Every score is put into one of a public number of bins by its gap to the best. The bin grows
with the gap (each float64 operation below is monotone), so the scores in lower bins than a
distance has are certain to lie within it. That bounds the counts from below without sorting:
the work is one pass, whether all scores are equal or none.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.noisy_top.filter import Scores, gaps_to
from winnow.core.noisy_top.laplace_tests import LaplaceTests
from winnow.select.mechanisms.margin_search import Floats

Integers = NDArray[np.int64]

_CHUNK = 1 << 14
WIDE_GAPS = Border(
    2**63,
    "gaps of whole scores",
    decides="how far the largest score lies above the smallest",
    ways="gaps counted in bins by a compiled pass; by NumPy",
    same="value",
    because="bins only bound counts that are then taken exactly",
)
_COMPILE_FROM, _COMPILED_FROM = 1 << 18, 1 << 11
"""Below the first loading numba costs more than it saves; once it is loaded, it pays from the
second on."""


def _pays_to_compile(scores: Scores) -> bool:
    """Whether a compiled pass is faster, and may be used: its differences are int64."""
    loaded = "winnow.select.kernels.gap_bins" in sys.modules
    if len(scores) < (_COMPILED_FROM if loaded else _COMPILE_FROM):
        return False
    return scores.dtype != np.int64 or int(scores.max()) - int(scores.min()) < WIDE_GAPS.at


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
        if _pays_to_compile(self.scores):
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
        score: np.int64 | np.float64 = np.sort(self.scores[inside])[above - rank - 1]
        return score

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
        nearest = float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.finfo(np.float64).max
    return nearest if Fraction(nearest) >= number else float(np.nextafter(nearest, np.inf))


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
        rank: int | None = None
        first = 1
        for words in self.tests.tape.child("own").chunks(0, len(self.scores) - 1):
            hits = words <= limits[first - 1 : first - 1 + len(words)]
            near = np.flatnonzero(hits) if rank is None else hits[:0]
            if len(near):
                rank = self._first(first + near, words[near])
            first += len(words)  # all words are read: where the search ends takes no less time
        if rank is None:
            self._passes(len(self.scores) - 1)  # for nothing: it takes as long as finding one
            return len(self.scores)
        return rank

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
