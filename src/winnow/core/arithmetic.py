"""Arithmetic whose error is known: float64 with a proven bound, and intervals of decimals.

In float64 only + - * / and exact scaling of IEEE-754 doubles are used, so the proofs do not
depend on a maths library. u = 2^-53 below. The logarithm is written twice, for arrays and for
one of Python's floats, because few numbers are faster one by one; both round alike.

Intervals need the standard library only: `decimal` computes ln and exp correctly rounded
(libmpdec), so one unit in the last place outwards makes an enclosure. Beware of unary minus on
a Decimal: it rounds to the thread's default context; `copy_negate` does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
)
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
N = TypeVar("N", float, Floats)

LN2 = 0.6931471805599453
_LN2_HIGH = 0.6931471803691238  # 33 bits: products with small integers are exact
_LN2_LOW = 1.9082149292705877e-10
_ATANH = tuple(1.0 / odd for odd in range(21, 1, -2))
_EXP = tuple(1.0 / math.factorial(j) for j in range(16, -1, -1))


def two_atanh(s: N) -> N:
    """2 atanh(s) for |s| <= 0.1716; the series after s^21 is below 1e-18 relative."""
    z = s * s
    p = _ATANH[0] * z
    for coefficient in _ATANH[1:]:
        p = (p + coefficient) * z
    return 2.0 * s * (p + 1.0)


def log(x: Floats) -> Floats:
    """log x for positive normal doubles: |err| <= u (2.1 + 1.39 |exponent| + |log x|)."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < 0.7071067811865476
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    whole = exponent - small
    return whole * LN2 + two_atanh((mantissa - 1.0) / (mantissa + 1.0))


def exp(y: Floats) -> Floats:
    """exp y for |y| <= 700, relative error below 2^-48 (Cody-Waite, Taylor to order 16)."""
    n = np.floor(y * 1.4426950408889634 + 0.5)
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    p = np.zeros_like(y)
    for coefficient in _EXP:
        p = p * r + coefficient
    return np.ldexp(p, n.astype(np.int32))


def relative_loss(x: Floats) -> Floats:
    """(1 - exp(-x))/x for 0 <= x <= 1/2, relative error below 2^-49."""
    p = np.ones_like(x)
    for j in range(15, 1, -1):
        p = 1.0 - p * x * (1.0 / j)
    return p


def log_of_one(x: float) -> float:
    """``log`` of one number."""
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    return exponent * LN2 + two_atanh((mantissa - 1.0) / (mantissa + 1.0))


FIRST_BITS = 128
"""How many bits of an item the first of several attempts looks at."""
_INFINITY = Decimal("Infinity")


@dataclass(frozen=True)
class Interval:
    """All numbers from lo to hi, ends included."""

    lo: Decimal
    hi: Decimal


EVERYTHING = Interval(_INFINITY.copy_negate(), _INFINITY)


