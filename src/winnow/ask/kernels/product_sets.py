"""Sums and scalings over product sets of cells: some codes of some columns, the rest free.

Neighbouring free columns are walked as one, and the last axis as a run where it is one, so a
set costs about as much as it has cells. Questions about few columns are asked again and again,
so the marginal table of such columns is summed once and kept while the values stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_SMALL = 2048  # sets up to so many cells are gathered by NumPy


class CellSets:
    """Product sets over the flattened cells (C order) of a shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        self._free: dict[tuple[int, int], Integers] = {}

    def axes(self, codes: Mapping[int, Integers]) -> list[Integers]:
        """Offsets of the set along each axis; a cell is the sum of one of each."""
        axes, start = [], 0
        for column, members in codes.items():
            if column > start:
                axes.append(self._run(start, column))
            axes.append(members * self._strides[column])
            start = column + 1
        if start < len(self.shape):
            axes.append(self._run(start, len(self.shape)))
        return axes

    def _run(self, first: int, stop: int) -> Integers:
        """Offsets of the free columns first .. stop-1 together."""
        offsets = self._free.get((first, stop))
        if offsets is None:
            count = math.prod(self.shape[first:stop])
            offsets = np.arange(count, dtype=np.int64) * self._strides[stop - 1]
            self._free[first, stop] = offsets
        return offsets

    def sum(self, values: NDArray[Any], codes: Mapping[int, Integers]) -> Any:
        """The sum of the values over the set."""
        if not self.shape:
            return values.sum()
        axes = self.axes(codes)
        if math.prod(map(len, axes)) <= _SMALL:
            return values[_cells(axes)].sum()
        from winnow.ask.kernels.product_loops import product_sum

        return product_sum(values, *_packed(axes))

    def scale(
        self, values: NDArray[np.float64], codes: Mapping[int, Integers], factor: float
    ) -> None:
        """Multiply the values of the set."""
        axes = self.axes(codes)
        if math.prod(map(len, axes)) <= _SMALL:
            values[_cells(axes)] *= factor
            return
        from winnow.ask.kernels.product_loops import product_scale

        product_scale(values, *_packed(axes), factor)


class KeptTables:
    """Marginal tables by their columns, from a function that makes them; a bounded number."""

    def __init__(
        self, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], NDArray[Any]], most: int
    ) -> None:
        self._shape, self._make, self._most = shape, make, most
        self._tables: dict[tuple[int, ...], tuple[CellSets, NDArray[Any]]] = {}
        self._held = 0

    def clear(self) -> None:
        """Forget all: the values have changed."""
        self._tables.clear()
        self._held = 0

    def sum(self, codes: Mapping[int, Integers]) -> Any:
        """The sum over a product set, from the table of its columns; None if that is too large."""
        columns = tuple(codes)
        entry = self._tables.get(columns)
        if entry is None:
            shape = tuple(self._shape[column] for column in columns)
            size = math.prod(shape)
            if size > self._most:
                return None
            if self._held + size > self._most:
                self.clear()
            entry = (CellSets(shape), self._make(columns))
            self._tables[columns] = entry
            self._held += size
        sets, table = entry
        return sets.sum(table, dict(enumerate(codes.values())))


def _cells(axes: list[Integers]) -> Integers:
    cells = axes[0]
    for axis in axes[1:]:
        cells = (cells[:, None] + axis).ravel()
    return cells


def _packed(axes: list[Integers]) -> tuple[Integers, Integers]:
    starts = np.empty(len(axes) + 1, np.int64)
    place = 0
    for i, axis in enumerate(axes):
        starts[i] = place
        place += len(axis)
    starts[-1] = place
    return np.concatenate(axes), starts
