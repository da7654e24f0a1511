"""BigQuery, Snowflake, Trino and Databricks: the same expressions, for their connections.

A connection of DB-API 2.0, or a backend of Ibis, runs them. What is generated is checked as text
and parsed back; it was not run on these engines. The salt is a parameter of the query where the
connection takes parameters. Types are not known before a query runs, so people and items are
compared as the texts that the engine writes for them: give columns of texts or whole numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Self

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.errors import DataError
from winnow.read.engine import TABLE, Counts, Distinct, Engine, Progress, Source, refusing
from winnow.read.engines.columns import UNKNOWN, table_or_query
from winnow.read.engines.distinct import distinct_of_rows
from winnow.read.engines.histogram import Dialect, HistogramQuery
from winnow.read.engines.kept import Asking, EngineKept, KeptQuery
from winnow.read.engines.query import (
    BYTEWISE,
    SALT,
    CountQuery,
    column,
    no_more_than,
    not_null,
)
from winnow.read.engines.row_sources import RowSource, batches
from winnow.read.kept import KeptCounts

DIALECTS: tuple[Dialect, ...] = ("bigquery", "snowflake", "trino", "databricks")
_PACKAGES: dict[str, Dialect] = {
    "google": "bigquery", "snowflake": "snowflake", "trino": "trino", "databricks": "databricks"
}  # fmt: skip
_MOST_LISTED = 100_000
"""A public list travels in the text of the query."""


class WarehouseTable(Engine):
    """A table or query of such an engine, through its connection."""

    takes_names = False

    def __init__(self, connection: Any, dialect: Dialect, source: exp.Expression) -> None:
        self.connection, self.dialect, self.source = connection, dialect, source

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """A pair of a known connection and a table or query."""
        pair = source.connected
        if pair is None:
            return None
        package = type(pair[0]).__module__.split(".")[0]
        known = str(getattr(pair[0], "name", "")).lower()
        dialect = next((name for name in DIALECTS if name == known), None)
        if package != "ibis":
            dialect = _PACKAGES.get(package)
        if dialect is None:
            return None
        return cls(pair[0], dialect, table_or_query(pair[1], dialect))

    def asked(self, query: CountQuery) -> KeptQuery:
        """The counts, as this engine writes them."""
        query = replace(query, bytewise=BYTEWISE[self.dialect], salt_apart=True)
        numbered = listed = None
        if query.items is not None:
            if len(query.items) > _MOST_LISTED:
                raise DataError(
                    f"{len(query.items)} public items are too many for one query of this engine; "
                    f"give {_MOST_LISTED} at most, or unload the table to Parquet"
                )
            pairs: list[tuple[Any, ...]] = [(text, p) for p, text in enumerate(query.items)]
            table = exp.values(pairs, alias="t", columns=["i", "p"])
            listed = exp.select("i").from_(table.copy())
            numbered = exp.select("i", "p").from_(table)
        return KeptQuery(query, query.over(self.source.copy(), listed=listed), numbered)

    def rows_of(self, query: exp.Select, salt: str) -> list[tuple[Any, ...]]:
        """The answer."""
        sql, style = query.sql(dialect=self.dialect), _paramstyle(self.connection)
        if hasattr(self.connection, "raw_sql"):  # Ibis
            literal = exp.Literal.string(salt).sql(dialect=self.dialect)
            cursor = self.connection.raw_sql(_placed(sql, lambda _: literal)[0])
        else:
            cursor = self.connection.cursor()
            cursor.execute(*with_salt(sql, style, salt))
        try:
            return [tuple(row) for row in cursor.fetchall()]
        finally:
            cursor.close()

    def count(
        self,
        query: CountQuery,
        parts: int | None,
        progress: Progress | None,
        most: int | None = None,
    ) -> Counts | None:
        """The counts; the engine splits the work itself."""
        with refusing("the source cannot be counted", TABLE):
            rows = self.rows_of(no_more_than(most, self.asked(query).counts), query.salt)
        counts = {item: int(count) for item, count in rows}
        return None if most is not None and len(counts) > most else counts

    def keep(self, query: CountQuery, parts: int | None, progress: Progress | None) -> KeptCounts:
        """Nothing is asked before a release."""
        self.asked(query)
        return _WarehouseKept(self, query)

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows, or the cells of several tables; columns are cast as declared."""
        for declared in query.columns:
            if declared.content == "time":
                raise DataError(
                    f"the column {declared.name!r} holds dates or times, which this engine is not "
                    "asked for; extract texts or numbers from it in a SELECT"
                )
        types = dict.fromkeys((each.name for each in query.columns), UNKNOWN)
        asked = replace(query, salt_apart=True)
        rows = asked.over(self.source.copy(), types, self.dialect, as_text=False)
        return distinct_of_rows(self.rows_of(rows, query.salt), query), False

    def check_scores(self, id: str, score: str) -> None:
        """Nothing is known of the columns before they are read."""

    def contenders(self, worker: Worker, id: str, score: str) -> list[bytes]:
        """Through this process, a batch at a time; ids are texts."""
        name, value = exp.cast(column(id), "TEXT"), exp.cast(column(score), "DOUBLE")
        asked = exp.select(exp.alias_(name, "i"), exp.alias_(value, "s"))
        asked = asked.from_(self.source.copy()).where(not_null(column(id)))
        cursor = self.connection.cursor()
        cursor.execute(asked.sql(dialect=self.dialect))
        turned = (list(zip(*rows, strict=True)) for rows in batches(cursor.fetchmany))
        return [worker.contenders(list(ids), list(scores)) for ids, scores in turned]

    def rows(self, private: Any, used: Sequence[str]) -> AbstractContextManager[RowSource]:
        """Refused: unloading is this engine's own work."""
        raise DataError(
            "baskets of this engine are not brought here; give pairs and keep='engine', or unload "
            "the columns to Parquet"
        )


