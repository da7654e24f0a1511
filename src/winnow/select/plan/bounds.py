"""What a selection mechanism promises about its error on any data.

The error is how far the winner lies behind the best; for k > 1, how far the worst of the
k reported candidates lies behind the k-th best. With c = epsilon/(2 k Delta) the noisy
score is c * score + noise, and the bounds of the noise family are multiples of 1/c: the
functions here return the multiple. ``miss`` is 1 - confidence.

**Exponential mechanism** (Gumbel noise, k = 1). Pr[error >= E] <= d e^(-cE)/|OPT|, so
E = (ln(d/|OPT|) + ln(1/miss))/c. [FastMWEM, Thm 2.3; Canonical, Lemma A.19]

**Permute-and-flip** (exponential noise, k = 1) has the same bound, since its error is
never stochastically larger. With p_i = e^(-c gap_i) it selects i with probability
p_i * integral_0^1 of prod_{j != i} (1 - p_j u) du; the integral grows with p_i (what is
left out, 1 - p_i u, is smaller), while the exponential mechanism selects i with
probability proportional to p_i. So the ratio of the two grows with p_i, and a monotone
ratio means stochastic order. [McKenna-Sheldon 2020]

**Union bound** (every law, every k). If a candidate j with an error of E or more is
reported, then one of the k best, i, is not, and i's noisy score is not above j's; so
Z_j - Z_i >= c (s_i - s_j) >= cE. There are at most k (d - k) such pairs, or d - |OPT| for
k = 1 (one best candidate is enough). Hence Pr[error >= E] <= pairs * Pr[Z - Z' >= cE], and
the tail of a difference of two noises has a closed form for each law. In particular
exponential noise has e^(-t)/2, Laplace noise (1 + t/2) e^(-t)/2.

**Worst case** (every law, every k): the smallest E for which *no* data have
Pr[error >= E] > miss. By the same argument an error of E or more needs a candidate of the
others above one of the k best (above all of the |OPT| best for k = 1). That is likeliest
when all the others lie exactly E behind, so the probability is that of one profile with
two distinct scores, and that profile attains it. Its chance is computed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from winnow.core.laws import Law
from winnow.select.mechanisms.margin_search import stopping_margin
from winnow.select.plan.chances import (
    CUT,
    Floats,
    GapProfile,
    Maximum,
    gauss,
    kinks_of_cdf,
    summed,
    win_chances,
    with_kinks,
)

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
    field = Maximum.of(law, outside[0] - outside[0][0], outside[1], depth)
    # Below `low` the others are certain to be beaten, or no member is near: h(z) <= e^z.
    low = max(field.floor, float(scores[-1]) - depth - math.log(members))
    high = _where_below(
        lambda x: float(counts @ law.formulas.log_sf(x - scores)) + depth,
        low,
        float(scores[-1]) + depth + 1.0,
    )
    if high <= low:
        return 0.0
    felt = scores <= high + depth + math.log(members)  # the others are certain to pass
    scores, counts = scores[felt], counts[felt]

    def log_density(x: Floats) -> Floats:
        return np.asarray(
            log_sets + summed(law.formulas.log_sf, x, scores, counts) + field.log_cdf(x)
        )

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
    hazards = summed(law.formulas.hazard, x, scores, counts)
    return min(1.0, float(weight @ (np.exp(log_density(x)) * hazards)))


def _kinks_of_sf(law: Law, scores: Floats) -> Floats:
    """Where log S(x - s) is not smooth."""
    return scores if law.formulas.has_kink else np.empty(0)


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


def exponential_mechanism(candidates: int, best: int, miss: float) -> float:
    """c * E of the exponential mechanism and of permute-and-flip, for k = 1."""
    if best == candidates:
        return 0.0
    return math.log(candidates) - math.log(best) - math.log(miss)


def union(law: Law, candidates: int, best: int, k: int, miss: float) -> float:
    """c * E by the union bound over pairs; ``best`` is used for k = 1 only."""
    pairs = float(candidates - best) if k == 1 else float(k) * (candidates - k)
    if pairs * 0.5 <= miss:
        return 0.0
    low, high = 0.0, 1.0
    while pairs * law.formulas.difference_tail(high) > miss:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if pairs * law.formulas.difference_tail(middle) > miss:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=256)
def worst_case(law: Law, candidates: int, best: int, k: int, miss: float) -> float:
    """c * E of the sharp bound: the least that holds for all data."""
    others = float(candidates - (best if k == 1 else k))
    if others == 0:
        return 0.0
    if law is Law.GUMBEL and k == 1:
        return max(0.0, math.log(others / best) + math.log1p(-miss) - math.log(miss))

    def failure(t: float) -> float:
        if k == 1:
            counts = np.array([float(best), others])
            return float(win_chances(law, np.array([0.0, -t]), counts)[1])
        inside, outside = (np.zeros(1), np.array([float(k)])), (np.array([-t]), np.array([others]))
        return 1.0 - set_chance(law, inside, outside)

    low, high = 0.0, union(law, candidates, best, k, miss)
    for _ in range(36 if high else 0):
        middle = 0.5 * (low + high)
        if failure(middle) > miss:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True)
class MarginBound:
    """[LMM, Thm 3] for one profile, or for any data: all in units of the sensitivity."""

    error: float
    rank: int
    """The l* of the theorem: the softmax is over at most this many candidates."""
    margin: float | None
    """How far candidate l* + 1 must lie behind the best; None when l* is everybody."""


def large_margin(
    candidates: int,
    profile: GapProfile | None,
    sensitivity: float,
    epsilon: float,
    delta: float,
    thresholds: str,
    miss: float,
) -> MarginBound:
    """The error of the large margin mechanism at confidence 1 - miss [LMM, Thm 3].

    If candidate l* + 1 lies more than 21 ln(3/miss)/epsilon + T(l*) behind the best, the
    error is below 6 ln(2 l*/miss)/epsilon. (The theorem is printed with ln(3/n); its
    proof has ln(3/eta), see the errata.) Proof: with probability 1 - miss/2 all of
    Z >= -3L, G <= 6L, Z_l* <= 12L hold, L = ln(3/miss)/epsilon, and then the search stops
    at l* at the latest; the softmax over l <= l* candidates gives those with a larger
    error at most miss/2. T(l*) enters only as the threshold that is passed, so the
    statement holds for tight thresholds as for the printed ones.

    The smallest l* that the profile allows is used. Without one, or when there is no
    margin, l* is the number of candidates, and nothing need be assumed.
    """
    if profile is not None:
        first = np.cumsum(profile.counts)[:-1]  # the first rank that sees each larger gap
        needed = 21.0 * math.log(3.0 / miss) / epsilon + stopping_margin(
            first, epsilon, delta, thresholds
        )
        with np.errstate(over="ignore"):
            wide = np.flatnonzero(profile.values[1:] / sensitivity > needed)
        if wide.size:
            rank = int(first[wide[0]])
            error = 6.0 * math.log(2.0 * rank / miss) / epsilon
            return MarginBound(error, rank, float(needed[wide[0]]))
    return MarginBound(6.0 * math.log(2.0 * candidates / miss) / epsilon, candidates, None)
