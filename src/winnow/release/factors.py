"""A distribution over some columns: weights on all their cells, or on sampled ones.

A synthetic distribution is a product of such factors. One factor over all columns is the usual
case; attribute groups give one factor each; a sub-universe is a factor on sampled cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.tape import Tape
from winnow.core.workloads.part import marginal_table
from winnow.errors import ParameterError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Factor:
    """Public weights over the cells of some columns, in C order, with sum 1."""

    columns: tuple[int, ...]
    """Positions of the columns in the whole schema."""
    shape: tuple[int, ...]
    weights: Floats
    points: Integers | None = None
    """Codes of the cells that the weights are for, a row each; None: all cells."""

    def __post_init__(self) -> None:
        weights = np.array(self.weights, np.float64)
        wanted = math.prod(self.shape) if self.points is None else len(self.points)
        if weights.shape != (wanted,):
            raise ParameterError(f"{weights.size} weights for {wanted:,} cells; give one for each")
        if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.sum() > 0):
            raise ParameterError("weights are finite, not negative, and not all 0")
        weights /= weights.sum()
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    def marginal(self, columns: Sequence[int]) -> Floats:
        """The table of some of the factor's columns (positions in the whole schema)."""
        places = [self.columns.index(column) for column in columns]
        if self.points is None:
            return marginal_table(self.weights, self.shape, places)
        sizes = [self.shape[place] for place in places]
        flat = np.zeros(len(self.points), np.int64)
        for place in places:
            flat = flat * self.shape[place] + self.points[:, place]
        table = np.bincount(flat, self.weights, math.prod(sizes))
        return np.asarray(table, np.float64).reshape(sizes)

    def product_set(self, masks: Mapping[int, NDArray[np.bool_]]) -> float:
        """The probability that every masked column (whole-schema position) holds."""
        own = [column for column in self.columns if column in masks]
        if not own:
            return 1.0
        if self.points is not None:
            inside = np.ones(len(self.points), np.bool_)
            for column in own:
                inside &= masks[column][self.points[:, self.columns.index(column)]]
            return float(self.weights[inside].sum())
        table = self.marginal(own)
        for column in reversed(own):
            table = table[..., masks[column]].sum(axis=-1)
        return float(table.sum())

    def draw(self, rows: int, tape: Tape) -> Integers:
        """Codes of rows drawn from the factor: a line for each column."""
        words = tape.words(0, 2 * rows).astype(np.uint64)
        uniform = ((words[::2] << np.uint64(21)) | (words[1::2] >> np.uint64(11))) * 2.0**-53
        sums = np.cumsum(self.weights)
        cells = np.searchsorted(sums, uniform * sums[-1], side="right")
        cells = np.minimum(cells, np.flatnonzero(self.weights)[-1])  # against a rounded last sum
        if self.points is not None:
            return np.ascontiguousarray(self.points[cells].T)
        return np.array(np.unravel_index(cells, self.shape), np.int64).reshape(len(self.shape), -1)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """The factor as plain data."""
        document: dict[str, Any] = {
            "columns": [names[column] for column in self.columns],
            "weights": self.weights.tolist(),
        }
        if self.points is not None:
            document["points"] = self.points.tolist()
        return document
