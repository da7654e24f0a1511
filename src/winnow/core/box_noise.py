"""Noise on several integers at once whose largest absolute value decides its probability.

A vector x of d integers has probability proportional to exp(-max_i |x_i|/scale), exactly.

Proof of the draw. Let R = r with probability proportional to (2r + 1)^d q^r, q = exp(-1/scale), and
x be uniform in the cube -R .. R. Then x has probability proportional to the sum over r >= max |x_i|
of q^r, which is proportional to q^max|x_i|. R is drawn by rejection from the sum of d + 1 geometric
numbers, which is r with probability proportional to C(r + d, d) q^r. The ratio of the two is
2^d d! times prod_i (2r + 1)/(2 (r + i)), i = 1 .. d; each factor is at most 1 for i >= 1, so r is
kept with the product as its probability.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.noise import floors_of_clocks
from winnow.core.tape import Tape

Integers = NDArray[np.int64]

_FIRST = 64
_MORE = 128
_ROUNDED = 2.0**-40
"""Far above the relative rounding of a product of a few hundred factors."""


def box_noise(tape: Tape, vectors: int, size: int, scale: Fraction) -> Integers:
    """So many independent vectors of ``size`` integers: one row for each."""
    noise = np.zeros((vectors, size), np.int64)
    missing = np.arange(vectors)
    attempt = 0
    while len(missing):
        here = tape.child(f"attempt-{attempt}")
        steps = floors_of_clocks(here.child("radii"), 0, len(missing) * (size + 1), scale)
        radii = steps.reshape(-1, size + 1).sum(axis=1)
        kept = _kept(here.child("kept"), radii, size)
        sides = np.repeat(2 * radii[kept] + 1, size)
        places = _below(here.child("places"), sides).reshape(-1, size)
        noise[missing[kept]] = places - radii[kept][:, None]
        missing = missing[~kept]
        attempt += 1
    return noise


def _kept(tape: Tape, radii: Integers, size: int) -> NDArray[np.bool_]:
    """Each with the probability prod_i (2r + 1)/(2 (r + i)), decided exactly."""
    columns = radii.astype(np.float64)[:, None]
    chance = np.prod((2 * columns + 1) / (2 * (columns + np.arange(1, size + 1))), axis=1)
    drawn = tape.extension(np.arange(len(radii)), 0)[:, 0].astype(np.float64) * 2.0**-_FIRST
    kept = drawn < chance
    for place in np.flatnonzero(~(np.abs(drawn - chance) > _ROUNDED)):
        kept[place] = _less(tape, int(place), _chance(int(radii[place]), size))
    return np.asarray(kept, np.bool_)


def _chance(radius: int, size: int) -> Fraction:
    chance = Fraction(1)
    for each in range(1, size + 1):
        chance *= Fraction(2 * radius + 1, 2 * (radius + each))
    return chance


def _less(tape: Tape, item: int, chance: Fraction) -> bool:
    """Whether the item's infinite fraction lies below a rational number."""
    bits = _FIRST
    while True:
        drawn = _bits(tape, item, bits)
        if (drawn + 1) * chance.denominator <= chance.numerator << bits:
            return True
        if drawn * chance.denominator >= chance.numerator << bits:
            return False
        bits += _MORE


def _below(tape: Tape, sides: Integers) -> Integers:
    """For each item a uniform integer below its side: floor(V side), V its infinite fraction."""
    first = tape.extension(np.arange(len(sides)), 0)[:, 0].tolist()
    places = []
    for item, (drawn, side) in enumerate(zip(first, sides.tolist(), strict=True)):
        bits = _FIRST
        while drawn * side >> bits != ((drawn + 1) * side - 1) >> bits:  # more bits may change it
            bits += _MORE
            drawn = _bits(tape, item, bits)
        places.append(drawn * side >> bits)
    return np.array(places, np.int64)


def _bits(tape: Tape, item: int, count: int) -> int:
    """The first bits of an item's fraction, 64 and then 128 at a time."""
    value, have, level = 0, 0, 0
    while have < count:
        high, low = tape.extension(np.array([item], np.int64), level)[0].tolist()
        value, have, level = value << 128 | high << 64 | low, have + 128, level + 1
    return value >> (have - count)
