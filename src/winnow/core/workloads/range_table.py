"""Products of ranges and tables: the prefixes of one column within each cell of others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from winnow.core.schema import Schema
from winnow.core.workloads.forms import CodeRanges, RangeTable
from winnow.core.workloads.interval import interval_label
from winnow.core.workloads.part import (
    Codes,
    Counts,
    Floats,
    Part,
    check_cells,
    check_query,
    marginal_counts,
    marginal_table,
)
from winnow.errors import ParameterError


@dataclass(frozen=True, eq=False)
class RangeTablePart(Part):
    """One query for each choice of a range of codes in every column, the last column fastest."""

    schema: Schema
    table: RangeTable

    grid = 1

    def __post_init__(self) -> None:
        columns = self.form.columns
        if len(set(columns)) != len(columns) or len(columns) < 2:
            raise ParameterError(
                "a product has ranges and tables of two columns or more, each once"
            )
        if min(columns) < 0 or max(columns) >= len(self.schema.columns):
            raise ParameterError(f"columns={columns} are not positions in the schema")
        for axis in self.form.axes:
            codes = self.schema.shape[axis.column]
            if not (axis.starts.size and axis.starts.shape == axis.stops.shape):
                raise ParameterError("give as many starts as stops, at least one")
            if axis.starts.min() < 0 or axis.stops.max() > codes:
                raise ParameterError(f"ranges leave the codes 0 to {codes - 1}")
            if not (axis.starts < axis.stops).all():
                raise ParameterError("a range is empty; give starts below stops")

    @cached_property
    def size(self) -> int:
        """The number of choices."""
        return math.prod(self.form.shape)

    def answers(self, p: Floats) -> Floats:
        """Differences of cumulative sums of the table of the columns."""
        flat = check_cells(p, self.schema)
        table = marginal_table(flat, self.schema.shape, self.form.columns)
        return np.asarray(np.maximum(self.form.sums(table).ravel(), 0.0))

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """Sums of the table of counts, in whole numbers."""
        columns, shape = self.form.columns, self.schema.shape
        table = marginal_counts(codes, weights, shape, columns)
        return self.form.sums(table.reshape([shape[c] for c in columns])).ravel()

    def row(self, query: int) -> Floats:
        """1 on the cells inside all ranges of the query, else 0."""
        inside = np.zeros(self.schema.shape, np.float64)
        place = [slice(None)] * len(self.schema.shape)
        for column, (start, stop) in self.form.ranges(check_query(query, self.size)).items():
            place[column] = slice(start, stop)
        inside[tuple(place)] = 1.0
        return inside.ravel()

    def label(self, query: int) -> str:
        """For example '40 <= age < 60, sex=Female'."""
        ranges = self.form.ranges(check_query(query, self.size))
        return ", ".join(interval_label(self.schema, c, a, b) for c, (a, b) in ranges.items())

    def memory(self) -> int:
        """The bytes of the bounds."""
        return sum(axis.starts.nbytes + axis.stops.nbytes for axis in self.form.axes)

    @property
    def form(self) -> RangeTable:
        """Products of ranges."""
        return self.table

    @property
    def title(self) -> str:
        """The names of the columns, and of which there are ranges."""
        return " × ".join(axis_title(self.schema, axis) for axis in self.form.axes)

    def inside(
        self, columns: tuple[int, ...], own: Schema
    ) -> tuple[RangeTablePart, RangeTablePart] | None:
        """The whole product, where all its columns are at hand."""
        if not set(self.form.columns) <= set(columns):
            return None
        axes = (CodeRanges(columns.index(a.column), a.starts, a.stops) for a in self.form.axes)
        return self, RangeTablePart(own, RangeTable(tuple(axes)))


def axis_title(schema: Schema, axis: CodeRanges) -> str:
    """A column, with what is asked of it: 'sex', 'prefixes of age'."""
    name = schema.names[axis.column]
    if is_each_code(axis, schema.shape[axis.column]):
        return name
    return f"{'ranges' if axis.starts.any() else 'prefixes'} of {name}"


def axis_labels(schema: Schema, axis: CodeRanges) -> tuple[Any, ...]:
    """The ranges of a column in words; of its cells their labels."""
    labels = schema.columns[axis.column].labels
    if is_each_code(axis, len(labels)):
        return tuple(labels)
    pairs = zip(axis.starts.tolist(), axis.stops.tolist(), strict=True)
    return tuple(interval_label(schema, axis.column, a, b) for a, b in pairs)


def is_each_code(axis: CodeRanges, codes: int) -> bool:
    """Whether the ranges are the cells of the column, in order."""
    cells = np.arange(codes)
    return bool(np.array_equal(axis.starts, cells) and np.array_equal(axis.stops, cells + 1))
