"""A public constraint matrix as the kernels read it, and what is measured of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SMALL = 1 << 16


@dataclass(frozen=True)
class Rows:
    """A public constraint matrix as the kernels read it: dense, or compressed rows."""

    dense: Floats
    """(m, d), or no rows where the matrix is compressed."""
    starts: Integers
    columns: NDArray[np.int32]
    values: Floats
    size: int
    width: int
    """The number of columns."""
    _measured: dict[bytes, Shapes] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, matrix: Any) -> Rows:
        """From a 2-d array, or from a scipy sparse matrix, which stays sparse."""
        size, width = matrix.shape
        if isinstance(matrix, np.ndarray):
            dense = np.ascontiguousarray(matrix, np.float64)
            none = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
            return cls(dense, *none, size, width)
        rows = matrix.tocsr()
        rows.sum_duplicates()
        return cls(
            np.zeros((0, width)),
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32),
            rows.data.astype(np.float64),
            size,
            width,
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What kernels take."""
        return self.dense, self.starts, self.columns, self.values

    def row(self, i: int) -> Floats:
        """Row i, written out."""
        if len(self.dense):
            return np.asarray(self.dense[i])
        full = np.zeros(self.width)
        part = slice(int(self.starts[i]), int(self.starts[i + 1]))
        full[self.columns[part]] = self.values[part]
        return full

    def times(self, point: Floats) -> Floats:
        """A x."""
        if len(self.dense):
            return np.asarray(self.dense @ point)
        from scipy.sparse import csr_matrix

        shape = (self.size, self.width)
        return np.asarray(csr_matrix((self.values, self.columns, self.starts), shape=shape) @ point)


@dataclass(frozen=True)
class Shapes:
    """Of each row over the simplex: length without mean, half range, largest entry.

    Public: they are made of the matrix alone, and only when they are asked for.
    """

    rows: Rows
    scale: Floats

    @classmethod
    def of(cls, rows: Rows, scale: Floats) -> Shapes:
        """What was measured of these rows before is kept."""
        key = scale.tobytes()
        if key not in rows._measured:
            rows._measured.clear()
            rows._measured[key] = cls(rows, scale)
        return rows._measured[key]

    @property
    def lengths(self) -> Floats:
        """|v_i - mean|_2 of v_ij = A_ij scale_j."""
        return self._arrays[0]

    @property
    def halves(self) -> Floats:
        """Half the range of v_i."""
        return self._arrays[1]

    @property
    def tops(self) -> Floats:
        """The largest entry of v_i."""
        return self._arrays[2]

    @cached_property
    def largest(self) -> float:
        """The largest |A_ij scale_j|."""
        rows, scale = self.rows, self.scale[: self.rows.width]
        if not len(rows.dense):
            found = np.abs(rows.values * self.scale[rows.columns])
            return float(found.max(initial=0.0))
        if rows.dense.size <= _SMALL:
            return float(np.abs(rows.dense * scale).max())
        from winnow.lp.kernels.constraint_rows import column_sizes

        sizes = np.zeros(rows.width)
        column_sizes(rows.dense, sizes)
        return float((sizes * scale).max())

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        rows, scale = self.rows, self.scale
        if rows.size * len(scale) <= _SMALL:
            return self._plain()
        from winnow.lp.kernels.constraint_rows import shapes

        found = np.empty(rows.size), np.empty(rows.size), np.empty(rows.size)
        shapes(*rows.arrays, scale, *found)
        return found

    def _plain(self) -> tuple[Floats, Floats, Floats]:
        """The same without compiled code, for small programs."""
        rows, scale = self.rows, self.scale
        over = np.zeros((rows.size, len(scale)))
        over[:, : rows.width] = [rows.row(i) for i in range(rows.size)]
        over *= scale
        square, total = (over * over).sum(axis=1), over.sum(axis=1)
        apart = np.maximum(square - total * total / len(scale), 0.0) + 2.0**-30 * square
        low, high = over.min(axis=1), over.max(axis=1)
        return (
            np.sqrt(apart) * (1.0 + 2.0**-40), 0.5 * (high - low) * (1.0 + 2.0**-40), high,
        )  # fmt: skip
