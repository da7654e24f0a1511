"""What is asked for: tables of cells, of prefixes or ranges of ordered columns, and products."""

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
from winnow.core.workloads.forms import CodeRanges, RangeTable, WholeTable, each_code
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.range_table import axis_labels, axis_title, is_each_code
from winnow.core.workloads.workload import Maker, Workload, bound_workload
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.release.tables.measured import Space

BYTES_PER_CELL = 64
"""Of a table: counts, noise, estimates, standard errors, copies."""


@dataclass(frozen=True, eq=False)
class TablePart:
    """One table: for each of some columns its cells, or ranges of its codes."""

    schema: Schema
    columns: tuple[int, ...]
    ranges: tuple[CodeRanges | None, ...] = ()
    """Of each column; None: its cells. Empty: the cells of all."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.schema.names[column] for column in self.columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the answers."""
        sizes = self.schema.shape
        return tuple(
            sizes[column] if axis is None else len(axis.starts)
            for column, axis in zip(self.columns, self.axes, strict=True)
        )

    @property
    def axes(self) -> tuple[CodeRanges | None, ...]:
        """What is asked of each column: ranges of its codes, or None for its cells."""
        return self.ranges or (None,) * len(self.columns)

    @property
    def of_cells(self) -> bool:
        """Whether the cells of all columns are asked for."""
        return not any(self.axes)

    @cached_property
    def answered(self) -> RangeTable:
        """All axes as ranges, those of cells of one code each."""
        sizes = self.schema.shape
        pairs = zip(self.columns, self.axes, strict=True)
        return RangeTable(tuple(axis or each_code(column, sizes[column]) for column, axis in pairs))

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
        return " x ".join(axis_title(self.schema, axis) for axis in self.answered.axes)

    def labels(self) -> list[tuple[Any, ...]]:
        """For each column the public label of every place along its axis."""
        return [axis_labels(self.schema, axis) for axis in self.answered.axes]

    def answers(self, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """The answers, of the table of the cells of the columns in their order."""
        return cells if self.of_cells else self.answered.sums(cells)


def parts_of(workload: Workload, memory: str | int) -> tuple[TablePart, ...]:
    """The tables of a workload, or an error that says what may be asked."""
    parts = tuple(map(_of_workload, workload.parts))
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
            + ("; wn.moments gives sums and means of the whole table" if by is None else "")
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


def _of_workload(part: Part) -> TablePart:
    table = table_part(part)
    if table is None:
        raise ParameterError(
            "tables are made of marginals, prefixes, ranges and their products; for other queries "
            "use wn.release"
        )
    return table


def table_part(part: Part) -> TablePart | None:
    """A part of a workload as a table; None: its queries are none."""
    match part.form:
        case WholeTable(columns):
            return TablePart(part.schema, columns)
        case CodeRanges(column=column) as ranges:
            return TablePart(part.schema, (column,), (ranges,))
        case RangeTable(axes) as form:
            sizes = part.schema.shape
            own = (None if is_each_code(axis, sizes[axis.column]) else axis for axis in axes)
            return TablePart(part.schema, form.columns, tuple(own))
        case _:
            return None
