"""The column and the groups of a release of quantiles, from the public schema."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.column import Column
from winnow.core.number_grid import NumberGrid
from winnow.core.schema import Schema
from winnow.errors import ParameterError

MOST_DRAWN = 10**6
"""Quantiles in all, each drawn by itself: about ten minutes."""


@dataclass(frozen=True)
class AskedColumn:
    """Where the column and those of the groups stand in a schema."""

    schema: Schema
    place: int
    by: tuple[int, ...]
    grid: NumberGrid

    @property
    def groups(self) -> int:
        """How many groups there are: every cell of their columns is one."""
        return math.prod(self.schema.shape[place] for place in self.by)


def asked_column(
    schema: Schema, name: str, by: Sequence[str], *, dates: bool = False
) -> AskedColumn:
    """The column of numbers, or of dates and times; or an error that says how to declare it."""
    place = schema.position(name)
    groups = schema.positions(by) if by else ()
    if place in groups:
        raise ParameterError(f"by={list(by)} holds the column {name!r} itself; leave it out")
    grid = _grid(schema.columns[place])
    if grid.unit and not dates:
        raise ParameterError(
            f"the column {name!r} holds dates or times; take quantiles, means or deviations of it"
        )
    return AskedColumn(schema, place, groups, grid)


def _grid(column: Column) -> NumberGrid:
    if column.grid is not None:
        return column.grid
    if column.kind == "codes" and not column.hashed and column.codes > 1:
        return NumberGrid(Fraction(0), Fraction(column.codes - 1), Fraction(1))
    raise ParameterError(
        f"the column {column.name!r} is declared as {column.kind}, not as numbers; "
        'declare its numbers: {"type": "number", "low": 0, "high": 100, "step": 0.01}, with '
        '"clip": true for what is beyond'
    )
