"""The k largest noisy scores, exactly: the one core under every selection.

    argmax_i  scale * score_i + Z_i,      Z_i independent noise of scale 1

with scores taken as exact int64 or float64 values and `scale` an exact rational. The
answer is a pure function of the tape and equals the one of ideal real arithmetic; only
an index ever leaves.

Stage 0 (``scan`` or ``coarse``) drops all items that cannot win, from 32 bits each and
without a log call. Stage 1 (``core.bounded``) evaluates the few survivors in float64
with a proven error. Stage 2 (``core.laws``) refines those whose intervals still
overlap with more bits and digits, which happens about once in 10^12 calls.

Shards: `contenders` of disjoint id ranges of one tape can be merged in any order, and
`winners` of the merge is bit for bit that of a single scan.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval
from winnow.core.bounded import STAGE1_ERROR, noise, noise_interval
from winnow.core.laws import Law
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.tape import CHUNK, Tape, Words

Floats = NDArray[np.float64]

LN2 = 0.6931471805599453
SLACK = 1e-7
MITCHELL = 0.0861
TWO_M52 = 2.0**-52


def coarse_bounds(
    gaps: Floats,
    words: NDArray[np.uint32],
    scale_low: float,
    scale_high: float,
    shift: float,
    log_count: Floats | None,
    log_count_error: Floats | None,
) -> tuple[Floats, Floats]:
    """Lower and upper bounds on noise - scale * gap for every item."""
    log2_k = words.astype(np.float64).view(np.int64) * TWO_M52 - 1023.0
    upper = (32.0 - log2_k) * LN2 + (shift + SLACK) - scale_low * gaps
    log2_k1 = (words + 1.0).view(np.int64) * TWO_M52 - 1023.0 + MITCHELL
    log2_w = (4294967295.0 - words).view(np.int64) * TWO_M52 - 1055.0
    if log_count is None or log_count_error is None:
        lower = (32.0 - log2_k1 + log2_w) * LN2 + (shift - SLACK) - scale_high * gaps
    else:
        margin = log_count_error + 2.0**-48 * np.abs(log_count)
        upper += log_count + margin
        lower = (32.0 - log2_k1 + 2.0 * log2_w) * LN2 + (shift - SLACK) - scale_high * gaps
        lower += log_count - margin
    upper[words == 0] = np.inf
    lower[words == 0xFFFFFFFF] = -np.inf
    return lower, upper


Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]

SMALLEST_SCALE, LARGEST_SCALE = Fraction(1, 10**280), Fraction(10**280)
"""Between these, products of scale and float64 bounds keep their relative accuracy."""

COMPILE_FROM = 1 << 18
"""Below this size loading numba costs more than the plain path takes."""
COMPILED_FROM = 1 << 11
"""Once numba is loaded, it pays from here."""


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
        found: list[int] = []
        digits, bits = 32, 96
        while True:
            arithmetic = Arithmetic(digits)
            values = {place: self._enclose(place, behind, arithmetic, bits) for place in places}
            while places:
                places.sort(key=lambda place: values[place].lo, reverse=True)
                first, rest = places[0], places[1:]
                if any(values[place].hi >= values[first].lo for place in rest):
                    break
                found.append(int(self.ids[first]))
                places = rest
                if len(found) == k:
                    return found
            if not places:
                return found
            missing = min(k - len(found), len(places))
            least = sorted((values[place].lo for place in places), reverse=True)[missing - 1]
            places = [place for place in places if values[place].hi >= least]
            digits, bits = 2 * digits, 2 * bits

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
    return contenders(scores, tape, law, scale, k, log_counts=log_counts).winners()


def contenders(
    scores: Scores,
    tape: Tape,
    law: Law,
    scale: Fraction,
    k: int = 1,
    *,
    first_id: int = 0,
    log_counts: LogCounts | None = None,
    compiled: bool | None = None,
    stage1_error: float = STAGE1_ERROR,
) -> NoisyTop:
    """Stage 0 over one shard whose items have the ids first_id, first_id + 1, ...

    Scores are a contiguous int64 or float64 array of finite values. With `log_counts`
    item i stands for N_i equal candidates and its noise is the largest of N_i draws;
    N_i >= 1 unless the law is Gumbel.
    """
    if not SMALLEST_SCALE < scale < LARGEST_SCALE:
        raise ValueError("scale out of range")
    if compiled is None:
        compiled = pays_to_compile(scores)
    places, words = (_scan_compiled if compiled else _scan_plain)(
        scores, tape, law, float(scale), k, first_id, log_counts
    )
    chosen = None
    if log_counts is not None:
        chosen = LogCounts(
            log_counts.approx[places],
            log_counts.error[places],
            log_counts.integers and tuple(log_counts.integers[int(p)] for p in places),
        )
    ids = places + first_id
    return NoisyTop(tape, law, scale, k, ids, words, scores[places], chosen, stage1_error)


def pays_to_compile(scores: Scores) -> bool:
    """Whether a compiled pass over the scores is faster, and may be used: its differences are
    int64."""
    loaded = "winnow.core.kernels.scan" in sys.modules
    if len(scores) < (COMPILED_FROM if loaded else COMPILE_FROM):
        return False
    return scores.dtype != np.int64 or int(scores.max()) - int(scores.min()) < 2**63


@dataclass(repr=False)
class _Survivors:
    """Items that may still be among the k largest, and the bound they have to reach."""

    k: int
    best: float = -np.inf
    places: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    words: Words = field(default_factory=lambda: np.empty(0, np.uint32))
    lower: Floats = field(default_factory=lambda: np.empty(0))
    upper: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, places: Integers, words: Words, lower: Floats, upper: Floats) -> None:
        """Take items in and drop those that k others are certain to beat."""
        if len(self.places):
            places = np.concatenate([self.places, places])
            words = np.concatenate([self.words, words])
            lower = np.concatenate([self.lower, lower])
            upper = np.concatenate([self.upper, upper])
        self.places, self.words, self.lower, self.upper = places, words, lower, upper
        size = len(lower)
        if size > self.k:
            self.best = max(self.best, float(np.partition(lower, size - self.k)[size - self.k]))
            keep = self.upper >= self.best
            self.places, self.words = self.places[keep], self.words[keep]
            self.lower, self.upper = self.lower[keep], self.upper[keep]


def _scan_plain(
    scores: Scores, tape: Tape, law: Law, scale: float, k: int, first: int, counts: LogCounts | None
) -> tuple[Integers, Words]:
    scale_low, scale_high = scale * (1.0 - 2.0**-49), scale * (1.0 + 2.0**-49)
    top = scores.max()
    survivors = _Survivors(k)
    for chunk, words in enumerate(tape.chunks(first, len(scores))):
        part = slice(chunk * CHUNK, chunk * CHUNK + len(words))
        with np.errstate(over="ignore"):
            lower, upper = coarse_bounds(
                gaps_to(top, scores[part]),
                words,
                scale_low,
                scale_high,
                law.formulas.top_shift,
                None if counts is None else counts.approx[part],
                None if counts is None else counts.error[part],
            )
        near = np.flatnonzero(upper >= survivors.best)
        survivors.add(part.start + near, words[near], lower[near], upper[near])
    return survivors.places, survivors.words


def _scan_compiled(
    scores: Scores, tape: Tape, law: Law, scale: float, k: int, first: int, counts: LogCounts | None
) -> tuple[Integers, Words]:
    from winnow.core.kernels.scan import scan

    scale_low, scale_high = scale * (1.0 - 2.0**-49), scale * (1.0 + 2.0**-49)
    top = scores.max()
    survivors = _Survivors(k)
    room = 4096 + 4 * k
    places, kept = np.empty(room, np.int64), np.empty(room, np.uint32)
    lower, upper = np.empty(room), np.empty(room)
    found, best = 0, -np.inf
    for chunk, words in enumerate(tape.chunks(first, len(scores))):
        part = slice(chunk * CHUNK, chunk * CHUNK + len(words))
        logs = None if counts is None else counts.approx[part]
        errors = None if counts is None else counts.error[part]
        done = 0
        while done < len(words):
            best, found, done = scan(
                scores[part], words, logs, errors, done, top, scale_low, scale_high,
                law.formulas.top_shift, k == 1, best, places, kept, lower, upper, found,
            )  # fmt: skip
            if found:
                survivors.add(  # copies, so that the buffers are free again
                    part.start + places[:found],
                    kept[:found].copy(),
                    lower[:found].copy(),
                    upper[:found].copy(),
                )
                found, best = 0, max(best, survivors.best)
    return survivors.places, survivors.words


def gaps_to(top: Any, scores: Scores) -> Floats:
    """How far each score lies below `top`, correctly rounded, whatever the range.

    The difference of two int64 may not fit an int64, but as an unsigned number it does.
    """
    if scores.dtype == np.int64:
        with np.errstate(over="ignore"):
            unsigned = np.uint64(int(top) % 2**64) - scores.view(np.uint64)
        return unsigned.astype(np.float64)
    return np.asarray(top - scores, np.float64)


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
