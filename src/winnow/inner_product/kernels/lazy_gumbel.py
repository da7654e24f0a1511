"""The exponential mechanism over a known head and a tail of which only a bound is known.

Lazy Gumbel sampling [FastMWEM, Alg 4; Mussmann-Levy-Ermon 2017]: every candidate i has a noisy
score x_i + G_i with Gumbel noise; the head's are computed; of the tail only candidates with
G_i > B = M - t are looked at, where M is the largest noisy score of the head and t the tail's
level. When t bounds every score of the tail, no candidate that is left out could have won,
and the winner has the law of the exponential mechanism.

The printed algorithm draws how many tail candidates pass B (a binomial), which ones, and
their noise given that it exceeds B. Here the same three come from one description that needs
no probabilities: G_i = -ln E_i with independent Exp(1) clocks E_i, whose order statistics are
E_(r) = sum over j <= r of e_j/(N - j + 1) with fresh Exp(1) e_j [Renyi 1953], in an order of
the candidates that is uniform and independent of them. So the tail is met in decreasing order
of its noise, by fresh clocks and fresh ids, until G_(r) <= B. The set that was met, its size
and its noise have the law of the printed algorithm (with the binomial of its Algorithm 4:
Pr[G > B] = 1 - exp(-exp(-B))), whether or not t is a valid bound.

All decisions are exact: float64 with a proven error first, intervals of decimals where two
values overlap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval, is_above, largest_of, refined
from winnow.core.bounded import clock_interval, noise
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.tape import Tape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ScoresOf = Callable[[Integers], Integers]


def lazy_gumbel(
    size: int,
    head: Integers,
    head_scores: Integers,
    level: int,
    scores_of: ScoresOf,
    scale: Fraction,
    tape: Tape,
    excluded: Integers | None = None,
) -> int:
    """The winner among the candidates 0 .. size - 1 without the excluded ones.

    `head` holds distinct ids, at least one, none of them excluded; scores are int64 and enter
    as scale * score; `level` is t in units of scores.
    """
    place = noisy_top(head_scores, tape.child("head"), Law.GUMBEL, scale)[0]
    outside = np.sort(head if excluded is None else np.concatenate([head, excluded]))
    left = size - len(outside)
    if left == 0:
        return int(head[place])
    draw = _Draw(tape, place, int(head_scores[place]), level, scale, left)
    clocks = draw.passing()
    if len(clocks) == 0:
        return int(head[place])
    ids = distinct(tape.child("ids"), len(clocks), size, outside)
    winner = draw.winner(clocks, scores_of(ids))
    return int(head[place]) if winner is None else int(ids[winner])


class _Draw:
    """One draw: the head's winner, and the clocks of the tail in increasing order."""

    def __init__(
        self, tape: Tape, place: int, score: int, level: int, scale: Fraction, left: int
    ) -> None:
        self.head_tape, self.tape = tape.child("head"), tape.child("tail")
        self.place, self.score, self.level = place, score, level
        self.scale, self.left = scale, left
        g, error = _gumbel(self.head_tape, place, 1)
        self.g, self.g_error = float(g[0]), float(error[0])
        self.lift = float(scale * (level - score))
        """How far the tail's level lies above the score of the head's winner, in nats."""

    def passing(self) -> Floats:
        """The clocks of the tail whose noise exceeds B, in increasing order."""
        bar = self.g - self.lift  # G > B means clock < e^-B
        error = self.g_error + 2.0**-46 * (1.0 + abs(bar) + abs(self.lift))
        expected = self.left * -math.expm1(-math.exp(min(-bar, 50.0)))
        size = min(self.left, math.ceil(expected + 6.0 * math.sqrt(expected)) + 16)
        clocks = np.empty(0)
        while True:
            clocks = np.concatenate([clocks, self._more(clocks, size)])
            with np.errstate(divide="ignore"):
                noises = -np.log(clocks)
            slack = error + self._relative(len(clocks))
            inside = int(np.searchsorted(-noises, -(bar + slack), side="left"))
            outside = int(np.searchsorted(-noises, -(bar - slack), side="right"))
            if inside < len(clocks):
                for rank in range(inside, min(outside, len(clocks))):
                    if not self._passes(rank):
                        return clocks[:rank]
                if outside < len(clocks):
                    return clocks[:outside]
            if len(clocks) == self.left:
                return clocks
            size = min(self.left - len(clocks), 2 * size)

    def winner(self, clocks: Floats, scores: Integers) -> int | None:
        """The rank in the tail of the overall winner; None when the head's wins."""
        ahead = float(self.scale) * (scores - self.score).astype(np.float64)
        noises = -np.log(clocks)
        values = ahead + noises
        errors = self._relative(len(clocks)) + 2.0**-46 * (np.abs(ahead) + np.abs(noises) + 1.0)
        best = max(self.g - self.g_error, float((values - errors).max()))
        near = [int(rank) for rank in np.flatnonzero(values + errors >= best)]
        contenders: list[int | None] = list(near)
        if self.g + self.g_error >= best:
            contenders.append(None)

        def value(rank: int | None, a: Arithmetic, bits: int) -> Interval:
            return self._value(rank, None if rank is None else int(scores[rank]), a, bits)

        return largest_of(contenders, value)

    def _more(self, clocks: Floats, size: int) -> Floats:
        """The next clocks, each later than the one before by e_j/(number of those left)."""
        done = len(clocks)
        g, _ = _gumbel(self.tape, done, size)
        steps = np.exp(-g) / (self.left - np.arange(done, done + size))
        start = float(clocks[-1]) if done else 0.0
        return start + np.cumsum(steps)

    def _relative(self, count: int) -> float:
        """The relative error of a sum of so many positive clocks, each to 2^-38."""
        return 2.0**-37 + (count + 4) * 2.0**-51

    def _passes(self, rank: int) -> bool:
        """Whether the clock of this rank is early enough, refined as far as needed."""
        return is_above(partial(self._value, rank, self.level), partial(self._value, None, None))

    def _value(
        self, rank: int | None, score: int | None, arithmetic: Arithmetic, bits: int
    ) -> Interval:
        """A noisy score, relative to the score of the head's winner."""
        if rank is None or score is None:
            clock = clock_interval(arithmetic, self.head_tape, self.place, bits)
            return arithmetic.negate(arithmetic.ln(clock))
        clock = Interval(Decimal(0), Decimal(0))
        for item in range(rank + 1):
            step = clock_interval(arithmetic, self.tape, item, bits)
            clock = arithmetic.add(clock, arithmetic.times(step, Fraction(1, self.left - item)))
        ahead = arithmetic.fraction(self.scale * (score - self.score))
        return arithmetic.add(arithmetic.negate(arithmetic.ln(clock)), ahead)


