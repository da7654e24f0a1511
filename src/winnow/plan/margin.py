"""The exact chances of the large margin mechanism, when the gaps are known [LMM, Alg 1].

In units of the sensitivity, with g(1) = 0 <= g(2) <= ... the sorted gaps, the search stops
at rank l when Z_l < g(l+1) + W - T(l), where W = Z - G is shared by all ranks and the Z_l
are independent. So, given W, the ranks stop independently; W is integrated numerically.
Its density, with t = epsilon W/12, is 4/3 e^(-2|t|) - 2/3 e^(-4|t|): the partial fractions
of two Laplace laws of scales 1/4 and 1/2. Then a softmax with exponent epsilon/6 per unit
chooses among the l best.

Only ranks that can stop the search are visited. A rank is passed over when (l + 1) times
its chance to stop is below 1e-11 (together less than 1e-11 ln(d)), or when ``MOST_RANKS``
have been visited already. Both err on the safe side: a search that runs on to the last
rank has a stochastically larger error, because a softmax over more of the worse candidates
has. So the chance of the best is a lower bound, and ``missed`` says by how much at most.

Consecutive ranks whose chances to stop are tiny are joined into one. Below its threshold
rank l stops with chance e^(a + t)/2, a = epsilon (g(l+1) - T(l))/12, so ranks with e^a
adding up to M stop like one rank with e^a = M, and each has its share e^a/M of that, up to
terms of the order M^2 ln(1/M): far below 1e-12 for the M here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow.mechanisms.margin_thresholds import stopping_margin, three_laplace_tail
from winnow.plan.chances import gauss, with_kinks
from winnow.plan.profile import Counts, Floats, GapProfile

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
        found = _within(profile, sensitivity, epsilon, delta, thresholds, min(most, MOST_RANKS))
        if found.missed <= ENOUGH:
            return found
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
    """The same, visiting at most so many ranks."""
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
