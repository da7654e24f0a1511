"""The pass of ``GapCounts``, compiled: the same arithmetic, which a test holds together."""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled

_BLOCK = 256  # bins are found in a loop that vectorises, then counted
_LANES = 4  # equal bins in a row would wait for each other


def _count_bins(scores, top, factor, shift, counts):  # type: ignore[no-untyped-def]
    """Add the number of scores in each bin to `counts`."""
    last = np.float64(counts.shape[0] - 1)
    lanes = np.zeros((_LANES, counts.shape[0]), np.int64)
    bins = np.empty(_BLOCK, np.int32)
    size = scores.shape[0]
    for start in range(0, size, _BLOCK):
        part = scores[start : min(size, start + _BLOCK)]
        for j in range(part.shape[0]):
            place = np.float64(top - part[j]) * factor + shift
            bins[j] = np.int32(min(max(place, 0.0), last))
        for j in range(part.shape[0]):
            lanes[j % _LANES, bins[j]] += 1
    for lane in range(_LANES):
        counts += lanes[lane]


count_bins = compiled(_count_bins)
