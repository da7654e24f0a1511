"""The only part of moments that sees private rows: exact sums of every group, and noise on them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.box_noise import box_noise
from winnow.core.key import Key
from winnow.core.noise import discrete_gaussian_array
from winnow.core.sealed import PublicFact
from winnow.core.workloads.part import bin_counts
from winnow.errors import DataError
from winnow.numbers.moments.measured import MeasuredSum
from winnow.read.crossing import Codes, RowsFor, SealedTable, number_of_rows, rows_for

Integers = NDArray[np.int64]
Whole = NDArray[Any]
"""Python's own integers: the sum of the squares of a few rows may leave 64 bits."""

MOST_ROWS = 1 << 30
"""Then every sum of half codes and of their products stays in 64 bits on the way."""
_HALF = 16
"""Codes have 32 bits; products of their halves are summed by themselves."""


def check_rows(table: SealedTable) -> None:
    """Refuse a table whose sums might leave 64 bits, before anything is charged."""

    def check(rows: int) -> None:
        if rows >= MOST_ROWS:
            raise DataError("the table has 2^30 rows or more; take moments of parts of it")

    number_of_rows(table).publish(PublicFact.REFUSED_DATA, check)


def noisy_sums(
    table: SealedTable,
    by: tuple[int, ...],
    groups: int,
    measured: Sequence[MeasuredSum],
    law: str,
    noise: Sequence[Fraction],
    parts: int,
    key: Key,
) -> Integers:
    """A row for each group, a column for each sum: in parts, with noise."""
    sets = {(*by, *(() if each.column is None else (each.column.place,))) for each in measured}
    rows = key.open(rows_for(table, sets))
    powers = _Powers(rows, by, table.schema.shape, groups)
    sums = np.zeros((groups, len(measured)), np.int64)
    for number, each in enumerate(measured):
        sums[:, number] = in_parts(powers.total(each), each, parts)
    if law == "box":
        return sums + box_noise(key.tape.child("box"), groups, len(measured), noise[0])
    for number, variance in enumerate(noise):
        own = key.tape.child(f"sum-{number}")
        sums[:, number] += discrete_gaussian_array(own, groups, variance)
    return sums


def in_parts(sums: Whole, each: MeasuredSum, parts: int) -> Integers:
    """Whole parts, rounded down: a row moves them by at most ``parts`` times ``times``."""
    return np.asarray(sums * (parts * each.times) // each.reach, np.int64)


class _Powers:
    """The sums of 1, k and k^2 over the rows of each group; private, and exact."""

    def __init__(
        self, rows: RowsFor, by: tuple[int, ...], shape: tuple[int, ...], groups: int
    ) -> None:
        self._rows, self._by, self._shape, self._groups = rows, by, shape, groups
        self._known: dict[tuple[int | None, int], Whole] = {}

    def total(self, each: MeasuredSum) -> Whole:
        """The sum of a + b k + c k^2 in every group."""
        total: Whole = np.zeros(self._groups, object)
        for power, factor in enumerate(each.factors):
            if factor:
                total = total + factor * self._power(each, power)
        return total

    def _power(self, each: MeasuredSum, power: int) -> Whole:
        place = None if each.column is None else each.column.place
        if (place, power) not in self._known:
            self._known[place, power] = self._summed(each, power)
        return self._known[place, power]

    def _summed(self, each: MeasuredSum, power: int) -> Whole:
        place = () if each.column is None else (each.column.place,)
        codes, weights = self._rows.of((*self._by, *place))
        number = np.zeros(len(weights), np.int64)
        for column in self._by:
            number = number * self._shape[column] + codes[column]
        if each.column is None:
            return self._counted(number, weights)
        own: Codes = codes[each.column.place]
        of = each.column
        declared = of.top if of.declared is None else of.declared
        kept = own <= declared  # no missing values, and nothing beyond the grid
        k = np.clip(own[kept].astype(np.int64) - of.start, 0, of.top)
        number, weights = number[kept], weights[kept]
        if power == 0:
            return self._counted(number, weights)
        low = k & ((1 << _HALF) - 1)
        wide = of.top >> _HALF > 0
        if power == 1:
            total = self._counted(number, weights * low)
            if wide:
                total = total + (self._counted(number, weights * (k >> _HALF)) << _HALF)
            return total
        total = self._counted(number, weights * low * low)
        if wide:
            high = k >> _HALF
            total = total + (self._counted(number, weights * high * low) << _HALF + 1)
            total = total + (self._counted(number, weights * high * high) << 2 * _HALF)
        return total

    def _counted(self, number: Integers, weights: Integers) -> Whole:
        return bin_counts(number, weights, self._groups).astype(object)
