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
from winnow.core.threads import each, ranges

Floats = NDArray[np.float64]
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
    unit = float(scale) * LN2 / 2.0**23

    def scanned(part: tuple[int, int]) -> tuple[list[Integers], Floats, int]:
        """Where nothing is known yet, the k largest rough counts, and the largest count."""
        unknown: list[Integers] = []
        first, last = part
        with np.errstate(all="ignore"):
            for chunk, drawn in enumerate(tape.chunks(2 * first, 2 * (last - first))):
                start = first + chunk * _HALF
                here = slice(start, start + len(drawn) // 2)
                words[2 * here.start : 2 * here.stop] = drawn
                logs = drawn.astype(np.float32).view(np.int32)
                np.multiply(logs[1::2] - logs[::2], unit, out=rough[here])
                rough[here] += counts[here]
                if drawn.min() < _KNOWN:
                    few = start + np.flatnonzero(drawn < _KNOWN) // 2
                    rough[few] = -np.inf
                    unknown.append(few)
        own = rough[first:last]
        largest = np.partition(own, len(own) - k)[len(own) - k :] if k < len(own) else own
        return unknown, largest, max(int(counts[first:last].max()), -int(counts[first:last].min()))

    parts = ranges(size, step=CHUNK)
    found = each(scanned, parts)
    reach = _ROUGH * float(scale) + 1.0 + 2.0**-48 * max(most for _, _, most in found)
    best = np.concatenate([largest for _, largest, _ in found])
    bar = np.partition(best, len(best) - k)[len(best) - k] - 2.0 * reach if k < size else -np.inf

    def kept(part: tuple[int, int]) -> Integers:
        return part[0] + np.flatnonzero(~(rough[part[0] : part[1]] < bar))

    near = np.concatenate(each(kept, parts))
    unknown = [few for parts_of, _, _ in found for few in parts_of]
    if unknown:
        near = np.union1d(near, np.concatenate(unknown))
    return near, counts[near] + discrete_laplace_at(tape, near, words, scale)
