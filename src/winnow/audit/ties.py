"""Exact probabilities of draws in which equal noisy counts are listed in random order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes
from winnow.audit.probabilities import Model, Scores

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RandomTies(Model):
    """A model whose ties go by position, with the positions in random order.

    That is the law of every mechanism that lists equal noisy counts by lot.

    The first `labels` columns of an outcome are positions.
    """

    inner: Model
    labels: int

    def outcomes(self, d: int) -> Integers:
        """Those of the model whose ties are in a fixed order."""
        return self.inner.outcomes(d)

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """Those of the model whose ties are in a fixed order."""
        return self.inner.instances(boxes, quick=quick)

    def neighbours(self, bases: Integers, steps: Integers) -> Integers:
        """Those of the model whose ties are in a fixed order."""
        return self.inner.neighbours(bases, steps)

    def log_probabilities(self, scores: Scores) -> Floats:
        """The mean over all orders."""
        d = scores.shape[1]
        outcomes = self.outcomes(d)
        digits = (int(outcomes.max()) + 2) ** np.arange(outcomes.shape[1])
        codes = (outcomes + 1) @ digits
        by_code = np.argsort(codes)
        orders, total = list(permutations(range(d))), np.zeros((len(scores), len(outcomes)))
        for order in orders:
            chances = np.exp(self.inner.log_probabilities(scores[:, order]))
            names = np.append(order, -1)  # -1 stays what it is
            renamed = outcomes.copy()
            renamed[:, : self.labels] = names[outcomes[:, : self.labels]]
            columns = by_code[np.searchsorted(codes[by_code], (renamed + 1) @ digits)]
            total[:, columns] += chances
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total / len(orders)), np.float64)
