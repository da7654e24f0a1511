"""Ranges of the codes of one column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.core.workloads.forms import CodeRanges
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
class IntervalPart(Part):
    """Query j holds the codes starts[j] <= code < stops[j] of one column."""

    schema: Schema
    column: int
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    grid = 1

    def __post_init__(self) -> None:
        starts = np.array(self.starts, np.int64)
        stops = np.array(self.stops, np.int64)
        if not 0 <= self.column < len(self.schema.columns):
            raise ParameterError(f"column={self.column} is not a position in the schema")
        if starts.ndim != 1 or starts.shape != stops.shape or not starts.size:
            raise ParameterError("give as many starts as stops, at least one")
        codes = self.schema.shape[self.column]
        if not (starts.min() >= 0 and (starts < stops).all() and stops.max() <= codes):
            raise ParameterError(f"ranges are empty or leave the codes 0 to {codes - 1}")
        starts.flags.writeable = stops.flags.writeable = False
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "stops", stops)

    @property
    def size(self) -> int:
        """How many ranges there are."""
        return self.starts.size

    def answers(self, p: Floats) -> Floats:
        """Differences of cumulative sums of the column's own table."""
        table = marginal_table(check_cells(p, self.schema), self.schema.shape, (self.column,))
        return np.asarray(np.maximum(self.form.sums(table), 0.0))

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """Answers in whole numbers."""
        table = marginal_counts(codes, weights, self.schema.shape, (self.column,))
        return self.form.sums(table)

    def row(self, query: int) -> Floats:
        """1 on the cells inside the range, else 0."""
        i = check_query(query, self.size)
        inside = np.zeros(self.schema.shape, np.float64)
        place = [slice(None)] * len(self.schema.shape)
        place[self.column] = slice(int(self.starts[i]), int(self.stops[i]))
        inside[tuple(place)] = 1.0
        return inside.ravel()

    def label(self, query: int) -> str:
        """For example '40 <= age < 60', or 'rank in 3 to 9' for codes."""
        i = check_query(query, self.size)
        return interval_label(self.schema, self.column, int(self.starts[i]), int(self.stops[i]))

    def memory(self) -> int:
        """The bytes of the two bounds."""
        return self.starts.nbytes + self.stops.nbytes

    @cached_property
    def form(self) -> CodeRanges:
        """Ranges of codes."""
        return CodeRanges(self.column, self.starts, self.stops)

    @property
    def title(self) -> str:
        """The name of the column."""
        return f"ranges of {self.schema.names[self.column]}"

    def inside(
        self, columns: tuple[int, ...], own: Schema
    ) -> tuple[IntervalPart, IntervalPart] | None:
        """All ranges, where their column is at hand."""
        if self.column not in columns:
            return None
        return self, IntervalPart(own, columns.index(self.column), self.starts, self.stops)


def interval_label(schema: Schema, position: int, start: int, stop: int) -> str:
    """A range of codes in words."""
    column = schema.columns[position]
    if stop - start == 1:
        return f"{column.name}={column.labels[start]}"
    if column.kind == "bins" and stop <= column.codes:
        first, last = column.labels[start], column.labels[stop - 1]
        return f"{column.name} in {first.split(', ')[0]}, {last.split(', ')[1]}"
    return f"{column.name} in {column.labels[start]} to {column.labels[stop - 1]}"
