"""Rounds of permute-and-flip, each winner taken out, by one scan of the scores.

Round t reports the largest  scale x score_i + E_it  among the items that are left, all E_it
independent and exponential. Drawing all of them would take k scans. Two kinds of items differ in
how their noise is drawn, and which is which follows from the scores alone:

- some k of the best have a place on the tape for every round;
- of any other item the scan draws the largest of its k noises, by one word (``filter``, with
  k candidates in a group). Its clocks are -ln F(E_it), independent and Exp(1), and come in the
  order of size: X_1 = A_1/k, X_j = X_(j-1) + A_j/(k - j + 1), A_j independent and Exp(1) [Renyi].
  The j-th falls into a round that is uniform among those that have none yet.

The scan keeps all items that may have a noise above a bar, and bounds all others by it. Pairs of
an item and a round below the bar are not drawn at all. If every winner lies above the bar, no
other pair could have won, and the list is the one of k scans; else the bar is lowered. Where the
bar lies changes nothing: every noise has its own address.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval, exp, log
from winnow.core.bounded import clock_interval, noise, noise_interval
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Filter, Floats, Integers, Scores, gaps_to
from winnow.core.noisy_top.grid import largest
from winnow.core.noisy_top.log_counts import LogCounts
from winnow.core.tape import CHUNK, Tape

_LAW = Law.EXPONENTIAL
_ERROR = 2.0**-34
"""On the noise of a clock, times ``moved``: each A is known to a relative 2^-38 by stage 1."""


class _FarApart:
    """Items of a tape that are far apart: all their bits come from its second key."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def clocks(self, items: Integers) -> Floats:
        """An Exp(1) clock of each, to a relative 2^-38; NaN where too few bits are known."""
        rows = self._tape.extension(items, 0)
        return _clocks((rows[:, 0] >> np.uint64(32)).astype(np.uint32), rows[:, 1])

    def bits(self, item: int, count: int) -> int:
        """The first bits of an item, as ``Tape.bits``."""
        value = have = level = 0
        while have < count:
            high, low = (int(part) for part in self._tape.extension(np.array([item]), level)[0])
            value = (value << 96) | (high >> 32 << 64) | low
            have, level = have + 96, level + 1
        return value >> (have - count)

    def below(self, items: Integers, bound: int, taken: list[set[int]]) -> list[int]:
        """A uniform number below the bound for each item, among those not taken yet."""
        mask, found = (1 << (bound - 1).bit_length()) - 1, [-1] * len(items)
        missing, level = list(range(len(items))), 0
        while missing:
            rows = self._tape.extension(items[missing], level).view(np.uint32)
            for place, row in zip(missing, rows.tolist(), strict=True):
                for word in row:
                    if word & mask < bound and word & mask not in taken[place]:
                        found[place] = word & mask
                        break
            missing, level = [place for place in missing if found[place] < 0], level + 1
        return found


def _clocks(words: NDArray[np.uint32], extension: NDArray[np.uint64]) -> Floats:
    z, error = noise(Law.GUMBEL, words, extension, None)  # -ln of the clock
    return np.where(np.isfinite(error), exp(-z), np.nan)


def leaders(scores: Scores, k: int) -> Integers:
    """Positions of k good scores or some more, ascending; a function of the scores alone."""
    columns = 1 << (4 * k).bit_length()
    rows = scores[: len(scores) - len(scores) % columns].reshape(-1, columns)
    if len(rows) > 3:
        edge = np.partition(rows.max(axis=0), columns - k)[columns - k]
        above = np.flatnonzero(scores > edge)
        if len(above) <= 8 * k:
            level = np.flatnonzero(scores == edge)[: max(0, k - len(above))]
            return np.sort(np.concatenate([above, level]))
    return np.sort(largest(scores, k))


