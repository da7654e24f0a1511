"""A table or query that a user names, its columns, and what these mean for a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import exp

from winnow.errors import DataError
from winnow.foreign import instead, plain_type
from winnow.read.engines.query import CountQuery
from winnow.read.file_columns import alike

_WHOLE = {
    *("tinyint", "smallint", "integer", "bigint"),  # DuckDB, Spark
    *("utinyint", "usmallint", "uinteger"),  # DuckDB, within 64 bits with sign
    *("int", "int2", "int4", "int8"),  # Spark, Postgres
}
_WIDE = {"ubigint", "hugeint", "uhugeint"}
"""Whole numbers of DuckDB that may not fit 64 bits: one large number makes all of a frame so."""
_PLAIN = _WHOLE | _WIDE | {"boolean", "bool", "date", "uuid"}
"""No two values have one text, whatever the settings of a database."""
_OTHER = {"varchar", "char", "bpchar", "text", "string", "enum"}
UNKNOWN = "null"
_UNTYPED = {'"null"', UNKNOWN, "void"}
"""A column of nothing but nulls, or of no rows, in DuckDB, Arrow and Spark."""


def check_columns(types: Mapping[str, str], **roles: str | None) -> None:
    """Refuse columns that are not there, and types whose text differs between engines.

    ``roles`` says which column names what: item=, person= and others.
    """
    for role, name in roles.items():
        if name is None:
            continue
        if name not in types:
            raise DataError(missing_column(name, types, f" (the {role})"))
        if _base(types[name]) not in _PLAIN | _OTHER | _UNTYPED:
            raise DataError(
                f"the column {name!r} has the type {plain_type(types[name])}, whose text is not "
                "the same in every engine; cast it to text or to whole numbers first"
            )
    if "item" in roles and roles["item"] == roles.get("person"):
        raise DataError(f"the column {roles['item']!r} cannot be both item and person")
    group = roles.get("group")
    if group is not None and group in (roles.get("item"), roles.get("person")):
        raise DataError(
            f"the column {group!r} is named for the groups and for something else, too; name "
            "another one"
        )


def missing_column(
    name: str, types: Mapping[str, str], role: str = "", advice: str = "check its name"
) -> str:
    """That a column is not there, and which may be meant."""
    few = "1 column" if len(types) == 1 else f"{len(types)} columns"
    return (
        f"there is no column {name!r}{role} among the {few} of the source; "
        f"{alike(name, list(types)) or advice}"
    )


def is_whole(types: Mapping[str, str], name: str) -> bool:
    """Whether a column has whole numbers of at most 64 bits."""
    return _base(types[name]) in _WHOLE


def is_untyped(kind: str) -> bool:
    """Whether a column has no type because it has no value: it is taken for whatever is needed.

    Frames of Python objects have types only through their rows. To refuse one without rows and
    take one with a single row would tell whether somebody is there.
    """
    return _base(kind) in _UNTYPED


def _base(kind: str) -> str:
    """The name of a type without its length, values or collation; nested types keep theirs."""
    kind = kind.strip().lower()
    if kind.endswith(("]", ">")):
        return kind
    return kind.split("(")[0].split(" collate ")[0].strip()


def column_types(connection: Any, source: exp.Expression) -> dict[str, str]:
    """The columns of a source and their types."""
    described = f"DESCRIBE {exp.select('*').from_(source.copy()).sql(dialect='duckdb')}"
    return {row[0]: row[1] for row in connection.execute(described).fetchall()}


def typed(query: CountQuery, types: Mapping[str, str]) -> CountQuery:
    """The query for columns of these types, if they may be counted."""
    check_columns(types, **query.roles)
    plain = frozenset(name for name in query.columns if _base(types[name]) in _PLAIN)
    wide = query.person is not None and _base(types[query.person]) in _WIDE
    whole = wide or (query.person is not None and is_whole(types, query.person))
    return replace(query, whole=whole, wide=wide, plain=plain)


def table_or_query(text: str, dialect: str) -> exp.Expression:
    """A table name, or a SELECT in parentheses, parsed and never pasted."""
    unreadable = DataError("the source is neither a table name nor one SELECT that can be read")
    with instead(unreadable):
        if not text.strip().lower().startswith(("select", "with")):
            return exp.to_table(text, dialect=dialect)
        parsed = sqlglot.parse_one(text, dialect=dialect)
    if not isinstance(parsed, exp.Query):
        raise unreadable
    return parsed.subquery("source")
