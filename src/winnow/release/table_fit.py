"""Fit weights over the cells to noisy tables: maximum entropy, one table at a time.

Found is the distribution p that minimises

    sum over tables of pull_r (|M_r p - y_r|^2/(2 s_r^2)) + KL(p | uniform),    pull_r = s_r/PULL,

y_r the measured table as fractions with standard deviation s_r. Its dual is over p ~ exp(sum of
theta_r), one number for each cell of each table, without constraints, and is maximised block by
block: with all other tables fixed and a = M_r p, the best step d of a table satisfies

    a exp(d) = y - PULL s (theta + d)

in every cell, which Wright's omega function solves. Each step multiplies the weights by exp(d):
it is multiplicative weights with the step that is best for the whole table, and where s is small
it is iterative proportional fitting. The pull keeps cells that were measured below 0 positive:
one at -s ends near exp(-1/PULL) of what the others say.

Everything here is post-processing of released numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = tuple[int, ...]

PULL = 0.5
"""On a survey of 6,876 people in eight columns .25 did as well, and 1 was some 10 % worse."""

_SMALLEST = 1e-290
_LARGEST = 600.0
"""Steps beyond it leave the range of floating point."""
_SETTLED = 1e-3
"""Steps below it are no more than a thousandth of a cell."""


@dataclass
class _Held:
    """What is known of one table, and its multipliers."""

    answers: Floats
    """Fractions, with noise: the mean of its measurements, the more accurate counting more."""
    precision: float
    """One over the variance of each."""
    steps: Floats
    """theta."""


class TableWeights:
    """A distribution over all cells of some columns, fitted to their measured tables."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._weights: Floats = np.full(shape, 1.0 / math.prod(shape))
        self._held: dict[Columns, _Held] = {}

    @property
    def weights(self) -> Floats:
        """The distribution, flat, sum 1."""
        return np.asarray(self._weights / self._weights.sum()).reshape(-1)

    def learn(self, columns: Columns, answers: Floats, deviation: float) -> None:
        """Take in a measured table: fractions, and the standard deviation of each."""
        table, precision = answers.reshape(self._sizes(columns)), 1 / deviation**2
        held = self._held.pop(columns, None)
        if held is None:
            held = _Held(table, precision, np.zeros(table.shape))
        else:
            both = held.precision + precision
            held.answers = (held.precision * held.answers + precision * table) / both
            held.precision = both
        self._held[columns] = held  # the newest last: the fit is best there

    def fit(self, passes: int) -> None:
        """Go over all tables so often, or until nothing moves."""
        for _ in range(passes):
            if max(self._step(columns, held) for columns, held in self._held.items()) < _SETTLED:
                break

    def _step(self, columns: Columns, held: _Held) -> float:
        """One table's step; returns its size."""
        from scipy.special import wrightomega  # here: plans name this file and need no SciPy

        order = np.argsort(columns)
        others = tuple(axis for axis in range(len(self.shape)) if axis not in columns)
        said = np.maximum(self._weights.sum(axis=others), _SMALLEST)
        said /= said.sum()
        wanted, theta = (np.transpose(each, order) for each in (held.answers, held.steps))
        pull = PULL / math.sqrt(held.precision)
        target = wanted / pull - theta
        step = target - wrightomega(np.log(said / pull) + target).real
        held.steps = held.steps + np.transpose(step, np.argsort(order))
        along = [size if axis in columns else 1 for axis, size in enumerate(self.shape)]
        if np.abs(step).max() > _LARGEST:  # what all cells have in common is normalised away
            step = step - step.max()
        self._weights *= np.exp(step).reshape(along)
        self._weights /= self._weights.sum()
        np.maximum(self._weights, _SMALLEST, out=self._weights)
        return float(np.abs(step).max())

    def _sizes(self, columns: Columns) -> list[int]:
        return [self.shape[column] for column in columns]
