"""Products of makers: each range of one column within each cell of a table of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from winnow.core.schema import Schema
from winnow.core.workloads.forms import CodeRanges, RangeTable, WholeTable, each_code
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.range_table import RangeTablePart
from winnow.core.workloads.tables import Marginals
from winnow.core.workloads.workload import Maker, Union
from winnow.errors import ParameterError


@dataclass(frozen=True)
class Product(Maker):
    """Every query of one maker together with every query of the others."""

    makers: tuple[Maker, ...]

    advice = "take some of the ranges with count=, or smaller tables"

    def size(self, schema: Schema) -> int:
        """The product of the sizes."""
        return math.prod(maker.size(schema) for maker in self.makers)

    def own_memory(self, schema: Schema) -> int:
        """The bounds of the ranges, of cells too where they stand beside ranges."""
        each = (_bounds(maker, schema) for maker in self.makers)
        whole = (chosen for chosen in product(*each) if any(ranged for _, ranged in chosen))
        return sum(_BYTES * bounds for chosen in whole for bounds, _ in chosen)

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """One part for each choice of a part of every maker."""
        each = (maker.parts(schema) for maker in self.makers)
        return tuple(_multiplied(schema, chosen) for chosen in product(*each))


_BYTES = 16
"""Of a range: where it starts and where it stops."""


def _bounds(maker: Maker, schema: Schema) -> list[tuple[int, bool]]:
    """For each part of a maker how many ranges its axes have, and whether they are no cells."""
    match maker:
        case Marginals():
            shape = schema.shape
            return [(sum(shape[c] for c in columns), False) for columns in maker.sets(schema)]
        case Product(makers):
            each = product(*(_bounds(factor, schema) for factor in makers))
            return [(sum(n for n, _ in chosen), any(r for _, r in chosen)) for chosen in each]
        case Union(makers):
            return [bounds for one in makers for bounds in _bounds(one, schema)]
        case _:  # others than ranges are refused when the parts are built
            return [(maker.own_memory(schema) // _BYTES, True)]


def _multiplied(schema: Schema, parts: Sequence[Part]) -> Part:
    axes = tuple(axis for part in parts for axis in _axes(schema, part))
    columns = [axis.column for axis in axes]
    twice = next((column for column in columns if columns.count(column) > 1), None)
    if twice is not None:
        raise ParameterError(
            f"the column {schema.names[twice]!r} is in two factors of a product; multiply tables "
            "and ranges of different columns"
        )
    if all(isinstance(part.form, WholeTable) for part in parts):
        return MarginalPart(schema, tuple(columns))
    return RangeTablePart(schema, RangeTable(axes))


def _axes(schema: Schema, part: Part) -> tuple[CodeRanges, ...]:
    match part.form:
        case WholeTable(columns):
            return tuple(each_code(column, schema.shape[column]) for column in columns)
        case CodeRanges() as ranges:
            return (ranges,)
        case RangeTable(axes):
            return axes
        case _:
            raise ParameterError(
                "only marginals, prefixes and ranges can be multiplied; write other conditions "
                "with wn.where"
            )
