"""Marginal tables of a weight tensor, kept up to date while product sets of cells are scaled.

A step on a product set (one cell of a marginal table, a range of codes, ...) touches the cells
of the set only: the marginals of the change are summed once, with shared partial sums, and
added to every table.

Rounding: tables are sums of float64 weights, u = 2^-53. Let L be the sum of all cardinalities, so
that no value passes through more than L + 4 additions in a step, an answer read off included.
``fill`` leaves a relative error of at most (L + 4) u; a step adds at most (L + 4) u times the
mass that it moves. The mass stays within a factor of 32 of what it was between two fills
(``Distribution._rebase``), and there are at most `FRESH` steps between them, so answers differ from
the exact sums of the weights by less than 32 (FRESH + 1)(L + 4) u of the mass; ``slack`` is more
than twice that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class SumOrder:
    """Buffers by their sets of axes (bit masks), how each arises, and which table adds which."""

    cells: int
    """How many values the first buffer holds, with all codes of each column,"""
    others: int
    """and all others together."""
    masks: Integers
    sources: Integers
    dropped: Integers
    table_buffer: Integers

    @property
    def arrays(self) -> tuple[Integers, ...]:
        """What kernels take."""
        return self.masks, self.sources, self.dropped, self.table_buffer


def plan(active: int, sizes: Sequence[int], tables: Sequence[int]) -> SumOrder:
    """Sum out one axis at a time, largest tables first, each from the smallest buffer above it.

    ``active`` and ``tables`` are sets of columns as bit masks.
    """
    return _plan(active, tuple(sizes), tuple(tables))


@lru_cache(maxsize=1024)
def _plan(active: int, sizes: tuple[int, ...], tables: tuple[int, ...]) -> SumOrder:
    numbers = {active: 0}
    cells = {active: _size(active, sizes)}
    masks, sources, dropped = [active], [0], [0]
    wanted = {mask & active for mask in tables}
    for target in sorted(wanted, key=lambda mask: (-mask.bit_count(), mask)):
        if target in numbers:
            continue
        above = [mask for mask in masks if mask & target == target]
        source = min(above, key=cells.__getitem__)
        extra = [c for c in range(source.bit_length()) if (source ^ target) >> c & 1]
        for column in sorted(extra, key=lambda c: -sizes[c]):
            smaller = source & ~(1 << column)
            if smaller not in numbers:
                numbers[smaller] = len(masks)
                cells[smaller] = cells[source] // sizes[column]
                masks.append(smaller)
                sources.append(numbers[source])
                dropped.append(column)
            source = smaller
    buffers = [numbers[mask & active] for mask in tables]
    others = sum(cells[mask] for mask in masks[1:])
    arrays = (np.array(x, np.int64) for x in (masks, sources, dropped, buffers))
    return SumOrder(cells[active], others, *arrays)


def _size(mask: int, sizes: Sequence[int]) -> int:
    return math.prod(n for column, n in enumerate(sizes) if mask >> column & 1)


Floats = NDArray[np.float64]

FRESH = 1024
"""After so many steps all tables are summed anew."""


class MarginalTables:
    """Flat tables one after another; each is named by its columns, the last fastest."""

    def __init__(self, shape: Sequence[int], columns: Sequence[tuple[int, ...]]) -> None:
        from winnow.release.rounds.kernels.contraction import AXES, MOST, fill_tables, scale_set

        self.shape = tuple(shape)
        self.columns = tuple(columns)
        bases, strides, base = [], [], 0
        for names in columns:
            bases.append(base)
            stride = [0] * len(self.shape)
            step = 1
            for column in reversed(names):
                stride[column] = step
                step *= self.shape[column]
            strides.append(stride)
            base += step
        self.values: Floats = np.zeros(base)
        self.base = dict(zip(self.columns, bases, strict=True))
        self.kept: dict[Any, Any] = {}
        """What readers of these tables prepared, by what they read."""
        self._bases = np.array(bases, np.int64)
        self._strides = np.array(strides, np.int64).reshape(len(bases), len(self.shape))
        self._masks = [sum(1 << c for c in names) for names in columns]
        cells = [math.prod(self.shape[c + 1 :]) for c in range(len(self.shape))]
        self._cell_stride = np.array(cells, np.int64)
        self._lists = np.concatenate([np.arange(n, dtype=np.int64) for n in self.shape])
        ends = np.cumsum(self.shape)
        self._starts: Integers = np.asarray(ends - np.array(self.shape), np.int64)
        self._sizes = np.array(self.shape, np.int64)
        self._whole = sum(1 << column for column, n in enumerate(self.shape) if n > 1)
        self._plans: dict[int, SumOrder] = {}
        self._room: tuple[Any, ...] = (
            np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty((len(AXES), MOST), np.int64),
        )  # fmt: skip
        self._scale_set, self._fill_tables = scale_set, fill_tables

    @property
    def _arrays(self) -> tuple[Any, ...]:
        """The tables, as kernels take them."""
        return self._strides, self._bases, self.values

    def strides_of(self, columns: tuple[int, ...]) -> list[int]:
        """By how much one code more of each column moves the place in their table."""
        return [math.prod(self.shape[c] for c in columns[i + 1 :]) for i in range(len(columns))]

    @property
    def slack(self) -> float:
        """More than the rounding of all answers read off the tables, as a part of the mass."""
        return 2.0**-53 * 80 * FRESH * (sum(self.shape) + 8)

    def fill(self, weights: Floats) -> None:
        """Sum all tables from the weights."""
        order = self._plan(self._whole, whole=True)
        self.values[:] = 0.0
        members = self._sizes, self._lists, self._starts
        self._fill_tables(weights, self._room, members, order.arrays, self._arrays)

    def scale(
        self,
        weights: Floats,
        sums: Floats,
        clock: float,
        factor: float,
        codes: dict[int, tuple[int, int] | Integers],
    ) -> None:
        """Multiply the weights of the cells whose codes lie in the given ranges or lists.

        ``sums`` is lessened by clock times each change (see ``Distribution.average``).
        """
        starts, sizes, lists = self._starts.copy(), self._sizes.copy(), self._lists
        active = self._whole
        for column, members in codes.items():
            if isinstance(members, tuple):
                count = members[1] - members[0]
                starts[column] += members[0]
            else:
                count = len(members)
                starts[column] = len(lists)
                lists = np.concatenate([lists, members])
            sizes[column] = count
            if count == 0:
                return  # no cell is inside
            if count == 1:
                active &= ~(1 << column)
        order = self._plan(active)
        self._scale_set(
            weights, sums, clock, self._cell_stride, factor, self._room, (sizes, lists, starts),
            order.arrays, self._arrays,
        )  # fmt: skip

    def _plan(self, active: int, *, whole: bool = False) -> SumOrder:
        """The plan for a set of active columns, with room for its buffers."""
        order = self._plans.get(active)
        if order is None:
            order = self._plans[active] = plan(active, self.shape, self._masks)
            self._make_room(0, order.others, len(order.masks))
        if not whole and order.cells > len(self._room[0]):
            self._make_room(order.cells, 0, 0)
        return order

    def _make_room(self, cells: int, values: int, buffers: int) -> None:
        """Let kernels have at least so much room."""
        *lists, axes = self._room
        wanted = zip(lists, (cells, values, buffers), strict=True)
        grown = [old if len(old) >= size else np.empty(size, old.dtype) for old, size in wanted]
        self._room = (*grown, axes)
