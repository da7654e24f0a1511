"""Workloads before they meet a schema: what `wn.marginals(...)` and its like return.

A maker knows how much memory its queries need over a schema before it builds any of them,
and refuses, with advice, what does not fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import Schema
from winnow.core.workloads.part import (
    Codes,
    Counts,
    Floats,
    Part,
    cell_counts,
    check_cells,
    check_query,
    table_columns,
)
from winnow.errors import ParameterError
from winnow.foreign import shown

Columns = tuple[int, ...]
Table = NDArray[Any]


def marginal_tables(tensor: Table, wanted: Iterable[Columns]) -> dict[Columns, Table]:
    """The table of each set of columns, its axes in the order in which the set names them."""
    tables: dict[Columns, Table] = {}
    order = tuple(int(i) for i in np.argsort([-size for size in tensor.shape], kind="stable"))
    _split(tensor, tuple(range(tensor.ndim)), order, list(dict.fromkeys(wanted)), tables)
    return tables


def _split(
    table: Table,
    columns: Columns,
    undecided: Columns,
    wanted: list[Columns],
    tables: dict[Columns, Table],
) -> None:
    """Fill in the wanted tables from a table of `columns`; all of them lie inside it."""
    while undecided and len(wanted) > 1:
        column, undecided = undecided[0], undecided[1:]
        without = [each for each in wanted if column not in each]
        if without:
            axis = columns.index(column)
            rest = columns[:axis] + columns[axis + 1 :]
            _split(table.sum(axis=axis), rest, undecided, without, tables)
        wanted = [each for each in wanted if column in each]
    for each in wanted:
        dropped = tuple(axis for axis, column in enumerate(columns) if column not in each)
        kept = [column for column in columns if column in each]
        smaller = table.sum(axis=dropped) if dropped else table
        turned = np.transpose(smaller, [kept.index(column) for column in each])
        tables[each] = np.ascontiguousarray(turned)


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
            raise ParameterError("a workload needs at least one part")
        schema = self.schema
        if any(part.schema is not schema and part.schema != schema for part in self.parts):
            raise ParameterError("a part of the workload speaks about another schema")

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

    def matrix(self) -> NDArray[Any]:
        """All queries written out over the cells, bytes where all are binary; for small domains."""
        whole = np.uint8 if all(part.grid == 1 for part in self.parts) else np.float32
        matrix = np.empty((self.size, self.schema.cells), whole)
        for query in range(self.size):
            matrix[query] = self.row(query)
        return matrix

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
                part.answers(flat) if columns is None else tables[columns].reshape(-1)
                for part, columns in zip(self.parts, self._tables, strict=True)
            ]
        )

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """The exact answers on weighted rows, in the grid units of each part."""
        tables: dict[Columns, Table] = {}
        if self.schema.cells <= _DENSE and len(self._marginals) > 1:
            histogram = cell_counts(codes, weights, self.schema)
            tables = marginal_tables(histogram.reshape(self.schema.shape), self._marginals)
        return np.concatenate(
            [
                tables[columns].reshape(-1)
                if columns is not None and columns in tables
                else part.counts(codes, weights)
                for part, columns in zip(self.parts, self._tables, strict=True)
            ]
        )

    @cached_property
    def _tables(self) -> tuple[Columns | None, ...]:
        """For each part the columns of its table, where it is one whole marginal table."""
        return tuple(table_columns(part) for part in self.parts)

    @cached_property
    def _marginals(self) -> list[Columns]:
        return [columns for columns in self._tables if columns is not None]

    def memory(self) -> int:
        """About how many bytes a release needs for the queries, without the domain's own."""
        return sum(part.memory() for part in self.parts) + PER_QUERY * self.size

    def __add__(self, other: object) -> Workload:
        if not isinstance(other, Workload):
            return NotImplemented
        if other.schema != self.schema:
            raise ParameterError(
                "workloads over different schemas cannot be added; bind both to one"
            )
        return Workload(self.schema, self.parts + other.parts)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<workload of {self.size:,} queries in {len(self.parts)} parts over {self.schema}>"


DEFAULT_MEMORY = "4GB"


class Maker(ABC):
    """Queries not yet bound to a schema. ``.over(schema)`` binds them; ``+`` is union.

    ``*`` asks every query of one together with every query of the other: prefixes of a column
    within each cell of a table.
    """

    advice = "use fewer queries"
    """How to make the workload smaller."""

    @abstractmethod
    def size(self, schema: Schema) -> int:
        """How many queries there would be."""

    @abstractmethod
    def own_memory(self, schema: Schema) -> int:
        """How many bytes the queries themselves would hold."""

    @abstractmethod
    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """The queries, built."""

    def memory(self, schema: Schema | Mapping[str, Any] | str | Path) -> int:
        """About how many bytes the workload would need, found without building it."""
        bound = Schema.parse(schema)
        return self.own_memory(bound) + PER_QUERY * self.size(bound)

    def over(
        self,
        schema: Schema | Mapping[str, Any] | str | Path,
        *,
        memory: str | int = DEFAULT_MEMORY,
    ) -> Workload:
        """The workload over a schema, or a refusal when it needs more than ``memory``."""
        bound, limit = Schema.parse(schema), parse_memory(memory)
        needed = self.memory(bound)
        if needed > limit:
            raise ParameterError(
                f"these {self.size(bound):,} queries over {bound} need about "
                f"{memory_text(needed)}, more than memory={shown(memory)}; {self.advice}, or allow "
                "more"
            )
        return Workload(bound, self.parts(bound))

    def __add__(self, other: object) -> Union:
        if not isinstance(other, Maker):
            return NotImplemented
        return Union((*_members(self), *_members(other)))

    def __mul__(self, other: object) -> Maker:
        if not isinstance(other, Maker):
            return NotImplemented
        from winnow.core.workloads.product import Product

        return Product((self, other))


def bound_workload(given: Any, schema: Schema, memory: str | int) -> Workload:
    """The workload over a table's schema."""
    if isinstance(given, Maker):
        return given.over(schema, memory=memory)
    if not isinstance(given, Workload):
        raise ParameterError(
            f"the workload is a {type(given).__name__}; give one such as wn.marginals(3)"
        )
    if given.schema != schema:
        raise ParameterError(
            "the workload is over a different schema from that of the table; bind it to that one"
        )
    return given


@dataclass(frozen=True)
class Union(Maker):
    """Several makers, one after another."""

    makers: tuple[Maker, ...]

    advice = "use fewer queries"

    def size(self, schema: Schema) -> int:
        """The sum of the sizes."""
        return sum(maker.size(schema) for maker in self.makers)

    def own_memory(self, schema: Schema) -> int:
        """The sum of the memories."""
        return sum(maker.own_memory(schema) for maker in self.makers)

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """The parts in order; neighbours of one kind are joined where that is good."""
        every = [part for maker in self.makers for part in maker.parts(schema)]
        groups = [list(group) for _, group in groupby(every, key=type)]
        return tuple(part for group in groups for part in type(group[0]).joined(group))


def _members(maker: Maker) -> tuple[Maker, ...]:
    return maker.makers if isinstance(maker, Union) else (maker,)
