"""A workload: public queries over one schema, numbered through its parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.schema import Schema
from winnow.domain.workloads.marginal import MarginalPart
from winnow.domain.workloads.part import (
    Codes,
    Counts,
    Floats,
    Part,
    cell_counts,
    check_cells,
    check_query,
)
from winnow.domain.workloads.sharing import marginal_tables
from winnow.errors import InputError

_DENSE = 1 << 22  # domains up to so many cells are counted once, whole
PER_QUERY = 24
"""Bytes that a release keeps for each query beside the parts: count, answer, key."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries 0 .. size-1, running through the parts in order. ``+`` is union."""

    schema: Schema
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise InputError("a workload needs at least one part")
        if any(part.schema != self.schema for part in self.parts):
            raise InputError("a part of the workload speaks about another schema")

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Part j has the queries offsets[j] .. offsets[j+1]-1."""
        return np.cumsum([0, *(part.size for part in self.parts)], dtype=np.int64)

    @property
    def size(self) -> int:
        """How many queries there are."""
        return int(self.offsets[-1])

    def locate(self, query: int) -> tuple[int, int]:
        """The part of a query, and its number inside the part."""
        query = check_query(query, self.size)
        part = int(np.searchsorted(self.offsets, query, side="right")) - 1
        return part, query - int(self.offsets[part])

    def label(self, query: int) -> str:
        """The query in words; public."""
        part, inside = self.locate(query)
        return self.parts[part].label(inside)

    def row(self, query: int) -> Floats:
        """The query's value on every cell; for small domains."""
        part, inside = self.locate(query)
        return self.parts[part].row(inside)

    @cached_property
    def grids(self) -> NDArray[np.int64]:
        """The grid of each query's part: the unit of its count."""
        each = [np.full(part.size, part.grid, np.int64) for part in self.parts]
        return np.concatenate(each)

    def answers(self, p: Floats) -> Floats:
        """The answers of all queries under a distribution over the cells."""
        flat = check_cells(p, self.schema)
        tables = marginal_tables(flat.reshape(self.schema.shape), self._marginals)
        return np.concatenate(
            [
                tables[part.columns].reshape(-1)
                if isinstance(part, MarginalPart)
                else part.answers(flat)
                for part in self.parts
            ]
        )

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """The exact answers on weighted rows, in the grid units of each part."""
        tables: dict[tuple[int, ...], NDArray[Any]] = {}
        if self.schema.cells <= _DENSE and len(self._marginals) > 1:
            histogram = cell_counts(codes, weights, self.schema)
            tables = marginal_tables(histogram.reshape(self.schema.shape), self._marginals)
        return np.concatenate(
            [
                tables[part.columns].reshape(-1)
                if isinstance(part, MarginalPart) and part.columns in tables
                else part.counts(codes, weights)
                for part in self.parts
            ]
        )

    @cached_property
    def _marginals(self) -> list[tuple[int, ...]]:
        return [part.columns for part in self.parts if isinstance(part, MarginalPart)]

    def memory(self) -> int:
        """About how many bytes a release needs for the queries, without the domain's own."""
        return sum(part.memory() for part in self.parts) + PER_QUERY * self.size

    def __add__(self, other: object) -> Workload:
        if not isinstance(other, Workload):
            return NotImplemented
        if other.schema != self.schema:
            raise InputError("workloads over different schemas have no union; bind both to one")
        return Workload(self.schema, self.parts + other.parts)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<workload of {self.size:,} queries in {len(self.parts)} parts over {self.schema}>"
