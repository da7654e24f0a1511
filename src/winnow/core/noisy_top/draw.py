"""The k largest noisy scores, exactly: the one core under every selection.

    argmax_i  scale * score_i + Z_i,      Z_i independent noise of scale 1

with scores taken as exact int64 or float64 values and `scale` an exact rational. The
answer is a pure function of the tape and equals the one of ideal real arithmetic; only
an index ever leaves.

Stage 0 (``filter``) drops all items that cannot win, from 32 bits each and without a log
call. Stage 1 (``core.bounded``) evaluates the few survivors in float64
with a proven error. Stage 2 (``core.laws``) refines those whose intervals still
overlap with more bits and digits, which happens about once in 10^12 calls.

Shards: `contenders` of disjoint id ranges of one tape can be merged in any order, and
`winners` of the merge is bit for bit that of a single scan.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from winnow.core.arithmetic import Arithmetic, Interval, floor_of, refined
from winnow.core.bounded import STAGE1_ERROR, noise, noise_interval
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Floats, Integers, Scores, gaps_to, survivors, survivors_of
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.tape import Tape, Words

SMALLEST_SCALE, LARGEST_SCALE = Fraction(1, 10**280), Fraction(10**280)
"""Between these, products of scale and float64 bounds keep their relative accuracy."""


@dataclass(frozen=True, repr=False)
class NoisyTop:
    """The items of some shards that may be among the k largest noisy scores.

    Private: it depends on scores and noise. It stays inside mechanisms.
    """

    tape: Tape
    law: Law
    scale: Fraction
    k: int
    ids: Integers
    words: Words
    scores: Scores
    log_counts: LogCounts | None = None
    stage1_error: float = STAGE1_ERROR

    def merge(self, other: NoisyTop) -> NoisyTop:
        """The contenders of both; shards must come from one tape, law, scale and k."""
        mine = (self.law, self.scale, self.k, self.log_counts is None, self.scores.dtype)
        if self.tape is not other.tape or mine != (
            other.law,
            other.scale,
            other.k,
            other.log_counts is None,
            other.scores.dtype,
        ):
            raise ValueError("shards of different draws cannot be merged")
        if len(np.intersect1d(self.ids, other.ids)):
            raise ValueError("shards overlap: an item can be in one shard only")
        return NoisyTop(
            self.tape,
            self.law,
            self.scale,
            self.k,
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.words, other.words]),
            np.concatenate([self.scores, other.scores]),
            _join(self.log_counts, other.log_counts),
            self.stage1_error,
        )

    def winners(self) -> list[int]:
        """The ids of the k largest noisy scores, largest first, exactly."""
        if len(self.ids) == 1:  # stage 0 has decided, as it mostly does for k = 1
            return [int(self.ids[0])]
        lower, upper = self._bounds()
        k = min(self.k, len(self.ids))
        least = np.partition(lower, len(lower) - k)[len(lower) - k]
        open_places = np.flatnonzero(upper >= least)
        open_places = open_places[np.argsort(-lower[open_places], kind="stable")]
        lower, upper = lower[open_places], upper[open_places]
        highest_after = np.maximum.accumulate(upper[::-1])[::-1]
        last = min(k, len(open_places) - 1)
        if np.all(lower[:last] > highest_after[1 : last + 1]):
            return [int(self.ids[place]) for place in open_places[:k]]
        return self._refine([int(place) for place in open_places], k)

    def _bounds(self) -> tuple[Floats, Floats]:
        """Stage 1: bounds on each noisy score, relative to the largest score present."""
        extension = self.tape.extension(self.ids, 0)[:, 0]
        counts = self.log_counts
        z, error = noise(
            self.law,
            self.words,
            extension,
            None if counts is None else counts.approx,
            None if counts is None else counts.error,
        )
        known = np.isfinite(error)
        with np.errstate(all="ignore"):
            behind = float(self.scale) * gaps_to(self.scores.max(), self.scores)
            error = error * (self.stage1_error / STAGE1_ERROR) + 2.0**-49 * behind
            lower, upper = (z - behind) - error, (z - behind) + error
        # an overflowing product is a score that lies further behind than any float noise
        upper = np.where(np.isposinf(behind), np.where(known, -1e300, np.inf), upper)
        return np.where(known, lower, -np.inf), upper

    def _refine(self, places: list[int], k: int) -> list[int]:
        """Stage 2: exact order of the k largest among a few items."""
        top = _exact(self.scores.max())
        behind = {place: self.scale * (_exact(self.scores[place]) - top) for place in places}
        winners: list[int] = []
        left = list(places)

        def attempt(arithmetic: Arithmetic, bits: int) -> list[int] | None:
            values = {place: self._enclose(place, behind, arithmetic, bits) for place in left}
            left.sort(key=lambda place: values[place].lo, reverse=True)
            while left and len(winners) < k:
                first, *rest = left
                if any(values[place].hi >= values[first].lo for place in rest):
                    break
                winners.append(int(self.ids[first]))
                left[:] = rest
            missing = min(k - len(winners), len(left))
            if missing == 0:
                return winners
            least = values[left[missing - 1]].lo
            left[:] = [place for place in left if values[place].hi >= least]
            return None

        return refined(attempt)

    def leads(self, order: list[int], unit: Fraction) -> list[int]:
        """By how many units each of some items lies above the next, noise included.

        The exact difference of noisy scores, in units of the scores, rounded to whole numbers:
        so a lead is a function of ideal noise, and no float64 rounding enters it.
        """
        place_of = {int(item): place for place, item in enumerate(self.ids)}
        places = [place_of[item] for item in order]
        top = _exact(self.scores.max())
        behind = {place: self.scale * (_exact(self.scores[place]) - top) for place in places}
        half, known = Fraction(1, 2), dict[tuple[int, int], Interval]()

        def noisy(place: int, a: Arithmetic, bits: int) -> Interval:
            if (place, bits) not in known:
                known[place, bits] = self._enclose(place, behind, a, bits)
            return known[place, bits]

        def lead(above: int, below: int, a: Arithmetic, bits: int) -> Interval:
            gap = a.subtract(noisy(above, a, bits), noisy(below, a, bits))
            return a.add(a.times(gap, 1 / (self.scale * unit)), a.fraction(half))

        return [max(0, floor_of(partial(lead, *pair))) for pair in pairwise(places)]

    def _enclose(
        self, place: int, behind: dict[int, Fraction], arithmetic: Arithmetic, bits: int
    ) -> Interval:
        counts = self.log_counts
        log_count = None if counts is None else counts.enclose(place, arithmetic)
        item = int(self.ids[place])
        z = noise_interval(arithmetic, self.law, self.tape, item, bits, log_count)
        return arithmetic.add(z, arithmetic.fraction(behind[place]))


def noisy_top(
    scores: Scores,
    tape: Tape,
    law: Law,
    scale: Fraction,
    k: int = 1,
    log_counts: LogCounts | None = None,
) -> list[int]:
    """The positions of the k largest noisy scores, largest first."""
    places, words = survivors(scores, tape, law, _rate(scale), k, 0, log_counts)
    if len(places) == 1:  # stage 0 has decided, as it mostly does for k = 1
        return [int(places[0])]
    return _kept(scores, tape, law, scale, k, places, words, 0, log_counts).winners()


def contenders(
    scores: Scores,
    tape: Tape,
    law: Law,
    scale: Fraction,
    k: int = 1,
    *,
    first_id: int = 0,
    log_counts: LogCounts | None = None,
    stage1_error: float = STAGE1_ERROR,
) -> NoisyTop:
    """Stage 0 over one shard whose items have the ids first_id, first_id + 1, ...

    Scores are a contiguous int64 or float64 array of finite values. With `log_counts`
    item i stands for N_i equal candidates and its noise is the largest of N_i draws;
    N_i >= 1 unless the law is Gumbel.
    """
    places, words = survivors(scores, tape, law, _rate(scale), k, first_id, log_counts)
    return _kept(
        scores, tape, law, scale, k, places, words, first_id, log_counts, stage1_error
    )  # fmt: skip


def _kept(
    scores: Scores,
    tape: Tape,
    law: Law,
    scale: Fraction,
    k: int,
    places: Integers,
    words: Words,
    first_id: int,
    log_counts: LogCounts | None,
    stage1_error: float = STAGE1_ERROR,
) -> NoisyTop:
    chosen = None
    if log_counts is not None:
        chosen = LogCounts(
            log_counts.approx[places],
            log_counts.error[places],
            log_counts.integers and tuple(log_counts.integers[int(p)] for p in places),
        )
    ids = places + first_id
    return NoisyTop(tape, law, scale, k, ids, words, scores[places], chosen, stage1_error)


def survivors_among(scores: Scores, words: Words, law: Law, scale: Fraction, k: int) -> Integers:
    """Stage 0 over items whose words are known: the places that may be among the k largest."""
    return survivors_of(scores, words, law, _rate(scale), k)


@lru_cache(maxsize=256)
def _rate(scale: Fraction) -> float:
    """The scale as a float64 that filters can work with."""
    if not SMALLEST_SCALE < scale < LARGEST_SCALE:
        raise ValueError("scale out of range")
    return float(scale)


def _exact(score: Any) -> Fraction:
    return Fraction(score.item())


def _join(mine: LogCounts | None, other: LogCounts | None) -> LogCounts | None:
    if mine is None or other is None:
        return None
    integers = None
    if mine.integers is not None and other.integers is not None:
        integers = (*mine.integers, *other.integers)
    elif mine.integers is not None or other.integers is not None:
        raise ValueError("shards must give their log counts in one form")
    return LogCounts(
        np.concatenate([mine.approx, other.approx]),
        np.concatenate([mine.error, other.error]),
        integers,
    )