def _gumbel(tape: Tape, first: int, count: int) -> tuple[Floats, Floats]:
    """-ln E of successive items and its error; the rare items of few known bits are refined."""
    ids = np.arange(first, first + count)
    g, error = noise(Law.GUMBEL, tape.words(first, count), tape.extension(ids, 0)[:, 0], None)
    for place in np.flatnonzero(~np.isfinite(error)):
        value = refined(partial(_narrow, tape, first + int(place)))
        g[place], error[place] = value, 2.0**-40 + 2.0**-50 * abs(value)
    return g, error


def _narrow(tape: Tape, item: int, a: Arithmetic, bits: int) -> float | None:
    """-ln E, where it is known to 10^-20."""
    value = a.negate(a.ln(clock_interval(a, tape, item, bits)))
    known = value.lo.is_finite() and value.hi - value.lo < Decimal("1e-20")
    return float(value.lo) if known else None


def distinct(tape: Tape, count: int, size: int, outside: Integers) -> Integers:
    """Distinct ids below `size` that are not in `outside` (sorted), uniform and in random order.

    Uniform ids, those drawn before or outside left out: what remains in front is a uniform
    sequence without repetition. 64-bit words at or above a multiple of `size` are refused, so
    that there is no bias.
    """
    limit = (1 << 64) // size * size
    found = np.empty(0, np.int64)
    drawn = 0
    while True:
        missing, fresh = count - len(found), size - len(outside) - len(found)
        batch = 16 + missing * (5 * size // (4 * fresh) + 1)
        items = np.arange(drawn, drawn + batch)
        drawn += batch
        words = tape.extension(items, 0)[:, 0]
        if limit < 1 << 64:
            words = words[words < np.uint64(limit)]
        ids = (words % np.uint64(size)).astype(np.int64)
        places = np.minimum(np.searchsorted(outside, ids), max(0, len(outside) - 1))
        if len(outside):
            ids = ids[outside[places] != ids]
        together = np.concatenate([found, ids])
        _, first = np.unique(together, return_index=True)
        found = together[np.sort(first)]
        if len(found) >= count:
            return found[:count]
