"""What a row of the guarantee table charges, as events."""

from __future__ import annotations

from enum import StrEnum

from winnow.core.checks import Real, exact
from winnow.core.relation import Relation
from winnow.privacy.events import (
    ApproxDP,
    BoundedRange,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
)


class Charge(StrEnum):
    """What a row charges, in words; ``charged_event`` is the same in code."""

    PURE = "PureDP(epsilon)"
    RANGE = "BoundedRange(epsilon)"
    PEELED_RANGE = "kappa x BoundedRange(epsilon/kappa)"
    PEELED_PURE = "kappa x PureDP(epsilon/kappa)"
    APPROX = "ApproxDP(epsilon, delta)"
    TRUNCATED_RANGE = "kappa x BoundedRange(epsilon/kappa), up to delta"
    TRUNCATED_LAPLACE = "moved x DiscreteLaplace(moved noise_multiplier), up to delta"
    DISCRETE_LAPLACE = "moved x DiscreteLaplace(moved noise_multiplier)"
    GAUSSIAN = "Gaussian(noise_multiplier)"
    JOINT_GAUSSIAN = "DiscreteGaussian(squared_ratio, least_variance)"
    CAPPED = "CappedRounds(updates, epsilon, steps)"


def charged_event(
    charge: Charge, relation: Relation, number: Real, delta: Real, kappa: int
) -> Event:
    """The event of a row with these numbers; discrete Laplace noise has ``laplace_event``."""
    match charge:
        case Charge.PURE:
            return PureDP(number, relation)
        case Charge.RANGE:
            return BoundedRange(number, relation)
        case Charge.PEELED_RANGE:
            if kappa == 1:
                return BoundedRange(number, relation)
            # Exact, so that kappa parts add up to epsilon again.
            return Repeat(BoundedRange(exact("epsilon", number) / kappa, relation), kappa)
        case Charge.PEELED_PURE:
            if kappa == 1:
                return PureDP(number, relation)
            return Repeat(PureDP(exact("epsilon", number) / kappa, relation), kappa)
        case Charge.APPROX:
            return ApproxDP(number, delta, relation)
        case Charge.TRUNCATED_RANGE:
            peeled = charged_event(Charge.PEELED_RANGE, relation, number, 0, kappa)
            return Truncated(peeled, delta)
        case Charge.GAUSSIAN:
            return Gaussian(number, relation)
        case _:
            raise AssertionError(f"{charge} has other parameters")


def laplace_event(noise_multiplier: Real, moved: int, relation: Relation) -> Event:
    """Discrete Laplace noise on integers of which at most ``moved`` move; see ``promise``."""
    if moved == 1:
        return DiscreteLaplace(noise_multiplier, relation)
    each = moved * exact("noise_multiplier", noise_multiplier)
    return Repeat(DiscreteLaplace(each, relation), moved)
