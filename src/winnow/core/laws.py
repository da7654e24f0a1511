"""Noise from the tape to any precision: intervals of decimals that contain the truth (stage 2).

Only the standard library: `decimal` computes ln and exp correctly rounded (libmpdec), so
one unit in the last place outwards makes an enclosure. Beware of unary minus on a
Decimal: it rounds to the thread's default context; `copy_negate` does not.
"""

from __future__ import annotations

import math
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
from enum import StrEnum
from fractions import Fraction
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.tape import Tape
from winnow.errors import ParameterError
from winnow.foreign import instead, shown

Floats = NDArray[np.float64]

LN2 = math.log(2.0)


class Law(StrEnum):
    """A noise law of scale 1."""

    GUMBEL = "gumbel"
    EXPONENTIAL = "exponential"
    LAPLACE = "laplace"
    LOGISTIC = "logistic"
    HALF_LOGISTIC = "half-logistic"

    @classmethod
    def parse(cls, noise: str | Law) -> Law:
        """The law of this name, or an error that lists the names."""
        names = ", ".join(str(law) for law in cls)
        unknown = f"noise={shown(noise)} is unknown; choose one of: {names}"
        with instead(ParameterError(unknown), ValueError):
            return cls(noise)

    def log_sf(self, x: Floats) -> Floats:
        """log Pr[noise > x], elementwise."""
        x = np.asarray(x, np.float64)
        with np.errstate(over="ignore", divide="ignore"):
            match self:
                case Law.GUMBEL:
                    return np.where(x > 40.0, -x, log1mexp(-np.exp(-np.minimum(x, 40.0))))
                case Law.EXPONENTIAL:
                    return np.minimum(0.0, -x)
                case Law.LAPLACE:
                    return np.where(x >= 0, -LN2 - x, np.log1p(-0.5 * np.exp(np.minimum(x, 0.0))))
                case Law.LOGISTIC:
                    return -np.logaddexp(0.0, x)
                case Law.HALF_LOGISTIC:
                    return np.where(x >= 0, LN2 - np.logaddexp(0.0, np.maximum(x, 0.0)), 0.0)
                case never:
                    assert_never(never)

    def inv_log_sf(self, y: Floats) -> Floats:
        """The x with log Pr[noise > x] = y, for y <= 0, elementwise."""
        y = np.asarray(y, np.float64)
        with np.errstate(divide="ignore"):
            match self:
                case Law.GUMBEL:
                    return np.where(y < -40.0, -y, -np.log(-log1mexp(np.maximum(y, -40.0))))
                case Law.EXPONENTIAL:
                    return -y
                case Law.LAPLACE:
                    return np.where(y <= -LN2, -LN2 - y, LN2 + log1mexp(y))
                case Law.LOGISTIC:
                    return log1mexp(y) - y
                case Law.HALF_LOGISTIC:
                    return np.log1p(-np.expm1(y)) - y
                case never:
                    assert_never(never)

    def log_cdf(self, x: Floats) -> Floats:
        """log Pr[noise <= x], elementwise."""
        x = np.asarray(x, np.float64)
        if self is Law.GUMBEL:
            with np.errstate(over="ignore"):
                return -np.exp(-x)
        return log1mexp(self.log_sf(x))

    @property
    def on_half_line(self) -> bool:
        """Whether the noise is never negative."""
        match self:
            case Law.EXPONENTIAL | Law.HALF_LOGISTIC:
                return True
            case Law.GUMBEL | Law.LAPLACE | Law.LOGISTIC:
                return False
            case never:
                assert_never(never)

    @property
    def has_kink(self) -> bool:
        """Whether the distribution function is not smooth at 0."""
        match self:
            case Law.EXPONENTIAL | Law.LAPLACE | Law.HALF_LOGISTIC:
                return True
            case Law.GUMBEL | Law.LOGISTIC:
                return False
            case never:
                assert_never(never)


def log1mexp(y: Floats) -> Floats:
    """log(1 - e^y) for y <= 0, accurate near 0 and far below."""
    y = np.asarray(y, np.float64)
    with np.errstate(divide="ignore"):
        return np.where(
            y > -LN2,
            np.log(-np.expm1(np.maximum(y, -1.0))),
            np.log1p(-np.exp(np.minimum(y, -0.5))),
        )


