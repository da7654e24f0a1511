"""Multiplicative weights against exactly drawn rows: the state around the compiled loop."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InternalError
from winnow.kernels.acceptance import exact_acceptance
from winnow.kernels.tape_words import TapeWords
from winnow.random.tape import Tape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LN2 = 0.6931471805599453
_CLASSES = 4
_QUANTILES = (0.5, 0.9, 0.995)
_WORDS = 1 << 15
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
    """Of each row over the simplex: length without mean, half range, largest entry."""

    lengths: Floats
    halves: Floats
    tops: Floats
    largest: float
    """The largest |A_ij scale_j|."""

    @classmethod
    def of(cls, rows: Rows, scale: Floats) -> Shapes:
        """Public: they are made of the matrix alone."""
        if rows.size * len(scale) <= _SMALL:
            return cls._plain(rows, scale)
        from winnow.kernels.constraint_rows import shapes

        found = np.empty(rows.size), np.empty(rows.size), np.empty(rows.size)
        largest = shapes(*rows.arrays, scale, *found)
        return cls(*found, float(largest))

    @classmethod
    def _plain(cls, rows: Rows, scale: Floats) -> Shapes:
        """The same without compiled code, for small programs."""
        over = np.zeros((rows.size, len(scale)))
        over[:, : rows.width] = [rows.row(i) for i in range(rows.size)]
        over *= scale
        square, total = (over * over).sum(axis=1), over.sum(axis=1)
        apart = np.maximum(square - total * total / len(scale), 0.0) + 2.0**-30 * square
        low, high = over.min(axis=1), over.max(axis=1)
        return cls(
            np.sqrt(apart) * (1.0 + 2.0**-40),
            0.5 * (high - low) * (1.0 + 2.0**-40),
            high,
            float(np.abs(over).max()),
        )


class ConstraintLoop:
    """Private state of a run: offsets in steps, keys, epochs.

    ``offsets`` are the private b_i in whole steps of 2^power, ``rate`` is the exponent of one
    step, ``step`` what the loss v_ij is multiplied with in the update.
    """

    def __init__(
        self,
        rows: Rows,
        shapes: Shapes,
        scale: Floats,
        offsets: Integers,
        *,
        power: int,
        rate: Fraction,
        step: float,
        rounds: int,
        classes: int = _CLASSES,
    ) -> None:
        from winnow.kernels.constraint_groups import BUCKETS, CHUNK, SLOTS
        from winnow.kernels.constraint_loop import STATE, arrange_all, run

        self._run, self._rate = run, rate
        size, simplex = rows.size, len(scale)
        per_step = 2.0**-power
        per_unit = float(rate) / LN2 * (1.0 + 2.0**-48)  # rounded up by more than its use rounds
        in_steps = shapes.largest * per_step
        slack = per_unit * (1.5 + 8.0 * (simplex + 8) * 2.0**-52 * in_steps)
        highest = float((shapes.tops * per_step - offsets).max()) + 1.0 + in_steps * 2.0**-40
        cap = highest * per_unit + abs(highest) * per_unit * 2.0**-40 + 1e-6
        edges = _edges(shapes.lengths, classes)
        self._kinds = np.searchsorted(edges[:-1], shapes.lengths, side="left").astype(np.uint8)
        rate2 = edges * per_step * per_unit
        rate1 = np.array(
            [shapes.halves[self._kinds == c].max(initial=0.0) for c in range(len(edges))]
        )
        rate1 *= per_step * per_unit
        self._logs = np.zeros(simplex)
        self._z = np.full(simplex, 1.0 / simplex)
        self._point = self._z * scale
        self._total = np.zeros(simplex)
        self.chosen = np.zeros(rounds, np.int32)
        """The selected rows, as far as the run went."""
        groups = BUCKETS * SLOTS
        chunks = -(-size // CHUNK)
        lists = chunks + min(groups, size)
        keys = np.full(size, cap)
        placed = (
            keys,
            np.zeros(size, np.int32),
            np.zeros(groups, np.int64),
            np.zeros((lists, CHUNK), np.int32),
            np.zeros((groups, chunks), np.int32),
            np.zeros(size, np.int32),
            np.zeros(groups, np.int64),
            np.zeros(SLOTS, np.int64),
            np.zeros((SLOTS, 2), np.int64),
            np.zeros(lists + 1, np.int32),
        )
        references = np.zeros((SLOTS, simplex))
        references[0, :] = self._z
        self._state = np.zeros(STATE, np.int64)
        self._state[17] = rounds
        self._state[3] = arrange_all(keys, self._kinds, *placed[1:])
        self._arguments = (
            *rows.arrays, offsets, scale, step, per_step, float(rate), per_unit, self._kinds,
            self._logs, self._z, self._point, self._total, self.chosen, rate2, rate1, slack,
            references, np.zeros(SLOTS), cap, *placed, np.zeros(groups, np.int64),
            np.zeros(SLOTS, np.int64), 60 - size.bit_length(),
        )  # fmt: skip

    def finish(self, words: TapeWords) -> Floats:
        """All rounds; the mean of the simplex points that rows were selected against."""
        state = self._state
        while True:
            status, words.place = self._run(*self._arguments, words.buffer, words.place, state)
            if status == 0:
                return np.asarray(self._total / self._total.sum())
            if status == 1:
                words.refill()
            elif status == 2:
                exponent, at = self._rate * int(state[8]), words.first + int(state[9])
                kept = exact_acceptance(words.tape, at, exponent, int(state[7]))
                state[0] = 2 if kept else 1
            else:
                raise InternalError("a certified bound was exceeded; please report this defect")

    @property
    def _evaluations(self) -> tuple[int, int]:
        """Rows looked at, and scans of all rows. For benchmarks: it depends on private data."""
        return int(self._state[4]), int(self._state[20])


def words_for(tape: Tape, rounds: int) -> TapeWords:
    """A cursor with a buffer for as many rounds."""
    return TapeWords(tape, min(_WORDS, 64 + 8 * rounds))


def _edges(lengths: Floats, classes: int) -> Floats:
    """Upper ends of the norm classes; the last is the longest row."""
    if classes == 1 or len(lengths) < 2:
        return np.array([lengths.max()])
    ends = np.quantile(lengths, _QUANTILES[: classes - 1], method="higher")
    kept = [e for e in ends if e < lengths.max()] + [lengths.max()]
    if len(kept) == 3:  # slots are shared evenly by 1, 2 or 4 classes
        kept = kept[1:]
    return np.array(kept)
