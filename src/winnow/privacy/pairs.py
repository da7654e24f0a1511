"""At which (epsilon, delta) an event may be counted where epsilons and deltas add up."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

from winnow.core.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import ZERO, epsilon_at, pure_cost, zcdp_cost, zcdp_delta
from winnow.privacy.events import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteLaplace,
    Event,
    PureDP,
    Repeat,
    Truncated,
)
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.tight import QUICK_WORK, tight_delta


def delta_beside(event: Event, epsilon: Fraction) -> Fraction:
    """The least delta, besides what the event itself loses, at which it holds at an epsilon.

    What its own truncation leaves is (epsilon, this)-DP. It is the least of: 0 at its pure epsilon;
    what its rho implies; the closed plan by the tight accountant; part by part, basic composition
    [Dwork-Roth 2014, Thm 3.16]; and, for capped rounds, whose truncation is there for the rho only,
    the delta of the whole: where P~ <= P, P~ is above e^epsilon Q by no more than P is. At most 1.
    """
    with suppress(GuaranteeError):
        if pure_cost(event).epsilon <= epsilon:
            return ZERO
    if epsilon < 0:
        return Fraction(1)
    ways = [Fraction(zcdp_delta(zcdp_cost(event).rho, epsilon)), _by_parts(event, epsilon)]
    if not isinstance(event, PureDP | BoundedRange | DiscreteLaplace | ApproxDP):
        with suppress(GuaranteeError):
            ways.append(Fraction(tight_delta(_kept(event), epsilon, work=QUICK_WORK)))
    if _has_rounds(event):
        ways.append(_untruncated(event, epsilon))
    return min(ways)


def delta_of_whole(event: Event, epsilon: Fraction, own: Fraction) -> Fraction:
    """The least delta at which an event holds at an epsilon, its own included."""
    delta = own + delta_beside(event, epsilon)
    return min(delta, _untruncated(event, epsilon)) if _has_rounds(event) else delta


def asked_epsilon(event: Event, stated: Guarantee, own: Fraction) -> Fraction:
    """The epsilon that sized an event, where its plan states one that is proved smaller."""
    least, delta = exact("epsilon", stated.epsilon), exact("delta", stated.delta)
    if _has_rounds(event) or delta <= own:
        return least
    summed = epsilon_at(event, delta - own)
    return least if summed is None else max(least, summed)


def _untruncated(event: Event, epsilon: Fraction) -> Fraction:
    """The delta by the tight accountant, all of it."""
    with suppress(GuaranteeError):
        return Fraction(tight_delta(event, epsilon, work=QUICK_WORK))
    return Fraction(1)


def _has_rounds(event: Event) -> bool:
    match event:
        case Repeat(inner, _) | Truncated(inner, _):
            return _has_rounds(inner)
        case Compose(events) | AnyOf(events):
            return any(map(_has_rounds, events))
        case _:
            return isinstance(event, CappedRounds)


def _by_parts(event: Event, epsilon: Fraction) -> Fraction:
    match event:
        case AnyOf(events):  # given what was released before, the run is one of them
            return max(delta_beside(part, epsilon) for part in events)
        case Truncated(inner, _):
            return delta_beside(inner, epsilon)
        case Compose(events):
            rest, others = epsilon, []
            for part in events:
                try:
                    rest -= pure_cost(part).epsilon
                except GuaranteeError:
                    others.append(part)
            if len(others) != 1 or len(events) == 1:
                return Fraction(1)
            return delta_beside(others[0], rest)
        case _:
            return Fraction(1)


def _kept(event: Event) -> Event:
    """What the truncation of an event leaves."""
    match event:
        case ApproxDP(epsilon, _, relation):
            return PureDP(epsilon, relation)
        case CappedRounds(_, epsilon, steps, relation):
            return Repeat(PureDP(epsilon, relation), steps)
        case Repeat(inner, count):
            return Repeat(_kept(inner), count)
        case Compose(events):
            return Compose(tuple(map(_kept, events)))
        case AnyOf(events):
            return AnyOf(tuple(map(_kept, events)))
        case Truncated(inner, _):
            return _kept(inner)
        case _:
            return event