class _WarehouseKept(EngineKept):
    """Counts that are made anew for each question: what changed is noticed by its size."""

    def __init__(self, table: WarehouseTable, query: CountQuery) -> None:
        super().__init__(query, TABLE)
        self._table = table

    @contextmanager
    def asking(self) -> Iterator[tuple[Asking, KeptQuery]]:
        """One query after another."""
        yield _WarehouseAsking(self._table, self.query.salt), self._table.asked(self.query)


class _WarehouseAsking(Asking):
    def __init__(self, table: WarehouseTable, salt: str) -> None:
        self._table, self._salt = table, salt

    def rows(self, query: exp.Select) -> list[tuple[Any, ...]]:
        """The answer."""
        return self._table.rows_of(query, self._salt)


def _paramstyle(connection: Any) -> str:
    """What the driver says of itself, in the module of the connection or one above it."""
    name = type(connection).__module__
    while name:
        style = getattr(sys.modules.get(name), "paramstyle", None)
        if isinstance(style, str):
            return style
        name = name.rpartition(".")[0]
    return "pyformat"


def with_salt(sql: str, style: str, salt: str) -> tuple[str, Any]:
    """The text of a query with a parameter in the style of a driver, and its values."""
    match style:
        case "qmark" | "format":
            mark = "?" if style == "qmark" else "%s"
            text, times = _placed(_escaped(sql, style), lambda _: mark)
            return text, [salt] * times
        case "numeric":
            text, times = _placed(sql, lambda place: f":{place}")
            return text, [salt] * times
        case "named":
            return _placed(sql, lambda _: f":{SALT}")[0], {SALT: salt}
        case _:
            return _placed(_escaped(sql, style), lambda _: f"%({SALT})s")[0], {SALT: salt}


def _escaped(sql: str, style: str) -> str:
    """In these styles a percent sign begins a parameter."""
    return sql.replace("%", "%%") if style in ("format", "pyformat") else sql


def _placed(sql: str, mark: Any) -> tuple[str, int]:
    """The query with its placeholders written otherwise, and how many there are."""
    for written in (f":{SALT}", f"@{SALT}", f"%({SALT})s", f"%%({SALT})s"):
        parts = sql.split(written)
        if len(parts) > 1:
            text = parts[0]
            for place, part in enumerate(parts[1:], 1):
                text += mark(place) + part
            return text, len(parts) - 1
    return sql, 0
