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


TableForm: TypeAlias = WholeTable | CodeRanges | ProductSets
"""Product sets of codes: read off marginal tables."""
DenseForm: TypeAlias = BitMatrix | GridMatrix
"""Written out over the cells of the whole domain."""
Form: TypeAlias = TableForm | DenseForm
