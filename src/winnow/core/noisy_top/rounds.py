"""Rounds of permute-and-flip, each winner taken out, from blocks of similar scores.

Round t reports the largest  scale x score_i + E_it  among the items that are left, all E_it
independent and exponential. With M the best score that is left, and in units of the noise:

- only an item with  score_i + E_it >= M  can win, and the best one is such an item;
- let c be any number from score_i to M. Draw  c + E  and a coin that falls with probability
  e^(score_i - c). That the coin falls and  c + E >= M  has the probability e^(score_i - M), which
  is that of  score_i + E >= M,  and what lies above M is exponential either way. So the winner is
  the largest  c + E  whose coin falls.

Items are put in blocks, with one c for each block: its upper bound, or M where that is less. So
in a block the noise alone decides who comes first. The first of m items has the clock
(-ln F(E) of the largest noise) A_1/m, the next one is later by A_2/(m - 1), and so on, with A_j
independent and Exp(1) [Renyi]; who it is, is uniform. A round takes the block whose next item is
the largest, until a coin falls. Scores of one block differ by about one unit of the noise, so
that two or three tries are enough, and blocks are few: a round costs the same for a thousand
items and for a million.

How items are put in blocks changes no law: the proof holds for any blocks and any bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from winnow.core.arithmetic import Arithmetic, Interval, largest_of
from winnow.core.bounded import clock_interval, noise, noise_of_one
from winnow.core.laws import Law
from winnow.core.noise import bernoulli_exp
from winnow.core.noisy_top.filter import Floats, Integers, Scores, gaps_to
from winnow.core.tape import Tape

_LAW = Law.EXPONENTIAL
_ROUNDS = 32
"""So many rounds have their first clocks drawn at once, for the blocks as they are then: a call
for one round costs as much as one for fifty, and an item that leaves in between costs a try."""

_PAIRS = 1 << 18
"""So many clocks are drawn at once at most, whatever k: a bound on memory."""

_SPARE = 8.0
"""Items of which one wins in k rounds with probability e^-8 at most are one block."""

_ERROR = 2.0**-36
"""On -ln of a clock that is a sum: every part is known to a relative 2^-38."""

Number = int | float


class Members(Protocol):
    """The items of a block, at places from 0 that can be exchanged."""

    def item(self, place: int) -> int:
        """The name of the item at a place."""
        ...

    def score(self, place: int) -> Number:
        """The score of the item at a place."""
        ...

    def swap(self, one: int, other: int) -> None:
        """Exchange two places."""
        ...


class ScoreBlock:
    """Items whose scores are at most ``upper``. Private."""

    __slots__ = ("gone", "left", "members", "raced", "tried", "upper")

    def __init__(self, members: Members, size: int, upper: Number) -> None:
        self.members, self.upper = members, upper
        self.left = size
        """So many items are not taken out; they stand at the first places."""
        self.raced = size
        """So many clocks race: also those of items that were taken out since these were drawn."""
        self.tried = self.gone = 0
        """In this round: items whose coins did not fall, and clocks of items that are out."""

    @property
    def to_come(self) -> int:
        """How many clocks have not come yet in this round."""
        return self.raced - self.tried - self.gone

    def turn_down(self, place: int) -> None:
        """The clock at a place has come and has not won."""
        untried = self.left - self.tried
        if place < untried:
            self.members.swap(place, untried - 1)
            self.tried += 1
        else:
            self.gone += 1

    def take(self, place: int) -> int:
        """Take the item at a place out."""
        self.left -= 1
        self.members.swap(place, self.left)
        return self.members.item(self.left)


@dataclass(frozen=True)
class InBlocks:
    """All items in blocks, and the best k of them. Private."""

    blocks: list[ScoreBlock]
    kind: np.dtype[np.int64] | np.dtype[np.float64]
    """Of the scores."""
    best: Sequence[int]
    """The names of the best k items, in descending order of their scores; equals in any."""
    scores: Sequence[Number]
    """Their scores."""


def levels(top: Number, scores: Scores, scale: Fraction) -> Floats:
    """How many whole units of the noise each score lies below the top."""
    return np.floor(float(scale) * gaps_to(top, scores))


def reach_of(size: int, k: int) -> float:
    """So many units of the noise below the k-th largest score hardly anything wins."""
    return math.log(size) + math.log(k) + _SPARE


class _Positions:
    """Positions in an array of scores; where they are given by a bound, listed when asked for."""

    def __init__(self, scores: Scores, places: Integers | None, below: Number = 0) -> None:
        self._scores, self._known, self._below = scores, places, below

    @property
    def _places(self) -> Integers:
        if self._known is None:
            self._known = np.flatnonzero(self._scores < self._below)
        return self._known

    def item(self, place: int) -> int:
        """The position that stands at a place."""
        return int(self._places[place])

    def score(self, place: int) -> Number:
        """The score at that position."""
        number: Number = self._scores[self._places[place]].item()
        return number

    def swap(self, one: int, other: int) -> None:
        """Exchange two places."""
        places = self._places
        places[one], places[other] = places[other], places[one]


def in_blocks(scores: Scores, scale: Fraction, k: int) -> InBlocks:
    """Blocks of an array: fewer than k items above the k-th largest score, others, what is far."""
    last = np.partition(scores, len(scores) - k)[len(scores) - k].item()
    above = np.flatnonzero(scores > last)
    above = above[np.argsort(scores[above])[::-1]]
    best = np.concatenate([above, np.flatnonzero(scores == last)[: k - len(above)]])
    values = scores[best].tolist()
    blocks = _others(scores, last, len(above), scale, k)
    if len(above):
        level = levels(values[0], scores[above], scale)
        firsts = np.flatnonzero(np.append(True, level[1:] != level[:-1])).tolist()
        for first, end in zip(firsts, [*firsts[1:], len(above)], strict=True):
            members = _Positions(scores, above[first:end])
            blocks.append(ScoreBlock(members, end - first, values[first]))
    return InBlocks(blocks, scores.dtype, best.tolist(), values)


def _others(scores: Scores, last: Number, above: int, scale: Fraction, k: int) -> list[ScoreBlock]:
    """Blocks of the items up to the k-th largest score, by level, without sorting them.

    Each bound is a score of its block, so that a draw is the same for integers and for floats.
    """
    cut = _below(last, Fraction(reach_of(len(scores), k)) / scale)
    near = np.flatnonzero(scores >= cut)
    if above:
        near = near[scores[near] <= last]
    blocks = []
    far = len(scores) - above - len(near)
    if far:
        least = scores.min()
        upper = scores.max(where=scores < cut, initial=least).item()
        blocks.append(ScoreBlock(_Positions(scores, None, cut), far, upper))
    elif scores.min() == last:
        return [ScoreBlock(_Positions(scores, near), len(near), last)]
    level = levels(last, scores[near], scale).astype(np.uint8)
    near = near[np.argsort(level, kind="stable")]
    sizes = np.bincount(level)
    sizes = sizes[sizes > 0]
    starts = np.append(0, np.cumsum(sizes)[:-1])
    uppers = np.maximum.reduceat(scores[near], starts).tolist()
    for start, size, upper in zip(starts.tolist(), sizes.tolist(), uppers, strict=True):
        members = _Positions(scores, near[start : start + size])
        blocks.append(ScoreBlock(members, size, upper))
    return blocks


def _below(top: Number, gap: Fraction) -> Number:
    """The least score that lies no further below another one than this."""
    exact = Fraction(top) - gap
    if isinstance(top, int):
        return max(math.ceil(exact), -(2**63))
    try:
        nearest = float(exact)
    except OverflowError:
        return -math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


class _Race:
    """The noise of all blocks, round after round. Private."""

    def __init__(self, universe: InBlocks, tape: Tape, scale: Fraction) -> None:
        self._blocks, self._scale, self._rate = universe.blocks, scale, float(scale)
        self._uppers: Any = np.array([block.upper for block in self._blocks], universe.kind)
        self._empty = np.zeros(len(self._blocks), bool)
        self._first, self._later = tape.child("first"), tape.child("later")
        self._stream = tape.child("members").stream()
        self._drawn = 0  # of the first clocks
        self._row = self._rows = 0
        self._next = 0  # of the later ones

    def _draw(self) -> None:
        """The first clocks of some rounds."""
        for block in self._blocks:
            block.raced = block.left
        size = len(self._blocks)
        self._rows, self._row = max(1, min(_ROUNDS, _PAIRS // size)), 0
        count = self._rows * size
        self._start, self._drawn = self._drawn, self._drawn + count
        self._words = self._first.words(self._start, count)
        ids = np.arange(self._start, self._drawn)
        self._further = self._first.extension(ids, 0)[:, 0]
        logs = np.array([math.log(max(block.left, 1)) for block in self._blocks])
        logs = np.tile(logs, self._rows)
        z, error = noise(_LAW, self._words, self._further, logs, 2.0**-49 * (1.0 + logs))
        self._noise, self._errors = z.reshape(-1, size), error.reshape(-1, size)

    def winner(self, best: Number) -> int:
        """The winner of one round, taken out; ``best`` is the best score that is left."""
        if self._row == self._rows:
            self._draw()
        self._best = best
        self._clocks: dict[int, list[tuple[Tape, int, int]]] = {}
        self._sums: dict[int, float] = {}
        touched = []
        self._bounds()
        while True:
            number = self._leading()
            block = self._blocks[number]
            place = self._stream.below(block.to_come)
            if place < block.left - block.tried and self._falls(block, place):
                break
            block.turn_down(place)
            touched.append(block)
            self._go_on(number)
        self._row += 1
        for each in touched:
            each.tried = each.gone = 0
        self._empty[number] = block.left == 1
        return block.take(place)

    def _falls(self, block: ScoreBlock, place: int) -> bool:
        """The coin of an item."""
        score, most = block.members.score(place), min(block.upper, self._best)
        if score == most:
            return True
        return bernoulli_exp(self._stream, self._scale * (Fraction(most) - Fraction(score)))

    def _bounds(self) -> None:
        """Bounds on the largest c + E of every block, relative to the best score."""
        error = self._errors[self._row]
        gaps = np.where(self._uppers > self._best, 0.0, gaps_to(self._best, self._uppers))
        self._behind = behind = self._rate * gaps
        centre, error = self._noise[self._row] - behind, error + 2.0**-49 * behind
        known = np.isfinite(error)
        self._low = np.where(known, centre - error, -np.inf)
        self._high = np.where(known, centre + error, np.inf)
        # an overflowing product is a score that lies further behind than any float noise
        self._high[np.isposinf(behind)] = -1e300
        self._low[self._empty] = self._high[self._empty] = -np.inf

    def _go_on(self, number: int) -> None:
        """The next clock of a block."""
        block = self._blocks[number]
        if block.left == block.tried:
            self._low[number] = self._high[number] = -np.inf
            return
        if number not in self._clocks:
            place = self._row * len(self._blocks) + number
            pair = int(self._words[place]), int(self._further[place])
            self._add(number, self._first, self._start + place, block.raced, pair)
        item = self._next
        pair = (
            int(self._later.words(item, 1)[0]),
            int(self._later.extension(np.array([item]), 0)[0, 0]),
        )
        self._next += 1
        self._add(number, self._later, item, block.to_come, pair)
        clock = self._sums[number]
        if not 0.0 < clock < math.inf:
            self._low[number], self._high[number] = -np.inf, np.inf
            return
        behind = float(self._behind[number])
        bound, error = _LAW.formulas.largest_bound, 2.0**-49 * behind
        self._low[number] = bound(-math.log(clock) - _ERROR, -1.0) - behind - error
        self._high[number] = bound(-math.log(clock) + _ERROR, 1.0) - behind + error

    def _add(self, number: int, tape: Tape, item: int, divisor: int, pair: tuple[int, int]) -> None:
        """One more part of the clock of a block."""
        self._clocks.setdefault(number, []).append((tape, item, divisor))
        minus_log = noise_of_one(Law.GUMBEL, *pair)
        part = math.nan if minus_log is None else math.exp(-minus_log) / divisor
        self._sums[number] = self._sums.get(number, 0.0) + part

    def _leading(self) -> int:
        """The block with the largest c + E, exactly."""
        first = int(self._low.argmax())
        close = np.flatnonzero(self._high >= self._low[first]).tolist()
        return int(largest_of(close, self._exact))

    def _exact(self, number: int, a: Arithmetic, bits: int) -> Interval:
        """c + E of the next item of a block, relative to the best score."""
        block = self._blocks[number]
        first = (self._first, self._start + self._row * len(self._blocks) + number, block.raced)
        clock = a.fraction(Fraction(0))
        for tape, item, divisor in self._clocks.get(number, [first]):
            part = clock_interval(a, tape, item, bits)
            clock = a.add(clock, a.times(part, Fraction(1, divisor)))
        z = _LAW.formulas.largest_within(a, a.negate(a.ln(clock)))
        gap = max(Fraction(0), Fraction(self._best) - Fraction(block.upper))
        return a.subtract(z, a.fraction(self._scale * gap))


def peeled(universe: InBlocks, tape: Tape, scale: Fraction) -> list[int]:
    """The winners of k rounds of permute-and-flip, each taken out; k is that of the universe."""
    race, chosen, out = _Race(universe, tape, scale), [], set()
    front = 0
    with np.errstate(all="ignore"):
        for _ in universe.best:
            while universe.best[front] in out:
                front += 1
            chosen.append(race.winner(universe.scores[front]))
            out.add(chosen[-1])
    return chosen
