"""Noise from the tape in float64, with a proven bound on the error (stage 1).

Only + - * / and exact scaling of IEEE-754 doubles are used, so the proof does not
depend on a maths library. u = 2^-53 below.

Uniforms: V = 0.b1 b2 ..., of which 96 bits are known here; W = 1 - V. Both are exact to
a relative 2^-45 where at least 45 of the known bits are significant; elsewhere (once in
2^51 items) the error is reported as infinite and exact refinement decides.
Noise decreases in V: the upper tail is at V -> 0.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.laws import Floats, Law

_LN2_ONE = 0.6931471805599453
_ATANH_ONE = tuple(1.0 / odd for odd in range(21, 1, -2))
_WORD, _EXTENSION = 2**32 - 1, 2**64 - 1


def noise_of_one(law: Law, word: int, extension: int) -> float | None:
    """The noise of one draw; None where too few of its known bits are significant."""
    if word == 0 and extension < 1 << 45:
        return None
    if word == _WORD and _EXTENSION - extension < 1 << 45:
        return None
    v = word * 2.0**-32 + extension * 2.0**-96
    w = (_WORD - word) * 2.0**-32 + (_EXTENSION - extension) * 2.0**-96
    match law:
        case Law.GUMBEL:
            return -_log_one(_two_atanh_one(v / (2.0 - v)) if v < 0.25 else -_log_one(w))
        case Law.EXPONENTIAL:
            return -_log_one(v)
        case Law.LAPLACE:
            return -_log_one(2.0 * v) if v < 0.5 else _log_one(2.0 * w)
        case Law.LOGISTIC:
            return _log_one(w) - _log_one(v)
        case Law.HALF_LOGISTIC:
            return _log_one(1.0 + w) - _log_one(v)
        case never:
            assert_never(never)


def _two_atanh_one(s: float) -> float:
    z, p = s * s, 0.0
    for coefficient in _ATANH_ONE:
        p = (p + coefficient) * z
    return 2.0 * s * (p + 1.0)


def _log_one(x: float) -> float:
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    return exponent * _LN2_ONE + _two_atanh_one((mantissa - 1.0) / (mantissa + 1.0))


STAGE1_ERROR = 2.0**-40
"""Bound on the absolute error of the noise, per unit of (1 + x) for grouped lower tails.

