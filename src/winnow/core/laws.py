"""The noise laws. Each is one record: all that anything in the package asks of it.

What a formula is for is said in ``core.formulas``.
"""

from __future__ import annotations

import math
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import numpy as np

from winnow.core.arithmetic import LN2, Arithmetic, Floats, Interval, log, log_of_one, two_atanh
from winnow.core.formulas import ByTail, Formulas, clock_within, clocks, log1mexp
from winnow.errors import ParameterError
from winnow.foreign import instead, shown

_ONE, _TWO = Fraction(1), Fraction(2)
_HALF = Decimal("0.5")
_quiet = np.errstate(over="ignore", divide="ignore")


class _Gumbel(Formulas):
    """F(x) = exp(-e^-x): the noise is -ln of an Exp(1) clock."""

    on_half_line, has_kink, top_shift = False, False, 0.0

    def log_sf(self, x: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.where(x > 40.0, -x, log1mexp(-np.exp(-np.minimum(x, 40.0))))

    def inv_log_sf(self, y: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.where(y < -40.0, -y, -np.log(-log1mexp(np.maximum(y, -40.0))))

    def log_cdf(self, x: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return -np.exp(-np.asarray(x, np.float64))

    def one(self, v: float, w: float) -> float:
        return -log_of_one(two_atanh(v / (2.0 - v)) if v < 0.25 else -log_of_one(w))

    def many(self, v: Floats, w: Floats) -> Floats:
        return -log(clocks(v, w))

    def within(self, a: Arithmetic, v: Interval, w: Interval) -> Interval:
        return a.negate(a.ln(clock_within(a, w)))

    def largest(self, g: Floats) -> tuple[Floats, Floats]:
        return g, np.ones(len(g))

    def largest_bound(self, g: float, side: float) -> float:
        return g

    def largest_within(self, a: Arithmetic, g: Interval) -> Interval:
        return g

    def series(self, j: Floats) -> Floats:
        return np.where(j == 1, 1.0, 0.0)

    @_quiet
    def reversed_hazard(self, x: Floats) -> Floats:
        return np.exp(-x)

    @_quiet
    def hazard(self, x: Floats) -> Floats:
        y = np.exp(np.minimum(-x, 6.6))  # y/(e^y - 1) is 0 beyond y = 735
        return np.asarray(y / np.expm1(y))

    def difference_tail(self, t: float) -> float:
        q = math.exp(-t)
        return q / (1.0 + q)

    def _log_difference_tail(self, t: float) -> float:
        return -t


class _Exponential(ByTail):
    """S(x) = e^-x for x >= 0."""

    on_half_line, has_kink, top_shift = True, True, 0.0

    def log_sf(self, x: Floats) -> Floats:
        return np.minimum(0.0, -x)

    def inv_log_sf(self, y: Floats) -> Floats:
        return -y

    def one(self, v: float, w: float) -> float:
        return -log_of_one(v)

    def many(self, v: Floats, w: Floats) -> Floats:
        return -log(v)

    def within(self, a: Arithmetic, v: Interval, w: Interval) -> Interval:
        return a.negate(a.ln(v))

    def _largest(self, x: Floats, p: Floats, q: Floats) -> Floats:
        return np.where(q < 0.25, two_atanh(np.where(q < 0.25, q, 0) / (2.0 - q)), -log(p))

    def _largest_one(self, x: float, p: float) -> float:
        return -math.log(p)

    def _largest_within(self, a: Arithmetic, x: Interval, q: Interval, p: Interval) -> Interval:
        return p

    def series(self, j: Floats) -> Floats:
        return np.asarray(1.0 / j)

    @_quiet
    def reversed_hazard(self, x: Floats) -> Floats:
        return np.asarray(1.0 / np.expm1(x))

    @_quiet
    def hazard(self, x: Floats) -> Floats:
        return np.where(x > 0, 1.0, 0.0)

    def difference_tail(self, t: float) -> float:
        return 0.5 * math.exp(-t)

    def _log_difference_tail(self, t: float) -> float:
        return math.log(0.5) - t


class _Laplace(ByTail):
    """S(x) = e^-x/2 for x >= 0, and F(x) = e^x/2 below."""

    on_half_line, has_kink, top_shift = False, True, -math.log(2.0)

    def log_sf(self, x: Floats) -> Floats:
        return np.where(x >= 0, -LN2 - x, np.log1p(-0.5 * np.exp(np.minimum(x, 0.0))))

    def inv_log_sf(self, y: Floats) -> Floats:
        return np.where(y <= -LN2, -LN2 - y, LN2 + log1mexp(y))

    def one(self, v: float, w: float) -> float:
        return -log_of_one(2.0 * v) if v < 0.5 else log_of_one(2.0 * w)

    def many(self, v: Floats, w: Floats) -> Floats:
        upper = v < 0.5
        log2 = log(2.0 * np.where(upper, v, w))
        return np.where(upper, -log2, log2)

    def within(self, a: Arithmetic, v: Interval, w: Interval) -> Interval:
        ln2 = a.ln(a.fraction(_TWO))
        upper = a.negate(a.add(ln2, a.ln(v)))  # for V <= 1/2
        lower = a.add(ln2, a.ln(w))  # for V >= 1/2
        if v.hi <= _HALF:
            return upper
        return lower if v.lo >= _HALF else Interval(lower.lo, upper.hi)

    def _largest(self, x: Floats, p: Floats, q: Floats) -> Floats:
        return np.where(p < 0.5, -log(2.0 * p), LN2 - x)

    def _largest_one(self, x: float, p: float) -> float:
        return -math.log(2.0 * p) if p < 0.5 else math.log(2.0) - x

    def _largest_within(self, a: Arithmetic, x: Interval, q: Interval, p: Interval) -> Interval:
        ln2 = a.ln(a.fraction(_TWO))
        upper, lower = a.subtract(p, ln2), a.subtract(ln2, x)
        if q.lo >= _HALF:
            return upper
        if q.hi <= _HALF:
            return lower
        return Interval(min(upper.lo, lower.lo), max(upper.hi, lower.hi))

    def series(self, j: Floats) -> Floats:
        return np.asarray(0.5**j / j)

    @_quiet
    def reversed_hazard(self, x: Floats) -> Floats:
        return np.asarray(1.0 / (2.0 * np.exp(np.maximum(x, 0.0)) - 1.0))

    @_quiet
    def hazard(self, x: Floats) -> Floats:
        return np.asarray(1.0 / (2.0 * np.exp(np.maximum(-x, 0.0)) - 1.0))

    def difference_tail(self, t: float) -> float:
        return 0.5 * math.exp(-t) * (1.0 + 0.5 * t)

    def _log_difference_tail(self, t: float) -> float:
        return math.log(0.5 + 0.25 * t) - t


class _Logistic(ByTail):
    """F(x) = 1/(1 + e^-x)."""

    on_half_line, has_kink, top_shift = False, False, 0.0

    def log_sf(self, x: Floats) -> Floats:
        return -np.logaddexp(0.0, x)

    def inv_log_sf(self, y: Floats) -> Floats:
        return log1mexp(y) - y

    def one(self, v: float, w: float) -> float:
        return log_of_one(w) - log_of_one(v)

    def many(self, v: Floats, w: Floats) -> Floats:
        return log(w) - log(v)

    def within(self, a: Arithmetic, v: Interval, w: Interval) -> Interval:
        return a.subtract(a.ln(w), a.ln(v))

    def _largest(self, x: Floats, p: Floats, q: Floats) -> Floats:
        return -x - log(p)

    def _largest_one(self, x: float, p: float) -> float:
        return -x - math.log(p)

    def _largest_within(self, a: Arithmetic, x: Interval, q: Interval, p: Interval) -> Interval:
        return a.subtract(p, x)

    def series(self, j: Floats) -> Floats:
        return np.asarray(-((-1.0) ** j) / j)

    @_quiet
    def reversed_hazard(self, x: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + np.exp(x)))

    @_quiet
    def hazard(self, x: Floats) -> Floats:
        return np.asarray(1.0 / (1.0 + np.exp(-x)))

    def difference_tail(self, t: float) -> float:
        if t < 1e-3:
            return 0.5 - t / 6.0  # up to t^3/180
        return math.exp(-t) * (t + math.expm1(-t)) / math.expm1(-t) ** 2

    def _log_difference_tail(self, t: float) -> float:
        return math.log(t - 1.0) - t


class _HalfLogistic(ByTail):
    """S(x) = 2/(1 + e^x) for x >= 0: the size of logistic noise."""

    on_half_line, has_kink, top_shift = True, True, math.log(2.0)

    def log_sf(self, x: Floats) -> Floats:
        return np.where(x >= 0, LN2 - np.logaddexp(0.0, np.maximum(x, 0.0)), 0.0)

    def inv_log_sf(self, y: Floats) -> Floats:
        return np.log1p(-np.expm1(y)) - y

    def one(self, v: float, w: float) -> float:
        return log_of_one(1.0 + w) - log_of_one(v)

    def many(self, v: Floats, w: Floats) -> Floats:
        return log(1.0 + w) - log(v)

    def within(self, a: Arithmetic, v: Interval, w: Interval) -> Interval:
        return a.subtract(a.ln(a.add(a.fraction(_ONE), w)), a.ln(v))

    def _largest(self, x: Floats, p: Floats, q: Floats) -> Floats:
        return np.where(q < 0.1, two_atanh(np.where(q < 0.1, q, 0.0)), log(1.0 + q) - log(p))

    def _largest_one(self, x: float, p: float) -> float:
        return math.log1p(math.exp(-x)) - math.log(p)

    def _largest_within(self, a: Arithmetic, x: Interval, q: Interval, p: Interval) -> Interval:
        return a.add(a.ln(a.add(a.fraction(_ONE), q)), p)

    def series(self, j: Floats) -> Floats:
        return np.where(j % 2 == 1, 2.0 / j, 0.0)

    @_quiet
    def reversed_hazard(self, x: Floats) -> Floats:
        return np.asarray(1.0 / np.sinh(x))

    @_quiet
    def hazard(self, x: Floats) -> Floats:
        return np.where(x > 0, 1.0 / (1.0 + np.exp(-x)), 0.0)

    def difference_tail(self, t: float) -> float:
        # 4q (ln(2/(1+q)) - (1-q)/2)/(1-q)^2, as a series without cancellation
        half = -0.5 * math.expm1(-t)
        return math.exp(-t) * math.fsum(half**j / (j + 2) for j in range(56))

    def _log_difference_tail(self, t: float) -> float:
        return math.log(4.0 * math.log(2.0) - 2.0) - t


class Law(StrEnum):
    """A noise law of scale 1."""

    formulas: Formulas

    def __new__(cls, word: str, formulas: Formulas) -> Law:
        """A member is its word, and has its formulas."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.formulas = formulas
        return member

    GUMBEL = "gumbel", _Gumbel()
    EXPONENTIAL = "exponential", _Exponential()
    LAPLACE = "laplace", _Laplace()
    LOGISTIC = "logistic", _Logistic()
    HALF_LOGISTIC = "half-logistic", _HalfLogistic()

    @classmethod
    def parse(cls, noise: str | Law) -> Law:
        """The law of this name, or an error that lists the names."""
        names = ", ".join(str(law) for law in cls)
        unknown = f"noise={shown(noise)} is unknown; choose one of: {names}"
        with instead(ParameterError(unknown), ValueError):
            return cls(noise)  # type: ignore[call-arg]  # a member is looked up by its word
