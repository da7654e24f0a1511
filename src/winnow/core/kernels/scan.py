"""Stage 0 compiled: one pass over scores and words that keeps the few items that may win.

The arithmetic is that of ``coarse`` (see there for the bounds and their proof); the tests
hold the two together. Importing this module imports numba and loads or compiles the
kernels, which takes seconds on a cold machine: ``noisy_top`` does it only for inputs
large enough to repay it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from winnow.core.kernels.compiled import compiled, helper
from winnow.core.noisy_top.draw import LN2, MITCHELL, SLACK, TWO_M52

_BLOCK = 256  # items per vectorised test; a block without a candidate costs no branch


@intrinsic  # type: ignore[untyped-decorator]
def _bits(typing_context: Any, x: Any) -> Any:
    """The bit pattern of a double as an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return numba.types.int64(numba.types.float64), generate


@numba.njit(error_model="numpy", inline="always")  # type: ignore[untyped-decorator]
def _upper(gap: float, word: int, scale_low: float, shift: float) -> float:
    log2_k = np.float64(_bits(np.float64(word))) * TWO_M52 - 1023.0
    return (32.0 - log2_k) * LN2 + (shift + SLACK) - scale_low * gap


@helper
def _lower(gap: float, word: int, scale_high: float, shift: float, log_w_factor: float) -> float:
    if word == 0xFFFFFFFF:
        return -np.inf
    log2_k1 = np.float64(_bits(np.float64(word) + 1.0)) * TWO_M52 - 1023.0 + MITCHELL
    log2_w = np.float64(_bits(4294967295.0 - np.float64(word))) * TWO_M52 - 1055.0
    noise = (32.0 - log2_k1 + log_w_factor * log2_w) * LN2 + (shift - SLACK)
    return noise - scale_high * gap


@helper
def _candidates(  # type: ignore[no-untyped-def]
    scores, words, logs, errors, top, scale_low, shift, best
):
    """How many items of a block may reach `best`: a branch-free loop that vectorises."""
    hits = 0
    for j in range(scores.shape[0]):
        upper = _upper(np.float64(top - scores[j]), words[j], scale_low, shift)
        if logs is not None:
            upper += logs[j] + (errors[j] + 2.0**-48 * abs(logs[j]))
        hits += 1 if (upper >= best) | (words[j] == 0) else 0
    return hits


def _scan(  # type: ignore[no-untyped-def]
    scores, words, logs, errors, first, top, scale_low, scale_high, shift, single,
    best, places, kept_words, lower, upper, count,
):  # fmt: skip
    """Scan from item `first`; survivors go to (places, kept_words, lower, upper).

    Returns (best, count, next): next is the item to go on with after the caller has made
    room, or the number of items. With `single` the best lower bound rises on the way. `logs`
    and `errors` are None for single items: numba then drops those branches.
    """
    size = scores.shape[0]
    while first < size:
        stop = min(size, first + _BLOCK)
        if logs is None:
            hits = _candidates(
                scores[first:stop], words[first:stop], None, None, top, scale_low, shift, best
            )
        else:
            hits = _candidates(
                scores[first:stop], words[first:stop], logs[first:stop], errors[first:stop],
                top, scale_low, shift, best,
            )  # fmt: skip
        if hits > places.shape[0] - count:
            return best, count, first
        if hits > 0:
            for j in range(first, stop):
                gap = np.float64(top - scores[j])
                high = _upper(gap, words[j], scale_low, shift)
                low = _lower(gap, words[j], scale_high, shift, 1.0 if logs is None else 2.0)
                if logs is not None:
                    margin = errors[j] + 2.0**-48 * abs(logs[j])
                    high += logs[j] + margin
                    low += logs[j] - margin
                if words[j] == 0:
                    high = np.inf
                if high >= best:
                    places[count], kept_words[count] = j, words[j]
                    lower[count], upper[count] = low, high
                    count += 1
                    if single and low > best:
                        best = low
        first = stop
    return best, count, size


scan = compiled(_scan)
