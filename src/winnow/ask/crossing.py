"""The true count of one question after another, on a table that stays sealed outside."""

from __future__ import annotations

from itertools import combinations
from operator import mul

import numpy as np
from numpy.typing import NDArray

from winnow.ask.kernels.product_sets import CellSets, KeptTables
from winnow.ask.questions import Question
from winnow.core.borders import Border
from winnow.core.key import Key
from winnow.core.workloads.part import cell_counts, marginal_counts, sum_of
from winnow.errors import ParameterError
from winnow.read.crossing import SealedTable, all_rows

_DENSE = 1 << 23  # domains up to so many cells are kept as one histogram
_LARGEST_GRID = 2**31 - 1
_TABLES = 1 << 22  # cells of all marginal tables kept together
WIDE_SUM = Border(
    2**63,
    "sums of a question",
    decides="how many rows there are, in grid units",
    ways="a product of 64-bit integers; of Python's integers, over the cells that are there",
    same="value",
    because="below 2^63 no product and no sum on the way leaves 64 bits",
)


class PrivateCounts:
    """A table laid out for counting: a histogram of all cells, or its distinct rows."""

    def __init__(self, table: SealedTable, key: Key) -> None:
        self._schema = table.schema
        self._codes, self._weights = key.open(all_rows(table))
        self._total = sum_of(self._weights)
        self._histogram: NDArray[np.int64] | None = None
        if table.schema.cells <= _DENSE:
            self._histogram = cell_counts(self._codes, self._weights, table.schema)
        self._sets = CellSets(table.schema.shape)
        self._tables = KeptTables(table.schema.shape, self._marginal, _TABLES)

    def _marginal(self, columns: tuple[int, ...]) -> NDArray[np.int64]:
        return marginal_counts(self._codes, self._weights, self._schema.shape, columns)

    def check(self, question: Question) -> None:
        """Refuse a question that cannot be counted exactly."""
        if question.schema is not self._schema and question.schema != self._schema:
            raise ParameterError("the question is over a different schema from that of the table")
        if question.codes is None and self._histogram is None:
            raise ParameterError(
                "a query given cell by cell needs a domain that fits memory; ask wn.where(...)"
            )
        if question.grid > _LARGEST_GRID:
            raise ParameterError(
                f"a grid of {question.grid} is too fine; use 2^31 - 1 steps at most"
            )

    def count(self, question: Question) -> int:
        """The exact count in grid units."""
        if question.codes is None:
            assert question.units is not None and self._histogram is not None
            if question.grid * self._total < WIDE_SUM.at:
                return int(question.units @ self._histogram)
            # Not a refusal, which would depend on how many rows there are.
            inside = np.flatnonzero(question.units * (self._histogram > 0))
            units, counts = question.units[inside].tolist(), self._histogram[inside].tolist()
            return sum(map(mul, units, counts))
        counted = self._tables.sum(question.codes)
        if counted is not None:
            return int(counted)
        if self._histogram is not None:
            return int(self._sets.sum(self._histogram, question.codes))
        met = np.ones(len(self._weights), np.bool_)
        for column, codes in question.codes.items():
            mask = np.zeros(self._schema.shape[column], np.bool_)
            mask[codes] = True
            met &= mask[self._codes[column]]
        return sum_of(self._weights[met])

    def tables(self, ways: int) -> list[NDArray[np.int64]]:
        """The counts of all cells of all tables of so many columns, each table flat."""
        return [self._marginal(columns) for columns in column_sets(len(self._codes), ways)]


def column_sets(columns: int, ways: int) -> list[tuple[int, ...]]:
    """The columns of all tables of so many columns, in order."""
    return list(combinations(range(columns), ways))
