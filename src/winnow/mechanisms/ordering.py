"""Scores in order: the positions of the largest, ties by position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow.kernels.noisy_top import Scores


def largest(values: Scores, k: int) -> NDArray[np.int64]:
    """The positions of the k largest values, largest first, ties by position."""
    if k < len(values):
        threshold = np.partition(values, len(values) - k)[len(values) - k]
        above = np.flatnonzero(values > threshold)
        level = np.flatnonzero(values == threshold)[: k - len(above)]
        candidates = np.sort(np.concatenate([above, level]))
    else:
        candidates = np.arange(len(values))
    backwards = candidates[::-1]  # so that the reversed stable sort lists ties by position
    order: NDArray[np.int64] = backwards[np.argsort(values[backwards], kind="stable")][::-1]
    return order
