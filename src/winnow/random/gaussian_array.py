"""Discrete Gaussian noise for many integers at once, with the exact law.

The rejection of Canonne, Kamath and Steinke (2020, Alg 3): a discrete Laplace integer y of
scale t = floor(sigma) + 1 is kept with probability exp(-g), g = (|y| - sigma^2/t)^2/(2 sigma^2).
That is the event E > g for an exponential clock E. Clocks come from the tape in float64 with a
proven error; where the error leaves a comparison open, more bits of the tape decide it against
the exact rational g.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from winnow.random.bounded import noise
from winnow.random.enclosure import Arithmetic, noise_interval
from winnow.random.integer import discrete_laplace_array
from winnow.random.laws import Law
from winnow.random.tape import Tape

Integers = NDArray[np.int64]

_CHUNK = 1 << 15
_RELATIVE = 2.0**-48
"""Bound on the relative error of g: five roundings, and |y| - sigma^2/t is charged apart."""


def discrete_gaussian_array(tape: Tape, size: int, variance: Fraction) -> Integers:
    """``size`` integers x, independent, each with probability ~ exp(-x^2/(2 variance)).

    Sigma stays below 2^50, so that every magnitude that can be kept is exact in a float64.
    """
    if not 0 < variance < 2**100:
        raise ValueError("variance out of range")
    result = np.zeros(size, np.int64)
    for first in range(0, size, _CHUNK):
        last = min(first + _CHUNK, size)
        result[first:last] = _filled(tape.child(f"part-{first}"), last - first, variance)
    return result


def _filled(tape: Tape, size: int, variance: Fraction) -> Integers:
    result, scale = np.zeros(size, np.int64), _scale(variance)
    missing = np.arange(size)
    attempt = 0
    while len(missing):
        here = tape.child(f"attempt-{attempt}")
        candidates = discrete_laplace_array(here.child("candidates"), len(missing), scale)
        kept = _kept(here.child("clocks"), candidates, variance)
        result[missing[kept]] = candidates[kept]
        missing = missing[~kept]
        attempt += 1
    return result


def _scale(variance: Fraction) -> Fraction:
    return Fraction(isqrt(variance.numerator // variance.denominator) + 1)


def _kept(tape: Tape, candidates: Integers, variance: Fraction) -> NDArray[np.bool_]:
    """Which clocks exceed their g, exactly."""
    size = len(candidates)
    clock, clock_error = noise(
        Law.EXPONENTIAL, tape.words(0, size), tape.extension(np.arange(size), 0)[:, 0], None
    )
    centre = variance / _scale(variance)
    distance = np.abs(candidates).astype(np.float64) - float(centre)
    rounding = 2.0**-52 * (np.abs(candidates) + float(centre))
    wide = 2.0 * float(variance)
    exponent = distance * distance / wide
    error = (
        clock_error
        + _RELATIVE * exponent
        + (2.0 * np.abs(distance) + rounding) * rounding / wide * (1.0 + 2.0**-40)
    )
    gap = clock - exponent
    kept = gap > 0
    for place in np.flatnonzero(~(np.abs(gap) > error)):
        kept[place] = _exceeds(tape, int(place), int(candidates[place]), variance)
    return np.asarray(kept, np.bool_)


def _exceeds(tape: Tape, item: int, candidate: int, variance: Fraction) -> bool:
    distance = abs(candidate) - variance / _scale(variance)
    wanted = distance * distance / (2 * variance)
    digits, bits = 40, 128
    while True:
        clock = noise_interval(Arithmetic(digits), Law.EXPONENTIAL, tape, item, bits)
        if clock.lo.is_finite() and Fraction(clock.lo) > wanted:
            return True
        if clock.hi.is_finite() and Fraction(clock.hi) <= wanted:
            return False
        digits, bits = 2 * digits, 2 * bits
