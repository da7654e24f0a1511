"""What mechanisms ask of an index."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray


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


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Matrix = NDArray[Any]


class Index(Protocol):
    """Finds rows of a matrix with large inner products. Wrong answers cost time, not privacy."""

    name: ClassVar[str]
    exact: ClassVar[bool]
    """Whether no row left out has a larger inner product, up to float64 rounding, than the
    least that is returned."""

    def build(self, vectors: Matrix) -> None:
        """Take in the rows of a matrix of real numbers; they must stay as they are."""
        ...

    def top(self, query: Floats, k: int) -> tuple[Integers, Floats]:
        """Up to k distinct rows, largest inner product first, with those inner products."""
        ...


def blocks(rows: int, columns: int, entries: int = 1 << 22) -> list[slice]:
    """Slices of rows that hold about so many entries each."""
    step = max(1, entries // max(1, columns))
    return [slice(start, min(rows, start + step)) for start in range(0, rows, step)]


def ranked(ids: Integers, scores: Floats, k: int) -> tuple[Integers, Floats]:
    """The k largest scores in decreasing order, ties by id."""
    if len(ids) > k:
        near = np.argpartition(-scores, k - 1)[:k]
        ids, scores = ids[near], scores[near]
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]
