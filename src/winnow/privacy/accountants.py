"""What events cost: by pure sums, as zCDP, for a delta, and under substitution."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real, delta_range, exact, nonnegative, probability
from winnow.core.relation import Relation
from winnow.errors import GuaranteeError, ParameterError, RelationMismatch
from winnow.privacy.capped import lost_mass
from winnow.privacy.events import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    check_event,
    describe,
    refuse_unknown,
)
from winnow.privacy.rho import bounded_range_rho, randomized_response_rho
from winnow.privacy.rounding import (
    SLACK,
    at_least,
    at_most,
    exp_at_least,
    rounded_up,
    stated_at_least,
    text_up,
)

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
        raise ParameterError("delta is below the float64 range; give a delta of 1e-300 or more")
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
        case Gaussian() | DiscreteGaussian():
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
        case AnyOf(events):
            costs = [pure_cost(part) for part in events]
            return PureCost(max(c.epsilon for c in costs), max(c.delta for c in costs))
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
    - BoundedRange: ``bounded_range_rho``, a little below epsilon^2/8 [Cesar-Rogers 2021].
    - Gaussian: 1/(2 noise_multiplier^2), for integers with discrete noise as for reals
      with continuous noise [Canonne-Kamath-Steinke 2020]. DiscreteGaussian: squared_ratio/2,
      for every variance: rhos add up over the integers.
    - ApproxDP: every (epsilon, delta)-DP pair is a post-processing of: with probability
      delta the data are revealed, otherwise randomized response [Kairouz-Oh-Viswanath
      2015]. Leave the first branch out as the truncation; what is left is (1 - delta)
      times randomized response.
    - CappedRounds: ``steps`` times PureDP, up to ``capped.lost_mass``.
    - AnyOf: the dearest. Given what was released before, the run is one of them, so each
      conditional law has that cost, which is all that adaptive composition asks for.
    - Truncated: the inner event, by definition of the truncation.
    """
    match event:
        case PureDP(epsilon):
            return ZcdpCost(randomized_response_rho(exact("epsilon", epsilon)), ZERO)
        case BoundedRange(epsilon):
            return ZcdpCost(bounded_range_rho(exact("epsilon", epsilon)), ZERO)
        case DiscreteLaplace(multiplier):
            x = 1 / exact("noise_multiplier", multiplier)
            return ZcdpCost(randomized_response_rho(x), ZERO)
        case Gaussian(multiplier):
            precision = 1 / exact("noise_multiplier", multiplier) ** 2
            return ZcdpCost(rounded_up(precision / 2), ZERO)
        case DiscreteGaussian(ratio, _):
            return ZcdpCost(rounded_up(exact("squared_ratio", ratio) / 2), ZERO)
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
        case AnyOf(events):
            costs = [zcdp_cost(part) for part in events]
            return ZcdpCost(max(c.rho for c in costs), max(c.delta for c in costs))
        case Truncated(inner, delta):
            zcdp = zcdp_cost(inner)
            return ZcdpCost(zcdp.rho, zcdp.delta + exact("delta", delta))
        case _:
            refuse_unknown(event)


def epsilon_at(event: Event, delta: Fraction) -> Fraction | None:
    """The least epsilon of an event by sums, for a delta besides its own; None: none is known.

    Guarantee: the event is (epsilon, own + delta)-DP, own being the delta in its ``pure_cost`` or
    ``zcdp_cost``. It is the least of three: its pure epsilon; what its rho implies for delta; and,
    part by part, basic composition [Dwork-Roth 2014, Thm 3.16]. In a composition the parts with a
    pure epsilon add that, and the others share delta evenly. Of several choices the dearest
    counts, each for all of delta: given what was released before, the run is one of them.
    """
    ways: list[Fraction] = []
    with suppress(GuaranteeError):
        ways.append(pure_cost(event).epsilon)
    if at_most(delta) > 0:
        whole = zcdp_epsilon(zcdp_cost(event).rho, delta)
        if math.isfinite(whole):
            ways.append(Fraction(whole))
        parts = _epsilon_of_parts(event, delta)
        if parts is not None:
            ways.append(parts)
    return min(ways, default=None)


