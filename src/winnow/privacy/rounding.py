"""Rounding to the safe side: a cost is never shown smaller than it is.

Two readings of a float meet here. Arithmetic uses its binary value. What a user
reads, and what ``checks.exact`` reads back, is its shortest decimal: 0.1 means 1/10.
So a number for arithmetic is rounded by ``at_least`` and ``at_most``, and a number
that is stated to the user by ``stated_at_least`` and ``stated_at_most``.
"""

from __future__ import annotations

import math
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

SLACK = Fraction(1, 2**48)
"""More than the relative error of one call of exp, log or tanh: the C libraries in use
stay below 2 units in the last place, and this is 16 of them."""

_STATED_DIGITS = 6
_SAME = 1e-9


def at_least(value: Fraction) -> float:
    """The smallest float64 that is not below the value (infinity past the range)."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -sys.float_info.max
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def at_most(value: Fraction) -> float:
    """The largest float64 that is not above the value."""
    return 0.0 - at_least(-value)  # 0.0 - x, not -x: no negative zero


def exp_at_least(exponent: Fraction) -> Fraction:
    """A rational number that is not below e to the exponent, for exponents below 700."""
    return Fraction(math.exp(at_least(exponent))) * (1 + SLACK)


def stated_at_least(value: Fraction) -> float:
    """The smallest float64 whose shortest decimal is not below the value."""
    candidate = math.nextafter(at_most(value), -math.inf)
    while math.isfinite(candidate) and Fraction(repr(candidate)) < value:
        candidate = math.nextafter(candidate, math.inf)
    return candidate + 0.0


def stated_at_most(value: Fraction) -> float:
    """The largest float64 whose shortest decimal is not above the value."""
    return 0.0 - stated_at_least(-value)


def rounded_up(value: Fraction) -> Fraction:
    """The value rounded up to what a float64 states, so that sums keep small denominators."""
    stated = stated_at_least(value)
    return Fraction(repr(stated)) if math.isfinite(stated) else value


def text_up(value: Fraction) -> str:
    """The value in at most six digits, rounded up."""
    return _text(value, ROUND_CEILING)


def written_up(value: float) -> float:
    """A number as a person would write it, where that is equal to nine digits.

    It is never below: what a calibration leaves unspent in the last bits is stated as spent.
    """
    if not math.isfinite(value):
        return value
    short = float(text_up(Fraction(repr(value))))
    return short if value <= short <= value * (1 + _SAME) else value


def text_down(value: Fraction, digits: int = _STATED_DIGITS) -> str:
    """The value in at most six (or so many) digits, rounded down."""
    return _text(value, ROUND_FLOOR, digits)


def _text(value: Fraction, rounding: str, digits: int = _STATED_DIGITS) -> str:
    context = Context(prec=digits, rounding=rounding)
    # Decimal(...) is exact, so the division is the only rounding.
    decimal = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{float(decimal):.{digits}g}"
