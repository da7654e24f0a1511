"""Parquet files as one table, also where a file has no value in a column and so no type for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

from winnow.errors import DataError
from winnow.read.engines.columns import column_types, is_untyped
from winnow.read.engines.csv_files import table_function
from winnow.read.engines.query import column


def parquet_table(connection: Any, paths: Sequence[Path], used: Sequence[str]) -> exp.Expression:
    """The files as one table; columns ``used`` have one type in all that have any.

    DuckDB would read all files by the types of the first: '007' as 7, which makes two people one,
    or as nothing at all where the first has no values.
    """
    whole = table_function("read_parquet", paths)
    if len(paths) == 1:
        return whole
    found = [column_types(connection, table_function("read_parquet", [path])) for path in paths]
    for name in used:
        if len({types.get(name) for types in found if not _untyped(types, name)}) > 1:
            raise DataError("the files give a column different types; write them all with one type")
    kinds = _kinds(found)
    groups: dict[tuple[str, ...], list[Path]] = {}
    for path, types in zip(paths, found, strict=True):
        lacking = tuple(name for name in kinds if _untyped(types, name))
        groups.setdefault(lacking, []).append(path)
    if len(groups) == 1:
        return whole
    parts: list[exp.Query] = []
    for lacking, alike in groups.items():
        cells = [_typed(name, kind) if name in lacking else column(name)
                 for name, kind in kinds.items()]  # fmt: skip
        parts.append(exp.select(*cells).from_(table_function("read_parquet", alike)))
    return exp.union(*parts, distinct=False).subquery("files")


def _kinds(found: list[dict[str, str]]) -> dict[str, str]:
    """The columns of the first file, each with the first type that a file has for it."""
    return {
        name: next((t[name] for t in found if name in t and not _untyped(t, name)), none)
        for name, none in found[0].items()
    }


def _untyped(types: dict[str, str], name: str) -> bool:
    return name in types and is_untyped(types[name])


def _typed(name: str, kind: str) -> exp.Expression:
    cast = exp.cast(column(name), exp.DataType.build(kind, dialect="duckdb", udt=True))
    return exp.Alias(this=cast, alias=exp.to_identifier(name, quoted=True))
