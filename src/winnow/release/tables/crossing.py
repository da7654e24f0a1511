"""The only part of tabulation that sees private rows: whole sums, and noise on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.core.key import Key
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.sealed import PublicFact
from winnow.core.workloads.part import marginal_counts
from winnow.errors import DataError
from winnow.read.crossing import Codes, SealedTable, number_of_rows, rows_for
from winnow.release.tables.column_matrix import Basis
from winnow.release.tables.measured import NoisyForm, SummedColumn

Integers = NDArray[np.int64]
Columns = tuple[int, ...]

MOST_ROWS = 1 << 34
"""Tables of more rows are refused, so that no whole number on the way leaves 64 bits."""


def check_rows(table: SealedTable) -> None:
    """Refuse a table whose sums might leave 64 bits, before anything is charged."""

    def check(rows: int) -> None:
        if rows >= MOST_ROWS:
            raise DataError("the table has 2^34 rows or more; tabulate parts of it")

    number_of_rows(table).publish(PublicFact.REFUSED_DATA, check)


def noisy_tables(
    table: SealedTable,
    trees: Mapping[int, Basis],
    measured: Sequence[NoisyForm],
    values: Sequence[SummedColumn],
    law: str,
    key: Key,
) -> tuple[Integers, ...]:
    """Every table with its noise."""
    rows = _Sums(table, key, trees, measured, values)
    draw = discrete_gaussian_array if law == "gaussian" else discrete_laplace_array
    noisy = []
    for number, each in enumerate(measured):
        true = rows.of(each)
        noise = draw(key.tape.child(f"table-{number}"), true.size, each.noise)
        noisy.append(true + noise.reshape(true.shape))
    return tuple(noisy)


class _Sums:
    """True sums over sets of columns; private. Small tables are added up from larger ones."""

    def __init__(
        self,
        table: SealedTable,
        key: Key,
        trees: Mapping[int, Basis],
        measured: Sequence[NoisyForm],
        values: Sequence[SummedColumn],
    ) -> None:
        self._trees, self._values = trees, values
        self._shape = table.schema.shape
        sets = {(each.values, each.table.columns) for each in measured}
        self._rows = key.open(rows_for(table, [self._looked_at(*each) for each in sets]))
        self._known: dict[tuple[int | None, Columns], Integers] = {}
        self._holding: dict[tuple[int | None, int], set[Columns]] = {}
        for which, columns in sorted(sets, key=lambda key: -len(key[1])):
            self._known[which, columns] = self._table(which, columns)
            for column in columns:
                self._holding.setdefault((which, column), set()).add(columns)

    def of(self, each: NoisyForm) -> Integers:
        """The whole numbers that get noise."""
        table = self._known[each.values, each.table.columns]
        trees = self._trees
        for axis, (column, level) in enumerate(each.table.place):
            table = trees[column].sums(table, axis, level)
            if each.table.residual:
                table = trees[column].residuals(table, axis, level)
        return table

    def _table(self, values: int | None, columns: Columns) -> Integers:
        holding = [self._holding.get((values, column), set()) for column in columns]
        larger = set.intersection(*holding) if holding else self._of(values)
        if larger:
            best = min(larger, key=lambda known: (self._known[values, known].size, known))
            rest = tuple(axis for axis, column in enumerate(best) if column not in columns)
            return np.asarray(self._known[values, best].sum(axis=rest))
        codes, weights = self._rows.of(self._looked_at(values, columns))
        if values is None:
            return self._counted(codes, weights, columns)
        values_there = self._values[values]
        # Whole numbers from 0 to 2 reach, so that sums of floats on the way stay exact.
        raised = (
            np.array(values_there.weights, np.int64)[codes[values_there.column]]
            + values_there.reach
        )
        lowered = values_there.reach * self._counted(codes, weights, columns)
        return self._counted(codes, raised * weights, columns) - lowered

    def _looked_at(self, values: int | None, columns: Columns) -> Columns:
        """The columns of a table, and the one whose values it sums."""
        return columns if values is None else (*columns, self._values[values].column)

    def _of(self, values: int | None) -> set[Columns]:
        return {columns for value, columns in self._known if value == values}

    def _counted(self, codes: Sequence[Codes], weights: Integers, columns: Columns) -> Integers:
        shape = tuple(self._shape[column] for column in columns)
        return marginal_counts(codes, weights, self._shape, columns).reshape(shape)
