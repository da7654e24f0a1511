"""How many k-subsets of ranked items have which loss, in logarithms: the classes of Canonical.

A subset that holds the best h items, misses the next and reaches down to rank t > k is in the
class (h, t) of C(t-h-2, k-1-h) subsets, and the top k is a class by itself [Canonical, Def 3.4
with h >= 0 and the body from h+2, as in the errata]. Heads with equal scores are taken
together: the subsets with tail t and a head from h0 to h1 are those that hold the best h0
without those that hold the best h1 + 1, C(t-1-h0, k-1-h0) - C(t-h1-2, k-h1-2). With gamma = 1
the head does not count, and one run holds them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.formulas import log1mexp
from winnow.errors import ParameterError
from winnow.select.plan.chances import Counts, Floats

BLOCKS = 128
"""Ranges of tails that are looked at as a whole before any class in them is."""

_GRID = 2.0**-20  # high parts are multiples of it, so their sums and differences are exact


class LogFactorials:
    """ln n! for n = 0, 1, ..., in an exact high part and a low part.

    ln n! reaches 1e6 where its differences matter to 1e-12. Each logarithm is split, the high
    parts add up without rounding, and the low parts (below 2^-21 each) with very little.
    """

    def __init__(self, largest: int) -> None:
        logs = np.log(np.arange(1, largest + 1))
        high = np.rint(logs / _GRID)
        self.high = np.append(0.0, np.cumsum(high)) * _GRID
        self.low = np.append(0.0, np.cumsum(logs - high * _GRID))

    def choose(self, tails: slice | Counts, top: int, chosen: int) -> Floats:
        """ln C(t + top, chosen) for every tail t."""
        rest = top - chosen
        high = _at(self.high, tails, top) - self.high[chosen] - _at(self.high, tails, rest)
        low = _at(self.low, tails, top) - self.low[chosen] - _at(self.low, tails, rest)
        return np.asarray(high + low)

    def ratio(
        self, tails: slice | Counts, top: int, below: int, scalars: tuple[int, int]
    ) -> Floats:
        """ln of (t + below)! a! / ((t + top)! b!) for every tail t, (a, b) the scalars."""
        a, b = scalars
        high = _at(self.high, tails, below) - _at(self.high, tails, top)
        low = _at(self.low, tails, below) - _at(self.low, tails, top)
        return np.asarray(
            (high + (self.high[a] - self.high[b])) + low + (self.low[a] - self.low[b])
        )


def _at(table: NDArray[Any], tails: slice | Counts, shift: int) -> NDArray[Any]:
    """The table at t + shift for every tail t; a view where the tails are a range."""
    if isinstance(tails, slice):
        return table[tails.start + shift : tails.stop + shift]
    return np.asarray(table[tails + shift])


@dataclass(frozen=True)
class Loss:
    """The canonical loss beyond that of the top k, in whole units, and what a unit weighs.

    (head x[h+1] + tail x[t]) with x counted from x[k], or, where ``person`` is given, the
    rounded loss ceil((x[h+1] - x[t])/(2 person)).
    """

    head: int
    tail: int
    weight: float
    """The exponent that one unit costs: epsilon/(2 Delta) per unit."""
    person: Fraction | None = None

    @classmethod
    def canonical(cls, gamma: Fraction, scale: Fraction) -> Loss:
        """(1 - gamma) x[h+1] - gamma x[t], for an exponent of -scale * loss."""
        head, tail = gamma.denominator - gamma.numerator, gamma.numerator
        return cls(head, tail, float(scale / gamma.denominator))

    @classmethod
    def rounded(cls, person: Fraction, epsilon: Fraction) -> Loss:
        """Whole people between the subset and the top k [Canonical, Lemma 3.1]."""
        return cls(1, 1, float(epsilon / 2), person)

    @property
    def factor(self) -> int:
        """By how much scores are multiplied on the way to a loss."""
        return self.head + self.tail if self.person is None else self.person.denominator

    def of(self, missing: int, last: Counts) -> Counts:
        """The loss of subsets that miss this score and end at those; both counted from x[k]."""
        if self.person is None:
            return np.asarray(self.head * missing - self.tail * last)
        steps = (last - missing) * self.person.denominator
        return np.asarray(-(steps // (2 * self.person.numerator)))


class Subsets:
    """The classes of k-subsets of d > k ranked scores, by runs of heads with one loss."""

    def __init__(self, ranked: Counts, k: int, loss: Loss, cuts: tuple[int, ...]) -> None:
        """``ranked`` decrease; heads on the two sides of a cut are kept apart."""
        spread = int(ranked[0]) - int(ranked[-1])
        if spread * loss.factor >= 2**62:
            raise ParameterError(
                "scores spread over more than 2^62 units of loss; give scores in larger units"
            )
        self.d, self.k, self.loss = len(ranked), k, loss
        self.scores = ranked - ranked[k - 1]
        self.factorials = LogFactorials(self.d)
        tops = self.scores[:k]
        changes = tops[1:] != tops[:-1] if loss.head else np.zeros(k - 1, np.bool_)
        starts = {0, *(np.flatnonzero(changes) + 1).tolist(), *(c for c in cuts if 0 < c < k)}
        self.runs = [
            (int(start), int(end) - 1)
            for start, end in zip(sorted(starts), [*sorted(starts)[1:], k], strict=True)
        ]
        offsets = np.unique(np.rint(np.geomspace(1, self.d - k, BLOCKS)).astype(np.int64))
        self.block_starts = k + offsets
        self.block_ends = np.append(self.block_starts[1:] - 1, self.d)

    def losses(self, run: tuple[int, int], tails: slice | Counts) -> Counts:
        """The loss of the run's subsets for every tail, in whole units."""
        return self.loss.of(int(self.scores[run[0]]), _at(self.scores, tails, -1))

    def log_sizes(self, run: tuple[int, int], tails: slice | Counts) -> Floats:
        """The log of how many subsets have a head in the run and each of the tails (> k)."""
        first, last = run
        k, table = self.k, self.factorials
        if first == last:
            return table.choose(tails, -first - 2, k - 1 - first)
        sizes = table.choose(tails, -first - 1, k - 1 - first)
        if last + 2 > k:
            return sizes
        # (t-h1-2)! (k-1-h0)! / ((t-1-h0)! (k-h1-2)!): the part that holds the best h1 + 1
        part = table.ratio(tails, -first - 1, -last - 2, (k - 1 - first, k - last - 2))
        return np.asarray(sizes + log1mexp(np.minimum(part, 0.0)))

    def log_weights(self, run: tuple[int, int], tails: slice | Counts) -> Floats:
        """ln(size) - weight * loss: the log weights under the exponential mechanism."""
        cost = self.loss.weight * self.losses(run, tails).astype(np.float64)
        return np.asarray(self.log_sizes(run, tails) - cost)

    def relevant(self, dropped: float) -> tuple[list[tuple[tuple[int, int], slice]], float]:
        """The runs and tails that matter, and the log of a bound on the weight of the rest.

        A block of tails t0..t1 of a run weighs at most C(t1-h0, k-h0), the subsets of the best
        t1 that hold the best h0, times the weight of the least loss in it, at t0. Blocks with
        less than e^-dropped of a lower bound on the total are left out on both sides.
        """
        starts, ends = self.block_starts, self.block_ends
        log_least = 0.0  # the top k itself
        for run in self.runs:
            for tails in (starts, ends):
                log_least = max(log_least, float(self.log_weights(run, tails).max()))
        kept = []
        log_rest = -np.inf
        for run in self.runs:
            cost = self.loss.weight * self.losses(run, starts).astype(np.float64)
            bound = self.factorials.choose(ends, -run[0], self.k - run[0]) - cost
            inside = np.flatnonzero(bound >= log_least - dropped)
            if inside.size:
                first, last = inside[0], inside[-1]
                kept.append((run, slice(int(starts[first]), int(ends[last]) + 1)))
                bound = np.concatenate((bound[:first], bound[last + 1 :]))
            log_rest = np.logaddexp(log_rest, np.logaddexp.reduce(bound, initial=-np.inf))
        return kept, float(log_rest)


def great(k: int) -> tuple[int, int]:
    """(least head, largest tail) of GREAT: the best ceil(k/10), nothing beyond floor(11k/10)."""
    return -(-k // 10), 11 * k // 10


def good(k: int) -> tuple[int, int]:
    """(least head, largest tail) of GOOD: the best ceil(k/100), nothing beyond floor(3k/2)."""
    return -(-k // 100), 3 * k // 2
