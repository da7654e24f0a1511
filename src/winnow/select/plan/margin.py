"""One question to four mechanisms: which margin lets a best candidate win often enough?

`near` candidates share the best score, all others lie one margin behind, and there may be more
of them than anybody can list. See ``winnow.plan.large_margin`` for what follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from winnow.core.laws import Law
from winnow.errors import ParameterError
from winnow.select.mechanisms.margin_search import stopping_margin, three_laplace_tail
from winnow.select.plan.chances import Counts, Floats, GapProfile, gauss, win_chances, with_kinks

MOST_RANKS = 1_000_000
NEGLIGIBLE = 1e-11
ENOUGH = 1e-10
JOINED = 1e-8  # the M of the docstring
TWO_LEVEL_RANKS = 512  # beyond the near ones the chance to stop falls like rank^-2.5
CELLS = 1 << 16  # entries of one temporary array; it fits the cache
REACH = 20.0  # Pr[|t| > 20] < 1e-17
KINK_WEIGHT = 1e-8  # a kink under a density below this costs less than 1e-13


@dataclass(frozen=True)
class MarginChances:
    """How the mechanism ends, for every distinct gap of a profile."""

    chances: Floats
    """Chance that the winner has this gap."""
    missed: float
    """What was passed over lowers the chance of the best, or of any error bound, by this
    at most."""


def margin_chances(
    profile: GapProfile, sensitivity: float, epsilon: float, delta: float, thresholds: str
) -> MarginChances:
    """The chance of every distinct gap under LargeMargin(epsilon, delta, thresholds)."""
    for most in (4096, 65_536):  # most searches end early
        chances = _within(profile, sensitivity, epsilon, delta, thresholds, min(most, MOST_RANKS))
        if chances.missed <= ENOUGH:
            return chances
    return _within(profile, sensitivity, epsilon, delta, thresholds, MOST_RANKS)


def two_level_chance(
    near: int, others: float, margin: float, epsilon: float, delta: float, thresholds: str
) -> float:
    """The chance of a best candidate when `near` share the best score and all others lie
    `margin` behind, in units of the sensitivity; a lower bound, as above.

    ``others`` is a float: universes that nobody can list are welcome. With infinity the result
    is Pr[the search stops at rank `near` or before], up to what stops in the next ranks, and
    holds for every number of others.
    """
    ranks = np.arange(1, int(min(near + others, near + TWO_LEVEL_RANKS + 1.0)))
    gaps = np.where(ranks < near, 0.0, margin)
    scaled = (gaps - stopping_margin(ranks, epsilon, delta, thresholds)) * (epsilon / 12.0)
    stops, passed = _stopping_chances(scaled)
    weight = np.exp(-min(margin * epsilon / 6.0, 700.0))
    best = np.where(ranks <= near, 1.0, near / (near + (ranks - near) * weight))
    last = near / (near + others * weight) if others else 1.0
    return min(1.0, float(stops @ best) + passed * last)


def _within(
    profile: GapProfile,
    sensitivity: float,
    epsilon: float,
    delta: float,
    thresholds: str,
    most: int,
) -> MarginChances:
    """The ranks within a margin, visiting at most so many."""
    with np.errstate(over="ignore"):  # no threshold and no softmax sees beyond this cap
        gaps = np.minimum(profile.values / sensitivity, 10.0 + 1e6 / epsilon)
    ends = np.cumsum(profile.counts)
    starts = ends - profile.counts  # the candidates before each group
    first, last, skipped = _visited(gaps, starts, ends, epsilon, delta, thresholds, most)
    group = np.repeat(np.arange(gaps.size), last - first)
    ranks = np.arange(group.size) + (first - np.cumsum(last - first) + (last - first))[group]
    margin = gaps[group] - stopping_margin(ranks, epsilon, delta, thresholds)
    stops, passed = _stopping_chances(margin * (epsilon / 12.0))

    # A stop at l leaves the l best; their softmax has normaliser A(l).
    weights = np.exp(-gaps * (epsilon / 6.0))
    sizes = profile.counts * weights
    before = np.cumsum(sizes) - sizes
    normaliser = before[group] + (ranks - starts[group]) * weights[group]
    share = stops / normaliser
    # A group is there whole when the stop is at its end or later, and in part when inside.
    onwards = np.append(np.cumsum(share[::-1])[::-1], 0.0)[np.searchsorted(ranks, ends)]
    whole = profile.counts * (onwards + passed / sizes.sum())
    part = np.bincount(group, share * (ranks - starts[group]), gaps.size)
    chances = np.minimum(weights * (whole + part), 1.0)

    # To run on from rank l changes the law of the winner by at most 1 - A(l)/A(d). What is
    # missed: the ranks skipped up to some group, and what still runs there.
    change = np.maximum(1.0 - (before + (last - starts) * weights) / sizes.sum(), 0.0)
    running = 1.0 - np.append(0.0, np.cumsum(stops))[np.searchsorted(ranks, ends)]
    so_far = np.append(0.0, np.cumsum(skipped * change))
    missed = np.append(so_far[:-1] + np.maximum(running, 0.0) * change, so_far[-1]).min()
    return MarginChances(chances, float(missed))


def _visited(
    gaps: Floats,
    starts: Counts,
    ends: Counts,
    epsilon: float,
    delta: float,
    thresholds: str,
    most: int,
) -> tuple[Counts, Counts, Floats]:
    """For every group the ranks to visit, as [first, last), and a bound on what is skipped.

    Rank l looks at candidate l + 1 and belongs to the group of that. Within a group (one
    gap) the thresholds grow, so the ranks to visit come first in it; the chance of a stop
    at one of the others is bounded.
    """

    def stop_chance(ranks: Counts, gaps: Floats) -> Floats:
        excess = stopping_margin(ranks, epsilon, delta, thresholds) - gaps
        tail = three_laplace_tail(np.abs(excess), epsilon)
        return np.where(excess >= 0, tail, 1.0 - tail)

    first = np.maximum(starts, 1)
    low, high = first.copy(), ends.copy()  # the first rank to pass over lies in [low, high]
    open_ = np.flatnonzero(low < high)
    while open_.size:
        middle = (low[open_] + high[open_]) // 2
        matters = stop_chance(middle, gaps[open_]) * (middle + 1.0) >= NEGLIGIBLE
        low[open_] = np.where(matters, middle + 1, low[open_])
        high[open_] = np.where(matters, high[open_], middle)
        open_ = open_[low[open_] < high[open_]]
    kept = low - first
    last = first + np.clip(most - (np.cumsum(kept) - kept), 0, kept)
    rest = ends - last
    # Below 0.3 the chance falls faster than 1/(l(l+1)) within the group, since T(l) grows by
    # 30/epsilon per unit of ln(l): so its sum is below (l + 1) times it.
    skipped = np.where(rest > 0, stop_chance(last, gaps) * np.minimum(rest, last + 1.0), 0.0)
    return first, last, np.minimum(skipped, 1.0)


def _stopping_chances(margins: Floats) -> tuple[Floats, float]:
    """Pr[the search stops at this rank] for the visited ranks, and Pr[at none of them].

    ``margins`` are g(l+1) - T(l) in units of the scale of Z_l.
    """
    if not margins.size:
        return np.zeros(0), 1.0
    rising = np.exp(np.clip(margins, -600.0, 600.0))
    small = rising < JOINED
    level = np.floor(np.cumsum(np.where(small, rising, 0.0)) / JOINED)
    opens = np.append(True, ~small[1:] | ~small[:-1] | (level[1:] != level[:-1]))
    block = np.cumsum(opens) - 1
    joined = np.add.reduceat(rising, np.flatnonzero(opens))
    stops = _block_chances(joined)[block] * (rising / joined[block])
    return stops, max(0.0, 1.0 - float(stops.sum()))


def _block_chances(rising: Floats) -> Floats:
    """Pr[the search stops here] for ranks given as e^a in order, by integration over t."""
    edges = with_kinks(np.arange(-REACH, REACH + 0.5), np.append(_kinks(rising), 0.0))
    t, weight = gauss(edges)
    weight = weight * _density(t)
    order = np.exp(t)
    stops = np.zeros(rising.size)
    i = 0
    while i < rising.size and order.size:
        j = min(rising.size, i + max(1, CELLS // order.size))
        stop, go_on = _laplace_cdf(np.outer(rising[i:j], order))
        survived = np.vstack((np.ones(order.size), np.cumprod(go_on, axis=0)))
        stops[i:j] = (survived[:-1] * stop) @ weight
        weight = weight * survived[-1]
        alive = weight > 1e-19
        weight, order = weight[alive], order[alive]
        i = j
    return stops


def _kinks(rising: Floats) -> Floats:
    """The t at which a stopping chance is not smooth and the search may still be running."""
    grid = np.arange(-11.0, 11.0, 0.5)
    running = np.ones(grid.size)
    relevant = []
    for i in range(0, rising.size, 4096):
        chunk = rising[i : i + 4096]
        _, go_on = _laplace_cdf(np.outer(chunk, np.exp(grid)))
        survived = np.vstack((running, running * np.cumprod(go_on, axis=0)))
        where = -np.log(chunk)
        cell = np.floor((where - grid[0]) / 0.5).astype(np.int64)
        inside = (cell >= 0) & (cell < grid.size)
        cell = np.clip(cell, 0, grid.size - 1)
        # The survival falls in t, so its value at the left end of the cell bounds it.
        near = np.exp(-2.0 * np.maximum(np.abs(grid[cell]) - 0.5, 0.0))
        bound = survived[:-1][np.arange(chunk.size), cell] * near
        relevant.append(where[inside & (bound > KINK_WEIGHT)])
        running = survived[-1]
        if running[0] < KINK_WEIGHT:
            break
    return np.concatenate(relevant)


def _laplace_cdf(e: Floats) -> tuple[Floats, Floats]:
    """Pr[Z < z] and Pr[Z >= z] for Z ~ Lap(1), given e = exp(z)."""
    tail = 0.5 * np.minimum(e, 1.0 / e)
    below = np.where(e < 1.0, tail, 1.0 - tail)
    return below, 1.0 - below


def _density(t: Floats) -> Floats:
    """The density of epsilon (Z - G)/12 for Z ~ Lap(3/epsilon) and G ~ Lap(6/epsilon)."""
    y = np.exp(-2.0 * np.abs(t))
    return np.asarray(y * (4.0 / 3.0 - 2.0 / 3.0 * y))


COMPARED = ("permute-and-flip", "exponential", "large-margin", "large-margin (printed)")
"""The words for the four: the third has tight thresholds, the fourth those of the paper."""
_LARGEST = 600.0  # ln of the largest universe: a float holds it with its weights


@dataclass(frozen=True)
class MarginQuestion:
    """What all answers have in common; everything is public or assumed."""

    near: int
    epsilon: float
    delta: float
    chance: float
    sensitivity: float

    def needed(
        self, mechanism: str, others: float, *, at_most: float = math.inf, within: float = 1e-6
    ) -> float:
        """The least margin with the wanted chance, in score units; `others` may be infinite.

        ``at_most`` is a margin that is known to suffice, ``within`` the relative accuracy.
        """
        if others == 0:
            return 0.0
        if mechanism == "exponential":
            odds = math.log(self.chance) - math.log1p(-self.chance)
            multiple = max(0.0, math.log(others / self.near) + odds)
        else:
            known = at_most / self._unit(mechanism)
            multiple = _least(
                lambda m: self._chance(mechanism, others, m) >= self.chance, known, within
            )
        return multiple * self._unit(mechanism)

    def chance_at(self, mechanism: str, others: float, margin: float) -> float:
        """The chance of a best candidate at this margin in score units."""
        return self._chance(mechanism, others, margin / self._unit(mechanism))

    def crossover(self, against: str, bounded: float) -> float:
        """log10 of the universe at which `against` needs this margin, too."""
        multiple = bounded / self._unit(against)
        reached = _least(
            lambda size: (
                self._chance(against, math.exp(min(size, _LARGEST)), multiple) <= self.chance
                or size > _LARGEST
            )
        )
        if reached > _LARGEST:
            return math.inf
        return math.log10(math.exp(reached) + self.near)

    def _unit(self, mechanism: str) -> float:
        """Score units of one unit of the exponent, or of the large margin mechanism's noise."""
        return (2.0 if is_pure(mechanism) else 1.0) * self.sensitivity / self.epsilon

    def _chance(self, mechanism: str, others: float, multiple: float) -> float:
        """The chance at a margin in units of `_unit`."""
        if is_pure(mechanism):
            law = Law.GUMBEL if mechanism == "exponential" else Law.EXPONENTIAL
            if multiple == 0:
                return self.near / (self.near + others)
            scores, counts = np.array([0.0, -multiple]), np.array([float(self.near), others])
            return float(win_chances(law, scores, counts)[0])
        thresholds = "printed" if "printed" in mechanism else "tight"
        margin = multiple / self.epsilon
        return two_level_chance(self.near, others, margin, self.epsilon, self.delta, thresholds)


def is_pure(mechanism: str) -> bool:
    """Whether it is epsilon-DP, without a delta."""
    return mechanism in COMPARED[:2]


def _least(
    reached: Callable[[float], bool], known: float = math.inf, within: float = 1e-6
) -> float:
    """The least x >= 0 that reaches the target; ``known`` is one that does."""
    if reached(0.0):
        return 0.0
    low, high = 0.0, min(known, 1.0)
    while high < known and not reached(high):
        low, high = high, min(known, 2.0 * high)
        if high > 2.0**60:
            raise ParameterError("no margin reaches this chance; lower the chance")
    while high - low > within * high:
        middle = 0.5 * (low + high)
        if reached(middle):
            high = middle
        else:
            low = middle
    return high
