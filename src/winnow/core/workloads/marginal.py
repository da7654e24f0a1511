"""All cells of one marginal table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from winnow.core.schema import Schema
from winnow.core.workloads.forms import WholeTable
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


@dataclass(frozen=True)
class MarginalPart(Part):
    """One query for each cell of the table of some columns, the last column fastest."""

    schema: Schema
    columns: tuple[int, ...]
    """Positions of the columns in the schema."""

    grid = 1

    def __post_init__(self) -> None:
        columns = tuple(map(int, self.columns))
        if not columns or len(set(columns)) != len(columns):
            raise ParameterError(f"columns={columns} of a marginal are empty or repeated")
        if min(columns) < 0 or max(columns) >= len(self.schema.columns):
            raise ParameterError(f"columns={columns} are not positions in the schema")
        object.__setattr__(self, "columns", columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table."""
        return tuple(self.schema.shape[i] for i in self.columns)

    @cached_property
    def size(self) -> int:
        """The number of cells of the table."""
        return math.prod(self.shape)

    def answers(self, p: Floats) -> Floats:
        """The marginal table, flat."""
        flat = check_cells(p, self.schema)
        return np.ascontiguousarray(marginal_table(flat, self.schema.shape, self.columns)).ravel()

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """The table of counts, flat."""
        return marginal_counts(codes, weights, self.schema.shape, self.columns)

    def row(self, query: int) -> Floats:
        """1 on the cells whose codes are the query's, else 0."""
        codes = np.unravel_index(check_query(query, self.size), self.shape)
        inside = np.zeros(self.schema.shape, np.float64)
        place: list[slice | int] = [slice(None)] * len(self.schema.shape)
        for column, code in zip(self.columns, codes, strict=True):
            place[column] = int(code)
        inside[tuple(place)] = 1.0
        return inside.ravel()

    def label(self, query: int) -> str:
        """For example 'age=[40, 60), sex=Female'."""
        codes = np.unravel_index(check_query(query, self.size), self.shape)
        named = zip(self.columns, codes, strict=True)
        columns = self.schema.columns
        return ", ".join(f"{columns[i].name}={columns[i].labels[int(code)]}" for i, code in named)

    def memory(self) -> int:
        """A marginal needs no table of its own."""
        return 0

    @cached_property
    def form(self) -> WholeTable:
        """A whole table."""
        return WholeTable(self.columns)

    @property
    def title(self) -> str:
        """The names of the columns."""
        return " × ".join(self.schema.names[column] for column in self.columns)

    def inside(
        self, columns: tuple[int, ...], own: Schema
    ) -> tuple[MarginalPart, MarginalPart] | None:
        """The whole table, where all its columns are at hand."""
        if not set(self.columns) <= set(columns):
            return None
        places = tuple(columns.index(column) for column in self.columns)
        return self, MarginalPart(own, places)
