"""The public schema of a table: its columns, and the finite domain that they span.

A schema is written by a person, in JSON or in Python, before the data are looked at:

    {"age": 85, "sex": 2}                                              integer codes
    {"sex": {"values": ["Female", "Male"]}, "age": {"edges": [0, 40, 60, 120]}}

The cells of the domain are counted in C order: the last column runs fastest.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from winnow.core.column import Column, check_name
from winnow.core.declaration import COMMENT, FORMS, is_comment
from winnow.core.notebook import MOST_ROWS, Card, InNotebook
from winnow.core.replacing import record_at, replace
from winnow.errors import DataError, ParameterError
from winnow.foreign import instead, reason, shown

__all__ = ["Column", "Schema"]


@dataclass(frozen=True)
class Schema(InNotebook):
    """The columns of a table; everything in it is public."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise ParameterError("the schema has no columns; declare at least one")
        seen: set[str] = set()
        for column in self.columns:
            if not isinstance(column, Column):
                raise ParameterError(f"the schema holds a {type(column).__name__}, not a Column")
            if column.name in seen:
                raise ParameterError(
                    f"the column {column.name!r} appears more than once; rename one"
                )
            seen.add(column.name)

    @classmethod
    def parse(cls, declared: Schema | Mapping[str, Any] | str | Path) -> Schema:
        """A schema from a dict, a JSON file, or a schema itself."""
        if isinstance(declared, Schema):
            return declared
        if isinstance(declared, str | os.PathLike):
            return cls.parse(read_declaration(Path(declared)))
        if not isinstance(declared, Mapping):
            raise ParameterError(
                f"schema={shown(declared)} is a {type(declared).__name__}; give a dict, a JSON "
                "file or a wn.Schema"
            )
        columns, problems = parsed_columns(declared)
        if problems:
            several = f"{len(problems)} columns are not declared well. " if problems[1:] else ""
            raise ParameterError(several + ". ".join(problems))
        return cls(tuple(columns))

    def to_dict(self) -> dict[str, Any]:
        """The declaration, as `parse` takes it."""
        return {column.name: column.to_dict() for column in self.columns}

    def save(self, path: str | Path) -> None:
        """Write the schema as JSON."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        with instead(
            lambda error: DataError(
                f"the schema cannot be written to {str(path)!r} ({reason(error)})"
            ),
            OSError,
        ):
            if (record := record_at(Path(path))) is not None:
                raise DataError(f"the schema cannot be written to {str(path)!r}: this is {record}")
            replace(Path(path), f"{text}\n".encode())

    @cached_property
    def notes(self) -> str:
        """What a receipt says: what becomes of values outside, and what was chosen by looking."""
        groups = (
            ("chosen by looking at the private data, outside the guarantee", "chosen_by_looking"),
            ("values outside count as 'other'", "other"),
            ("values beyond the edges are clipped", "clip"),
            ("rows with values outside are left out", "drop"),
        )
        said = []
        for words, way in groups:
            names = tuple(column.name for column in self.columns if getattr(column, way))
            if names:
                said.append(f"{words}: {_listed(names)}")
        return "; ".join(said)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of codes of each column."""
        return tuple(column.cardinality for column in self.columns)

    @cached_property
    def cells(self) -> int:
        """The size of the domain, as a Python integer: it may be 10^18."""
        return math.prod(self.shape)

    def position(self, name: str) -> int:
        """Where the column of this name stands."""
        check_name(name)
        if name not in self.names:
            raise ParameterError(
                f"there is no column {name!r}; the schema has {_listed(self.names)}"
            )
        return self.names.index(name)

    def column(self, name: str) -> Column:
        """The column of this name."""
        return self.columns[self.position(name)]

    def subset(self, names: Sequence[str]) -> Schema:
        """The schema of some columns, in the given order."""
        return Schema(tuple(self.columns[place] for place in self.positions(names)))

    def positions(self, names: Sequence[str]) -> tuple[int, ...]:
        """Where the columns of these names stand; each at most once."""
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise ParameterError(
                f"columns={shown(names)} is not a list of names; give a list of columns"
            )
        places = tuple(self.position(name) for name in names)
        if not places:
            raise ParameterError("no column is named; give at least one")
        if len(set(places)) != len(places):
            raise ParameterError(f"a column appears more than once in {_listed(tuple(names))}")
        return places

    def _card(self) -> Card:
        rows = [
            (column.name, column.kind, f"{column.cardinality:,}", _few(column.labels))
            for column in self.columns
        ]
        title = f"Schema of {len(self.columns)} columns, {cells_text(self.cells)} cells"
        return Card(title, ("column", "kind", "codes", "labels"), rows, most=MOST_ROWS)

    def __repr__(self) -> str:
        return f"<schema of {len(self.columns)} columns, {cells_text(self.cells)} cells>"


def parsed_columns(declared: Mapping[str, Any]) -> tuple[list[Column], list[str]]:
    """The columns that are declared well, and what is wrong with the others, all at once."""
    columns, problems, left_open = [], [], []
    for name, form in declared.items():
        if name == COMMENT and is_comment(form):
            continue
        try:
            columns.append(Column.parse(name, form))
        except ParameterError as error:
            if isinstance(form, Mapping) and set(form) <= {COMMENT}:
                left_open.append((name, str(error)))
            else:
                problems.append(str(error))
    if len(left_open) > 1:
        names = _listed(tuple(name for name, _ in left_open))
        problems.append(
            f"columns {names} are still to be filled in; leave out those that nobody needs, and "
            f"give one of {FORMS} for each of the others"
        )
        return columns, problems
    return columns, problems + [problem for _, problem in left_open]


def cells_text(cells: int) -> str:
    """The size of a domain for people: 24,000 or 10^17.8."""
    return f"{cells:,}" if cells < 10**9 else f"10^{math.log10(cells):.1f}"


def _few(labels: Sequence[Any]) -> str:
    shown = ", ".join(str(label) for label in labels[:5])
    return shown if len(labels) <= 5 else f"{shown}, …"


def _listed(names: tuple[str, ...]) -> str:
    listed = ", ".join(repr(name) for name in names[:20])
    return listed if len(names) <= 20 else f"{listed} and {len(names) - 20} more"


def read_declaration(path: Path) -> dict[str, Any]:
    """What a schema file says, before it is looked at."""
    missing = DataError(f"there is no schema file {str(path)!r}; check the path")
    with (
        instead(
            lambda error: DataError(
                f"the schema {str(path)!r} cannot be read ({reason(error)}); give a JSON file"
            ),
            OSError,
            UnicodeDecodeError,
        ),
        instead(missing, FileNotFoundError),
    ):
        text = path.read_text(encoding="utf-8-sig")
    with instead(
        lambda error: DataError(
            f"the schema {path.name!r} is not JSON, or it is cut off ({reason(error)}); give one "
            'object such as {"age": 85, "sex": 2}'
        ),
        RecursionError,
        ValueError,
    ):
        content = json.loads(text, object_pairs_hook=_once)
    if not isinstance(content, dict):
        raise DataError(
            f'the schema {path.name!r} is not one JSON object; give {{"column": codes, ...}}'
        )
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose names are all different: a dict would keep the last silently."""
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for i, name in enumerate(names) if name in names[:i])
        raise ParameterError(
            f"{shown(again)} appears more than once in the schema; rename or drop one"
        )
    return content
