"""What is said when a charge no longer fits: what was asked, what is left, what would fit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from winnow.core.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import pure_cost
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
    describe,
    refuse_unknown,
)
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.rounding import text_down, text_up

NEED_NOT_ADD_UP = "used and left may not sum to the cap, because privacy loss composes"
COMPOSING = (
    f"{NEED_NOT_ADD_UP[0].upper()}{NEED_NOT_ADD_UP[1:]}: several charges may cost less than "
    "their sum."
)
"""Wherever a person sees how much of a cap is used."""

ODOMETER = (
    "What was spent so far holds at any delta and at any time, even if later questions depend on "
    "earlier answers. It holds without a cap, so it may be more than what is used of one."
)
"""Wherever a person sees what was spent so far."""

NO_CAP = "an odometer has no cap, so nothing is left or used up; ask odometer.spent_at(delta=1e-6)"

_STEPS = 10
"""Halvings in the search for what fits: to a thousandth."""


def scaled(event: Event, part: Fraction) -> Event:
    """A mechanism run with a part of its epsilon; its own delta stays."""
    match event:
        case PureDP(epsilon, relation):
            return PureDP(exact("epsilon", epsilon) * part, relation)
        case BoundedRange(epsilon, relation):
            return BoundedRange(exact("epsilon", epsilon) * part, relation)
        case DiscreteLaplace(multiplier, relation):
            return DiscreteLaplace(exact("noise_multiplier", multiplier) / part, relation)
        case Gaussian(multiplier, relation):
            return Gaussian(exact("noise_multiplier", multiplier) / part, relation)
        case DiscreteGaussian(ratio, least, relation):
            return DiscreteGaussian(exact("squared_ratio", ratio) * part**2, least, relation)
        case ApproxDP(epsilon, delta, relation):
            return ApproxDP(exact("epsilon", epsilon) * part, delta, relation)
        case CappedRounds(updates, epsilon, steps, relation):
            return CappedRounds(updates, exact("epsilon", epsilon) * part, steps, relation)
        case Repeat(inner, count):
            return Repeat(scaled(inner, part), count)
        case Compose(events):
            return Compose(tuple(scaled(each, part) for each in events))
        case AnyOf(events):
            return AnyOf(tuple(scaled(each, part) for each in events))
        case Truncated(inner, delta):
            return Truncated(scaled(inner, part), delta)
        case _:
            refuse_unknown(event)


def largest_part(fits: Callable[[Fraction], bool]) -> Fraction:
    """About the largest part between 0 and 1 that fits, rounded down; 0: none does."""
    low, high = Fraction(0), Fraction(1)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def refusal(
    event: Event,
    *,
    stated: Guarantee | None,
    asked: Fraction,
    left: Fraction,
    cap: Fraction,
    own: Fraction,
    own_left: Fraction,
    unit: str,
    exactly: bool,
    fits: Callable[[Fraction], bool],
) -> str:
    """The sentence of a refused charge, in the epsilon and delta that its plan ``stated``.

    ``asked`` is what the charge would add; it is the epsilon that the user gave (``exactly``)
    where the mechanism has a pure one, and follows from its rho elsewhere.
    """
    what = describe(event) if stated is None else "this release"
    rest = f"{unit} {text_down(left)} of {text_down(cap)} is left"
    if own > own_left:
        kept = f"delta {text_down(own_left)} is left for events with a delta of their own"
        mend = (
            f"ask with a delta of at most {text_down(own_left)} for it"
            if own_left
            else "use a mechanism without one, or open a larger budget"
        )
        return f"{what} asks for delta {text_up(own)}, and {kept}; {mend}"
    epsilon = _epsilon(event, stated, asked if unit == "epsilon" and asked <= cap else None)
    if unit == "epsilon" and left:  # whoever asks for what is left gets it
        mend = f"epsilon {text_down(left, 3)} would fit"
        enough = stated is not None and exact("delta", stated.delta) <= own_left
        if own_left and not (exactly or enough):
            mend = f"epsilon {text_down(left, 3)} with delta {text_down(own_left)} would fit"
    elif not (part := largest_part(fits)):
        mend = "no such charge fits any more; open a larger budget"
    elif epsilon is None:
        mend = f"{text_down(part, 2)} of the epsilon that was asked for would fit"
    else:
        mend = f"about epsilon {text_down(epsilon * part, 2)} would fit"
    wanted = "more" if epsilon is None else f"epsilon {text_up(epsilon)}"
    if stated is not None and stated.delta:
        wanted += f" and delta {text_up(exact('delta', stated.delta))}"
    return f"{what} asks for {wanted}, and {rest}; {mend}"


def _epsilon(event: Event, stated: Guarantee | None, counted: Fraction | None) -> Fraction | None:
    """The epsilon that was asked for: as stated, the pure one of an event, or as it is counted."""
    if stated is not None:
        return exact("epsilon", stated.epsilon)
    try:
        return pure_cost(event).epsilon
    except GuaranteeError:
        return counted
