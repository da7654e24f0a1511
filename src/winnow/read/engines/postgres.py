"""Postgres tables and queries, counted by the server: only the counts travel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlglot
from sqlglot import exp

from winnow.errors import DataError
from winnow.foreign import instead
from winnow.read.engines.keys import typed
from winnow.read.engines.query import CountQuery, listed_in_one_text
from winnow.read.engines.refusals import TABLE, engine

Counts = dict[str, int]
_SETTINGS = (
    "SET LOCAL DateStyle = 'ISO'",  # the text of dates is that of the other engines
    "SET LOCAL standard_conforming_strings = on",  # literals mean what they say
)


class PostgresTable:
    """A table or query of a Postgres database, through a psycopg connection."""

    def __init__(self, connection: Any, source: exp.Expression) -> None:
        self.connection, self.source = connection, source

    def count(self, query: CountQuery, parts: int | None, progress: Any) -> Counts:
        """The counts, in a transaction that is rolled back with its settings.

        Texts are compared by their bytes, whatever the columns' collations.
        """
        with (
            engine("Postgres cannot count this source", TABLE),
            self.connection.transaction(force_rollback=True),
            tuple_cursor(self.connection) as cursor,
        ):
            for setting in _SETTINGS:
                cursor.execute(setting)
            nothing = exp.select("*").from_(self.source.copy()).limit(0)
            cursor.execute(nothing.sql(dialect="postgres"))
            query = replace(typed(query, _types(cursor)), collation="C")
            listed = listed_in_one_text(query.items)
            asked = query.over(self.source.copy(), listed=listed)
            cursor.execute(asked.sql(dialect="postgres"))
            return {item: int(count) for item, count in cursor.fetchall()}


def tuple_cursor(connection: Any, name: str = "") -> Any:
    """A cursor whose rows are tuples, whatever rows the user's connection gives by itself."""
    from psycopg.rows import tuple_row

    return connection.cursor(name, row_factory=tuple_row)


def _types(cursor: Any) -> dict[str, str]:
    import psycopg

    types = {}
    for column in cursor.description:
        known = psycopg.adapters.types.get(column.type_code)
        single = known is not None and known.oid == column.type_code  # not an array of them
        types[column.name] = known.name if known is not None and single else "unknown"
    return types


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
