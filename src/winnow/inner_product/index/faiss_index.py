"""IVF and HNSW of the FAISS library, at the settings of FastMWEM's Appendix J.

Both search the norm-completed vectors (``reduction``) by Euclidean distance; the rows found are
ranked by their inner products in float64. FAISS holds a float32 copy of the vectors. Its own
random choices are seeded by constants, so a build is repeatable with one thread.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count
from winnow.errors import ExtraMissing
from winnow.foreign import instead
from winnow.inner_product.index.flat import Floats, Integers, Matrix, blocks, inner_products, ranked

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

    @property
    def radius(self) -> float:
        """The length that all completed rows have."""
        return math.sqrt(self._largest)

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


class _Faiss(ABC):
    """What the two have in common."""

    name: ClassVar[str]
    exact: ClassVar[bool] = False

    def __init__(self, threads: int = 1) -> None:
        count(threads=threads)
        self._threads = threads
        self._faiss = _library()

    def build(self, vectors: Matrix) -> None:
        """Hand the completed rows to FAISS."""
        rows, columns = vectors.shape
        self._vectors = vectors
        self._reduction = NormCompletion(vectors)
        self._index = self._make(rows, columns + 1)
        with self._at_work():
            if not self._index.is_trained:
                self._index.train(self._reduction.rows(slice(0, rows)))
            for part in blocks(rows, columns, 1 << 24):
                self._index.add(self._reduction.rows(part))

    def top(self, query: Floats, k: int) -> tuple[Integers, Floats]:
        """What FAISS finds, ranked; it may be fewer than k rows."""
        rows = self._vectors.shape[0]
        with self._at_work():
            _, nearest = self._index.search(self._reduction.query(query)[None], min(k, rows))
        ids = np.unique(nearest[0][nearest[0] >= 0]).astype(np.int64)
        return ranked(ids, inner_products(self._vectors, query, ids), k)

    @abstractmethod
    def _make(self, rows: int, columns: int) -> Any:
        """An empty index of FAISS for so many rows."""

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """FAISS with our number of threads, and its own number afterwards."""
        before = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(self._threads)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(before)


class IVFIndex(_Faiss):
    """Inverted lists: max(2 sqrt(m), 20) cells by k-means, min(cells/4, 10) of them searched."""

    name: ClassVar[str] = "ivf"

    def _make(self, rows: int, columns: int) -> Any:
        cells = min(rows, max(int(2 * math.sqrt(rows)), 20))
        index = self._faiss.IndexIVFFlat(self._faiss.IndexFlatL2(columns), columns, cells)
        index.nprobe = max(1, min(cells // 4, 10))
        index.cp.min_points_per_centroid = 1  # else it writes a warning to stderr
        index.cp.max_points_per_centroid = max(256, math.ceil(rows / cells))
        return index


class HNSWIndex(_Faiss):
    """A proximity graph: 32 neighbours, efConstruction 100, efSearch 64.

    As in the paper; to return k rows the search is widened to k where that is more than 64.
    """

    name: ClassVar[str] = "hnsw"

    def _make(self, rows: int, columns: int) -> Any:
        index = self._faiss.IndexHNSWFlat(columns, 32)
        index.hnsw.efConstruction = 100
        index.hnsw.efSearch = 64
        return index


def _library() -> Any:
    with instead(ExtraMissing("faiss-cpu", "faiss", "an IVF or HNSW index"), ImportError):
        import faiss
    return faiss
