"""``bounded.noise`` for one item, in Python floats: the same operations, the same bits.

Stage 0 mostly leaves one to three items, and for so few an array costs more than the
arithmetic in it. The proof of the error is that of ``bounded``; tests hold the two together.
"""

from __future__ import annotations

import math

from winnow.random.laws import Law

_LN2 = 0.6931471805599453
_ATANH = tuple(1.0 / odd for odd in range(21, 1, -2))
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
            return -_log(_two_atanh(v / (2.0 - v)) if v < 0.25 else -_log(w))
        case Law.EXPONENTIAL:
            return -_log(v)
        case Law.LAPLACE:
            return -_log(2.0 * v) if v < 0.5 else _log(2.0 * w)
        case Law.LOGISTIC:
            return _log(w) - _log(v)
        case Law.HALF_LOGISTIC:
            return _log(1.0 + w) - _log(v)


def _two_atanh(s: float) -> float:
    z, p = s * s, 0.0
    for coefficient in _ATANH:
        p = (p + coefficient) * z
    return 2.0 * s * (p + 1.0)


def _log(x: float) -> float:
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    return exponent * _LN2 + _two_atanh((mantissa - 1.0) / (mantissa + 1.0))
