"""Between rho (zero-concentrated privacy) and (epsilon, delta), as tightly as is known.

rho-zCDP says that the Renyi divergence of every order a > 1 is at most a rho. For every
order, with u = a - 1 [Canonne-Kamath-Steinke 2020, Prop. 12]:

    log delta = u ((1 + u) rho - epsilon) - c(u),    c(u) = log(1 + u) + u log(1 + 1/u).

The proof is pointwise, (p - e^eps q)+ <= e^(-u eps - c(u)) p^a q^(1-a), so the line also
holds for measures of mass below 1 (see ``accountants``).

Each function here solves that line for one variable and takes the best order. *Every*
order gives a valid bound, so an inexact search costs accuracy and never privacy. Where
the best order lies is the sign change of one expression in u, found by bisection on
log u; rounding errors of the final evaluation are added on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from winnow.domain.checks import Real, delta_range, exact, nonnegative, probability
from winnow.errors import InputError
from winnow.privacy.rounding import SLACK, at_least, at_most

_LOG_U = 690.0
"""Orders are searched for u between e^-690 and e^690, short of float64 overflow."""

_LARGE = 1e290
"""A bound on u epsilon that keeps sums finite; log delta is far below -745 there anyway."""

_HALVINGS = 72
"""Of an interval of length 1380: the order is then exact to 1e-18 relative, below rounding."""

_ERROR = float(SLACK)
"""Relative to the sum of the magnitudes of all terms in an expression."""


def zcdp_delta(rho: Real, epsilon: Real) -> float:
    """The delta at which rho-zCDP is (epsilon, delta)-DP, rounded up; at most 1."""
    nonnegative(rho=rho, epsilon=epsilon)
    if exact("rho", rho) == 0:
        return 0.0
    r = at_least(exact("rho", rho))
    e = at_most(exact("epsilon", epsilon))
    # log delta is convex in u and this is its slope.
    u = _sign_change(lambda u: (1 + 2 * u) * r - e - math.log1p(1 / u))
    u = min(u, _LARGE / max(e, 1.0))
    terms = (u * r * (1 + u), -u * e, -math.log1p(u), -u * math.log1p(1 / u))
    log_delta = _sum_up(terms)
    if not log_delta < 0:
        return 1.0
    # exp may underflow to 0, but delta is never 0 when rho is not.
    return min(1.0, math.nextafter(math.exp(log_delta) * (1 + _ERROR), math.inf))


def zcdp_epsilon(rho: Real, delta: Real) -> float:
    """The epsilon at which rho-zCDP is (epsilon, delta)-DP, rounded up."""
    nonnegative(rho=rho)
    probability(delta=delta)
    if at_most(exact("delta", delta)) == 0:
        raise InputError("delta is below the float64 range; give a delta of 1e-300 or more")
    if exact("rho", rho) == 0:
        return 0.0
    r = at_least(exact("rho", rho))
    loss = _log_inverse(exact("delta", delta))
    # epsilon(u) = (1 + u) rho + (loss - log(1 + u))/u - log(1 + 1/u), and u^2 times its
    # slope is u^2 rho - loss + log(1 + u), which increases: one sign change.
    u = _sign_change(lambda u: r * u * u - loss + math.log1p(u))
    terms = ((1 + u) * r, loss / u, -math.log1p(u) / u, -math.log1p(1 / u))
    return max(0.0, math.nextafter(_sum_up(terms), math.inf))


def zcdp_rho(epsilon: Real, delta: Real) -> float:
    """The largest rho for which rho-zCDP implies (epsilon, delta)-DP, rounded down."""
    nonnegative(epsilon=epsilon)
    delta_range(delta=delta)
    if at_most(exact("delta", delta)) == 0:
        return 0.0
    e = at_most(exact("epsilon", epsilon))
    loss = _log_inverse(exact("delta", delta))

    def surplus(u: float) -> tuple[float, ...]:
        return (-loss, u * e, math.log1p(u), u * math.log1p(1 / u))

    # rho(u) = N/(u + u^2) with N = sum of surplus and N' = epsilon + log(1 + 1/u) > 0. The
    # sign of its slope is that of M = N' (u + u^2) - (1 + 2u) N. As N'' (u + u^2) = -1,
    # M' = -1 - 2N: M rises from loss > 0 while N < -1/2 and falls ever after, one sign change.
    u = _sign_change(
        lambda u: math.fsum(surplus(u)) - (e + math.log1p(1 / u)) * u * ((1 + u) / (1 + 2 * u))
    )
    numerator = -_sum_up(tuple(-term for term in surplus(u)))
    return max(0.0, math.nextafter(numerator / u / (1 + u) * (1 - _ERROR), -math.inf))


def _log_inverse(delta: Fraction) -> float:
    """log(1/delta); its rounding error is within what ``_sum_up`` adds."""
    return -math.log(at_most(delta))


def _sign_change(f: Callable[[float], float]) -> float:
    """The u > 0 where f goes from negative to positive."""
    low, high = -_LOG_U, _LOG_U
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if f(math.exp(middle)) < 0:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def _sum_up(terms: tuple[float, ...]) -> float:
    """The sum of the terms, plus more than their rounding errors can amount to."""
    if math.inf in terms:
        return math.inf
    return math.fsum(terms) + _ERROR * math.fsum(map(abs, terms))