Proof. log: |err| <= u (2.1 + 1.39 |exponent| + |log|) <= 205 u < 2^-45 for arguments in
[2^-97, 2^97]. Every law is a sum of at most two logs of V, W, 1 + W or E, each known to a
relative 2^-45 (E = -log W to 2^-43.2 where V >= 1/4, since E >= 0.287 there). Sums add
at most 2^-48. Together below 2^-42; the bound keeps a factor of 4 in reserve.
"""

TOP_SHIFT = {
    Law.GUMBEL: 0.0,
    Law.EXPONENTIAL: 0.0,
    Law.LAPLACE: -math.log(2.0),
    Law.LOGISTIC: 0.0,
    Law.HALF_LOGISTIC: math.log(2.0),
}
"""K of each law: -log V + K + log W <= noise <= -log V + K (to within 2^-52)."""

_FEW = 8
"""So many items are faster one by one."""

_LN2 = 0.6931471805599453
_LN2_HIGH = 0.6931471803691238  # 33 bits: products with small integers are exact
_LN2_LOW = 1.9082149292705877e-10
_ATANH = tuple(1.0 / odd for odd in range(21, 1, -2))
_EXP = tuple(1.0 / math.factorial(j) for j in range(16, -1, -1))


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
    if log_count is None and len(words) <= _FEW:
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
        if log_count is None and law is not Law.GUMBEL:
            z, error = _single(law, v, w), np.full(len(v), STAGE1_ERROR)
        else:
            e = np.where(v < 0.25, _two_atanh(v / (2.0 - v)), -_log(w))
            g = -_log(e) if log_count is None else log_count - _log(e)
            z, moved = _group_maximum(law, g)
            unknown = 0.0 if log_count_error is None else log_count_error
            if log_count is not None:
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
        return -_log((known + 0.5) * 2.0**-32), 0.5 / known + STAGE1_ERROR


def _single(law: Law, v: Floats, w: Floats) -> Floats:
    match law:
        case Law.EXPONENTIAL:
            return -_log(v)
        case Law.LAPLACE:
            upper = v < 0.5
            log2 = _log(2.0 * np.where(upper, v, w))
            return np.where(upper, -log2, log2)
        case Law.LOGISTIC:
            return _log(w) - _log(v)
        case Law.HALF_LOGISTIC:
            return _log(1.0 + w) - _log(v)
        case Law.GUMBEL:
            raise AssertionError("Gumbel noise goes by its exponential clock")
        case never:
            assert_never(never)


def _group_maximum(law: Law, g: Floats) -> tuple[Floats, Floats]:
    """The law's noise at survival probability p = 1 - exp(-x), x = exp(-g) <= 36.

    With q = exp(-x) = 1 - p every formula below keeps its relative accuracy; x carries a
    relative error of 2^-42, hence the factor 1 + x, which is returned for the error. Beyond
    g = 40, p = x (1 - x/2 + ...) and the noise is g + K to within 2^-57. Gumbel noise is g.
    """
    if law is Law.GUMBEL:
        return g, np.ones(len(g))
    far = g > 40.0
    x = _exp(-np.where(far, 0.0, g))
    q = _exp(-np.minimum(x, 60.0))
    p = np.where(x < 0.5, x * _relative_loss(np.minimum(x, 0.5)), 1.0 - q)
    match law:
        case Law.EXPONENTIAL:
            z = np.where(q < 0.25, _two_atanh(np.where(q < 0.25, q, 0) / (2.0 - q)), -_log(p))
        case Law.LAPLACE:
            z = np.where(p < 0.5, -_log(2.0 * p), _LN2 - x)
        case Law.LOGISTIC:
            z = -x - _log(p)
        case Law.HALF_LOGISTIC:
            z = np.where(q < 0.1, _two_atanh(np.where(q < 0.1, q, 0.0)), _log(1.0 + q) - _log(p))
        case never:
            assert_never(never)
    z = np.where(far, g + TOP_SHIFT[law], z)
    moved = 1.0 + np.where(far, 0.0, x) * (1.0 + 2.0**-20)
    return z, np.where(x < 60.0, moved, np.inf)


def _significant(
    words: NDArray[np.uint32], extension: NDArray[np.uint64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where V, and where W, has at least 45 significant bits among the known 96."""
    enough = np.uint64(1 << 45)
    known_v = (words != 0) | (extension >= enough)
    known_w = (words != 0xFFFFFFFF) | (~extension >= enough)
    return known_v, known_w


def _two_atanh(s: Floats) -> Floats:
    """2 atanh(s) for |s| <= 0.1716; the series after s^21 is below 1e-18 relative."""
    z = s * s
    p = np.zeros_like(s)
    for coefficient in _ATANH:
        p = (p + coefficient) * z
    return 2.0 * s * (p + 1.0)


def _log(x: Floats) -> Floats:
    """log x for positive normal doubles: |err| <= u (2.1 + 1.39 |exponent| + |log x|)."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < 0.7071067811865476
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    whole = exponent - small
    return whole * _LN2 + _two_atanh((mantissa - 1.0) / (mantissa + 1.0))


def _exp(y: Floats) -> Floats:
    """exp y for |y| <= 700, relative error below 2^-48 (Cody-Waite, Taylor to order 16)."""
    n = np.floor(y * 1.4426950408889634 + 0.5)
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    p = np.zeros_like(y)
    for coefficient in _EXP:
        p = p * r + coefficient
    return np.ldexp(p, n.astype(np.int32))


def _relative_loss(x: Floats) -> Floats:
    """(1 - exp(-x))/x for 0 <= x <= 1/2, relative error below 2^-49."""
    p = np.ones_like(x)
    for j in range(15, 1, -1):
        p = 1.0 - p * x * (1.0 / j)
    return p
