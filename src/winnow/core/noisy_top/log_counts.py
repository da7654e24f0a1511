"""Logarithms of large counts in float64, with bounds on the error.

`math.log` is taken to be good to 16 units in the last place; the C libraries in use are good
to one. Every bound below has room for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LogCounts:
    """log N of each class: a float64 value, a bound on its error, and the truth on demand.

    The error only costs time: a comparison that it leaves open is settled with
    ``enclose``, which must contain the true log N at every precision.
    """

    approx: Floats
    error: Floats
    integers: Sequence[int] | None = None

    @classmethod
    def of_integers(cls, counts: Sequence[int]) -> LogCounts:
        """Classes of the given sizes: positive integers of any length."""
        coarse = Arithmetic(20)
        centre = np.array([float(coarse.log_of_integer(n).lo) for n in counts], np.float64)
        return cls(centre, 2.0**-50 * (1.0 + np.abs(centre)), tuple(counts))

    def enclose(self, position: int, arithmetic: Arithmetic) -> Interval:
        """An interval around log N of the class at this position."""
        if self.integers is not None:
            return arithmetic.log_of_integer(self.integers[position])
        return arithmetic.fraction(Fraction(float(self.approx[position])))


_HALF_LOG_TWO_PI = 0.9189385332046727
_FACTORIAL_TAIL = [0.0] + [
    math.lgamma(m + 1) - ((m + 0.5) * math.log(m) - m + _HALF_LOG_TWO_PI) for m in range(1, 16)
]


def log_binomial(n: int, k: int) -> tuple[float, float]:
    """Bounds on ln C(n, k), minus infinity where the count is zero; for n below 2^50.

    Entropy form of Stirling's series, in which no large terms cancel:
    k ln(n/k) + (n-k) ln(n/(n-k)) - ln(2 pi k (n-k)/n)/2 + r(n) - r(k) - r(n-k), with
    r(m) = 1/12m - 1/360m^3 + ... (enveloping; tabulated below 16). Error below
    2^-46 ln C + 2^-40.
    """
    if k < 0 or k > n:
        return -math.inf, -math.inf
    k = min(k, n - k)
    if k == 0:
        return 0.0, 0.0
    m = n - k
    value = (
        k * math.log(n / k)
        - m * math.log1p(-k / n)
        - _HALF_LOG_TWO_PI
        - 0.5 * math.log(k * (m / n))
        + (_tail(n) - _tail(k) - _tail(m))
    )
    error = 2.0**-46 * abs(value) + 2.0**-40
    return value - error, value + error


def _tail(m: int) -> float:
    if m < 16:
        return _FACTORIAL_TAIL[m]
    q = 1.0 / (m * m)
    return (1.0 / 12.0 - q * (1.0 / 360.0 - q * (1.0 / 1260.0 - q / 1680.0))) / m


def log_product(factors: NDArray[np.int64]) -> tuple[float, float]:
    """Bounds on the logarithm of a product of integers; -inf where one is not positive.

    Few factors are multiplied as Python's integers, whose logarithm is good to some units in
    the last place. Of many, mantissas multiply to a relative (number of factors) 2^-53 and
    exponents add exactly.
    """
    if len(factors) <= 32:
        few: list[int] = factors.tolist()
        if min(few) <= 0:
            return -math.inf, -math.inf
        product = math.prod(few)
        value = math.log(product)
        error = 2.0**-46 * (1.0 + value + product.bit_length())
        return value - error, value + error
    if factors.min() <= 0:
        return -math.inf, -math.inf
    mantissas, exponents = np.frexp(factors.astype(np.float64))
    power = int(exponents.sum())
    logarithm = 0.0
    for start in range(0, len(mantissas), 512):  # 512 mantissas stay far from underflow
        logarithm += math.log(float(mantissas[start : start + 512].prod()))
    value = logarithm + power * math.log(2.0)
    error = (len(factors) + 16) * 2.0**-52 + 2.0**-46 * (abs(value) + power)
    return value - error, value + error


def log_difference(
    larger: tuple[float, float], smaller: tuple[float, float]
) -> tuple[float, float]:
    """Bounds on ln(e^a - e^b) from bounds on a and b, where the truth has a > b."""
    if smaller[1] == -math.inf:
        return larger
    return (
        _log_difference(larger[0], smaller[1], -1.0),
        _log_difference(larger[1], smaller[0], 1.0),
    )


def _log_difference(a: float, b: float, side: float) -> float:
    gap = a - b
    if gap <= 0.0:
        return -math.inf
    loss = math.log(-math.expm1(-gap)) if gap < 1.0 else math.log1p(-math.exp(-gap))
    value = a + loss
    # the rounding of the gap itself moves the loss by 1/(e^gap - 1) of it
    rounding = 2.0**-46 * (abs(a) + abs(loss)) + 2.0**-52 * (abs(a) + abs(b)) / math.expm1(
        min(gap, 700.0)
    )
    return value + side * rounding


def log_of(n: int) -> tuple[float, float]:
    """Bounds on ln n for a positive integer of any length."""
    value = math.log(n)
    error = 2.0**-48 * (1.0 + abs(value))
    return value - error, value + error