def log_sf_of_max(e: Floats, log_count: Floats) -> Floats:
    """log-survival of the maximum of m = exp(log_count) draws at its Exp(1) quantile.

    The maximum M has Pr[M <= x] = F(x)^m, so with E ~ Exp(1) setting F^m = e^-E gives
    log(1 - F) = log(1 - e^(-E/m)), stable for log_count of 1e5 and more.
    """
    log_x = np.log(np.asarray(e, np.float64)) - log_count
    with np.errstate(over="ignore"):
        return np.where(log_x < -36.0, log_x, log1mexp(-np.exp(np.maximum(log_x, -37.0))))


_INFINITY = Decimal("Infinity")
_HALF = Decimal("0.5")


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


def _proper(lo: Decimal, hi: Decimal) -> Interval:
    return EVERYTHING if lo.is_nan() or hi.is_nan() else Interval(lo, hi)


def noise_interval(
    arithmetic: Arithmetic,
    law: Law,
    tape: Tape,
    item: int,
    bits: int,
    log_count: Interval | None = None,
) -> Interval:
    """An interval around the noise of an item, from its first `bits` bits.

    With `log_count` it is the maximum of N draws, log N in that interval.
    """
    known = tape.bits(item, bits)
    v_low, v_high = Fraction(known, 1 << bits), Fraction(known + 1, 1 << bits)
    v = arithmetic.between(v_low, v_high)
    w = arithmetic.between(1 - v_high, 1 - v_low)
    if log_count is None:
        return _single(arithmetic, law, v, w)
    g = arithmetic.negate(arithmetic.ln(_clock(arithmetic, w)))
    return noise_of_clock(arithmetic, law, arithmetic.add(g, log_count))


def clock_interval(arithmetic: Arithmetic, tape: Tape, item: int, bits: int) -> Interval:
    """An interval around the Exp(1) clock E = -ln(1 - V) of an item."""
    known = tape.bits(item, bits)
    w = arithmetic.between(1 - Fraction(known + 1, 1 << bits), 1 - Fraction(known, 1 << bits))
    return _clock(arithmetic, w)


def noise_of_clock(arithmetic: Arithmetic, law: Law, g: Interval) -> Interval:
    """The noise whose F is exp(-x), where g = -ln x."""
    return _group_maximum(arithmetic, law, g)


def _clock(arithmetic: Arithmetic, w: Interval) -> Interval:
    clock = arithmetic.negate(arithmetic.ln(w))
    return Interval(max(clock.lo, Decimal(0)), clock.hi)


def _single(a: Arithmetic, law: Law, v: Interval, w: Interval) -> Interval:
    one = a.fraction(Fraction(1))
    match law:
        case Law.EXPONENTIAL:
            return a.negate(a.ln(v))
        case Law.LOGISTIC:
            return a.subtract(a.ln(w), a.ln(v))
        case Law.HALF_LOGISTIC:
            return a.subtract(a.ln(a.add(one, w)), a.ln(v))
        case Law.LAPLACE:
            ln2 = a.ln(a.fraction(Fraction(2)))
            upper = a.negate(a.add(ln2, a.ln(v)))  # for V <= 1/2
            lower = a.add(ln2, a.ln(w))  # for V >= 1/2
            if v.hi <= _HALF:
                return upper
            return lower if v.lo >= _HALF else Interval(lower.lo, upper.hi)
        case Law.GUMBEL:
            return a.negate(a.ln(_clock(a, w)))
        case never:
            assert_never(never)


def _group_maximum(a: Arithmetic, law: Law, g: Interval) -> Interval:
    """The law's noise at survival probability p = 1 - exp(-x), x = exp(-g)."""
    if law is Law.GUMBEL:
        return g
    one, ln2 = a.fraction(Fraction(1)), a.ln(a.fraction(Fraction(2)))
    if g.lo < -20:  # x beyond 10^8: reached only before enough bits are known
        return EVERYTHING
    x = a.exp(a.negate(g))
    q = a.exp(a.negate(x))
    if x.hi < _HALF:
        minus_log_p = a.subtract(g, a.ln(a.one_minus_exp_over(x)))
    else:
        p = a.subtract(one, q)
        minus_log_p = a.negate(a.ln(Interval(max(p.lo, Decimal(0)), p.hi)))
    match law:
        case Law.EXPONENTIAL:
            return minus_log_p
        case Law.LOGISTIC:
            return a.subtract(minus_log_p, x)
        case Law.HALF_LOGISTIC:
            return a.add(a.ln(a.add(one, q)), minus_log_p)
        case Law.LAPLACE:
            upper, lower = a.subtract(minus_log_p, ln2), a.subtract(ln2, x)
            if q.lo >= _HALF:
                return upper
            if q.hi <= _HALF:
                return lower
            return Interval(min(upper.lo, lower.lo), max(upper.hi, lower.hi))
        case never:
            assert_never(never)
