"""A place with probability ~ its weight, for whole weights that are too long to be written down.

A uniform U in [0, 1) is compared with the sums of all weights so far, as parts of the total. Its
first 64 bits and the logarithms of the weights in float64 nearly always tell where it lies. What
they leave open is decided by the weights themselves, and by as many bits of U as it takes. So
the law is exact, whatever the roundings were.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from winnow.core.arithmetic import exp
from winnow.core.tape import BitStream

_BITS = 64
_MOST = 700.0


def weighted_place(
    stream: BitStream,
    logs: NDArray[np.float64],
    error: float,
    weights: Callable[[], list[int]],
) -> int:
    """The place that a uniform number falls on; ``logs`` are right up to ``error`` and a constant.

    Proof. Every weight is within a factor exp(error) of the true one, and those below exp(-700) of
    the largest are taken for larger. So a sum as a part of the total is within 2 error and what
    float64 adds, below n 2^-48 for n places; twice that is kept free.
    """
    drawn = stream.bits(_BITS)
    sizes = exp(np.maximum(logs - logs.max(), -_MOST))
    sums = np.cumsum(sizes)
    sums /= sums[-1]
    uniform, free = drawn * 2.0**-_BITS, 4.0 * error + 2.0**-46 * (len(logs) + 1)
    place = int(np.searchsorted(sums[:-1], uniform))
    below = sums[place - 1] + free if place else -np.inf
    above = sums[place] - free if place < len(logs) - 1 else np.inf
    if below < uniform < above:
        return place
    return _exactly(stream, drawn, weights())


def _exactly(stream: BitStream, drawn: int, weights: list[int]) -> int:
    """The place, by the weights themselves and as many bits as it takes."""
    sums, bits = list(accumulate(weights)), _BITS
    while True:
        first = bisect_right(sums, drawn * sums[-1] >> bits)
        last = bisect_right(sums, ((drawn + 1) * sums[-1] - 1) >> bits)
        if first == last:
            return first
        drawn, bits = drawn << _BITS | stream.bits(_BITS), bits + _BITS
