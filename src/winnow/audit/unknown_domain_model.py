"""Exact probabilities of top-k when the list of labels is itself private.

A score vector holds counts; a label with count 0 is not in the data. An outcome lists up
to k labels, filled up with -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.densities import upper_tail

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]


_REACH = 30
"""Noise beyond so many scales above the largest count is lumped together: e^-30."""


def _lists(d: int, k: int) -> Integers:
    """All sequences of at most k of d labels, filled up with -1."""
    rows = [(*s, *(-1,) * (k - n)) for n in range(k + 1) for s in permutations(range(d), n)]
    return np.array(rows, np.int64)


@dataclass(frozen=True)
class LimitedDomainModel:
    """Peeling of the largest counts and of a threshold item [Durfee-Rogers 2019].

    `items` bounds the labels of one person (None: no bound).
    """

    scale: float
    lead: float
    reach: int
    k: int
    items: int | None

    def outcomes(self, d: int) -> Integers:
        """Lists of at most k labels."""
        return _lists(d, self.k)

    def log_probabilities(self, scores: Scores) -> Floats:
        """A product of softmaxes over what is left, the threshold item included."""
        n, d = scores.shape
        rank = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        there = (scores > 0) & (rank < self.reach)
        floor = -np.sort(-scores, axis=1)[:, self.reach] if self.reach < d else np.zeros(n)
        threshold = self.scale * (np.maximum(floor, 0) + self.lead)
        logits = np.where(there, self.scale * scores, -np.inf)
        lists = self.outcomes(d)
        result = np.zeros((n, len(lists)))
        for column, row in enumerate(lists.tolist()):
            left = np.hstack([logits, threshold[:, None]])  # the threshold item stands last
            for label in row:
                result[:, column] += left[:, label] - np.logaddexp.reduce(left, axis=1)
                if label < 0:
                    break
                left[:, label] = -np.inf
        return result


@dataclass(frozen=True)
class StabilityModel:
    """The k largest of counts + discrete Laplace noise, those that reach a threshold."""

    scale: float
    threshold: int
    k: int
    items: int | None
    cells: int = 0
    """With cells, the noisy counts too: at the threshold, 1 above it, ..., and all beyond."""

    def outcomes(self, d: int) -> Integers:
        """Lists of at most k labels, and the cells of their noisy counts."""
        lists = _lists(d, self.k)
        if not self.cells:
            return lists
        rows = []
        for row in lists.tolist():
            released = sum(label >= 0 for label in row)
            for cells in product(range(self.cells), repeat=released):
                rows.append([*row, *cells, *(-1,) * (self.k - released)])
        return np.array(rows, np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """By listing all noisy counts: below the threshold, then level by level, then above."""
        n, d = scores.shape
        steps = max(2, int(np.max(scores) - self.threshold + _REACH * self.scale))
        masses = np.stack([self._masses(scores[:, i], steps) for i in range(d)], axis=1)
        noisy = np.indices((steps + 1,) * d).reshape(d, -1)
        order = np.argsort(-noisy, axis=0, kind="stable")[: self.k]  # ties by position
        levels = np.take_along_axis(noisy, order, axis=0)
        released = np.where(levels > 0, order, -1).T
        if self.cells:
            cells = np.where(levels > 0, np.minimum(levels, self.cells) - 1, -1).T
            released = np.hstack([released, cells])
        lists = self.outcomes(d)
        digits = (max(d, self.cells) + 1) ** np.arange(lists.shape[1])
        codes = (lists + 1) @ digits
        by_code = np.argsort(codes)
        column = by_code[np.searchsorted(codes[by_code], (released + 1) @ digits)]
        result = np.empty((n, len(lists)))
        for row in range(n):
            mass = masses[row, 0]
            for i in range(1, d):
                mass = np.multiply.outer(mass, masses[row, i])
            result[row] = np.bincount(column, mass.ravel(), minlength=len(lists))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(result), np.float64)

    def _masses(self, counts: Scores, steps: int) -> Floats:
        """Pr[noisy count below the threshold], at it, 1 above it, ...; the rest in the last."""
        from_threshold = np.arange(steps + 1) + self.threshold
        tail = upper_tail(self.scale, from_threshold - counts[:, None])
        tail[counts <= 0] = 0.0  # a label without people is no label of the data
        return np.hstack([1 - tail[:, :1], tail[:, :-2] - tail[:, 1:-1], tail[:, -2:-1]])
