"""Locality-sensitive hashing over norm-completed vectors: signs, or steps, of random projections.

After the reduction to equal norms a large inner product is a small angle, and the sign of
a random projection separates two vectors with probability angle/pi [Charikar 2002]. Each
table packs some signs into a bucket number; a query looks into its own bucket and those at
the smallest Hamming distances until it has met enough rows, and ranks them by their inner
products.

It is a small distance, too, and a projection cut into steps, floor((<a, v> + b)/w) with normal a
(the normal law is 2-stable) and b uniform in [0, w), separates two vectors the more often the
further apart they are [Datar-Immorlica-Indyk-Mirrokni 2004, the hashing that FastMWEM cites]. A
query looks into the buckets nearest to where its own projections fall.

Projections are public and always the same: they come from a seeded tape.
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
        ids = np.empty(0, np.int64)
        probed, step = 0, 1 + self._width  # the own bucket and those that differ in one sign
        while len(ids) < enough and probed < len(self._flips):
            parts = [ids]
            for flip in self._flips[probed : probed + step]:
                for table, bucket in enumerate((own ^ flip).tolist()):
                    start, stop = self._starts[table, bucket : bucket + 2]
                    parts.append(self._order[table, start:stop])
            ids = np.unique(np.concatenate(parts))
            probed, step = probed + step, 2 * step
        return ranked(ids, inner_products(self._vectors, query, ids), k)

    def _codes(self, completed: NDArray[np.float32]) -> Integers:
        signs = (completed @ self._planes) > 0
        grouped = signs.reshape(len(completed), self._tables, self._width)
        return np.asarray(grouped @ (1 << np.arange(self._width)), np.int64).T


class PStableIndex:
    """Projections in steps as wide as the vectors are long twice, several to a bucket."""

    name: ClassVar[str] = "p-stable"
    exact: ClassVar[bool] = False

    def __init__(self, tables: int = 8, hashes: int | None = None, effort: int = 8) -> None:
        count(tables=tables, effort=effort, hashes=1 if hashes is None else hashes)
        self._tables, self._hashes, self._effort = tables, hashes, effort

    def build(self, vectors: Matrix) -> None:
        """Hash every row into every table."""
        rows, columns = vectors.shape
        self._vectors = vectors
        self._reduction = NormCompletion(vectors)
        hashes = self._hashes or max(1, round(math.log2(max(rows, 2)) / 2.6))
        size = self._tables * hashes
        self._planes = _normals(size * (columns + 1)).reshape(columns + 1, size).astype(np.float32)
        self._width = 2.0 * self._reduction.radius or 1.0
        self._shifts = _uniforms(size, 1 << 20)
        steps = np.empty((rows, size), np.int32)
        for part in blocks(rows, columns):
            steps[part] = np.floor(self._projected(self._reduction.rows(part)))
        self._buckets, self._rows, self._starts = [], [], []
        for table in range(self._tables):
            own = steps[:, table * hashes : (table + 1) * hashes]
            buckets, bucket = np.unique(own, axis=0, return_inverse=True)
            order = np.argsort(bucket.ravel(), kind="stable")
            self._buckets.append(buckets)
            self._rows.append(order)
            edges = np.arange(len(buckets) + 1)
            self._starts.append(np.searchsorted(bucket.ravel()[order], edges))

    def top(self, query: Floats, k: int) -> tuple[Integers, Floats]:
        """The best of the rows met in the nearest buckets."""
        rows = self._vectors.shape[0]
        k = min(k, rows)
        enough = min(rows, max(k, self._effort * k))
        completed = self._reduction.query(query)
        length = float(np.linalg.norm(completed))
        if length > 0:  # only its direction matters: as long as the rows, it is nearest to the best
            completed = completed * np.float32(self._reduction.radius / length)
        places = self._projected(completed[None])[0].reshape(self._tables, -1) - 0.5
        near = [
            np.argsort(((buckets - place) ** 2).sum(axis=1), kind="stable")
            for buckets, place in zip(self._buckets, places, strict=True)
        ]
        ids, looked, step = np.empty(0, np.int64), 0, 1
        while len(ids) < enough and looked < max(map(len, near)):
            parts = [ids]
            for order, starts, rows_there in zip(near, self._starts, self._rows, strict=True):
                for bucket in order[looked : looked + step]:
                    parts.append(rows_there[starts[bucket] : starts[bucket + 1]])
            ids = np.unique(np.concatenate(parts))
            looked, step = looked + step, 2 * step
        return ranked(ids, inner_products(self._vectors, query, ids), k)

    def _projected(self, completed: NDArray[np.float32]) -> Floats:
        """Projections in steps, each moved by its own shift in [0, 1)."""
        return np.asarray((completed @ self._planes) / self._width + self._shifts, np.float64)


def _uniforms(size: int, first: int) -> Floats:
    """Numbers in (0, 1) from a public seeded tape."""
    return np.asarray((Tape.seeded(_SEED).words(first, size) + 0.5) * 2.0**-32, np.float64)


def _normals(size: int) -> Floats:
    """Standard normal numbers from a public seeded tape, by Box and Muller's formula."""
    uniforms = _uniforms(2 * ((size + 1) // 2), 0)
    radius, angle = np.sqrt(-2.0 * np.log(uniforms[::2])), 2.0 * np.pi * uniforms[1::2]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:size]
