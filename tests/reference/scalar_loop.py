"""The scalar-private solver, written the obvious way: all scores in every round."""

from __future__ import annotations

from typing import Any

import numpy as np


def laws(
    matrix: Any, offsets: Any, scale: Any, chosen: Any, *, power: int, rate: float, step: float
):
    """For each round: the law over rows and the point, given the rows that were chosen."""
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    wide = np.zeros((dense.shape[0], len(scale)))
    wide[:, : dense.shape[1]] = dense
    logs = np.zeros(len(scale))
    for row in chosen:
        z = np.exp(logs - logs.max())
        z /= z.sum()
        scores = np.rint(wide @ (scale * z) * 2.0**-power) - offsets
        exponent = rate * (scores - scores.max())
        yield np.exp(exponent) / np.exp(exponent).sum(), z
        logs = logs - step * wide[row] * scale
