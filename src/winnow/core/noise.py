"""Discrete Gaussian noise for many integers at once, with the exact law.

The rejection of Canonne, Kamath and Steinke (2020, Alg 3): a discrete Laplace integer y of
scale t = floor(sigma) + 1 is kept with probability exp(-g), g = (|y| - sigma^2/t)^2/(2 sigma^2).
That is the event E > g for an exponential clock E. Clocks come from the tape in float64 with a
proven error; where the error leaves a comparison open, more bits of the tape decide it against
the exact rational g.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from math import isqrt
from operator import add

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import floor_of, is_above, log_of_one
from winnow.core.bounded import clock_of, first_clocks, noise, noise_of_one
from winnow.core.laws import Law
from winnow.core.tape import CHUNK, BitStream, Tape, Words
from winnow.core.threads import each, ranges

MANY_NOISES = 1 << 17
"""So many numbers are worth a thread of their own: they take some 10 ms."""


def bernoulli_exp(stream: BitStream, gamma: Fraction) -> bool:
    """True with probability exp(-gamma), gamma >= 0 rational [CKS 2020, Alg 1].

    For gamma <= 1 count trials of Bernoulli(gamma/j), j = 1, 2, ..., until the first
    failure: the count is odd with probability 1 - gamma + gamma^2/2! - ... Larger gamma is
    a product of exp(-1) and a rest.
    """
    whole, rest = divmod(gamma, 1)
    for _ in range(whole):
        if not _bernoulli_exp_unit(stream, Fraction(1)):
            return False
    return _bernoulli_exp_unit(stream, rest)


def _bernoulli_exp_unit(stream: BitStream, gamma: Fraction) -> bool:
    trials = 1
    numerator, denominator = gamma.numerator, gamma.denominator
    while stream.below(denominator * trials) < numerator:
        trials += 1
    return trials % 2 == 1


def discrete_laplace(stream: BitStream, scale: Fraction) -> int:
    """An integer x with probability proportional to exp(-|x|/scale) [CKS 2020, Alg 2]."""
    t, s = scale.numerator, scale.denominator
    while True:
        remainder = stream.below(t)
        if not _bernoulli_exp_unit(stream, Fraction(remainder, t)):
            continue
        quotient = 0
        while _bernoulli_exp_unit(stream, Fraction(1)):
            quotient += 1
        magnitude = (remainder + t * quotient) // s
        negative = stream.bits(1) == 1
        if not (negative and magnitude == 0):  # zero would be counted twice
            return -magnitude if negative else magnitude


def discrete_gaussian(stream: BitStream, variance: Fraction) -> int:
    """An integer x with probability proportional to exp(-x^2/(2 variance)) [CKS 2020, Alg 3].

    Rejection from a discrete Laplace of integer scale t = floor(sigma) + 1; the constant
    in the exponent is chosen so that acceptance is at least a third.
    """
    t = _floor_sqrt(variance) + 1
    while True:
        candidate = discrete_laplace(stream, Fraction(t))
        distance = abs(candidate) - variance / t
        if bernoulli_exp(stream, distance * distance / (2 * variance)):
            return candidate


def _floor_sqrt(q: Fraction) -> int:
    """floor(sqrt(q)) by integers."""
    return isqrt(q.numerator // q.denominator)


def discrete_laplace_array(
    tape: Tape, size: int, scale: Fraction, start: int = 0
) -> NDArray[np.int64]:
    """Discrete Laplace noise for many integers at once, with the same exact law.

    Integer i has the items 2 i and 2 i + 1 of the tape; the result holds start, start + 1, ...

    With E ~ Exp(1), floor(E * scale) is geometric, and the difference of two of them is
    discrete Laplace. The floors come from float64 with a proven error; where the error
    leaves a floor open, more bits of the tape decide it.
    """
    result = np.empty(size, np.int64)

    def draw(part: tuple[int, int]) -> None:
        for first in range(*part, CHUNK):
            last = min(first + CHUNK, part[1])
            steps = floors_of_clocks(tape, 2 * (start + first), 2 * (last - first), scale)
            result[first:last] = steps[::2] - steps[1::2]

    each(draw, ranges(size, MANY_NOISES, CHUNK))
    return result


def discrete_laplace_at(
    tape: Tape, places: NDArray[np.int64], words: Words, scale: Fraction
) -> NDArray[np.int64]:
    """``discrete_laplace_array(tape, size, scale)[places]``; ``words`` are all its first bits."""
    items = (2 * places[:, None] + np.arange(2)).reshape(-1)
    steps = _floors_at(tape, words[items], items.__getitem__, scale)
    return steps[::2] - steps[1::2]


def floors_of_clocks(tape: Tape, first: int, size: int, scale: Fraction) -> NDArray[np.int64]:
    """floor(E_i * scale) for the items first .. first + size - 1, E_i = -ln V_i.

    The first 32 bits decide nearly all of them, 96 bits most of the rest.
    """
    return _floors_at(tape, tape.words(first, size), partial(add, first), scale)


def _floors_at(
    tape: Tape,
    words: Words,
    items: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    scale: Fraction,
) -> NDArray[np.int64]:
    """The floors for words that are those of ``items`` of their places."""
    clock, error = first_clocks(words)
    steps, unsure = _floors(clock, error, scale)
    if len(unsure):
        ids = items(unsure)
        clock, error = noise(Law.EXPONENTIAL, words[unsure], tape.extension(ids, 0)[:, 0], None)
        steps[unsure], still = _floors(clock, error, scale)
        for place in unsure[still]:
            steps[place] = _exact_floor(tape, int(items(place)), scale)
    return steps


def _floors(
    clock: NDArray[np.float64], error: NDArray[np.float64], scale: Fraction
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Floors of clocks times the scale, and the places where the error leaves them open."""
    value = clock * float(scale)
    error = error * float(scale) + 2.0**-50 * value
    floors = np.floor(value)
    fraction = value - floors
    sure = (fraction > error) & (fraction < 1.0 - error)
    return floors.astype(np.int64), np.flatnonzero(~sure)


