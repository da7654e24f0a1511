"""Rows of any source, brought as texts and truths into a private DuckDB.

Counting can be left to the engine that has the data; mining needs the rows themselves. So the
wanted columns travel, each as text compared by its bytes or as true and false, duplicates left
behind where that is asked for, in batches into a table of a private in-memory database. What
happens there is the same for every source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from winnow.errors import DataError
from winnow.read.engines.duck import (
    DuckFiles,
    DuckFrame,
    DuckTable,
    RelationConnection,
    check_collation,
)
from winnow.read.engines.keys import column_types
from winnow.read.engines.names import own_name
from winnow.read.engines.postgres import _SETTINGS, PostgresTable, _types, tuple_cursor
from winnow.read.engines.private_duck import run
from winnow.read.engines.query import column, not_null
from winnow.read.engines.spark import SparkFrame, check_spark_collation

BATCH = 50_000
YES = ("1", "1.0", "true", "t", "yes", "y", "x")
"""What a cell says that means yes, in any case of letters."""


_OfText = Callable[[exp.Expression], exp.Expression]


@dataclass(frozen=True)
class Wanted:
    """Columns by the names that they get: texts, which no row may lack, and truths."""

    texts: dict[str, str]
    truths: dict[str, str]
    distinct: bool = False

    def over(self, source: exp.Expression, free: _OfText) -> exp.Select:
        """The rows of a source; ``free`` takes the collation off a text."""
        texts = [exp.alias_(free(_as_text(name)), alias) for alias, name in self.texts.items()]
        truths = [exp.alias_(_truth(name), alias) for alias, name in self.truths.items()]
        rows = exp.select(*texts, *truths).from_(source.copy())
        filled = [not_null(column(name)) for name in self.texts.values()]
        rows = rows.where(*filled) if filled else rows
        return rows.distinct() if self.distinct else rows

    def kinds(self) -> dict[str, str]:
        """The types that the columns get."""
        return dict.fromkeys(self.texts, "VARCHAR") | dict.fromkeys(self.truths, "BOOLEAN")


def _as_text(name: str) -> exp.Expression:
    return exp.cast(column(name), "TEXT")


def _truth(name: str) -> exp.Expression:
    """Whether a cell says yes; empty cells and nulls say no."""
    said = exp.Lower(this=exp.Trim(this=_as_text(name)))
    yes = exp.In(this=said, expressions=[exp.Literal.string(word) for word in YES])
    return exp.Coalesce(this=yes, expressions=[exp.false()])


class RowSource(ABC):
    """A source whose columns are known, and a private database for its rows."""

    def __init__(self, private: Any, types: dict[str, str]) -> None:
        self.private, self.types = private, types

    @abstractmethod
    def bring(self, wanted: Wanted, table: str) -> None:
        """Make a table of the wanted rows in the private database."""

    def _receive(self, wanted: Wanted, table: str) -> Callable[[Sequence[Sequence[Any]]], None]:
        """An empty table, and what puts a batch of rows into it."""
        kinds = wanted.kinds()
        described = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        self.private.execute(f"CREATE TEMP TABLE {table} ({described})")
        lists = (f"unnest(${place}::{kind}[])" for place, kind in enumerate(kinds.values(), 1))
        insert = f"INSERT INTO {table} SELECT {', '.join(lists)}"

        def receive(rows: Sequence[Sequence[Any]]) -> None:
            if rows:
                self.private.execute(insert, [list(held) for held in zip(*rows, strict=True)])

        return receive


class _Private(RowSource):
    """Files and data frames, which the private database sees itself."""

    def __init__(self, private: Any, source: exp.Expression) -> None:
        super().__init__(private, column_types(private, source))
        self._source = source

    def bring(self, wanted: Wanted, table: str) -> None:
        """In one statement; nothing there has a collation."""
        rows = wanted.over(self._source, lambda text: text).sql(dialect="duckdb")
        run(self.private, f"CREATE TEMP TABLE {table} AS {rows}")


class _Duck(RowSource):
    """A table, query or relation of the user's own DuckDB."""

    def __init__(self, private: Any, engine: DuckTable) -> None:
        self._engine, connection = engine, engine.connection
        if isinstance(connection, RelationConnection):
            types = connection.column_types()
        else:
            types = column_types(connection, engine.source)
        super().__init__(private, types)

    def bring(self, wanted: Wanted, table: str) -> None:
        """Nothing is created or set in the user's database."""
        check_collation(self._engine.connection)
        rows = wanted.over(self._engine.source, _decoded).sql(dialect="duckdb")
        run(_Batches(self._engine.connection, self._receive(wanted, table)), rows)


