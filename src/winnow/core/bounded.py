"""Noise from the tape: in float64 with a proven bound on the error, or to any precision.

Stage 1 is float64: of the uniform V = 0.b1 b2 ... 96 bits are known; W = 1 - V. Both are exact
to a relative 2^-45 where at least 45 of the known bits are significant; elsewhere (once in 2^51
items) the error is reported as infinite. Stage 2, intervals of decimals from as many bits as it
takes, decides what stage 1 leaves open.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import Arithmetic, Enclosed, Floats, Interval, log
from winnow.core.borders import Border
from winnow.core.formulas import clock_within, clocks
from winnow.core.laws import Law

_WORD, _EXTENSION = 2**32 - 1, 2**64 - 1

STAGE1_ERROR = 2.0**-40
"""Bound on the absolute error of the noise, per unit of (1 + x) for grouped lower tails.

Proof. log: |err| <= u (2.1 + 1.39 |exponent| + |log|) <= 205 u < 2^-45 for arguments in
[2^-97, 2^97]. Every law is a sum of at most two logs of V, W, 1 + W or E, each known to a
relative 2^-45 (E = -log W to 2^-43.2 where V >= 1/4, since E >= 0.287 there). Sums add
at most 2^-48. Together below 2^-42; the bound keeps a factor of 4 in reserve.
"""

FEW_NOISES = Border(
    8,
    "noises one by one",
    decides="how many items a filter left",
    ways="their noise by Python's numbers; by arrays",
    same="value",
    because="both are within a proven error, and what that leaves open is decided exactly",
)
"""So many items are faster one by one."""


def noise_of_one(law: Law, word: int, extension: int) -> float | None:
    """The noise of one draw; None where too few of its known bits are significant."""
    if word == 0 and extension < 1 << 45:
        return None
    if word == _WORD and _EXTENSION - extension < 1 << 45:
        return None
    v = word * 2.0**-32 + extension * 2.0**-96
    w = (_WORD - word) * 2.0**-32 + (_EXTENSION - extension) * 2.0**-96
    return law.formulas.one(v, w)


def noise(
    law: Law,
    words: NDArray[np.uint32],
    extension: NDArray[np.uint64],
    log_count: Floats | None,
    log_count_error: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Each item's noise (maximum of N draws where log_count = log N is given), and its error.

    Groups need N >= 1, except for Gumbel noise. An error in log_count moves the noise by up
    to 1 + x times as much, x = E/N, for every law; it is part of the returned error.
    """
    if log_count is None and len(words) <= FEW_NOISES.at:
        pairs = zip(words.tolist(), extension.tolist(), strict=True)
        each = [noise_of_one(law, word, further) for word, further in pairs]
        return (
            np.array([0.0 if z is None else z for z in each]),
            np.array([np.inf if z is None else STAGE1_ERROR for z in each]),
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        known_v, known_w = _significant(words, extension)
        low = extension.astype(np.float64) * 2.0**-96
        v = words.astype(np.float64) * 2.0**-32 + low
        flipped = (~extension).astype(np.float64) * 2.0**-96
        w = (~words).astype(np.float64) * 2.0**-32 + flipped
        if log_count is None:
            z, error = law.formulas.many(v, w), np.full(len(v), STAGE1_ERROR)
        else:
            z, moved = law.formulas.largest(log_count - log(clocks(v, w)))
            unknown = 0.0 if log_count_error is None else log_count_error
            unknown = unknown + 2.0**-49 * np.abs(log_count)
            error = (STAGE1_ERROR + unknown) * moved
        sure = known_v & known_w & np.isfinite(z)
    return np.where(sure, z, 0.0), np.where(sure, error, np.inf)


def first_clocks(words: NDArray[np.uint32]) -> tuple[Floats, Floats]:
    """E = -log V of each item from its first 32 bits alone, and a bound on the error.

    V lies within [k, k + 1) 2^-32, so log V is off by at most log(1 + 1/(2k)) < 1/(2k) from that
    of the middle. Nothing is known where k = 0.
    """
    known = words.astype(np.float64)
    with np.errstate(divide="ignore"):
        return -log((known + 0.5) * 2.0**-32), 0.5 / known + STAGE1_ERROR


def _significant(
    words: NDArray[np.uint32], extension: NDArray[np.uint64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where V, and where W, has at least 45 significant bits among the known 96."""
    enough = np.uint64(1 << 45)
    known_v = (words != 0) | (extension >= enough)
    known_w = (words != 0xFFFFFFFF) | (~extension >= enough)
    return known_v, known_w


class Bits(Protocol):
    """What knows the bits of items, as many as are asked for: a tape."""

    def bits(self, item: int, count: int) -> int:
        """The first bits of an item, as an integer (first bit highest)."""


def noise_interval(
    arithmetic: Arithmetic,
    law: Law,
    tape: Bits,
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
        return law.formulas.within(arithmetic, v, w)
    g = arithmetic.negate(arithmetic.ln(clock_within(arithmetic, w)))
    return law.formulas.largest_within(arithmetic, arithmetic.add(g, log_count))


def clock_of(tape: Bits, item: int) -> Enclosed:
    """The Exp(1) clock -ln V of an item."""

    def clock(arithmetic: Arithmetic, bits: int) -> Interval:
        known = noise_interval(arithmetic, Law.EXPONENTIAL, tape, item, bits)
        return Interval(max(known.lo, _ZERO), known.hi)

    return clock


_ZERO = Decimal(0)


def clock_interval(arithmetic: Arithmetic, tape: Bits, item: int, bits: int) -> Interval:
    """An interval around the Exp(1) clock E = -ln(1 - V) of an item."""
    known = tape.bits(item, bits)
    w = arithmetic.between(1 - Fraction(known + 1, 1 << bits), 1 - Fraction(known, 1 << bits))
    return clock_within(arithmetic, w)