class _Peeling:
    """The pairs of items and rounds above a bar. Private."""

    def __init__(self, scores: Scores, tape: Tape, scale: Fraction, k: int, wanted: int) -> None:
        self._scores, self._scale, self._k = scores, scale, k
        self._top = scores.max()
        self._first, self._direct = tape.child("first"), tape.child("direct")
        self._tape = tape
        self._leaders = leaders(scores, k)
        self._levels: list[_FarApart] = []
        size = len(self._leaders)
        ids = np.arange(k * size)
        z, error = noise(
            _LAW, self._direct.words(0, len(ids)), self._direct.extension(ids, 0)[:, 0], None
        )
        behind = self._behind(self._leaders)
        self._values = z.reshape(k, size) - behind
        self._errors = error.reshape(k, size) + 2.0**-49 * behind
        self._pairs: list[list[tuple[int, int, float, float]]] = [[] for _ in range(k)]
        """For each round: item, how many of its clocks come before, noisy score, error."""
        self._find(wanted)

    def _behind(self, places: Integers) -> Floats:
        return float(self._scale) * gaps_to(self._top, self._scores[places])

    def _find(self, wanted: int) -> None:
        """One scan for the other items, and the pairs of those that it keeps."""
        group, size = LogCounts.of_integers([self._k]), len(self._scores)
        counts = LogCounts(np.broadcast_to(group.approx, size), np.broadcast_to(group.error, size))
        scan = Filter(self._scores, _LAW, float(self._scale), wanted, counts, self._leaders)
        # one leader at least is left in every round, and no noise is negative
        scan.reach(-float(self._behind(self._leaders).max()) * (1.0 + 2.0**-48))
        kept = []
        for chunk, words in enumerate(self._first.chunks(0, size)):
            found = scan.add(chunk * CHUNK, words)
            if found is not None:
                kept.append(found)
        self._bar = scan.best
        if not kept:
            return
        items, words = scan.last(kept)
        if len(items) > wanted:  # the scan tightens its bound now and then only
            lows = scan.lows(items, words)
            self._bar = max(self._bar, float(np.partition(lows, -wanted)[-wanted]))
        clock = _clocks(words, self._first.extension(items, 0)[:, 0]) / self._k
        taken: list[set[int]] = [set() for _ in items]
        for level in range(self._k):
            behind = self._behind(items)
            z, moved = _LAW.formulas.largest(-log(np.where(clock > 0, clock, 1.0)))
            z = np.where(clock > 0, z, 0.0)
            error = np.where(clock > 0, _ERROR * moved + 2.0**-48 * behind, np.inf)
            open_ones = np.flatnonzero(~(z - behind + error < self._bar))
            items, clock = items[open_ones], clock[open_ones]
            taken = [taken[place] for place in open_ones.tolist()]
            if not len(items):
                return
            rounds = _FarApart(self._tape.child(f"round-{level}")).below(items, self._k, taken)
            value, error = (z - behind)[open_ones], error[open_ones]
            pairs = zip(items.tolist(), value.tolist(), error.tolist(), strict=True)
            for place, (item, centre, off) in enumerate(pairs):
                taken[place].add(rounds[place])
                self._pairs[rounds[place]].append((item, level, centre, off))
            self._levels.append(_FarApart(self._tape.child(f"level-{level + 1}")))
            if level + 1 < self._k:
                clock = clock + self._levels[level].clocks(items) / (self._k - level - 1)

    def winners(self) -> list[int] | None:
        """The winners of all rounds; None: one of them lies below the bar."""
        chosen: list[int] = []
        out: set[int] = set()
        left = np.ones(len(self._leaders), bool)
        for number in range(self._k):
            values = np.where(left, self._values[number], -np.inf)
            pairs = [pair for pair in self._pairs[number] if pair[0] not in out]
            places = [*range(len(values)), *(-1 - i for i in range(len(pairs)))]
            centre = np.concatenate([values, [pair[2] for pair in pairs]])
            error = np.concatenate([self._errors[number], [pair[3] for pair in pairs]])
            low, high = centre - error, centre + error
            low = np.where(np.isfinite(error), low, -np.inf)
            high = np.where(np.isfinite(error) | (centre == -np.inf), high, np.inf)
            best = int(low.argmax())
            close = np.flatnonzero(high >= max(low[best], self._bar))
            winner = best
            if len(close) != 1 or low[best] < self._bar:
                found = self._decide(number, [places[place] for place in close], pairs)
                if found is None:
                    return None
                winner = int(close[found])
            place = places[winner]
            if place >= 0:
                left[place] = False
                chosen.append(int(self._leaders[place]))
            else:
                chosen.append(pairs[-1 - place][0])
                out.add(chosen[-1])
        return chosen

    def _decide(
        self, number: int, places: list[int], pairs: list[tuple[int, int, float, float]]
    ) -> int | None:
        """Which of a few pairs of a round is the largest, exactly; None: none is above the bar."""
        bar = Fraction(self._bar) if np.isfinite(self._bar) else None
        digits, bits = 40, 128
        while places:
            a = Arithmetic(digits)
            values = [self._exact(a, bits, number, place, pairs) for place in places]
            line = None if bar is None else a.fraction(bar)
            if line is not None and all(value.hi < line.lo for value in values):
                return None
            first = max(range(len(places)), key=lambda i: values[i].lo)
            others = [value.hi for i, value in enumerate(values) if i != first]
            clear = line is None or values[first].lo >= line.hi
            if clear and all(values[first].lo > hi for hi in others):
                return first
            digits, bits = 2 * digits, 2 * bits
        return None

    def _exact(
        self,
        a: Arithmetic,
        bits: int,
        number: int,
        place: int,
        pairs: list[tuple[int, int, float, float]],
    ) -> Interval:
        """A noisy score, relative to the best score."""
        if place >= 0:
            item = int(self._leaders[place])
            address = number * len(self._leaders) + place
            z = noise_interval(a, _LAW, self._direct, address, bits)
        else:
            item, level = pairs[-1 - place][:2]
            clock = a.times(clock_interval(a, self._first, item, bits), Fraction(1, self._k))
            for before in range(level):
                step = clock_interval(a, self._levels[before], item, bits)
                clock = a.add(clock, a.times(step, Fraction(1, self._k - before - 1)))
            z = _LAW.formulas.largest_within(a, a.negate(a.ln(clock)))
        gap = Fraction(self._scores[item].item()) - Fraction(self._top.item())
        return a.add(z, a.fraction(self._scale * gap))


def peeled(scores: Scores, tape: Tape, scale: Fraction, k: int, wanted: int = 0) -> list[int]:
    """The winners of k rounds of permute-and-flip, each taken out; `wanted` is a matter of time."""
    wanted = wanted or k * (k.bit_length() + 7)
    while True:
        with np.errstate(all="ignore"):
            found = _Peeling(scores, tape, scale, k, wanted).winners()
        if found is not None:
            return found
        wanted *= 4