def _epsilon_of_parts(event: Event, delta: Fraction) -> Fraction | None:
    match event:
        case Compose(events):
            known: list[Fraction | None] = []
            others = []
            for part in events:
                try:
                    known.append(pure_cost(part).epsilon)
                except GuaranteeError:
                    others.append(part)
            known += [epsilon_at(part, delta / len(others)) for part in others]
            each = [epsilon for epsilon in known if epsilon is not None]
            return sum(each, ZERO) if len(each) == len(events) else None
        case AnyOf(events):
            choices = [epsilon_at(part, delta) for part in events]
            each = [epsilon for epsilon in choices if epsilon is not None]
            return max(each) if len(each) == len(events) else None
        case Truncated(inner, _):
            return epsilon_at(inner, delta)
        case _:
            return None


def as_substitution(event: Event) -> Event:
    """Charge a mechanism for replacing one record instead of adding or removing one.

    A replacement is a removal and an addition, so every bound is used twice: epsilon and
    range double, noise multipliers halve (rho is four times as large) [Dwork-Roth 2014,
    Thm 2.2]. With delta: P(S) <= e^eps R(S) + delta <= e^eps (e^eps Q(S) + delta) + delta,
    so (epsilon, delta) becomes (2 epsilon, delta (1 + e^epsilon)). There is no way back:
    two tables of different size are never substitution neighbours.
    """
    check_event(event)
    if event.relation is not Relation.ADD_REMOVE:
        raise RelationMismatch(
            f"{describe(event)} already is under substitution; leave it as it is"
        )
    to = Relation.SUBSTITUTION
    match event:
        case PureDP(epsilon):
            return PureDP(2 * exact("epsilon", epsilon), to)
        case BoundedRange(epsilon):
            return BoundedRange(2 * exact("epsilon", epsilon), to)
        case DiscreteLaplace(multiplier):
            return DiscreteLaplace(exact("noise_multiplier", multiplier) / 2, to)
        case Gaussian(multiplier):
            return Gaussian(exact("noise_multiplier", multiplier) / 2, to)
        case DiscreteGaussian(ratio, least):
            return DiscreteGaussian(4 * exact("squared_ratio", ratio), least, to)
        case ApproxDP(epsilon, delta):
            size = exact("epsilon", epsilon)
            return ApproxDP(2 * size, delta_for_substitution(size, exact("delta", delta)), to)
        case CappedRounds(updates, epsilon, steps):
            # Every round is 2 epsilon-DP; the theorem is then used with that.
            return CappedRounds(updates, 2 * exact("epsilon", epsilon), steps, to)
        case Repeat(inner, times):
            return Repeat(as_substitution(inner), times)
        case Compose(events):
            return Compose(tuple(as_substitution(part) for part in events))
        case AnyOf(events):
            return AnyOf(tuple(as_substitution(part) for part in events))
        case Truncated():
            raise GuaranteeError(
                f"{describe(event)} has no general conversion to substitution; compute its "
                "sensitivity for substitution instead"
            )
        case _:
            refuse_unknown(event)


def delta_for_substitution(epsilon: Fraction, delta: Fraction) -> float:
    """delta (1 + e^epsilon), rounded up; an error when nothing is left of the guarantee."""
    grown = delta * (1 + exp_at_least(epsilon)) if epsilon < 700 else Fraction(1)
    stated = stated_at_least(grown)
    if stated >= 1:
        raise GuaranteeError(
            f"epsilon={text_up(epsilon)}, delta={text_up(delta)} says nothing under substitution: "
            "delta (1 + e^epsilon) reaches 1; use a smaller epsilon or delta"
        )
    return stated
