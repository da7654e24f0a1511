"""Dense queries whose values lie on a declared grid, so that counts are whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.core.workloads.forms import GridMatrix
from winnow.core.workloads.part import (
    EXACT_FLOAT,
    ArraysPart,
    Codes,
    Counts,
    Floats,
    cell_counts,
    check_cells,
    check_query,
    sum_of,
)
from winnow.errors import ParameterError

_BLOCK = 1 << 21  # values turned into floats together


@dataclass(frozen=True, eq=False)
class GridPart(ArraysPart):
    """Query j has the value values[j, x] / grid in [0, 1] on cell x.

    ``bound=c`` says that the queries were given in [-c, c] and brought to [0, 1] by the
    affine map q -> (q + c) / (2c) [PMW, Section III]; `part.declared` undoes it for answers.
    """

    schema: Schema
    values: NDArray[Any]
    grid: int
    bound: Fraction | None = None
    name: str = "query"

    def __post_init__(self) -> None:
        values = self.values
        if values.dtype not in (np.uint8, np.uint16, np.int32) or values.ndim != 2:
            raise ParameterError("values on a grid are a 2-d array of uint8, uint16 or int32")
        if values.shape[1] != self.schema.cells or not len(values):
            raise ParameterError(
                f"the queries have {values.shape[1]:,} values each for {self.schema.cells:,} "
                "cells; give one for each cell, and at least one query"
            )
        if self.grid < 1 or int(values.min()) < 0 or int(values.max()) > self.grid:
            raise ParameterError(
                f"a value is outside 0 to {self.grid} grid units; correct the values"
            )

    @property
    def size(self) -> int:
        """How many queries there are."""
        return len(self.values)

    def answers(self, p: Floats) -> Floats:
        """Inner products with p, a block of queries at a time."""
        sums = self._products(check_cells(p, self.schema), np.arange(self.schema.cells))
        return np.asarray(np.clip(sums / self.grid, 0.0, 1.0))

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """Inner products with the histogram in whole numbers, over the cells that are there."""
        histogram = cell_counts(codes, weights, self.schema)
        cells = np.flatnonzero(histogram)
        if self.grid * sum_of(weights) < EXACT_FLOAT.at:  # every float sum on the way is exact
            return self._products(histogram[cells].astype(np.float64), cells).astype(np.int64)
        counted = np.empty(self.size, np.int64)
        for rows in self._blocks(cells.size):
            counted[rows] = self.values[rows][:, cells].astype(np.int64) @ histogram[cells]
        return counted

    def _products(self, weights: Floats, cells: NDArray[np.intp]) -> Floats:
        products = np.empty(self.size, np.float64)
        whole = cells.size == self.schema.cells
        for rows in self._blocks(cells.size):
            block = self.values[rows] if whole else self.values[rows][:, cells]
            products[rows] = block.astype(np.float64) @ weights
        return products

    def _blocks(self, cells: int) -> list[slice]:
        rows = max(1, _BLOCK // max(1, cells))
        return [slice(first, first + rows) for first in range(0, self.size, rows)]

    def row(self, query: int) -> Floats:
        """The values of one query in [0, 1]."""
        values = self.values[check_query(query, self.size)].astype(np.float64)
        return np.asarray(values / self.grid)

    def memory(self) -> int:
        """The bytes of the values."""
        return self.values.nbytes

    @cached_property
    def form(self) -> GridMatrix:
        """Written out over the cells."""
        return GridMatrix(self.values)
