"""What is asked for: tables of cells, and prefixes or ranges of an ordered column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import Schema
from winnow.core.workloads.forms import CodeRanges, WholeTable
from winnow.core.workloads.interval import interval_label
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.workload import Maker, Workload, bound_workload
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.release.tables.measured import Space

Integers = NDArray[np.int64]

BYTES_PER_CELL = 64
"""Of a table: counts, noise, estimates, standard errors, copies."""


@dataclass(frozen=True, eq=False)
class TablePart:
    """One table: the cells of some columns, or ranges of codes of one column."""

    schema: Schema
    columns: tuple[int, ...]
    starts: Integers | None = None
    """Of the ranges; None: one answer for each cell."""
    stops: Integers | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.schema.names[column] for column in self.columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answers."""
        if self.starts is not None:
            return (len(self.starts),)
        return tuple(self.schema.shape[column] for column in self.columns)

    @cached_property
    def place(self) -> Space:
        """The table of all leaves of its columns, as something that can be measured."""
        return tuple((column, 0) for column in sorted(self.columns))

    @cached_property
    def size(self) -> int:
        """How many answers there are."""
        return math.prod(self.shape)

    @property
    def title(self) -> str:
        """The part in words: 'race x age', or 'ranges of age'."""
        if self.starts is None:
            return " x ".join(self.names)
        kind = "prefixes" if not self.starts.any() else "ranges"
        return f"{kind} of {self.names[0]}"

    def labels(self) -> list[tuple[Any, ...]]:
        """For each column the public label of every place along its axis."""
        if self.starts is None or self.stops is None:
            return [tuple(self.schema.columns[column].labels) for column in self.columns]
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return [tuple(interval_label(self.schema, self.columns[0], a, b) for a, b in pairs)]


def parts_of(workload: Workload, memory: str | int) -> tuple[TablePart, ...]:
    """The tables of a workload, or an error that says what may be asked."""
    parts = tuple(_of_workload(workload.schema, part) for part in workload.parts)
    shape = workload.schema.shape
    cells = sum(math.prod(shape[c] for c in part.columns) + part.size for part in parts)
    if BYTES_PER_CELL * cells > parse_memory(memory):
        raise ParameterError(
            f"these tables have {cells:,} cells and need about "
            f"{memory_text(BYTES_PER_CELL * cells)}, more than memory={shown(memory)}; ask for "
            "smaller tables, or allow more"
        )
    return parts


def tables_workload(schema: Schema, by: Any, memory: str | int) -> Workload:
    """The tables that a user asks for, each once, as a workload over a schema."""
    if isinstance(by, Maker | Workload):
        return bound_workload(by, schema, memory)
    if isinstance(by, str) or not isinstance(by, Sequence) or not by:
        raise ParameterError(
            f"by={shown(by)} names no table; give a list of columns such as ['race', 'age'], a "
            "list of such lists, or a workload such as wn.marginals(2)"
        )
    tables = [by] if all(isinstance(name, str) for name in by) else list(by)
    parts = []
    for names in tables:
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise ParameterError(
                f"by={shown(by)} mixes columns and tables; give one list of columns, or a list of "
                "lists"
            )
        parts.append(MarginalPart(schema, schema.positions(names)))
    seen = [frozenset(part.columns) for part in parts]
    if len(set(seen)) != len(seen):
        raise ParameterError("a table is asked for more than once; name each set of columns once")
    return Workload(schema, tuple(parts))


def _of_workload(schema: Schema, part: Part) -> TablePart:
    match part.form:
        case WholeTable(columns):
            return TablePart(schema, columns)
        case CodeRanges(column, starts, stops):
            return TablePart(schema, (column,), starts, stops)
        case _:
            raise ParameterError(
                "tables are made of marginals, prefixes and ranges; for other queries use "
                "wn.release"
            )
