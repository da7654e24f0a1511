"""The exact chance that a oneshot top-k release is the true top k.

A set A of candidates beats all others B with probability

    integral of prod_{A} S(x - s_i) * prod_{B} F(x - s_j) * sum_{A} h(x - s_i) dx,

where S = 1 - F and h = -S'/S: x is the smallest noisy score within A. The first two
factors are log-concave for each of the five laws, so the mass lies in one interval, which
is found first; 0 <= h <= 1 because log S is 1-Lipschitz [Canonical, Def 2.1].

Ties at the k-th score: every set of k candidates with the k highest scores counts as
right. These sets are equally likely and exclude each other, so one of them is computed
and multiplied by their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from winnow.plan.chances import CUT, Field, gauss, kinks_of_cdf, summed, with_kinks
from winnow.plan.profile import Floats
from winnow.random.laws import Law

PANELS = 48
FAR_AHEAD = 1000.0  # even 2^53 times 2^53 pairs do not bridge it: e^-926


def top_set_chance(law: Law, scores: Floats, counts: Floats, k: int) -> float:
    """The probability that k candidates with the k highest scores are reported.

    ``scores`` decrease strictly from 0; ``counts`` are the group sizes, as floats.
    """
    ends = np.cumsum(counts)
    if k >= ends[-1]:
        return 1.0
    last = int(np.searchsorted(ends, k))
    taken = k - (float(ends[last - 1]) if last else 0.0)
    left = float(counts[last]) - taken
    inside, outside = counts[: last + 1].copy(), counts[last:].copy()
    inside[last], outside[0] = taken, left
    first = last + (left == 0)
    return set_chance(
        law,
        (scores[: last + 1], inside),
        (scores[first:], outside[outside > 0]),
        _log_choose(taken + left, min(taken, left)),
    )


def set_chance(
    law: Law,
    inside: tuple[Floats, Floats],
    outside: tuple[Floats, Floats],
    log_sets: float = 0.0,
) -> float:
    """The probability that all of ``inside`` beat all of ``outside``, times e^log_sets.

    Both are (scores decreasing, counts), and no score inside is below one outside.
    """
    # x is measured from the best outside; a lead beyond FAR_AHEAD is as good as this one.
    lead = min(float(inside[0][-1] - outside[0][0]), FAR_AHEAD)
    scores, counts = inside[0] - inside[0][-1] + lead, inside[1]
    members = float(counts.sum())
    depth = CUT + log_sets
    field = Field.of(law, outside[0] - outside[0][0], outside[1], depth)
    # Below `low` the others are certain to be beaten, or no member is near: h(z) <= e^z.
    low = max(field.floor, float(scores[-1]) - depth - math.log(members))
    high = _where_below(
        lambda x: float(counts @ law.log_sf(x - scores)) + depth,
        low,
        float(scores[-1]) + depth + 1.0,
    )
    if high <= low:
        return 0.0
    felt = scores <= high + depth + math.log(members)  # the others are certain to pass
    scores, counts = scores[felt], counts[felt]

    def log_density(x: Floats) -> Floats:
        return np.asarray(log_sets + summed(law.log_sf, x, scores, counts) + field.log_cdf(x))

    peak, top = _peak(log_density, low, high)
    if top + math.log(members * (high - low)) < -CUT:
        return 0.0

    def above(x: float) -> float:
        return float(log_density(np.array([x]))[0]) - top + CUT

    left = -_where_below(lambda x: above(-x), -peak, -low)
    right = _where_below(above, peak, high)
    panels = max(PANELS, math.ceil(right - left))
    kinks = np.concatenate((_kinks_of_sf(law, scores), kinks_of_cdf(law, field.scores)))
    x, weight = gauss(with_kinks(np.linspace(left, right, panels + 1), kinks))
    hazards = summed(lambda z: hazard(law, z), x, scores, counts)
    return min(1.0, float(weight @ (np.exp(log_density(x)) * hazards)))


def hazard(law: Law, x: Floats) -> Floats:
    """F'(x)/(1 - F(x)): minus the slope of log S."""
    with np.errstate(over="ignore"):
        match law:
            case Law.GUMBEL:
                y = np.exp(np.minimum(-x, 6.6))  # y/(e^y - 1) is 0 beyond y = 735
                return np.asarray(y / np.expm1(y))
            case Law.EXPONENTIAL:
                return np.where(x > 0, 1.0, 0.0)
            case Law.LAPLACE:
                return np.asarray(1.0 / (2.0 * np.exp(np.maximum(-x, 0.0)) - 1.0))
            case Law.LOGISTIC:
                return np.asarray(1.0 / (1.0 + np.exp(-x)))
            case Law.HALF_LOGISTIC:
                return np.where(x > 0, 1.0 / (1.0 + np.exp(-x)), 0.0)


def _kinks_of_sf(law: Law, scores: Floats) -> Floats:
    """Where log S(x - s) is not smooth."""
    smooth = law in (Law.GUMBEL, Law.LOGISTIC)
    return np.empty(0) if smooth else scores


def _where_below(function: Callable[[float], float], low: float, high: float) -> float:
    """A point of [low, high] just beyond the one where a falling function passes zero."""
    if high <= low or function(low) <= 0:
        return low
    for _ in range(24):
        middle = 0.5 * (low + high)
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return high


def _peak(log_density: Callable[[Floats], Floats], low: float, high: float) -> tuple[float, float]:
    """Where a concave function is largest, and its value, by ever finer grids."""
    for _ in range(6):
        grid = np.linspace(low, high, 33)
        values = log_density(grid)
        best = int(np.argmax(values))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 32)]
    return float(grid[best]), float(values[best])


def _log_choose(n: float, r: float) -> float:
    """ln C(n, r) for r <= n/2, without the cancellation of three log-gammas."""
    if r > 1e6:
        return math.lgamma(n + 1) - math.lgamma(r + 1) - math.lgamma(n - r + 1)
    i = np.arange(r)
    return float(np.log((n - i) / (i + 1)).sum())
