"""From add-remove to substitution: the explicit conversion, and the only direction there is."""

from __future__ import annotations

from fractions import Fraction

from winnow.domain.checks import exact
from winnow.domain.neighbours import Relation
from winnow.errors import GuaranteeError, RelationMismatch
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
    check_event,
    describe,
    refuse_unknown,
)
from winnow.privacy.rounding import exp_at_least, stated_at_least, text_up


def as_substitution(event: Event) -> Event:
    """The same mechanism, charged for replacing one record instead of adding or removing one.

    A replacement is a removal and an addition, so every bound is used twice: epsilon and
    range double, noise multipliers halve (rho is four times as large) [Dwork-Roth 2014,
    Thm 2.2]. With delta: P(S) <= e^eps R(S) + delta <= e^eps (e^eps Q(S) + delta) + delta,
    so (epsilon, delta) becomes (2 epsilon, delta (1 + e^epsilon)). There is no way back:
    two tables of different size are never substitution neighbours.
    """
    check_event(event)
    if event.relation is Relation.SUBSTITUTION:
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