class Arithmetic:
    """Outward-rounded interval arithmetic at a number of decimal digits."""

    def __init__(self, digits: int) -> None:
        def context(rounding: str) -> Context:
            return Context(prec=digits, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])

        self.digits = digits
        self._down = context(ROUND_FLOOR)
        self._up = context(ROUND_CEILING)
        self._near = context(ROUND_HALF_EVEN)

    def fraction(self, q: Fraction) -> Interval:
        """The rational number q."""
        return self.between(q, q)

    def between(self, low: Fraction, high: Fraction) -> Interval:
        """All numbers from the rational low to the rational high."""
        return Interval(
            self._down.divide(Decimal(low.numerator), Decimal(low.denominator)),
            self._up.divide(Decimal(high.numerator), Decimal(high.denominator)),
        )

    def add(self, x: Interval, y: Interval) -> Interval:
        """x + y."""
        return _proper(self._down.add(x.lo, y.lo), self._up.add(x.hi, y.hi))

    def subtract(self, x: Interval, y: Interval) -> Interval:
        """x - y."""
        return _proper(self._down.subtract(x.lo, y.hi), self._up.subtract(x.hi, y.lo))

    def negate(self, x: Interval) -> Interval:
        """-x, exactly."""
        return Interval(x.hi.copy_negate(), x.lo.copy_negate())

    def times(self, x: Interval, factor: Fraction) -> Interval:
        """x times a rational factor."""
        if factor < 0:
            return self.negate(self.times(x, -factor))
        f = self.fraction(factor)
        corners = [(a, b) for a in (x.lo, x.hi) for b in (f.lo, f.hi)]
        low = [self._down.multiply(a, b) for a, b in corners]
        high = [self._up.multiply(a, b) for a, b in corners]
        if any(value.is_nan() for value in low + high):
            return EVERYTHING
        return Interval(min(low), max(high))

    def ln(self, x: Interval) -> Interval:
        """ln x for x >= 0; ln 0 is minus infinity."""
        if x.hi <= 0:
            return EVERYTHING
        low = _INFINITY.copy_negate()
        if x.lo > 0:
            low = self._near.next_minus(self._near.ln(x.lo))
        return Interval(low, self._near.next_plus(self._near.ln(x.hi)))

    def exp(self, x: Interval) -> Interval:
        """exp x."""
        lo = self._near.next_minus(self._near.exp(x.lo))
        return _proper(max(lo, Decimal(0)), self._near.next_plus(self._near.exp(x.hi)))

    def log_of_integer(self, n: int) -> Interval:
        """ln n for a positive integer of any length, from its leading bits."""
        keep = 4 * self.digits + 32
        drop = max(0, n.bit_length() - keep)
        head = n >> drop
        log_head = self.ln(self.between(Fraction(head), Fraction(head + (drop > 0))))
        return self.add(log_head, self.times(self.ln(self.fraction(Fraction(2))), Fraction(drop)))

    def one_minus_exp_over(self, x: Interval) -> Interval:
        """(1 - e^-x)/x for 0 <= x < 1, by partial sums of its alternating series.

        The function decreases in x, and consecutive partial sums enclose it.
        """
        return Interval(self._series(x.hi)[0], self._series(x.lo)[1])

    def _series(self, x: Decimal) -> tuple[Decimal, Decimal]:
        below, above = Decimal(1), Decimal(1)
        term_low, term_high = Decimal(1), Decimal(1)
        smallest = Decimal((0, (1,), -self.digits - 2))
        j = 1
        while True:
            divisor = Decimal(j + 1)
            term_low = self._down.divide(self._down.multiply(term_low, x), divisor)
            term_high = self._up.divide(self._up.multiply(term_high, x), divisor)
            if j % 2:
                next_below = self._down.subtract(below, term_high)
                next_above = self._up.subtract(above, term_low)
                best = (next_below, above)
            else:
                next_below = self._down.add(below, term_low)
                next_above = self._up.add(above, term_high)
                best = (below, next_above)
            below, above = next_below, next_above
            if term_high < smallest:
                return best
            j += 1


T = TypeVar("T")
Enclosed = Callable[[Arithmetic, int], Interval]
"""A number, known by so many digits and so many bits of the tape."""


def refined(attempt: Callable[[Arithmetic, int], T | None]) -> T:
    """The answer of the first attempt that has one; each has twice the digits and bits.

    An attempt that leaves open what it compares answers None. The bits of a tape are without an
    end, and what is compared here is equal with probability 0, so one of them has an answer.
    """
    digits, bits = 40, FIRST_BITS
    while True:
        answer = attempt(Arithmetic(digits), bits)
        if answer is not None:
            return answer
        digits, bits = 2 * digits, 2 * bits


def is_above(one: Enclosed, other: Enclosed) -> bool:
    """Whether one number is larger than another, by as many digits as it takes."""

    def attempt(a: Arithmetic, bits: int) -> bool | None:
        x, y = one(a, bits), other(a, bits)
        return True if x.lo > y.hi else False if x.hi < y.lo else None

    return refined(attempt)


def floor_of(number: Enclosed) -> int:
    """A number rounded down; it is an integer with probability 0."""

    def attempt(a: Arithmetic, bits: int) -> int | None:
        x = number(a, bits)
        if not (x.lo.is_finite() and x.hi.is_finite()):
            return None
        low, high = (Fraction(end).__floor__() for end in (x.lo, x.hi))
        return low if low == high else None

    return refined(attempt)


def largest_of(candidates: list[T], value: Callable[[T, Arithmetic, int], Interval]) -> T:
    """The candidate with the largest number, of at least one."""
    left = list(candidates)

    def attempt(a: Arithmetic, bits: int) -> list[T] | None:
        known = [value(each, a, bits) for each in left]
        least = max(each.lo for each in known)
        left[:] = [one for one, at in zip(left, known, strict=True) if at.hi >= least]
        return left if len(left) == 1 else None

    return left[0] if len(left) == 1 else refined(attempt)[0]


def _proper(lo: Decimal, hi: Decimal) -> Interval:
    return EVERYTHING if lo.is_nan() or hi.is_nan() else Interval(lo, hi)
