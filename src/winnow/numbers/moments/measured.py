"""Which sums over the rows are measured for counts, sums, means and variances.

A value is low + step k, with a code k from 0 to K. On the scale of the column it is
z = (2k - K)/K, which lies between -1 and 1. What is measured are sums of whole polynomials of k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Literal

from winnow.core.number_grid import NumberGrid

STATISTICS = ("count", "sum", "mean", "variance", "deviation")
SQUARED = frozenset({"variance", "deviation"})
Kind = Literal["rows", "present", "first", "second", "total"]

PARTS = 1 << 24
"""A noisy sum is a whole number of such parts of what one row adds at most. [proof: mechanism]"""


@dataclass(frozen=True)
class ValuedColumn:
    """A column whose values are summed; all of it is public."""

    name: str
    place: int
    """Of the column in its schema."""
    grid: NumberGrid
    optional: bool
    """Whether a row may have no value in it: one that is missing, or another."""
    clip: bool = False
    start: int = 0
    """The declared code of the first number, where its grid is a part of the declared one."""
    declared: int | None = None
    """The largest declared code, then; values beyond the part count as its ends."""

    @property
    def top(self) -> int:
        """K, the largest code."""
        return self.grid.size - 1

    def within(self, first: int, last: int) -> ValuedColumn:
        """The column within private bounds, given by its codes."""
        grid = self.grid
        low, high = (grid.low + grid.step * code for code in (first, last))
        part = replace(grid, low=low, high=high)
        return replace(self, grid=part, start=first, declared=self.top)

    @property
    def middle(self) -> Fraction:
        """The value at z = 0."""
        return (self.grid.low + self.grid.high) / 2

    @property
    def half(self) -> Fraction:
        """The value at z = 1, less that at z = 0."""
        return (self.grid.high - self.grid.low) / 2


@dataclass(frozen=True)
class MeasuredSum:
    """The sum of a + b k + c k^2 over the rows that have a value."""

    kind: Kind
    column: ValuedColumn | None
    """None: it counts all rows."""
    factors: tuple[int, int, int]
    low: int
    high: int
    """What one row that has a value adds lies between these."""
    times: int = 1
    """It is measured so many times as finely as the others."""

    @property
    def reach(self) -> int:
        """By how much a row more or less moves it at most."""
        return max(abs(self.low), abs(self.high))

    @property
    def optional(self) -> bool:
        """Whether a row may be left out of it."""
        return self.column is not None and self.column.optional


def all_rows() -> MeasuredSum:
    """The number of rows."""
    return MeasuredSum("rows", None, (1, 0, 0), 1, 1)


def rows_with(column: ValuedColumn) -> MeasuredSum:
    """The number of rows with a value."""
    return MeasuredSum("present", column, (1, 0, 0), 1, 1)


def first(column: ValuedColumn) -> MeasuredSum:
    """K z = 2k - K."""
    return MeasuredSum("first", column, (-column.top, 2, 0), -column.top, column.top)


def second(column: ValuedColumn) -> MeasuredSum:
    """K^2 (2 z^2 - 1) = 8k^2 - 8Kk + K^2: it lies between -K^2 and K^2, as z^2 between 0 and 1."""
    top = column.top
    return MeasuredSum("second", column, (top * top, -8 * top, 8), -top * top, top * top)


OF_KIND: Mapping[str, Callable[[ValuedColumn], MeasuredSum]] = {
    "present": rows_with, "first": first, "second": second,
}  # fmt: skip


def total(column: ValuedColumn) -> MeasuredSum:
    """The value itself, in whole parts of low and step: for a sum that nothing is divided by."""
    grid = column.grid
    unit = unit_of(grid)
    start, step = int(grid.low / unit), int(grid.step / unit)
    return MeasuredSum("total", column, (start, step, 0), start, start + step * column.top)


def unit_of(grid: NumberGrid) -> Fraction:
    """The largest number of which low and step are whole multiples."""
    below = grid.low.denominator * grid.step.denominator
    return Fraction(gcd(int(grid.low * below), int(grid.step * below)), below)


def measured_for(
    columns: Sequence[ValuedColumn],
    statistics: Sequence[str],
    *,
    rows_are_public: bool,
    bounded: bool = False,
) -> tuple[MeasuredSum, ...]:
    """The fewest sums from which all statistics follow.

    The number of rows is measured once for all columns that have a value in every row, and not at
    all where it is public. Sums alone need no number of rows: their values are measured as they
    are, but for those within private bounds, which might lie far from zero.
    """
    asked, sums = set(statistics), []
    alone = asked == {"sum"} and not bounded
    if not alone and not rows_are_public and any(not each.optional for each in columns):
        sums.append(all_rows())
    for column in columns:
        if not alone and column.optional:
            sums.append(rows_with(column))
        if alone and (column.optional or not rows_are_public):
            sums.append(total(column))
        elif asked - {"count"}:
            sums.append(first(column))
        if asked & SQUARED:
            sums.append(second(column))
    return tuple(sums)
