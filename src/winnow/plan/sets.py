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
    origin = outside[0][0]
    scores, counts = inside[0] - origin, inside[1]
    depth = CUT + log_sets
    field = Field.of(law, outside[0] - origin, outside[1], depth)

    ceiling = _where_below(
        lambda x: float(counts @ law.log_sf(x - scores)) + depth,
        field.floor,
        float(scores[-1]) + depth + 1.0,
    )
    if ceiling <= field.floor:
        return 0.0
    members = float(counts.sum())
    felt = scores <= ceiling + CUT + math.log(members)  # the others are certain to pass
    scores, counts = scores[felt], counts[felt]

    def log_density(x: Floats) -> Floats:
        return np.asarray(log_sets + summed(law.log_sf, x, scores, counts) + field.log_cdf(x))

    def drop(x: float, top: float) -> float:
        return float(log_density(np.array([x]))[0]) - top + CUT

    peak, top = _peak(log_density, field.floor, ceiling)
    if top + math.log(members * (ceiling - field.floor)) < -CUT:
        return 0.0
    left = -_where_below(lambda x: drop(-x, top), -peak, -field.floor)
    right = _where_below(lambda x: drop(x, top), peak, ceiling)
    kinks = np.concatenate((_kinks_of_sf(law, scores), kinks_of_cdf(law, field.scores)))
    x, weight = gauss(with_kinks(np.linspace(left, right, PANELS + 1), kinks))
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
    for _ in range(40):
        middle = 0.5 * (low + high)
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return high


def _peak(log_density: Callable[[Floats], Floats], low: float, high: float) -> tuple[float, float]:
    """Where a concave function is largest, and its value, by ever finer grids."""
    for _ in range(8):
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
