"""Noise that is no law of scale 1, as a function of clocks: for draws over classes of counts.

Discrete Laplace noise has ties, and ties must not tell which of two true counts is larger. So
every candidate gets a uniform number from [0, 1) besides, by which ties are ordered: the sum of
both is continuous, and its floor is the discrete noise. The Gamma mechanism's noise is uniform in
a cube, given the size of the cube.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from winnow.core.arithmetic import EVERYTHING, Arithmetic, Interval
from winnow.core.bounded import noise, noise_interval
from winnow.core.laws import Law
from winnow.core.tape import CHUNK, Tape

_HALF = Decimal("0.5")
_ONE = Fraction(1)
_LAST = -6.5
"""Clocks beyond exp(6.5) leave a probability that float64 does not hold."""


def _minus_log_survival(a: Arithmetic, g: Interval, x: Interval) -> Interval:
    """-ln(1 - e^-x), x = exp(-g)."""
    if x.hi < _HALF:
        return a.subtract(g, a.ln(a.one_minus_exp_over(x)))
    p = a.subtract(a.fraction(_ONE), a.exp(a.negate(x)))
    return a.negate(a.ln(Interval(max(p.lo, Decimal(0)), p.hi)))


class SpreadLaplace:
    """Z + W: Z discrete Laplace with Pr ~ exp(-|z|/scale), W uniform in [0, 1).

    With q = e^(-1/scale), Pr[Z >= z] = q^z/(1 + q) for z >= 0, and as much for Z <= -z, z >= 1.
    So a survival probability s <= 1/(1 + q) belongs to A(-ln s - ln(1 + q)), where
    A(y) = z + (1 - e^-(y - z/scale))/(1 - q), z = floor(y scale), and a probability u of the
    lower tail to 1 - A(-ln u - ln(1 + q)).
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale
        self._rate = float(1 / scale)
        self._rough_scale = float(scale)
        self._log_both = math.log1p(math.exp(-self._rate))

    def largest_bound(self, g: float, side: float) -> float:
        """libm to 16 units in the last place, and an allowance of 2^-40."""
        if g < _LAST and side < 0:
            return -math.inf
        x = math.exp(-max(g, _LAST)) if g < 700.0 else 0.0
        minus_log_s = g if g > 40.0 else -math.log(-math.expm1(-x))
        error = 2.0**-40 * (1.0 + x + abs(minus_log_s))
        upper = minus_log_s - self._log_both + side * error
        if upper >= 0.0:
            value = self._spread(upper)
        else:
            value = 1.0 - self._spread(max(self._rate, x - self._log_both - side * error))
        return value + side * 2.0**-44 * (1.0 + abs(value))

    def _spread(self, y: float) -> float:
        whole = math.floor(y * self._rough_scale)
        rest = y - whole * self._rate
        return whole + math.expm1(-rest) / math.expm1(-self._rate)

    def largest_within(self, a: Arithmetic, g: Interval) -> Interval:
        """By the tail in which the probability lies, once that is known."""
        if g.lo < -20 or not g.hi.is_finite():  # reached only before enough bits are known
            return EVERYTHING
        x = a.exp(a.negate(g))
        q = a.exp(a.fraction(-1 / self.scale))
        log_both = a.ln(a.add(a.fraction(_ONE), q))
        upper = a.subtract(_minus_log_survival(a, g, x), log_both)
        if upper.lo >= 0:
            return self._spread_within(a, upper, q)
        lower = a.subtract(x, log_both)
        if upper.hi < 0 and lower.lo > 0:
            return a.subtract(a.fraction(_ONE), self._spread_within(a, lower, q))
        return EVERYTHING

    def _spread_within(self, a: Arithmetic, y: Interval, q: Interval) -> Interval:
        """A increases, so its ends are those of y."""
        if not y.hi.is_finite():
            return EVERYTHING
        below, above = (self._at(a, Fraction(end), q) for end in (y.lo, y.hi))
        return Interval(below.lo, above.hi)

    def _at(self, a: Arithmetic, y: Fraction, q: Interval) -> Interval:
        whole = (y * self.scale).__floor__()
        part = a.subtract(a.fraction(_ONE), a.exp(a.fraction(whole / self.scale - y)))
        unit = a.subtract(a.fraction(_ONE), q)
        if unit.lo <= 0:
            return EVERYTHING
        low = Fraction(part.lo) / Fraction(unit.hi) if part.lo > 0 else Fraction(0)
        ratio = a.between(low, Fraction(part.hi) / Fraction(unit.lo))
        return a.add(a.fraction(Fraction(whole)), ratio)


class CubeNoise:
    """Uniform in a cube of random size: R times a uniform number of [-1, 1], less R.

    R ~ Gamma(d + 1) is the sum of as many clocks of a tape. All candidates share it, so taking
    it off changes no order, and what is left, -2 R s at the survival probability s, is small and
    well known near the top.
    """

    def __init__(self, clocks: Tape, candidates: int) -> None:
        self._clocks, self._count = clocks, candidates + 1
        self._radius, self._error = self._summed()

    def _summed(self) -> tuple[float, float]:
        """R by 96 bits of every clock, and a bound on its error."""
        sums, error = [], 0.0
        for start in range(0, self._count, CHUNK):
            ids = np.arange(start, min(start + CHUNK, self._count))
            words = self._clocks.words(start, len(ids))
            further = self._clocks.extension(ids, 0)[:, 0]
            clock, off = noise(Law.EXPONENTIAL, words, further, None)
            sums.append(math.fsum(clock.tolist()))
            error += float(off.sum())
        total = math.fsum(sums)
        return total, error * (1.0 + 2.0**-30) + 2.0**-50 * total

    def largest_bound(self, g: float, side: float) -> float:
        """libm to 16 units in the last place, and an allowance of 2^-40."""
        s = 1.0 if g < -700.0 else -math.expm1(-math.exp(-g))
        value = -2.0 * s * (self._radius - side * self._error)
        return min(0.0, value + side * 2.0**-40 * abs(value))

    def largest_within(self, a: Arithmetic, g: Interval) -> Interval:
        """With R as well known as float64 can say, and then with all bits of all clocks."""
        if g.lo < -20 or not g.hi.is_finite():
            return EVERYTHING
        s = a.exp(a.negate(_minus_log_survival(a, g, a.exp(a.negate(g)))))
        radius = self._radius_within(a)
        if not (s.hi.is_finite() and radius.hi.is_finite()):
            return EVERYTHING
        low, high = (2 * Fraction(end) for end in (radius.lo, radius.hi))
        return a.between(-high * Fraction(s.hi), -max(low, Fraction(0)) * Fraction(s.lo))

    def _radius_within(self, a: Arithmetic) -> Interval:
        if a.digits <= 64 and math.isfinite(self._error):
            radius, error = Fraction(self._radius), Fraction(self._error)
            return a.between(radius - error, radius + error)
        total = Interval(Decimal(0), Decimal(0))
        for item in range(self._count):
            bits = 4 * a.digits
            total = a.add(total, noise_interval(a, Law.EXPONENTIAL, self._clocks, item, bits))
        return total
