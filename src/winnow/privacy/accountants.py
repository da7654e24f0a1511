"""What an event costs: in pure epsilon, or in rho. Both add up under adaptive composition.

``pure_cost`` sums epsilons and deltas. ``zcdp_cost`` sums rhos and deltas, where a pair
(rho, delta) means *delta-truncated rho-zCDP*: for all neighbours, with output laws P and
Q, there are measures P~ <= P and Q~ <= Q of mass at least 1 - delta with

    integral of P~^a Q~^(1-a) <= e^(a (a-1) rho)   for all a > 1, in both orders.

With delta = 0 this is rho-zCDP [Bun-Steinke 2016]. Truncated measures multiply along a
composition, so rhos add and lost masses add at most, also when each step depends on the
released outputs before it. And (epsilon, delta + zcdp_delta(rho, epsilon))-DP follows,
because the conversion holds pointwise (see ``conversion``). (Bun and Steinke's
approximate zCDP conditions on an event and renormalises; that is another notion.)

Costs are exact fractions. A rho that needs rounding is rounded up to a float64 first,
for one event; repetition and composition are then exact, so ten charges of one tenth
are one charge of one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from winnow.domain.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.capped import lost_mass
from winnow.privacy.events import (
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    describe,
    refuse_unknown,
)
from winnow.privacy.rounding import SLACK, at_least, rounded_up

ZERO = Fraction(0)


@dataclass(frozen=True)
class PureCost:
    """(epsilon, delta), to be added to other costs of the same relation."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class ZcdpCost:
    """delta-truncated rho-zCDP, to be added to other costs of the same relation."""

    rho: Fraction
    delta: Fraction


def pure_cost(event: Event) -> PureCost:
    """The (epsilon, delta) of an event by basic composition: everything is summed.

    Guarantee: (epsilon, delta)-DP [Dwork-Roth 2014, Thm 3.16], also as a filter
    [Rogers-Roth-Ullman-Vadhan 2016]. Bounded range implies pure privacy with the same
    epsilon, because the interval of log ratios contains 0. Gaussian noise has no finite
    epsilon at delta = 0 and is refused.
    """
    match event:
        case PureDP(epsilon) | BoundedRange(epsilon):
            return PureCost(exact("epsilon", epsilon), ZERO)
        case DiscreteLaplace(multiplier):
            return PureCost(1 / exact("noise_multiplier", multiplier), ZERO)
        case ApproxDP(epsilon, delta):
            return PureCost(exact("epsilon", epsilon), exact("delta", delta))
        case CappedRounds(updates, epsilon, steps):
            size = exact("epsilon", epsilon)
            return PureCost(steps * size, lost_mass(updates, size, steps))
        case Gaussian():
            raise GuaranteeError(
                f"{describe(event)} has no pure epsilon: Gaussian noise is private only with a "
                "delta; use a budget with delta > 0 and the zcdp accountant, or discrete Laplace "
                "noise"
            )
        case Repeat(inner, count):
            pure = pure_cost(inner)
            return PureCost(count * pure.epsilon, count * pure.delta)
        case Compose(events):
            costs = [pure_cost(part) for part in events]
            return PureCost(
                sum((cost.epsilon for cost in costs), ZERO),
                sum((cost.delta for cost in costs), ZERO),
            )
        case Truncated(inner, delta):
            pure = pure_cost(inner)
            return PureCost(pure.epsilon, pure.delta + exact("delta", delta))
        case _:
            refuse_unknown(event)


def zcdp_cost(event: Event) -> ZcdpCost:
    """The (rho, delta) of an event as delta-truncated rho-zCDP.

    Guarantee, event by event:

    - PureDP: ``randomized_response_rho``. DiscreteLaplace is PureDP with epsilon = x =
      1/noise_multiplier; at sensitivity 1 its losses are +x and -x, so nothing is lost.
    - BoundedRange: epsilon^2/8 [Cesar-Rogers 2021]; above epsilon = 8 the rho
      of pure privacy is smaller and holds too.
    - Gaussian: 1/(2 noise_multiplier^2), for integers with discrete noise as for reals
      with continuous noise [Canonne-Kamath-Steinke 2020].
    - ApproxDP: every (epsilon, delta)-DP pair is a post-processing of: with probability
      delta the data are revealed, otherwise randomized response [Kairouz-Oh-Viswanath
      2015]. Leave the first branch out as the truncation; what is left is (1 - delta)
      times randomized response.
    - CappedRounds: ``steps`` times PureDP, up to ``capped.lost_mass``.
    - Truncated: the inner event, by definition of the truncation.
    """
    match event:
        case PureDP(epsilon):
            return ZcdpCost(randomized_response_rho(exact("epsilon", epsilon)), ZERO)
        case BoundedRange(epsilon):
            size = exact("epsilon", epsilon)
            return ZcdpCost(min(rounded_up(size**2 / 8), randomized_response_rho(size)), ZERO)
        case DiscreteLaplace(multiplier):
            x = 1 / exact("noise_multiplier", multiplier)
            return ZcdpCost(randomized_response_rho(x), ZERO)
        case Gaussian(multiplier):
            precision = 1 / exact("noise_multiplier", multiplier) ** 2
            return ZcdpCost(rounded_up(precision / 2), ZERO)
        case ApproxDP(epsilon, delta):
            rho = randomized_response_rho(exact("epsilon", epsilon))
            return ZcdpCost(rho, exact("delta", delta))
        case CappedRounds(updates, epsilon, steps):
            size = exact("epsilon", epsilon)
            rho = steps * randomized_response_rho(size)
            return ZcdpCost(rho, lost_mass(updates, size, steps))
        case Repeat(inner, count):
            zcdp = zcdp_cost(inner)
            return ZcdpCost(count * zcdp.rho, count * zcdp.delta)
        case Compose(events):
            costs = [zcdp_cost(part) for part in events]
            return ZcdpCost(
                sum((cost.rho for cost in costs), ZERO), sum((cost.delta for cost in costs), ZERO)
            )
        case Truncated(inner, delta):
            zcdp = zcdp_cost(inner)
            return ZcdpCost(zcdp.rho, zcdp.delta + exact("delta", delta))
        case _:
            refuse_unknown(event)


def randomized_response_rho(epsilon: Fraction) -> Fraction:
    """The rho of pure epsilon-DP: epsilon tanh(epsilon/2), rounded up; never above epsilon^2/2.

    Proof. Every epsilon-DP pair is a post-processing of randomized response, whose loss
    is +epsilon or -epsilon [Kairouz-Oh-Viswanath 2015], so its Renyi divergence D_a is
    largest there:

        exp((a-1) D_a) = (e^(a eps) + e^((1-a) eps))/(1 + e^eps)
                       = cosh((a - 1/2) eps)/cosh(eps/2).

    f(v) = log cosh(eps sqrt(v)) has slope eps tanh(eps sqrt(v))/(2 sqrt(v)), which
    decreases, so f is concave and lies below its tangent at v = 1/4, of slope
    eps tanh(eps/2). At v = (a - 1/2)^2, where v - 1/4 = a (a-1):

        (a-1) D_a = f(v) - f(1/4) <= a (a-1) eps tanh(eps/2).

    It is the best possible: as a -> 1 both sides become the Kullback-Leibler divergence.
    """
    half = epsilon / 2
    # tanh is 1 in float64 long before 40, and tanh(x) <= x absorbs the slack for small x.
    tanh = Fraction(math.tanh(min(at_least(half), 40.0))) * (1 + SLACK)
    return rounded_up(epsilon * min(tanh, half, Fraction(1)))
