"""Counting where the data are: Spark data frames and Postgres tables, by their own drivers.

The same expression as for DuckDB is written out for the engine, and only the counts travel.
"""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp

from winnow.errors import InputError
from winnow.sealed.engines.keys import check_columns
from winnow.sealed.engines.query import CountQuery

Counts = dict[str, int]


class SparkFrame:
    """A Spark data frame."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def count(self, query: CountQuery, parts: int | None, progress: Any) -> Counts:
        """The counts; Spark splits the work itself."""
        types = dict(self.frame.dtypes)
        check_columns(types, query.item, query.user)
        view = "winnow_source"
        self.frame.createOrReplaceTempView(view)
        try:
            sql = query.over(exp.to_table(view)).sql(dialect="spark")
            rows = self.frame.sparkSession.sql(sql).collect()
        except Exception as error:  # the engine's own message may quote values
            raise InputError(
                f"Spark cannot count this data frame ({type(error).__name__}); check that it "
                "can be read by itself"
            ) from None
        finally:
            self.frame.sparkSession.catalog.dropTempView(view)
        return {row["i"]: int(row["n"]) for row in rows}


class PostgresTable:
    """A table or query of a Postgres database, through a psycopg connection."""

    def __init__(self, connection: Any, source: exp.Expression) -> None:
        self.connection, self.source = connection, source

    def count(self, query: CountQuery, parts: int | None, progress: Any) -> Counts:
        """The counts, aggregated by the server."""
        import psycopg

        try:
            with self.connection.cursor() as cursor:
                nothing = exp.select("*").from_(self.source.copy()).limit(0)
                cursor.execute(nothing.sql(dialect="postgres"))
                check_columns(_types(cursor), query.item, query.user)
                cursor.execute(query.over(self.source.copy()).sql(dialect="postgres"))
                return {item: int(count) for item, count in cursor.fetchall()}
        except psycopg.Error as error:
            state = error.sqlstate or type(error).__name__
            raise InputError(
                f"Postgres cannot count this source (error {state}); check that the table or "
                "query exists and runs by itself"
            ) from None


def _types(cursor: Any) -> dict[str, str]:
    import psycopg

    known = psycopg.adapters.types
    return {
        column.name: getattr(known.get(column.type_code), "name", "unknown")
        for column in cursor.description
    }


def table_or_query(text: str, dialect: str) -> exp.Expression:
    """A table name, or a SELECT in parentheses, parsed and never pasted."""
    try:
        if text.strip().lower().startswith(("select", "with")):
            parsed = sqlglot.parse_one(text, dialect=dialect)
            if not isinstance(parsed, exp.Query):
                raise InputError("give a table name or one SELECT as the source")
            return parsed.subquery("source")
        return exp.to_table(text, dialect=dialect)
    except sqlglot.errors.ParseError:
        raise InputError(
            "the source is neither a table name nor a SELECT that can be read"
        ) from None