class _Batches:
    """A DuckDB connection whose rows go to a receiver, batch by batch."""

    def __init__(self, connection: Any, receive: Callable[[Any], None]) -> None:
        self.connection, self.receive = connection, receive
        if hasattr(connection, "interrupt"):  # a relation does not show its connection
            self.interrupt = connection.interrupt

    def execute(self, sql: str) -> _Batches:
        self.result = self.connection.execute(sql)
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        if isinstance(self.connection, RelationConnection):  # keeps no result between calls
            rows = self.result.fetchall()
            for first in range(0, len(rows), BATCH):
                self.receive(rows[first : first + BATCH])
            return []
        while rows := self.result.fetchmany(BATCH):
            self.receive(rows)
        return []


class _Postgres(RowSource):
    """A table or query of a Postgres database, inside one transaction."""

    def __init__(self, private: Any, engine: PostgresTable) -> None:
        self._engine = engine
        with tuple_cursor(engine.connection) as cursor:
            for setting in _SETTINGS:
                cursor.execute(setting)
            nothing = exp.select("*").from_(engine.source.copy()).limit(0)
            cursor.execute(nothing.sql(dialect="postgres"))
            super().__init__(private, _types(cursor))

    def bring(self, wanted: Wanted, table: str) -> None:
        """Through a cursor of the server, so that it sends no more than a batch at a time."""
        receive = self._receive(wanted, table)
        with tuple_cursor(self._engine.connection, own_name("rows")) as cursor:
            cursor.execute(wanted.over(self._engine.source, _in_bytes).sql(dialect="postgres"))
            while rows := cursor.fetchmany(BATCH):
                receive(rows)


class _Spark(RowSource):
    """A Spark data frame."""

    def __init__(self, private: Any, engine: SparkFrame) -> None:
        self._frame = engine.frame
        super().__init__(private, dict(engine.frame.dtypes))

    def bring(self, wanted: Wanted, table: str) -> None:
        """Partition by partition, as Spark has them ready."""
        check_spark_collation(self._frame.sparkSession)
        receive, rows = self._receive(wanted, table), []
        for row in self._rows(wanted).toLocalIterator():
            rows.append(tuple(row))
            if len(rows) == BATCH:
                receive(rows)
                rows = []
        receive(rows)

    def _rows(self, wanted: Wanted) -> Any:
        texts = {alias: self._text(name) for alias, name in wanted.texts.items()}
        from pyspark.sql import functions as f

        truths = {
            alias: f.coalesce(f.lower(f.trim(self._text(name))).isin(*YES), f.lit(False))
            for alias, name in wanted.truths.items()
        }
        columns = [held.alias(alias) for alias, held in (texts | truths).items()]
        frame = self._frame
        for name in wanted.texts.values():
            frame = frame.where(self._column(name).isNotNull())
        rows = frame.select(*columns)
        return rows.distinct() if wanted.distinct else rows

    def _column(self, name: str) -> Any:
        return self._frame[f"`{name.replace('`', '``')}`"]

    def _text(self, name: str) -> Any:
        from pyspark.sql import functions as f

        held = self._column(name)
        if "collate" in self.types[name].lower():
            held = f.collate(held, "UTF8_BINARY")
        return held.cast("string")


def _decoded(text: exp.Expression) -> exp.Expression:
    encoded = exp.Anonymous(this="encode", expressions=[text])
    return exp.Anonymous(this="decode", expressions=[encoded])


def _in_bytes(text: exp.Expression) -> exp.Expression:
    return exp.Paren(this=exp.Collate(this=text, expression=exp.to_identifier("C", quoted=True)))


@contextmanager
def row_source(engine: Any, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
    """The source behind an engine; ``used`` are the columns whose types files must agree on."""
    match engine:
        case DuckFiles():
            yield _Private(private, engine.source(private, used))
        case DuckFrame():
            _register(private, engine.frame)
            yield _Private(private, exp.to_table("winnow_source"))
        case DuckTable():
            yield _Duck(private, engine)
        case PostgresTable():  # rolled back with its settings
            with engine.connection.transaction(force_rollback=True):
                yield _Postgres(private, engine)
        case SparkFrame():
            yield _Spark(private, engine)
        case _:
            raise DataError(f"a {type(engine).__name__} cannot be read as a table")


def _register(private: Any, frame: Any) -> None:
    is_pandas = type(frame).__module__.split(".")[0] == "pandas"
    for again in (False, True) if is_pandas else (False,):
        try:  # DuckDB cannot see some views of a pandas frame, and sees their copies
            private.register("winnow_source", frame.copy() if again else frame)
        except Exception:
            continue
        return
    raise DataError(
        f"a {type(frame).__name__} holds no baskets; give a file, a list of baskets, a pandas, "
        "Polars or Arrow table, a Spark data frame, or (connection, table)"
    )
