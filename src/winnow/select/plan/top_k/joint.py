"""The exact chances of Joint, when the counts are known.

Joint draws a sequence S of k distinct items with probability ~ exp(a u(S)), where
u(S) = -max_i (c_i - c_{s_i}) and a = epsilon/(2 width) [Joint, Section 3]. Counts are integers
(real scores: steps of the mechanism's grid), so u = 0, -1, -2, ... With
t_r(u) = #{j : c_j >= c_r + u} there are N(u) = prod_r (t_r(u) - (r - 1)) sequences of utility u
or more, and

    Pr[u] = (N(u) - N(u+1)) e^(au) / Z,    Z = sum_u (N(u) - N(u+1)) e^(au).

N changes only at the differences u = v - c_r of a distinct count v and a leader c_r, where
ln N grows by sum_r ln((t_r(u) - (r-1))/(t_r(u+1) - (r-1))). The differences in a range of u
are gathered, sorted and summed up from ln N at its upper end, so a class costs O(1) and not
O(k); a range holds at most ``EVENTS`` of them, so memory does not grow like dk.

Ranges that cannot matter are dropped: the classes low..high weigh at most
(N(low) - N(high+1)) e^(a high) together, and Z >= N(u) e^(au) for every u. The bounds of what
was dropped add up to ``missed``, below e^-45.

The most likely list: N(0) sequences have u = 0, and they are the top-k list up to ties. A
released sequence whose items are the top k in any order: for one such set these sequences are
those of Joint on its k counts alone, so they weigh Z(c_1, ..., c_k), and with r of m items
tied at c_k in the set there are C(m, r) such sets:

    Pr[TOP-k as a set] = C(m, r) Z(c_1, ..., c_k) / Z(c_1, ..., c_d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from winnow.core.formulas import log1mexp
from winnow.core.noisy_top.log_counts import log_binomial, log_product
from winnow.select.plan.chances import Counts, Floats

DROPPED = 52.0  # a range is dropped below e^-52 of Z; a thousand such ranges are below e^-45
EVENTS = 1 << 19  # differences in one range
CLASSES = 1 << 20  # more classes than this are merged with their neighbours


@dataclass(frozen=True, eq=False)
class UtilityClasses:
    """Utilities, decreasing from 0, and the log weight (N(u) - N(u+1)) e^(au) of each."""

    utilities: Counts
    log_weights: Floats
    log_total: float
    log_dropped: float
    """The log of an upper bound on the weight of the classes that are not listed."""
    coarseness: int
    """Utilities that far apart may have been merged, under the lowest of them; 0: none were."""


@dataclass(frozen=True, eq=False)
class JointChances:
    """How a draw of Joint ends."""

    utilities: Counts
    """In decreasing order; what is not listed has a total chance of at most ``missed``."""
    log_chances: Floats
    log_top_sequence: float
    """That the list is that of the k highest counts in order, up to ties."""
    log_top_set: float
    """That its items are k of the highest counts, in any order."""
    missed: float
    coarseness: int
    """Errors that far apart may have been merged, into the largest of them."""

    @property
    def chances(self) -> Floats:
        """Pr[u] for every listed utility."""
        return np.asarray(np.exp(self.log_chances))

    def error_quantile(self, confidence: float) -> int:
        """What max_i (c_i - c_{s_i}) does not exceed with this probability, exactly."""
        reached = np.cumsum(self.chances)
        place = int(np.searchsorted(reached, confidence * (1.0 - 1e-12)))
        return -int(self.utilities[min(place, self.utilities.size - 1)])

    def error_chance(self, error: float) -> float:
        """Pr[max_i (c_i - c_{s_i}) <= error]."""
        return min(1.0, float(self.chances[self.utilities >= -error].sum()))


def joint_chances(counts: Counts, k: int, scale: float) -> JointChances:
    """The chances on these counts (in any order), for a weight of exp(scale * utility)."""
    ranked = np.sort(counts)[::-1]
    everything = utility_classes(ranked, k, scale)
    top = utility_classes(ranked[:k], k, scale)
    log_chances = everything.log_weights - everything.log_total
    return JointChances(
        everything.utilities,
        log_chances,
        float(log_chances[0]),
        min(0.0, log_top_sets(ranked, k) + top.log_total - everything.log_total),
        math.exp(everything.log_dropped - everything.log_total),
        everything.coarseness,
    )


def log_top_sets(ranked: Counts, k: int) -> float:
    """The log of how many k-subsets have the k highest scores: C(m, r) by ties at the k-th."""
    tied = ranked == ranked[k - 1]
    chosen = int(tied[:k].sum())
    return sum(log_binomial(int(tied.sum()), chosen)) / 2.0


def utility_classes(ranked: Counts, k: int, scale: float) -> UtilityClasses:
    """All classes of Joint on counts in decreasing order, but for a negligible rest."""
    sequences = _SequenceCounts(ranked, k)
    lowest = sequences.lowest
    classes = _Found(sequences.log_at_least(0), scale)
    threshold = _log_total_at_least(sequences, scale) - DROPPED
    log_dropped = -math.inf
    ranges = (
        [(lowest, -1, sequences.log_at_least(lowest), sequences.log_at_least(0))] if lowest else []
    )
    while ranges:  # from the highest range to the lowest
        low, high, log_low, log_above = ranges.pop()
        if log_low == log_above and sequences.events(low, high) == 0:
            continue
        bound = log_low + float(log1mexp(np.array(min(log_above - log_low, 0.0)))) + scale * high
        if bound < threshold:
            log_dropped = float(np.logaddexp(log_dropped, bound))
        elif low == high or sequences.events(low, high) <= (
            EVENTS if scale * (high - low) < 1.0 else EVENTS // 64
        ):
            classes.add(*sequences.classes(low, high, log_above, scale))
        else:
            middle = (low + high) // 2
            log_middle = sequences.log_at_least(middle + 1)
            ranges.append((low, middle, log_low, log_middle))
            ranges.append((middle + 1, high, log_middle, log_above))
    return classes.result(log_dropped)


class _SequenceCounts:
    """N(u) and its steps for counts in decreasing order, measured from the largest."""

    def __init__(self, ranked: Counts, k: int) -> None:
        values, sizes = np.unique(ranked - ranked[0], return_counts=True)
        self.values = values  # ascending, the last is 0
        self.reach = np.cumsum(sizes[::-1])[::-1]  # how many counts are at least this value
        self.sizes = sizes
        leaders = ranked[:k] - ranked[0]
        self.rows = np.arange(k)
        self.leaders, starts = np.unique(-leaders, return_index=True)
        self.leaders = -self.leaders  # distinct, descending
        self.starts = np.append(starts, k)
        self.repeats = np.diff(self.starts)
        self.lowest = int(values[0])

    def log_at_least(self, utility: int) -> float:
        """ln N(u)."""
        place = np.searchsorted(self.values, np.maximum(self.leaders + utility, self.lowest))
        free = np.repeat(self.reach[place], self.repeats) - self.rows
        return sum(log_product(free)) / 2.0

    def _places(self, low: int, high: int) -> tuple[Counts, Counts]:
        """For every distinct leader c, which values v have low <= v - c <= high."""
        first = np.searchsorted(self.values, np.maximum(self.leaders + low, self.lowest))
        last = np.searchsorted(
            self.values, np.maximum(self.leaders + high, self.lowest - 1), side="right"
        )
        return first, last

    def events(self, low: int, high: int) -> int:
        """How many differences lie in a range of utilities."""
        first, last = self._places(low, high)
        return int((last - first).sum())

    def classes(self, low: int, high: int, log_above: float, scale: float) -> tuple[Counts, Floats]:
        """Utilities of a range, descending, and their log weights; ``log_above`` = ln N(high+1)."""
        utilities, growth = [], []
        for g, (first, last) in enumerate(zip(*self._places(low, high), strict=True)):
            if first == last:
                continue
            size, above = self.sizes[first:last], self.reach[first:last] - self.sizes[first:last]
            log_growth = np.zeros(last - first)
            for row in range(self.starts[g], self.starts[g + 1]):
                log_growth += np.log1p(size / (above - row))
            utilities.append(self.values[first:last] - self.leaders[g])
            growth.append(log_growth)
        distinct, group = np.unique(-np.concatenate(utilities), return_inverse=True)
        steps = np.bincount(group, np.concatenate(growth)).astype(np.float64)
        log_reached = log_above + np.cumsum(steps)
        weights = log_reached + log1mexp(-steps) - scale * distinct.astype(np.float64)
        return -distinct, weights


def _log_total_at_least(sequences: _SequenceCounts, scale: float) -> float:
    """A lower bound on ln Z: the largest N(u) e^(au) over a few dozen utilities."""
    reach = -sequences.lowest
    points = {0, reach, *(int(reach * i / 32) for i in range(1, 32))}
    points |= {2**i for i in range(62) if 2**i < reach}
    best = max(points, key=lambda u: sequences.log_at_least(-u) - scale * u)
    low, high = best // 2, min(2 * best, reach)
    finer = {low + (high - low) * i // 32 for i in range(33)}
    return max(sequences.log_at_least(-u) - scale * u for u in finer | {best})


class _Found:
    """The classes so far, from the highest utility down; merged when there are too many."""

    def __init__(self, log_first: float, scale: float) -> None:
        self.utilities = [np.zeros(1, np.int64)]
        self.log_weights = [np.array([log_first])]
        self.width = 0
        self._finest = math.ceil(min(2.0**-8 / scale, 2.0**60))
        self._size = 0

    def add(self, utilities: Counts, log_weights: Floats) -> None:
        self.utilities.append(utilities)
        self.log_weights.append(log_weights)
        self._size += utilities.size
        if self._size > CLASSES:
            self._merge(self.width or self._finest)
            while self._size > CLASSES // 2:
                self._merge(2 * self.width)

    def _merge(self, width: int) -> None:
        """Join what lies in one cell of the width, under its lowest utility; u = 0 stays."""
        utilities = np.concatenate(self.utilities[1:])
        log_weights = np.concatenate(self.log_weights[1:])
        self.width = width
        cells = -utilities // width
        last = np.append(cells[1:] != cells[:-1], True)
        first = np.append(0, np.flatnonzero(last)[:-1] + 1)
        top = np.maximum.reduceat(log_weights, first)
        shifted = np.exp(log_weights - np.repeat(top, np.diff(np.append(first, last.size))))
        self.utilities[1:] = [utilities[last]]
        self.log_weights[1:] = [top + np.log(np.add.reduceat(shifted, first))]
        self._size = int(last.sum())

    def result(self, log_dropped: float) -> UtilityClasses:
        log_weights = np.concatenate(self.log_weights)
        top = float(log_weights.max())
        return UtilityClasses(
            np.concatenate(self.utilities),
            log_weights,
            top + math.log(float(np.exp(log_weights - top).sum())),
            log_dropped,
            self.width,
        )
