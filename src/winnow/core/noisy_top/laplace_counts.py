"""The k largest counts with discrete Laplace noise, which is drawn in full for a few of them.

Noise is floor(E s) - floor(E' s) of two clocks E = -ln V, whose first 32 bits are a word each. As
in ``filter`` the bit pattern of a word as a float32 tells its logarithm: within 0.0597, and what is
left open of V adds at most 2^-10 where a word is 2^10 or more. So a rough noisy count, of one
subtraction and one product, is within

    reach = s/16 + 1 + 2^-48 (largest count)

of the true one. The k-th largest is no lower than that of the rough ones less a reach, and whatever
is rough by two reaches below that one cannot win. Items with smaller words (once in 2^21) stay.

About how many stay depends on k alone: of items that are likely to be among the k largest there
are at most some 2 k, and each other one is rarely just below the bar: the chance that its noise is
within 2 reaches below a value is at most exp(2 reach/s) - 1 times that of being above it, which is
.13 where s is large.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import LN2
from winnow.core.noise import discrete_laplace_at
from winnow.core.tape import CHUNK, Tape

Integers = NDArray[np.int64]

_ROUGH, _KNOWN = 1.0 / 16.0, 1 << 10
_HALF = CHUNK // 2


def near_the_largest(
    counts: Integers, tape: Tape, scale: Fraction, k: int
) -> tuple[Integers, Integers]:
    """The places that may have one of the k largest noisy counts, and the noisy counts there.

    Noise is that of ``discrete_laplace_array``, bit for bit.
    """
    size = len(counts)
    words, rough = np.empty(2 * size, np.uint32), np.empty(size)
    unknown: list[Integers] = []
    unit = float(scale) * LN2 / 2.0**23
    with np.errstate(all="ignore"):
        for chunk, drawn in enumerate(tape.chunks(0, 2 * size)):
            part = slice(chunk * _HALF, chunk * _HALF + len(drawn) // 2)
            words[2 * part.start : 2 * part.stop] = drawn
            logs = drawn.astype(np.float32).view(np.int32)
            np.multiply(logs[1::2] - logs[::2], unit, out=rough[part])
            rough[part] += counts[part]
            if drawn.min() < _KNOWN:
                few = part.start + np.flatnonzero(drawn < _KNOWN) // 2
                rough[few] = -np.inf
                unknown.append(few)
        largest = max(abs(int(counts.max())), abs(int(counts.min())))
        reach = _ROUGH * float(scale) + 1.0 + 2.0**-48 * largest
        bar = np.partition(rough, size - k)[size - k] - 2.0 * reach if k < size else -np.inf
        near = np.flatnonzero(~(rough < bar))
    if unknown:
        near = np.union1d(near, np.concatenate(unknown))
    return near, counts[near] + discrete_laplace_at(tape, near, words, scale)
