"""What the package asks of a noise law: its distribution, its draws, and what plans need to know.

All are of scale 1. F is the distribution function and S = 1 - F.

Noise comes from a uniform V, with W = 1 - V, and decreases in V: the upper tail is at V -> 0.
The largest of many draws comes from the first of as many Exp(1) clocks, x = exp(-g): it is the
noise with F = exp(-x). Each draw has three forms: in float64, whose error ``core.bounded``
bounds; of Python's floats, where there are few; and as intervals of decimals.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from winnow.core.arithmetic import (
    EVERYTHING,
    LN2,
    Arithmetic,
    Floats,
    Interval,
    exp,
    log,
    relative_loss,
    two_atanh,
)

_ONE = Fraction(1)
_HALF = Decimal("0.5")


def log1mexp(y: Floats) -> Floats:
    """log(1 - e^y) for y <= 0, accurate near 0 and far below."""
    y = np.asarray(y, np.float64)
    with np.errstate(divide="ignore"):
        return np.where(
            y > -LN2,
            np.log(-np.expm1(np.maximum(y, -1.0))),
            np.log1p(-np.exp(np.minimum(y, -0.5))),
        )


class Formulas(ABC):
    """A noise law of scale 1."""

    on_half_line: ClassVar[bool]
    """Whether the noise is never negative."""
    has_kink: ClassVar[bool]
    """Whether the distribution function is not smooth at 0."""
    top_shift: ClassVar[float]
    """K with -log V + K + log W <= noise <= -log V + K (to within 2^-52)."""

    @abstractmethod
    def log_sf(self, x: Floats) -> Floats:
        """log Pr[noise > x], elementwise."""

    @abstractmethod
    def inv_log_sf(self, y: Floats) -> Floats:
        """The x with log Pr[noise > x] = y, for y <= 0, elementwise."""

    def log_cdf(self, x: Floats) -> Floats:
        """log Pr[noise <= x], elementwise."""
        return log1mexp(self.log_sf(x))

    @abstractmethod
    def one(self, v: float, w: float) -> float:
        """The noise of V."""

    @abstractmethod
    def many(self, v: Floats, w: Floats) -> Floats:
        """The noise of each V."""

    @abstractmethod
    def within(self, a: Arithmetic, v: Interval, w: Interval) -> Interval:
        """An interval around the noise of V."""

    @abstractmethod
    def largest(self, g: Floats) -> tuple[Floats, Floats]:
        """The noise at each clock x = exp(-g) <= 36, and by how much an error in g moves it."""

    @abstractmethod
    def largest_bound(self, g: float, side: float) -> float:
        """A bound on the noise at one clock: below for side -1, above for side 1."""

    @abstractmethod
    def largest_within(self, a: Arithmetic, g: Interval) -> Interval:
        """An interval around the noise at the clock x = exp(-g)."""

    @abstractmethod
    def series(self, j: Floats) -> Floats:
        """The a_j of -log F(x) = sum_j a_j e^(-jx), for x above ln 16."""

    @abstractmethod
    def reversed_hazard(self, x: Floats) -> Floats:
        """F'(x)/F(x): the slope of log F, on the support of the law."""

    @abstractmethod
    def hazard(self, x: Floats) -> Floats:
        """F'(x)/S(x): minus the slope of log S."""

    @abstractmethod
    def difference_tail(self, t: float) -> float:
        """Pr[Z - Z' >= t] for two independent noises, 0 <= t < 700."""

    @abstractmethod
    def _log_difference_tail(self, t: float) -> float:
        """The logarithm of the same, for t of 600 and more."""

    def log_difference_tail(self, t: float) -> float:
        """ln Pr[Z - Z' >= t] for two independent noises, t >= 0, however large."""
        return math.log(self.difference_tail(t)) if t < 600.0 else self._log_difference_tail(t)


def clocks(v: Floats, w: Floats) -> Floats:
    """The Exp(1) clocks -ln W."""
    return np.where(v < 0.25, two_atanh(v / (2.0 - v)), -log(w))


def clock_within(a: Arithmetic, w: Interval) -> Interval:
    """An interval around the clock -ln W."""
    clock = a.negate(a.ln(w))
    return Interval(max(clock.lo, Decimal(0)), clock.hi)


class ByTail(Formulas):
    """A law that is drawn by its survival probability p = 1 - exp(-x)."""

    @abstractmethod
    def _largest(self, x: Floats, p: Floats, q: Floats) -> Floats:
        """The noise with F = q = exp(-x) and S = p, each known to a relative 2^-42 (1 + x)."""

    @abstractmethod
    def _largest_one(self, x: float, p: float) -> float:
        """The noise of one clock, from x and p."""

    @abstractmethod
    def _largest_within(self, a: Arithmetic, x: Interval, q: Interval, p: Interval) -> Interval:
        """An interval around the same; ``p`` is around -log p."""

    def largest(self, g: Floats) -> tuple[Floats, Floats]:
        """With q = exp(-x) = 1 - p every formula keeps its relative accuracy; x carries a relative
        error of 2^-42, hence the factor 1 + x. Beyond g = 40, p = x (1 - x/2 + ...) and the
        noise is g + K to within 2^-57.
        """
        far = g > 40.0
        x = exp(-np.where(far, 0.0, g))
        q = exp(-np.minimum(x, 60.0))
        p = np.where(x < 0.5, x * relative_loss(np.minimum(x, 0.5)), 1.0 - q)
        z = np.where(far, g + self.top_shift, self._largest(x, p, q))
        moved = 1.0 + np.where(far, 0.0, x) * (1.0 + 2.0**-20)
        return z, np.where(x < 60.0, moved, np.inf)

    def largest_bound(self, g: float, side: float) -> float:
        """libm to 16 units in the last place, and an allowance of 2^-40 (1 + x)."""
        if g > 40.0:
            return g + self.top_shift + side * 2.0**-40
        x = math.exp(-max(g, -4.0))
        if g < -4.0 and side < 0:
            return -math.inf
        return self._largest_one(x, -math.expm1(-x)) + side * 2.0**-40 * (1.0 + x)

    def largest_within(self, a: Arithmetic, g: Interval) -> Interval:
        """By p, or by -log p = g - log((1 - e^-x)/x) where x is small."""
        if g.lo < -20:  # x beyond 10^8: reached only before enough bits are known
            return EVERYTHING
        x = a.exp(a.negate(g))
        q = a.exp(a.negate(x))
        if x.hi < _HALF:
            minus_log_p = a.subtract(g, a.ln(a.one_minus_exp_over(x)))
        else:
            p = a.subtract(a.fraction(_ONE), q)
            minus_log_p = a.negate(a.ln(Interval(max(p.lo, Decimal(0)), p.hi)))
        return self._largest_within(a, x, q, minus_log_p)
