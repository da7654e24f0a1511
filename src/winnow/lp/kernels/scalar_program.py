"""A program of the scalar-private model: its public rows, what is measured of them, its records.

The records (named tuples) are what the compiled loops take: made once for a run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.draw_state import OWN

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ROUND, ROUNDS, MAY_LEAVE, PROPOSALS, STAGE = range(OWN, OWN + 5)
"""Of the state of a run (``draw_state``): rounds done, rounds to do, whether a stage follows,
proposals, and the first entry that is a stage's own."""
STATE = STAGE + 9
"""Entries of the state: no stage has more of its own than 9."""

_SMALL = 1 << 16


class Matrix(NamedTuple):
    """A constraint matrix as the loops read it: dense, or compressed rows."""

    dense: Floats
    """(m, d), or no rows where the matrix is compressed."""
    starts: Integers
    columns: NDArray[np.int32]
    values: Floats


class ScalarProgram(NamedTuple):
    """The rows with their private right-hand sides, and the rates of a run."""

    matrix: Matrix
    offsets: Integers
    """The private b_i in whole steps."""
    scale: Floats
    """x_j = scale_j z_j, z in the simplex."""
    step: float
    """What v_ij = A_ij scale_j is multiplied with in the update of the weights."""
    per_step: float
    """1 over the length of a step of scores."""
    beta: float
    """The exponent of one step."""

    def __repr__(self) -> str:
        return "<program with private right-hand sides>"


class Point(NamedTuple):
    """The public point that the rounds move, and which rows moved it."""

    logs: Floats
    """The logarithms of the weights."""
    z: Floats
    """The weights, of sum 1."""
    x: Floats
    total: Floats
    """The sum of the z of all rounds."""
    chosen: NDArray[np.int32]
    """The selected rows, as far as the run went."""

    @classmethod
    def start(cls, scale: Floats, rounds: int) -> Point:
        """The middle of the simplex."""
        simplex = len(scale)
        z = np.full(simplex, 1.0 / simplex)
        return cls(np.zeros(simplex), z, z * scale, np.zeros(simplex), np.zeros(rounds, np.int32))


@dataclass(frozen=True)
class ConstraintRows:
    """A public constraint matrix."""

    matrix: Matrix
    size: int
    width: int
    """The number of columns."""
    _measured: dict[bytes, Shapes] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, matrix: Any) -> ConstraintRows:
        """From a 2-d array, or from a scipy sparse matrix, which stays sparse."""
        size, width = matrix.shape
        if isinstance(matrix, np.ndarray):
            dense = np.ascontiguousarray(matrix, np.float64)
            none = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
            return cls(Matrix(dense, *none), size, width)
        rows = matrix.tocsr()
        rows.sum_duplicates()
        matrix = Matrix(
            np.zeros((0, width)),
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32),
            rows.data.astype(np.float64),
        )
        return cls(matrix, size, width)

    @property
    def is_dense(self) -> bool:
        """Whether the matrix is not compressed."""
        return len(self.matrix.dense) > 0

    def row(self, i: int) -> Floats:
        """Row i, written out."""
        dense, starts, columns, values = self.matrix
        if self.is_dense:
            return np.asarray(dense[i])
        full = np.zeros(self.width)
        part = slice(int(starts[i]), int(starts[i + 1]))
        full[columns[part]] = values[part]
        return full

    def times(self, point: Floats) -> Floats:
        """A x."""
        dense, starts, columns, values = self.matrix
        if self.is_dense:
            return np.asarray(dense @ point)
        from scipy.sparse import csr_matrix

        return np.asarray(csr_matrix((values, columns, starts), (self.size, self.width)) @ point)


@dataclass(frozen=True)
class Shapes:
    """Of each row over the simplex: length without mean, half range, largest entry.

    Public: they are made of the matrix alone, and only when they are asked for.
    """

    rows: ConstraintRows
    scale: Floats

    @classmethod
    def of(cls, rows: ConstraintRows, scale: Floats) -> Shapes:
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
        matrix = rows.matrix
        if not rows.is_dense:
            entries = np.abs(matrix.values * self.scale[matrix.columns])
            return float(entries.max(initial=0.0))
        if matrix.dense.size <= _SMALL:
            return float(np.abs(matrix.dense * scale).max())
        from winnow.lp.kernels.scalar_point import column_sizes

        sizes = np.zeros(rows.width)
        column_sizes(matrix.dense, sizes)
        return float((sizes * scale).max())

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats, Floats]:
        rows, scale = self.rows, self.scale
        if rows.size * len(scale) <= _SMALL:
            return self._plain()
        from winnow.lp.kernels.scalar_point import shapes

        arrays = np.empty(rows.size), np.empty(rows.size), np.empty(rows.size)
        shapes(rows.matrix, scale, *arrays)
        return arrays

    def _plain(self) -> tuple[Floats, Floats, Floats]:
        """Rounds without compiled code, for small programs."""
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
