"""Columns of bounded numbers that are summed: whole weights for every code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from winnow.core.checks import exact
from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.release.tables.measured import SummedColumn
from winnow.release.tables.spread import BinSpread

_FINEST = 1 << 16
"""Values that are no whole multiples of a unit are rounded to this part of half their range."""


@dataclass(frozen=True)
class ValueColumn:
    """A column whose codes stand for public numbers: middle + unit x weight."""

    name: str
    values: SummedColumn
    middle: Fraction
    unit: Fraction
    spread: BinSpread | None = None
    """Of bins, whose rows count as their middles; None: values are what they are."""

    @property
    def note(self) -> str:
        """What a reader of sums and means has to know; empty: nothing."""
        if self.spread is None:
            return ""
        return (
            f"{self.name} is declared in bins: every row counts as the middle of its bin. "
            "Intervals of sums and means reach further for that, standard errors do not. Declare "
            'its numbers ("type": "number") for sums of values.'
        )


def value_columns(schema: Schema, names: Sequence[str]) -> tuple[ValueColumn, ...]:
    """The columns of these names, or an error for one that is not made of numbers."""
    return tuple(_column(schema, place) for place in (schema.positions(names) if names else ()))


def _column(schema: Schema, place: int) -> ValueColumn:
    column = schema.columns[place]
    nothing = column.other or column.missing_code is not None
    if nothing or column.content != "number":
        raise ParameterError(
            f"the column {column.name!r} contains values that are not numbers, such as texts, "
            "missing or other values, so tables do not sum it; take wn.moments(by=) for means of "
            'the rows that have a number, or declare it by edges (with "clip": true for values '
            "beyond them), codes or numbers"
        )
    spread = None
    if column.kind == "codes":
        numbers = [Fraction(code) for code in range(column.codes)]
    elif column.grid is not None:
        if column.codes > 2 * _FINEST:
            raise ParameterError(
                f"the column {column.name!r} has {column.codes:,} numbers, and sums are made of at "
                f"most {2 * _FINEST:,}; declare a larger step, or edges"
            )
        numbers = [column.grid.low + column.grid.step * code for code in range(column.codes)]
    elif column.kind == "bins":  # a bin stands for its middle
        edges = [exact("edge", edge) for edge in column.edges]
        numbers = [(low + high) / 2 for low, high in pairwise(edges)]
        spread = BinSpread(tuple(map(float, edges)))
    else:
        numbers = [exact("value", value) for value in column.values]
    middle = (max(numbers) + min(numbers)) / 2
    half = max(numbers) - middle
    if not half:
        raise ParameterError(
            f"the column {column.name!r} has one value only; there is nothing to sum"
        )
    unit = _common([abs(number - middle) for number in numbers if number != middle])
    if half / unit > _FINEST:
        unit = half / _FINEST
    weights = tuple(round((number - middle) / unit) for number in numbers)
    return ValueColumn(column.name, SummedColumn(place, weights), middle, unit, spread)


def _common(numbers: Sequence[Fraction]) -> Fraction:
    """The largest number of which all are whole multiples."""
    below = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * below) for number in numbers)), below)
