"""What a top-k mechanism promises about its error on any data with d items.

Two errors of a released list S, in score units, with c_1 >= c_2 >= ... the true scores:

    signed   max_i (c_i - c_{s_i}), for a set in its best order    [Joint, Thm 3.3]
    tail     c_k - min_i c_{s_i}, the k-relative error             [Canonical, Thm 5.6]

The tail error is never larger than the signed one (c_k <= c_i), and listing a set by true
score never makes the signed one larger. ``miss`` is 1 - confidence; c is the factor of the
scores before noise of scale 1.

**Joint.** The exponential mechanism over at most d^k sequences: with probability 1 - miss
signed <= 2 width/epsilon (k ln d + ln(1/miss)). [Joint, Lemma A.1 and Thm 3.3; at 99/100 the
theorem rounds ln 100 up to 5]

**Canonical.** The exponential mechanism over C(d, k) subsets: with probability 1 - miss the
loss exceeds that of the top k by at most E = (ln C(d, k) + ln(1/miss))/c [Canonical, Lemma
A.19]. That excess is (1-gamma)(x[h+1] - x[k]) + gamma (x[k] - x[T]) and no term is negative,
so x[k] - x[T] <= E/gamma [Canonical, Lemma A.20 and Thm 5.6 with x_T > x_k - ... as in the
errata; this needs no Corollary 5.2, which is false]. A subset that holds the best h has
c_i - y_i = 0 at places up to h, and at most x[h+1] - x[T] after them, so for 0 < gamma < 1
signed <= E/min(gamma, 1-gamma). With gamma = 1 no head is protected, with gamma = 0 no tail,
and there is no bound on the signed error. Exponential noise is permute-and-flip over the
subsets, whose loss is never stochastically larger (see ``bounds``). Other noises: if the loss
exceeds by E, the noise of one of C(d, k) - 1 subsets exceeds that of the top k by cE: a union
bound over these pairs. The rounded loss counts people of 2 one_sided score units each.

**Peeling** with Gumbel or exponential noise. Before round i only i - 1 items are out, so the
best one left has c_i or more, and of at most d items the round takes one with c_{s_i} >= c_i -
(ln d + ln(1/a))/c with probability 1 - a, whatever happened before. With a = 1 - (1-miss)^(1/k)
all rounds do with probability 1 - miss, and then signed is at most that. [Canonical, Lemma
A.21 with x_T > x_k - ..., stated there for the tail] Oneshot with Gumbel noise is peeling.

**Oneshot** with other noises, and **laplace**. If signed >= E, then at some place i the i-th
listed item b has a score of c_i - E or less, and since only i - 1 items come before it, one of
the i best, a, does not: its noisy score is not above that of b, so Z_b - Z_a >= c (s_a - s_b)
>= cE. (For a set: fewer than i of its items exceed c_i - E, so one of the i best is not in the
set while such a b is.) Item a is one of the best k and ranks before b, so there are at most
k (2d - k - 1)/2 pairs, and miss = pairs * Pr[Z - Z' >= cE] gives E. For the tail, b is not
among the best k: k (d - k) pairs.

**Gamma.** The same pair has Z_b - Z_a <= 2R, R ~ Gamma(d + 1), so E = 2R/c at the upper
quantile of R; Pr[R >= (d+1)(1+y)] <= exp(-(d+1)(y - ln(1+y))) by Chernoff.

Real scores on the grid of Joint and Canonical are rounded down by less than one step, so a
difference of true scores exceeds that on the grid by less than a step, which is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from winnow.core.checks import exact
from winnow.core.laws import Law
from winnow.core.noisy_top.log_counts import log_binomial
from winnow.core.utility import Utility
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.joint import Joint

_HERE = "proved in winnow.select.plan.top_k.bounds"


@dataclass(frozen=True)
class TopKBound:
    """What holds with the asked confidence, for any data; None: nothing is known."""

    signed: float | None
    tail: float | None
    statement: str
    citation: str


def joint_bound(m: Joint, d: int, utility: Utility, miss: float, step: float) -> TopKBound:
    """Over at most d^k sequences."""
    error = (m.k * math.log(d) - math.log(miss)) / float(m.scale(utility))
    error = _on_grid(error, utility, step)
    return TopKBound(error, error, f"2 width/epsilon (k ln d + ln(1/{miss:.6g}))", "Joint, Thm 3.3")


def canonical_bound(
    mechanism: Canonical, d: int, utility: Utility, miss: float, step: float
) -> TopKBound:
    """The excess loss E in score units, then E/min(gamma, 1 - gamma) and E/gamma."""
    k, gamma = mechanism.k, float(exact("gamma", mechanism.gamma))
    if k == d:
        return TopKBound(0.0, 0.0, "there is one set only", "Canonical, Def 3.4")
    log_sets = sum(log_binomial(d, k)) / 2.0
    citation = "Canonical, Lemma A.20 and Thm 5.6 with the sign of the errata"
    if mechanism.noise in (Law.GUMBEL, Law.EXPONENTIAL):
        multiple = log_sets - math.log(miss)
        of = f"(ln C(d, k) + ln(1/{miss:.6g}))"
        if mechanism.noise is Law.EXPONENTIAL:
            citation += "; permute-and-flip is never worse: McKenna-Sheldon 2020"
    else:
        log_chance = mechanism.noise.formulas.log_difference_tail
        multiple = _least(lambda t: log_sets + log_chance(t), miss)
        of = f"t, C(d, k) Pr[Z - Z' >= t] = {miss:.6g}"
        citation = f"union bound, {_HERE}"
    if mechanism.rounded:
        epsilon = float(exact("epsilon", mechanism.epsilon))
        error = _on_grid(4.0 * float(utility.one_sided) * multiple / epsilon, utility, step)
        return TopKBound(error, error, f"4 Delta/epsilon {of}, Delta one-sided", citation)
    excess = multiple / float(mechanism.scale(utility))
    if gamma == 0.0:
        return TopKBound(None, None, "with gamma=0 no tail is protected", citation)
    tail = _on_grid(excess / gamma, utility, step)
    if gamma == 1.0:
        statement = f"no head is protected; the tail: 2 Delta/epsilon {of}"
        return TopKBound(None, tail, statement, citation)
    least = min(gamma, 1.0 - gamma)
    statement = f"2 Delta/(g epsilon) {of}, g = min(gamma, 1-gamma), and gamma for the tail"
    return TopKBound(_on_grid(excess / least, utility, step), tail, statement, citation)


def _on_grid(error: float, utility: Utility, step: float) -> float:
    """In steps the width is rounded up by at most two of them, and scores down by one."""
    if step == 0.0:
        return error
    smallest = float(min(part for part in (utility.down, utility.up) if part > 0))
    return error * (1.0 + 2.0 * step / smallest) + step


def peeling_bound(scale: float, d: int, k: int, miss: float) -> TopKBound:
    """Round by round, Gumbel or exponential noise."""
    log_each = math.log(-math.expm1(math.log1p(-miss) / k))
    error = (math.log(d) - log_each) / scale
    return TopKBound(
        error,
        error,
        f"2 Delta/(epsilon per round) (ln d - ln(1 - {1 - miss:.6g}^(1/k)))",
        "Canonical, Lemma A.21 with the sign of the errata, round by round",
    )


def pairs_bound(law: Law, scale: float, d: int, k: int, miss: float) -> TopKBound:
    """Over the pairs that would have to change places."""

    def error(pairs: float) -> float:
        if 0.5 * pairs <= miss:
            return 0.0
        return _least(lambda t: math.log(pairs) + law.formulas.log_difference_tail(t), miss) / scale

    return TopKBound(
        error(0.5 * k * (2 * d - k - 1)),
        error(float(k) * (d - k)),
        f"k(2d-k-1)/2 Pr[Z - Z' >= c error] = {miss:.6g}; k(d-k) for the tail",
        f"union bound, {_HERE}",
    )


def noisy_counts_bound(scale: float, d: int, k: int, miss: float) -> TopKBound:
    """A bound with two discrete Laplace noises, q = e^(-1/scale), at whole numbers m:
    Pr[Z - Z' >= m] = (1-q)/(1+q)^2 q^m (m + (1+q^2)/(1-q^2) + q/(1-q))."""
    q, p = math.exp(-1.0 / scale), -math.expm1(-1.0 / scale)
    constant = (1.0 + q * q) / (p * (1.0 + q)) + q / p

    def log_tail(m: float) -> float:
        return math.log(p / (1.0 + q) ** 2) - m / scale + math.log(m + constant)

    def error(pairs: float) -> float:
        """The least m >= 1 that is reached with a chance of miss or less, minus 1."""
        if pairs == 0 or math.log(pairs) + log_tail(1.0) <= math.log(miss):
            return 0.0
        return math.ceil(_least(lambda m: math.log(pairs) + log_tail(m), miss)) - 1.0

    return TopKBound(
        error(0.5 * k * (2 * d - k - 1)),
        error(float(k) * (d - k)),
        f"k(2d-k-1)/2 Pr[Z - Z' > error] <= {miss:.6g}; k(d-k) for the tail",
        f"union bound, {_HERE}",
    )


def gaussian_counts_bound(deviation: float, d: int, k: int, miss: float) -> TopKBound:
    """A bound with discrete Gaussian noises, whose difference has the tail of a normal one:
    Pr[Z - Z' >= m] <= exp(-m^2/(4 sigma^2)) [Canonne-Kamath-Steinke 2020, Cor 17]."""

    def error(pairs: float) -> float:
        return 0.0 if pairs == 0 else 2.0 * deviation * math.sqrt(math.log(max(pairs, 1.0) / miss))

    return TopKBound(
        error(0.5 * k * (2 * d - k - 1)),
        error(float(k) * (d - k)),
        f"k(2d-k-1)/2 exp(-error^2/(4 sigma^2)) <= {miss:.6g}; k(d-k) for the tail",
        f"union bound, {_HERE}",
    )


def gamma_bound(scale: float, d: int, miss: float) -> TopKBound:
    """By the quantile of the largest noise."""
    error = 2.0 * _gamma_quantile(d + 1, miss) / scale
    return TopKBound(error, error, f"2 Delta/epsilon r, Pr[Gamma(d+1) >= r] <= {miss:.6g}", _HERE)


def _gamma_quantile(shape: int, miss: float) -> float:
    """An R with Pr[Gamma(shape) >= R] <= miss, by Chernoff's bound."""
    return shape * (1.0 + _least(lambda y: -shape * (y - math.log1p(y)), miss))


def _least(log_chance: Callable[[float], float], miss: float) -> float:
    """The least x >= 0 with log_chance(x) <= ln(miss), from above; log_chance falls."""
    goal = math.log(miss)
    low, high = 0.0, 1.0
    while log_chance(high) > goal:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        if log_chance(middle) > goal:
            low = middle
        else:
            high = middle
    return high
