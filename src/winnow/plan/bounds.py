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
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from winnow.mechanisms.margin_thresholds import stopping_margin
from winnow.plan.chances import win_chances
from winnow.plan.profile import GapProfile
from winnow.plan.sets import set_chance
from winnow.random.laws import Law


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
    while pairs * difference_tail(law, high) > miss:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if pairs * difference_tail(law, middle) > miss:
            low = middle
        else:
            high = middle
    return high


def difference_tail(law: Law, t: float) -> float:
    """Pr[Z - Z' >= t] for two independent noises of the law, t >= 0."""
    q = math.exp(-t)
    match law:
        case Law.GUMBEL:
            return q / (1.0 + q)
        case Law.EXPONENTIAL:
            return 0.5 * q
        case Law.LAPLACE:
            return 0.5 * q * (1.0 + 0.5 * t)
        case Law.LOGISTIC:
            if t < 1e-3:
                return 0.5 - t / 6.0  # up to t^3/180
            return q * (t + math.expm1(-t)) / math.expm1(-t) ** 2
        case Law.HALF_LOGISTIC:
            # 4q (ln(2/(1+q)) - (1-q)/2)/(1-q)^2, as a series without cancellation
            half = -0.5 * math.expm1(-t)
            return q * math.fsum(half**j / (j + 2) for j in range(56))


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
