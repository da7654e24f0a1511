"""Locality-sensitive hashing: random hyperplanes over norm-completed vectors.

After the reduction to equal norms a large inner product is a small angle, and the sign of
a random projection separates two vectors with probability angle/pi [Charikar 2002]. Each
table packs some signs into a bucket number; a query looks into its own bucket and those at
the smallest Hamming distances until it has met enough rows, and ranks them by their inner
products. The hyperplanes are public and always the same: they come from a seeded tape.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count
from winnow.core.tape import Tape
from winnow.inner_product.index.faiss_index import NormCompletion
from winnow.inner_product.index.flat import Floats, Integers, Matrix, blocks, inner_products, ranked

_MOST_BITS = 20
_SEED = 1707  # of the public hyperplanes


class LSHIndex:
    """Sign projections in several tables; buckets hold about sqrt(m) rows each."""

    name: ClassVar[str] = "lsh"
    exact: ClassVar[bool] = False

    def __init__(self, tables: int = 8, bits: int | None = None, effort: int = 8) -> None:
        count(tables=tables, effort=effort, bits=1 if bits is None else bits)
        self._tables, self._bits, self._effort = tables, bits, effort

    def build(self, vectors: Matrix) -> None:
        """Hash every row into every table."""
        rows, columns = vectors.shape
        self._vectors = vectors
        self._reduction = NormCompletion(vectors)
        wanted = self._bits or max(1, math.ceil(math.log2(max(rows, 2)) / 2))
        self._width = min(_MOST_BITS, wanted)
        planes = _normals(self._tables * self._width * (columns + 1))
        self._planes = planes.reshape(columns + 1, self._tables * self._width).astype(np.float32)
        codes = np.empty((self._tables, rows), np.int64)
        for part in blocks(rows, columns):
            codes[:, part] = self._codes(self._reduction.rows(part))
        self._order = np.argsort(codes, axis=1, kind="stable")
        ranked_codes = np.take_along_axis(codes, self._order, axis=1)
        edges = np.arange((1 << self._width) + 1)
        self._starts = np.stack([np.searchsorted(row, edges) for row in ranked_codes])
        distance = np.zeros(1 << self._width, np.int64)
        for bit in range(self._width):
            distance += (np.arange(1 << self._width) >> bit) & 1
        self._flips = np.argsort(distance, kind="stable")

    def top(self, query: Floats, k: int) -> tuple[Integers, Floats]:
        """The best of the rows met in the nearest buckets."""
        rows = self._vectors.shape[0]
        k = min(k, rows)
        enough = min(rows, max(k, self._effort * k))
        own = self._codes(self._reduction.query(query)[None])[:, 0]
        found = np.empty(0, np.int64)
        probed, step = 0, 1 + self._width  # the own bucket and those that differ in one sign
        while len(found) < enough and probed < len(self._flips):
            parts = [found]
            for flip in self._flips[probed : probed + step]:
                for table, bucket in enumerate((own ^ flip).tolist()):
                    start, stop = self._starts[table, bucket : bucket + 2]
                    parts.append(self._order[table, start:stop])
            found = np.unique(np.concatenate(parts))
            probed, step = probed + step, 2 * step
        return ranked(found, inner_products(self._vectors, query, found), k)

    def _codes(self, completed: NDArray[np.float32]) -> Integers:
        signs = (completed @ self._planes) > 0
        grouped = signs.reshape(len(completed), self._tables, self._width)
        return np.asarray(grouped @ (1 << np.arange(self._width)), np.int64).T


def _normals(size: int) -> Floats:
    """Standard normal numbers from a public seeded tape, by Box and Muller's formula."""
    words = Tape.seeded(_SEED).words(0, 2 * ((size + 1) // 2)).astype(np.float64)
    uniforms = (words + 0.5) * 2.0**-32
    radius, angle = np.sqrt(-2.0 * np.log(uniforms[::2])), 2.0 * np.pi * uniforms[1::2]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]