def _exact_floor(tape: Tape, item: int, scale: Fraction) -> int:
    clock = clock_of(tape, item)
    return floor_of(lambda a, bits: a.times(clock(a, bits), scale))


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

    def draw(part: tuple[int, int]) -> None:
        for first in range(*part, _CHUNK):
            last = min(first + _CHUNK, part[1])
            result[first:last] = _filled(tape.child(f"part-{first}"), last - first, variance)

    each(draw, ranges(size, MANY_NOISES, _CHUNK))
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


def discrete_gaussian_of(tape: Tape, variance: Fraction) -> int:
    """``discrete_gaussian_array(tape, 1, variance)[0]``, by Python's own numbers.

    What they leave open is decided by the same exact comparisons as for many.
    """
    if not 0 < variance < 2**100:
        raise ValueError("variance out of range")
    part, scale, attempt = tape.child("part-0"), _scale(variance), 0
    rate, wide = float(scale), 2.0 * float(variance)
    centre = float(variance / scale)
    while True:
        here = part.child(f"attempt-{attempt}")
        candidate = _difference_of_one(here.child("candidates"), scale, rate)
        clocks = here.child("clocks")
        extension = int(clocks.extension(_FIRST, 0)[0, 0])
        clock = noise_of_one(Law.EXPONENTIAL, int(clocks.words(0, 1)[0]), extension)
        size = float(abs(candidate))
        exponent = (size - centre) * (size - centre) / wide
        error = 2.0**-38 * (1.0 + exponent + size * size / wide)  # far above that of ``_kept``
        if clock is None or not abs(clock - exponent) > error:
            kept = _exceeds(clocks, 0, candidate, variance)
        else:
            kept = clock > exponent
        if kept:
            return candidate
        attempt += 1


def _difference_of_one(tape: Tape, scale: Fraction, rate: float) -> int:
    """``discrete_laplace_array(tape, 1, scale)[0]``."""
    floors = []
    for word in tape.words(0, 2).tolist():
        value = -log_of_one((word + 0.5) * 2.0**-32) * rate
        error = (0.5 / word + 2.0**-38) * rate + 2.0**-38 * value if word else math.inf
        floor = math.floor(value)
        if not error < value - floor < 1.0 - error:
            return int(discrete_laplace_array(tape, 1, scale)[0])
        floors.append(floor)
    return floors[0] - floors[1]


_FIRST = np.zeros(1, np.int64)


@lru_cache(maxsize=64)
def _scale(variance: Fraction) -> Fraction:
    return Fraction(isqrt(variance.numerator // variance.denominator) + 1)


def _kept(tape: Tape, candidates: Integers, variance: Fraction) -> NDArray[np.bool_]:
    """Which clocks exceed their g, exactly."""
    words = tape.words(0, len(candidates))
    centre = variance / _scale(variance)
    distance = np.abs(candidates).astype(np.float64) - float(centre)
    rounding = 2.0**-52 * (np.abs(candidates) + float(centre))
    wide = 2.0 * float(variance)
    exponent = distance * distance / wide
    error = _RELATIVE * exponent + (2.0 * np.abs(distance) + rounding) * rounding / wide * (
        1.0 + 2.0**-40
    )
    clock, known = first_clocks(words)
    gap = clock - exponent
    kept = gap > 0
    unsure = np.flatnonzero(~(np.abs(gap) > known + error))
    if len(unsure):
        extension = tape.extension(unsure, 0)[:, 0]
        clock, known = noise(Law.EXPONENTIAL, words[unsure], extension, None)
        gap = clock - exponent[unsure]
        kept[unsure] = gap > 0
        for place in unsure[~(np.abs(gap) > known + error[unsure])]:
            kept[place] = _exceeds(tape, int(place), int(candidates[place]), variance)
    return np.asarray(kept, np.bool_)


def _exceeds(tape: Tape, item: int, candidate: int, variance: Fraction) -> bool:
    distance = abs(candidate) - variance / _scale(variance)
    wanted = distance * distance / (2 * variance)
    return is_above(clock_of(tape, item), lambda a, _: a.fraction(wanted))
