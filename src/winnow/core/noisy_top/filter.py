"""Stage 0: which items may be among the k largest noisy scores, from 32 bits of noise each.

The noise of every law decreases in a uniform V, whose first 32 bits are a word, and is at most
-ln V + K. It is at least -ln V + K + ln(1 - V), and the largest of several at least
-ln V + K + 2 ln(1 - V) plus the logarithm of their number. So an item whose noisy score is large
has a small

    key = UNIT (scale x gap - ln count) + e(word),      gap: how far it lies below the best score,

where e(word) is the bit pattern of the word as a float32, read as an integer. It grows with the
word and is piecewise linear: e/2^23 - 127 is at most 0.0861 below log2(word) and never above it,
up to the rounding of the word, which is below one unit. No logarithm is called, and all of it is
one pass of a few array operations, so that the time is about the same whatever the scores are.

Bounds that hold are all that this needs: what it keeps in vain costs time and no exactness.
``ROUNDING`` (8 units, 6 x 10^-7) is far above the error of the noise that is computed for a few
items (``core.bounded``), and 2^-48 of the products above that of some roundings of float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import LN2
from winnow.core.borders import Border
from winnow.core.laws import Law
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.tape import CHUNK, Tape, Words
from winnow.core.threads import each, ranges

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]
_Kept = tuple[Integers, Words, Floats]
"""Places, their words and their keys."""

UNIT = 2.0**23 / LN2
ROUNDING = 8.0
_SLACK = ROUNDING / UNIT
_MITCHELL = 0.0861
_BELOW, _ABOVE = 1.0 - 2.0**-48, 1.0 + 2.0**-48
_ALL_ONES = 0xFFFFFFFF
FEW_LEFT = Border(
    16,
    "items left by a filter",
    decides="how many items may still have the largest noisy score",
    ways="bounds of each are computed once more; all are passed on",
    same="value",
    because="a filter drops no item that can win, whatever it keeps in vain: the winner is a "
    "function of the tape",
)
FEW_KEYS = Border(
    1 << 12,
    "keys partitioned",
    decides="how many items there are, where labels are private",
    ways="the k smallest keys by partition; by the minima of columns",
    same="value",
    because="any k items bound the k-th largest noisy score from below, and the winners are a "
    "function of the tape",
)
"""Of so many keys the k smallest are found by partition, of more by the minima of columns."""


def gaps_to(top: Any, scores: Scores) -> Floats:
    """How far each score lies below `top`, correctly rounded, whatever the range.

    The difference of two int64 may not fit an int64, but as an unsigned number it does.
    """
    if scores.dtype == np.int64:
        unsigned = np.subtract(np.uint64(int(top) % 2**64), scores.view(np.uint64))
        return unsigned.astype(np.float64)
    return np.asarray(top - scores, np.float64)


@dataclass(repr=False)
class Filter:
    """The items that may still win, as the chunks of a scan go by. Private."""

    scores: Scores
    law: Law
    scale: float
    k: int
    counts: LogCounts | None
    top: Any = None
    """The largest score of all, where these are a part of them."""
    best: float = -np.inf
    """A noisy score that k items are certain to reach."""
    _limit: float = np.inf
    """Items with larger keys are certain not to."""
    _lows: Floats | None = None
    _loose: int = 0
    """How many items came since the bound was raised."""

    def __post_init__(self) -> None:
        self._top = self.scores.max() if self.top is None else self.top
        self._unsigned_top = np.uint64(int(self._top) % 2**64)  # of integers
        size = min(len(self.scores), CHUNK)  # in buffers, because fresh memory takes time
        self._found, self._gaps = np.empty(size), np.empty(size, np.uint64)
        self._rounded = np.empty(size, np.float32)

    def keys(self, first: int, words: Words) -> Floats:
        """The keys of the items from `first` on, rounded down."""
        part = slice(first, first + len(words))
        factor = self.scale * _BELOW * UNIT
        size = len(words)
        keys, gaps, rounded = self._found[:size], self._gaps[:size], self._rounded[:size]
        if self.scores.dtype == np.int64:
            np.subtract(self._unsigned_top, self.scores[part].view(np.uint64), out=gaps)
            np.multiply(gaps, factor, out=keys)
        else:
            np.subtract(self._top, self.scores[part], out=keys)
            keys *= factor
        if self.counts is not None:
            keys -= (self.counts.approx[part] + self._margin(part)) * UNIT
        rounded[...] = words
        keys += rounded.view(np.int32)
        if not words.min():
            keys[words == 0] = -np.inf  # the noise has no bound yet
        return keys

    def _margin(self, part: slice | Integers) -> Floats:
        counts = self.counts
        assert counts is not None
        return counts.error[part] + 2.0**-47 * np.abs(counts.approx[part])

    def lows(self, places: Integers, words: Words) -> Floats:
        """Lower bounds on the noisy scores of some items."""
        exact = words.astype(np.float64)
        rest = 4294967295.0 - exact
        log2_v = (exact + 1.0).view(np.int64) * 2.0**-52 - (1055.0 - _MITCHELL)
        log2_w = rest.view(np.int64) * 2.0**-52 - 1055.0
        lows = ((1.0 if self.counts is None else 2.0) * log2_w - log2_v) * LN2
        lows += self.law.formulas.top_shift - _SLACK
        if self.counts is not None:
            lows += self.counts.approx[places] - self._margin(places)
        lows -= gaps_to(self._top, self.scores[places]) * (self.scale * _ABOVE)
        lows[rest == 0.0] = -np.inf
        return np.asarray(lows)

    def bounds_of_one(self, place: int, word: int) -> tuple[float, float]:
        """Bounds on the noisy score of an item that stands for itself."""
        top, score = self._top.item(), self.scores[place].item()
        behind = float(top - score) * self.scale
        one, rest = self.law.formulas.one, _ALL_ONES - word
        low = one((word + 1) * 2.0**-32, rest * 2.0**-32) - _SLACK if rest else -math.inf
        high = one(word * 2.0**-32, (rest + 1) * 2.0**-32) + _SLACK if word else math.inf
        return low - behind * _ABOVE, high - behind * _BELOW

    def add(self, first: int, words: Words) -> _Kept | None:
        """The items of a chunk that may be among the k largest, with their words and keys."""
        keys = self.keys(first, words)
        near: Integers | None
        if self.k == 1 and self.counts is None:
            place = int(keys.argmin())
            if keys[place] > self._limit:
                return None
            self.reach(self.bounds_of_one(first + place, int(words[place]))[0])
            near = np.flatnonzero(keys <= self._limit)
        else:
            near = np.flatnonzero(keys <= self._limit) if self._limit < np.inf else None
            self._loose += len(keys) if near is None else len(near)
            if self._loose > 4 * self.k or self._lows is None:
                self._tighten(first, words, keys, near)
                self._loose = 0
                near = np.flatnonzero(keys <= self._limit) if near is None else near
                near = near[keys[near] <= self._limit]
            assert near is not None
        return first + near, words[near], keys[near]

    def all_of(self, tape: Tape, first_id: int) -> list[_Kept]:
        """What passes of all chunks; the first item has this id."""
        kept = []
        with np.errstate(all="ignore"):
            for chunk, words in enumerate(tape.chunks(first_id, len(self.scores))):
                passing = self.add(chunk * CHUNK, words)
                if passing is not None:
                    kept.append(passing)
        return kept

    def _tighten(self, first: int, words: Words, keys: Floats, near: Integers | None) -> None:
        """Raise the bound by the items of a chunk; `near` are those within it now."""
        seeds = self._seeds(keys) if near is None or len(near) > 8 * self.k else near
        lows = self.lows(first + seeds, words[seeds])
        if self._lows is not None:
            lows = np.concatenate([self._lows, lows])
        if len(lows) >= self.k:
            lows = np.partition(lows, len(lows) - self.k)[len(lows) - self.k :]
            self.reach(float(lows[0]))
        self._lows = lows

    def reach(self, best: float) -> None:
        """Only items that may reach this noisy score are wanted."""
        if best > self.best:
            self.best = best
            self._limit = (self.law.formulas.top_shift + 159.0 * LN2 - best) * UNIT + ROUNDING

    def join(self, parts: list[Filter]) -> None:
        """Take over the bounds of filters of disjoint parts."""
        for part in parts:
            self.reach(part.best)
        known = [part._lows for part in parts if part._lows is not None]
        lows = np.concatenate(known) if known else np.empty(0)
        if len(lows) >= self.k:
            self.reach(float(np.partition(lows, len(lows) - self.k)[len(lows) - self.k]))

    def _seeds(self, keys: Floats) -> Integers:
        """Places with small keys: k of them, or some more, where there are so many."""
        size = len(keys)
        if size <= self.k:
            return np.arange(size)
        if size <= max(FEW_KEYS.at, 16 * self.k):
            return np.argpartition(keys, self.k - 1)[: self.k]
        columns = 1 << (4 * self.k).bit_length()
        least = keys[: size - size % columns].reshape(-1, columns).min(axis=0)
        most = np.partition(least, self.k - 1)[self.k - 1]
        return np.flatnonzero(keys <= min(most, self._limit))

    def last(self, kept: list[_Kept]) -> tuple[Integers, Words]:
        """Of all that was kept, what may be among the k largest now."""
        if len(kept) == 1:
            places, words, _ = kept[0]
        else:
            places, words, keys = (np.concatenate(parts) for parts in zip(*kept, strict=True))
            near = keys <= self._limit
            places, words = places[near], words[near]
        if self.k > 1 or self.counts is not None or not 1 < len(places) <= FEW_LEFT.at:
            return places, words
        # the bound behind the keys is a rough one, unless the noise is large
        pairs = zip(places.tolist(), words.tolist(), strict=True)
        bounds = [self.bounds_of_one(place, word) for place, word in pairs]
        best = max(low for low, _ in bounds)
        open_ones = [high >= best for _, high in bounds]
        return places[open_ones], words[open_ones]


def survivors(
    scores: Scores,
    tape: Tape,
    law: Law,
    scale: float,
    k: int,
    first_id: int,
    counts: LogCounts | None,
) -> tuple[Integers, Words]:
    """The places of all items that may be among the k largest, and their words.

    Each thread has a range of the items, and a bound of its own.
    """
    parts = ranges(len(scores), step=CHUNK)
    if len(parts) == 1:
        scan = Filter(scores, law, scale, k, counts)
        return scan.last(scan.all_of(tape, first_id))
    top = max(each(lambda part: scores[slice(*part)].max(), parts))

    def scanned(part: tuple[int, int]) -> tuple[Filter, list[_Kept]]:
        here, own = slice(*part), None
        if counts is not None:
            own = LogCounts(counts.approx[here], counts.error[here])
        scan = Filter(scores[here], law, scale, k, own, top)
        kept = scan.all_of(tape, first_id + part[0])
        return scan, [(part[0] + places, words, keys) for places, words, keys in kept]

    found = each(scanned, parts)
    whole = Filter(scores, law, scale, k, counts, top)
    whole.join([scan for scan, _ in found])
    return whole.last([passing for _, kept in found for passing in kept])


def survivors_of(scores: Scores, words: Words, law: Law, scale: float, k: int) -> Integers:
    """The places of survivors, for items whose words are known."""
    scan = Filter(scores, law, scale, k, None)
    kept = []
    with np.errstate(all="ignore"):
        for start in range(0, len(scores), CHUNK):
            passing = scan.add(start, words[start : start + CHUNK])
            if passing is not None:
                kept.append(passing)
    return scan.last(kept)[0]
