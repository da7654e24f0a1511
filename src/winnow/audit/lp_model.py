"""Exact probabilities of two rounds on tiny linear programs, from the definitions alone.

No kernel, no tape and no integer grid: softmaxes, multiplicative weights, and a projection by
halving. Outputs are pairs (first choice, second choice).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def log_softmax(scores: Floats) -> Floats:
    """The logs of exp(scores)/sum."""
    top = scores.max()
    return np.asarray(scores - top - math.log(np.exp(scores - top).sum()))


@dataclass(frozen=True)
class ScalarModel:
    """Two rounds against rows A z <= b on the simplex."""

    exponent: float
    """What a score is multiplied with."""
    step: float
    absolute: bool = False
    """The printed mistake: |A_i z - b_i| instead of A_i z - b_i."""

    def rounds(self, matrix: Floats, b: Floats) -> list[Floats]:
        """Log-probabilities of the first row, then of the second for each first one."""
        size = matrix.shape[1]
        laws = [self._law(matrix, b, np.full(size, 1 / size))]
        for row in matrix:
            moved = np.exp(-self.step * row)
            laws.append(self._law(matrix, b, moved / moved.sum()))
        return laws

    def _law(self, matrix: Floats, b: Floats, z: Floats) -> Floats:
        score = matrix @ z - b
        return log_softmax(self.exponent * (np.abs(score) if self.absolute else score))


@dataclass(frozen=True)
class ConstraintModel:
    """Two rounds of dense multiplicative weights over private rows."""

    exponent: float
    step: float
    density: int
    dense: bool = True
    """The mistake: weights that are normalised only, so that one row can have them all."""

    def rounds(self, matrix: Floats, b: Floats, scale: Floats) -> list[Floats]:
        """Log-probabilities of the first vertex, then of the second for each first one."""
        matrix = np.vstack([matrix, np.zeros((self.density, matrix.shape[1]))])
        b = np.append(b, np.zeros(self.density))
        laws = [self._law(matrix, np.zeros(len(b)), scale)]
        for j in range(len(scale)):
            logs = self.step * (scale[j] * matrix[:, j] - b)
            laws.append(self._law(matrix, logs, scale))
        return laws

    def _law(self, matrix: Floats, logs: Floats, scale: Floats) -> Floats:
        y = np.exp(log_softmax(logs))
        if self.dense:
            y = halved_projection(logs, self.density)
        return log_softmax(-self.exponent * scale * (y @ matrix))


def halved_projection(logs: Floats, density: int) -> Floats:
    """min(1, exp(L - theta))/s with theta found by halving."""
    low, high = float(logs.min()) - 1.0, float(logs.max()) + math.log(len(logs)) + 1.0
    for _ in range(64):
        middle = (low + high) / 2
        if np.exp(np.minimum(logs - middle, 0.0)).sum() >= density:
            low = middle
        else:
            high = middle
    return np.asarray(np.exp(np.minimum(logs - low, 0.0)) / density)


def widest(some: list[list[Floats]], others: list[list[Floats]]) -> float:
    """The largest range of a log-ratio over the choices of one round, whatever came before.

    Each of some programs against each of the others; a program is the laws of its rounds.
    """
    second = np.array(others)
    return max(float(np.ptp(np.array(laws) - second, axis=-1).max()) for laws in some)


def joint(laws: list[Floats]) -> Floats:
    """The probabilities of (first, second), as a matrix."""
    return np.asarray(np.exp(np.array([laws[0][i] + laws[1 + i] for i in range(len(laws[0]))])))
