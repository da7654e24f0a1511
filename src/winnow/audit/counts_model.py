"""Exact probabilities of noisy counts: of lists in their order, and of the counts released.

Noise is discrete Laplace, Pr[z] ~ e^(-|z|/scale). An outcome lists the winners and then, for
each, its noisy count in one of a few cells of a window, the outer cells taking in all that
lies beyond: a function of what is released, so nothing it shows is not in the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.densities import upper_tail
from winnow.audit.probabilities import Model

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]

_REACH = 30
"""Noise beyond so many scales is lumped together: e^-30."""


def _with_cells(lists: Integers, cells: int, k: int) -> Integers:
    """Every list with every combination of cells of its k counts."""
    counts = np.array(list(product(range(cells), repeat=k)), np.int64)
    return np.hstack([np.repeat(lists, len(counts), axis=0), np.tile(counts, (len(lists), 1))])


@dataclass(frozen=True)
class NoisyCountsModel:
    """The k = 1 or 2 largest of counts + noise, ties by position; with `cells`, their counts.

    `items` bounds the counts that one person moves.
    """

    scale: float
    k: int
    items: int | None
    cells: int = 0

    def outcomes(self, d: int) -> Integers:
        """Lists of k candidates, and the cells of their noisy counts."""
        lists = np.array(list(permutations(range(d), self.k)), np.int64)
        return _with_cells(lists, self.cells, self.k) if self.cells else lists

    def log_probabilities(self, scores: Scores) -> Floats:
        """The last winner at each value, all losers below it, the first winner above it."""
        if self.k > 2:
            raise ValueError("lists of more than two are not enumerated")
        n, d = scores.shape
        reach = int(_REACH * self.scale) + 1
        values = np.arange(int(scores.min()) - reach, int(scores.max()) + reach + 1)
        beyond = upper_tail(self.scale, np.append(values, values[-1] + 1) - scores[:, :, None])
        mass, below, upto = beyond[:, :, :-1] - beyond[:, :, 1:], 1 - beyond, 1 - beyond[:, :, 1:]
        shown = np.eye(self.cells)[np.clip(values, 0, self.cells - 1)] if self.cells else None
        parts = np.ones((len(values), 1)) if shown is None else shown
        columns = []
        for winners in permutations(range(d), self.k):
            last = mass[:, winners[-1]].copy()
            for other in range(d):
                if other not in winners:
                    later = other > winners[-1]  # it loses ties
                    last *= upto[:, other] if later else below[:, other, :-1]
            in_cells = last[:, :, None] * parts
            if self.k == 1:
                columns.append(in_cells.sum(axis=1))
                continue
            summed = np.cumsum(in_cells, axis=1)
            if winners[0] > winners[1]:  # the first loses ties and must lie above
                summed = np.concatenate([np.zeros((n, 1, summed.shape[2])), summed[:, :-1]], axis=1)
            joint = np.einsum("nv,vs,nvt->nst", mass[:, winners[0]], parts, summed)
            columns.append(joint.reshape(n, -1))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.hstack(columns)), np.float64)


@dataclass(frozen=True)
class ListThenCountsModel:
    """A selection, and then the winners' counts with noise of their own."""

    selection: Model
    scale: float
    k: int
    items: int | None
    cells: int

    def outcomes(self, d: int) -> Integers:
        """Every outcome of the selection, and the cells of its noisy counts."""
        return _with_cells(self.selection.outcomes(d), self.cells, self.k)

    def log_probabilities(self, scores: Scores) -> Floats:
        """The product of both."""
        edges = np.arange(1, self.cells) - scores[:, :, None]
        tail = upper_tail(self.scale, edges)
        ends = np.ones((*scores.shape, 1))
        cells = np.log(np.concatenate([ends, tail], 2) - np.concatenate([tail, 0 * ends], 2))
        lists = self.selection.log_probabilities(scores)
        total = np.repeat(lists, self.cells**self.k, axis=1)
        outcomes = self.outcomes(scores.shape[1])
        for place in range(self.k):
            total = total + cells[:, outcomes[:, place], outcomes[:, self.k + place]]
        return np.asarray(total, np.float64)
