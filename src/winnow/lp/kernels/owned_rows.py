"""Rows of people as a matrix whose columns are read: clipped to a public range, kept by columns.

A round needs sum_i y_i A_ij of all columns j, or of a few, and adds one column to the logs of the
weights. Sums have an error that does not depend on the private number of rows: they are made of
blocks of at most 2^22 rows, one after another, so rounding is below SUM_ERROR times the largest
|A_ij| (the y_i sum to 1). The sum of a sparse column is the same to the last bit whichever other
columns are asked for with it: each is added up in the order of its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BLOCK = 1 << 22
SUM_ERROR = 2.0**-30
"""(2^22 + 2^9) 2^-53, doubled: for up to 2^31 rows."""


class DenseRows:
    """A 2-d array, by the products of NumPy."""

    def __init__(self, matrix: Floats, low: float, high: float) -> None:
        self._matrix = np.clip(matrix, low, high)

    def sums(self, y: Floats) -> Floats:
        """sum_i y_i A_ij for all columns."""
        total = np.zeros(self._matrix.shape[1])
        for first in range(0, len(self._matrix), _BLOCK):
            part = self._matrix[first : first + _BLOCK]
            total += y[first : first + len(part)] @ part
        return total

    def add_column(self, j: int, factor: float, logs: Floats) -> None:
        """Add factor times column j to the logs, in place."""
        logs[: len(self._matrix)] += factor * self._matrix[:, j]

    def columns(self) -> Floats:
        """One row for each column."""
        return self._matrix.T


class SparseRows:
    """Compressed columns; what is not stored is zero."""

    def __init__(self, matrix: Any, low: float, high: float) -> None:
        from scipy.sparse import csr_matrix

        rows = csr_matrix(matrix)
        self._parts = []
        for first in range(0, max(1, rows.shape[0]), _BLOCK):
            part = rows[first : first + _BLOCK].tocsc()
            part.sum_duplicates()
            part.data = np.clip(part.data, low, high)
            self._parts.append(part.T.tocsr())

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self._parts[0].shape[0])

    def sums(self, y: Floats, columns: Integers | None = None) -> Floats:
        """sum_i y_i A_ij for all columns, or for those named."""
        first, total = 0, np.zeros(self.size if columns is None else len(columns))
        for part in self._parts:
            length = part.shape[1]
            chosen = part if columns is None else part[columns]
            total += chosen @ y[first : first + length]
            first += length
        return total

    def add_column(self, j: int, factor: float, logs: Floats) -> None:
        """Add factor times column j to the logs, in place."""
        first = 0
        for part in self._parts:
            stored = slice(int(part.indptr[j]), int(part.indptr[j + 1]))
            logs[first + part.indices[stored]] += factor * part.data[stored]
            first += part.shape[1]

    def columns(self) -> Floats:
        """One row for each column, written out."""
        return np.hstack([part.toarray() for part in self._parts])

    def shapes(self) -> tuple[Integers, Floats, Floats, Floats]:
        """Of each column: stored entries, largest entry, minus the smallest (0 or more), length."""
        size = self.size
        entries, square = np.zeros(size, np.int64), np.zeros(size)
        high, low = np.zeros(size), np.zeros(size)
        for part in self._parts:
            entries += np.diff(part.indptr)
            filled = np.flatnonzero(np.diff(part.indptr))
            if len(filled) == 0:
                continue
            starts = part.indptr[filled]
            high[filled] = np.maximum(high[filled], np.maximum.reduceat(part.data, starts))
            low[filled] = np.maximum(low[filled], -np.minimum.reduceat(part.data, starts))
            square[filled] += np.add.reduceat(part.data * part.data, starts)
        return entries, high, low, np.sqrt(square) * (1.0 + 2.0**-20)


def owned_rows(matrix: Any, low: float, high: float, *, sparse: bool) -> DenseRows | SparseRows:
    """The rows with entries clipped to the public range; ``sparse`` columns can be read singly."""
    if sparse or not isinstance(matrix, np.ndarray):
        return SparseRows(matrix, low, high)
    return DenseRows(matrix, low, high)
