"""How rounds of the scalar-private solver are drawn: three ways, each from what it needs.

All three draw the same law; they differ in what bounds cost and how narrow they are. A run begins
with the flat way, which needs no preparation, goes on to groups when it looks at too many rows,
and to watched blocks when groups need too many looks at all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.lp.kernels.constraint_program import Floats, Integers, Rows, Shapes

LN2 = 0.6931471805599453
_CLASSES = 4
_QUANTILES = (0.5, 0.9, 0.995)


@dataclass(frozen=True)
class Course:
    """A run: the program, the rates, and the arrays of the point, which the kernels change."""

    rows: Rows
    shapes: Shapes
    scale: Floats
    offsets: Integers
    step: float
    per_step: float
    """1 over the length of a step of scores."""
    rate: Fraction
    """The exponent of one step."""
    logs: Floats
    z: Floats
    point: Floats
    total: Floats
    chosen: NDArray[np.int32]
    state: Integers

    @property
    def head(self) -> tuple[Any, ...]:
        """What every kernel takes first."""
        return (
            *self.rows.arrays, self.offsets, self.scale, self.step, self.per_step,
            float(self.rate),
        )  # fmt: skip

    @property
    def body(self) -> tuple[Any, ...]:
        """The arrays of the point."""
        return self.logs, self.z, self.point, self.total, self.chosen

    @property
    def in_steps(self) -> float:
        """The largest entry of a row, in steps."""
        return self.shapes.largest * self.per_step

    @property
    def reach(self) -> int:
        """Such that the weights of all rows sum to less than 2^61."""
        return 60 - self.rows.size.bit_length()


@dataclass(frozen=True)
class Speeds:
    """How fast exponents move, in units of ln 2, for norm classes of rows."""

    per_unit: float
    kinds: NDArray[np.uint8]
    """The class of each row."""
    rate2: Floats
    rate1: Floats
    slack: float
    cap: float
    """What no exponent exceeds."""

    @classmethod
    def of(cls, course: Course, classes: int = _CLASSES) -> Speeds:
        """Measured of all rows."""
        shapes, per_step = course.shapes, course.per_step
        per_unit = float(course.rate) / LN2 * (1.0 + 2.0**-48)  # up by more than its use rounds
        in_steps, simplex = course.in_steps, len(course.scale)
        slack = per_unit * (1.5 + 8.0 * (simplex + 8) * 2.0**-52 * in_steps)
        highest = float((shapes.tops * per_step - course.offsets).max())
        highest += 1.0 + in_steps * 2.0**-40
        cap = highest * per_unit + abs(highest) * per_unit * 2.0**-40 + 1e-6
        edges = _edges(shapes.lengths, classes)
        kinds = np.searchsorted(edges[:-1], shapes.lengths, side="left").astype(np.uint8)
        halves = [shapes.halves[kinds == c].max(initial=0.0) for c in range(len(edges))]
        return cls(
            per_unit, kinds, edges * per_step * per_unit, np.array(halves) * per_step * per_unit,
            slack, cap,
        )  # fmt: skip


def flat(course: Course) -> tuple[Any, tuple[Any, ...]]:
    """A kernel and its arguments: uniform proposals under one bound."""
    from winnow.lp.kernels.constraint_flat import AHEAD, run_flat

    highest = course.in_steps * (1.0 + 2.0**-40) - float(course.offsets.min()) + 2.0
    top = int(np.ceil(highest + abs(highest) * 2.0**-40))
    fetched = np.zeros((AHEAD, course.rows.width))
    places = np.zeros(AHEAD, np.int64), np.zeros(AHEAD, np.int64), np.zeros(AHEAD, np.int64)
    return run_flat, (*course.head, *course.body, top, fetched, *places)


def groups(course: Course, speeds: Speeds) -> tuple[Any, tuple[Any, ...]]:
    """A kernel and its arguments: keys in buckets, clocks for norm classes."""
    from winnow.lp.kernels.constraint_groups import BUCKETS, CHUNK, SLOTS
    from winnow.lp.kernels.constraint_loop import arrange_all, run

    size, slots = course.rows.size, BUCKETS * SLOTS
    chunks = -(-size // CHUNK)
    lists = chunks + min(slots, size)
    keys = np.full(size, speeds.cap)
    placed = (
        np.zeros(size, np.int32),
        np.zeros(slots, np.int64),
        np.zeros((lists, CHUNK), np.int32),
        np.zeros((slots, chunks), np.int32),
        np.zeros(size, np.int32),
        np.zeros(slots, np.int64),
        np.zeros(SLOTS, np.int64),
        np.zeros((SLOTS, 2), np.int64),
        np.zeros(lists + 1, np.int32),
    )
    references = np.zeros((SLOTS, len(course.scale)))
    references[0, :] = course.z
    course.state[3] = arrange_all(keys, speeds.kinds, *placed)
    course.state[12] = -(2**40)  # the first draw looks at all rows: one bound for all is too wide
    return run, (
        *course.head, speeds.per_unit, speeds.kinds, *course.body, speeds.rate2, speeds.rate1,
        speeds.slack, references, np.zeros(SLOTS), speeds.cap, keys, *placed,
        np.zeros(slots, np.int64), np.zeros(SLOTS, np.int64), course.reach,
    )  # fmt: skip


def watched(course: Course, speeds: Speeds) -> tuple[Any, tuple[Any, ...]]:
    """A kernel and its arguments: blocks of codes. Dense rows only."""
    from winnow.lp.kernels.constraint_groups import BUCKETS, SLOTS
    from winnow.lp.kernels.constraint_ladder import BLOCK
    from winnow.lp.kernels.constraint_watch import DEPTHS, run_watched

    rows, classes = course.rows, len(speeds.rate2)
    blocks = rows.size // BLOCK + classes
    course.state[12:16] = course.state[19] = course.state[23] = 0
    shape = blocks, BLOCK
    return run_watched, (
        *course.head, speeds.per_unit, speeds.kinds, *course.body, speeds.rate2, speeds.rate1,
        speeds.slack, np.zeros((2, len(course.scale))), np.zeros(SLOTS),
        np.zeros(rows.size), np.zeros(classes * BUCKETS, np.int64),
        np.zeros(shape, np.int32), np.zeros(blocks, np.int64), np.zeros(blocks),
        np.zeros(blocks, np.uint8), np.zeros(classes + 1, np.int64), np.zeros(classes, np.int64),
        np.zeros((blocks, rows.width, BLOCK), np.int8), np.zeros(rows.width, np.float32),
        np.zeros(shape), np.zeros(shape), np.zeros(BLOCK, np.float32),
        np.zeros(shape, np.int32), np.zeros(blocks, np.int32), np.zeros(blocks, np.int64),
        np.zeros(DEPTHS), course.reach,
    )  # fmt: skip


def _edges(lengths: Floats, classes: int) -> Floats:
    """Upper ends of the norm classes; the last is the longest row."""
    if classes == 1 or len(lengths) < 2:
        return np.array([lengths.max()])
    ends = np.quantile(lengths, _QUANTILES[: classes - 1], method="higher")
    kept = [e for e in ends if e < lengths.max()] + [lengths.max()]
    if len(kept) == 3:  # slots are shared evenly by 1, 2 or 4 classes
        kept = kept[1:]
    return np.array(kept)
