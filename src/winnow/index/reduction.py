"""From maximum inner product to nearest neighbour [FastMWEM, App F; Neyshabur-Srebro 2015].

Every vector k_i gets one more coordinate sqrt(M - ||k_i||^2), M = max ||k_i||^2, and the query
a zero: inner products stay, all norms become equal, so the largest inner product is the
nearest point and the smallest angle.

The vectors are centred first. It changes every inner product with a query by the same amount,
so the order stays, and it makes the norms and with them M smaller: queries over a domain
(vectors of zeros and ones) point the same way and would otherwise share one cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.index.protocol import Matrix, blocks

Singles = NDArray[np.float32]


class NormCompletion:
    """The reduction for one matrix of vectors, in float32 as the indices take it."""

    def __init__(self, vectors: Matrix) -> None:
        rows, columns = vectors.shape
        total = np.zeros(columns)
        for part in blocks(rows, columns):
            total += np.asarray(vectors[part], np.float64).sum(axis=0)
        self.centre = total / rows
        self._vectors = vectors
        self._largest = 0.0
        for part in blocks(rows, columns):
            self._largest = max(self._largest, float(self._squares(part)[1].max()))

    def rows(self, part: slice | NDArray[Any]) -> Singles:
        """The completed vectors of some rows."""
        block, squares = self._squares(part)
        completion = np.sqrt(np.maximum(self._largest - squares, 0.0))
        return np.concatenate([block, completion[:, None]], axis=1).astype(np.float32)

    def query(self, query: NDArray[np.float64]) -> Singles:
        """The completed query."""
        return np.append(query, 0.0).astype(np.float32)

    def _squares(self, part: slice | NDArray[Any]) -> tuple[NDArray[np.float64], Any]:
        block = np.asarray(self._vectors[part], np.float64) - self.centre
        return block, np.einsum("ij,ij->i", block, block)
