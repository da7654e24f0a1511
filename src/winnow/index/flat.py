"""The exact index: all inner products, by BLAS, in blocks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from winnow.index.protocol import Floats, Integers, Matrix, blocks, ranked


class FlatIndex:
    """Looks at every row; finds the true top k, up to float64 rounding."""

    name: ClassVar[str] = "flat"
    exact: ClassVar[bool] = True

    def build(self, vectors: Matrix) -> None:
        """Keep a reference to the rows: there is nothing to prepare."""
        self._vectors = vectors

    def top(self, query: Floats, k: int) -> tuple[Integers, Floats]:
        """The k largest inner products."""
        scores = inner_products(self._vectors, query)
        return ranked(np.arange(len(scores)), scores, min(k, len(scores)))


def inner_products(vectors: Matrix, query: Floats, ids: Integers | None = None) -> Floats:
    """Inner products in float64 of the rows named, or of all."""
    rows = vectors.shape[0] if ids is None else len(ids)
    result = np.empty(rows)
    for part in blocks(rows, vectors.shape[1]):
        chosen = part if ids is None else ids[part]
        result[part] = np.asarray(vectors[chosen], np.float64) @ query
    return result
