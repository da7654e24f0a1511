"""The forms that queries come in: what a part tells to whoever computes with it.

A part describes itself by one of these records. Kernels, reductions and questions act on the
record and never ask which part it came from, so a new part that fits one of the forms needs no
change anywhere else. Whoever handles forms handles all of them (`assert_never`): a new form
makes mypy name every place that does not know it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class WholeTable:
    """One query for each cell of a marginal table, the last column fastest."""

    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CodeRanges:
    """Query j holds the codes starts[j] <= code < stops[j] of one column."""

    column: int
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    def sums(self, table: NDArray[Any]) -> NDArray[Any]:
        """The sum of the column's table over each range, by differences of cumulative sums."""
        table = table.reshape(-1)
        sums = np.concatenate([np.zeros(1, table.dtype), np.cumsum(table)])
        return np.asarray(sums[self.stops] - sums[self.starts])


@dataclass(frozen=True, eq=False)
class RangeTable:
    """One query for each choice of a range of codes in every column, the last column fastest.

    A column whose cells are asked for has the ranges of one code each.
    """

    axes: tuple[CodeRanges, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the table, one for each axis."""
        return tuple(axis.column for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranges each column has."""
        return tuple(len(axis.starts) for axis in self.axes)

    def sums(self, table: NDArray[Any]) -> NDArray[Any]:
        """The sums of a table of the columns over all choices of ranges."""
        for place, axis in enumerate(self.axes):
            turned = np.moveaxis(table, place, 0)
            sums = np.zeros((len(turned) + 1, *turned.shape[1:]), table.dtype)
            np.cumsum(turned, axis=0, out=sums[1:])
            table = np.moveaxis(sums[axis.stops] - sums[axis.starts], 0, place)
        return np.ascontiguousarray(table)

    def ranges(self, query: int) -> dict[int, tuple[int, int]]:
        """For each column the range of a query, by its number."""
        places = np.unravel_index(query, self.shape)
        pairs = zip(self.axes, places, strict=True)
        return {a.column: (int(a.starts[i]), int(a.stops[i])) for a, i in pairs}


def each_code(column: int, codes: int) -> CodeRanges:
    """The cells of a column as ranges of one code each."""
    starts = np.arange(codes)
    return CodeRanges(column, starts, starts + 1)


@dataclass(frozen=True, eq=False)
class ProductSets:
    """Query j holds a cell when masks[j][column][code] is true for each of its columns.

    The columns of a query ascend; columns that it does not name are free.
    """

    masks: tuple[Mapping[int, Mask], ...]


@dataclass(frozen=True, eq=False)
class BitMatrix:
    """Query j holds cell x when bit x % 64 of the word bits[j, x // 64] is set."""

    bits: Words


@dataclass(frozen=True, eq=False)
class GridMatrix:
    """Query j has values[j, x] grid units on cell x."""

    values: NDArray[Any]


TableForm: TypeAlias = WholeTable | CodeRanges | RangeTable | ProductSets
"""Product sets of codes: read off marginal tables."""
DenseForm: TypeAlias = BitMatrix | GridMatrix
"""Written out over the cells of the whole domain."""
Form: TypeAlias = TableForm | DenseForm
