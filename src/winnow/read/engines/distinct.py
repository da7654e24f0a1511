"""Running the histogram query where the data are; only distinct rows travel.

`engines.refusals` says what goes wrong, and lets no message of an engine out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from winnow.errors import DataError
from winnow.foreign import instead
from winnow.read.engines.duck import (
    DuckFiles,
    DuckFrame,
    DuckTable,
    RelationConnection,
    check_collation,
)
from winnow.read.engines.histogram import HistogramQuery, check_types
from winnow.read.engines.keys import column_types
from winnow.read.engines.names import own_name
from winnow.read.engines.postgres import PostgresTable, _types, tuple_cursor
from winnow.read.engines.private_duck import private_connection, run
from winnow.read.engines.spark import SparkFrame, check_spark_collation

Distinct = tuple[list[NDArray[Any]], NDArray[np.int64]]
"""The values of each column (masked where null), and how often each row stands there."""


def distinct_rows(engine: Any, query: HistogramQuery) -> tuple[Distinct, bool]:
    """The distinct rows, and whether their values were read as text."""
    match engine:
        case DuckFiles():
            return _files(engine, query)
        case DuckFrame():
            return _frame(engine, query), False
        case DuckTable():
            return _duck_table(engine, query), False
        case SparkFrame():
            return _spark(engine, query), False
        case PostgresTable():
            return _postgres(engine, query), False
    raise DataError(f"a {type(engine).__name__} cannot be read as a table")


def _files(engine: DuckFiles, query: HistogramQuery) -> tuple[Distinct, bool]:
    as_text = engine.ending != ".parquet"
    with private_connection(engine.memory) as connection:
        names = [column.name for column in query.columns]
        names += [] if query.person is None else [query.person]
        source = engine.source(connection, names)
        types = column_types(connection, source)
        check_types(query, types, as_text=as_text)
        return _fetched(connection, source, types, query, as_text), as_text


def _frame(engine: DuckFrame, query: HistogramQuery) -> Distinct:
    source = exp.to_table("winnow_source")
    with private_connection(engine.memory) as connection:
        with instead(
            DataError(
                f"a {type(engine.frame).__name__} is not a table; give a file, a pandas, Polars "
                "or Arrow table, a Spark data frame, or (connection, table)"
            )
        ):
            connection.register("winnow_source", engine.frame)
        types = column_types(connection, source)
        check_types(query, types, as_text=False)
        return _fetched(connection, source, types, query, False)


def _duck_table(engine: DuckTable, query: HistogramQuery) -> Distinct:
    connection = engine.connection
    if isinstance(connection, RelationConnection):
        types = connection.column_types()
    else:
        types = column_types(connection, engine.source)
    check_types(query, types, as_text=False)
    check_collation(connection)
    return _fetched(connection, engine.source, types, query, False)


class _Arrays:
    """A DuckDB connection whose statements give one dict of arrays instead of rows."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        if hasattr(connection, "interrupt"):  # a relation does not show its connection
            self.interrupt = connection.interrupt

    def execute(self, sql: str) -> _Arrays:
        self.result = self.connection.execute(sql)
        return self

    def fetchall(self) -> list[dict[str, NDArray[Any]]]:
        return [self.result.fetchnumpy()]


def _fetched(
    connection: Any,
    source: exp.Expression,
    types: dict[str, str],
    query: HistogramQuery,
    as_text: bool,
) -> Distinct:
    asked = query.over(source.copy(), types, "duckdb", as_text=as_text)
    found: Any = run(_Arrays(connection), asked.sql(dialect="duckdb"))[0]
    columns = [found[f"c{i}"] for i in range(len(query.columns))]
    return columns, np.asarray(found["n"]).astype(np.int64)


def _spark(engine: SparkFrame, query: HistogramQuery) -> Distinct:
    types = dict(engine.frame.dtypes)
    check_types(query, types, as_text=False)
    view, session = own_name("table"), engine.frame.sparkSession
    check_spark_collation(session)
    try:
        engine.frame.createOrReplaceTempView(view)
        asked = query.over(exp.to_table(view), types, "spark", as_text=False)
        rows = session.sql(asked.sql(dialect="spark")).collect()
    finally:
        session.catalog.dropTempView(view)
    return _columns([tuple(row) for row in rows], query)


def _postgres(engine: PostgresTable, query: HistogramQuery) -> Distinct:
    """In a transaction that is rolled back, so that a failure leaves the user's own alone."""
    connection = engine.connection
    with connection.transaction(force_rollback=True), tuple_cursor(connection) as cursor:
        nothing = exp.select("*").from_(engine.source.copy()).limit(0)
        cursor.execute(nothing.sql(dialect="postgres"))
        types = _types(cursor)
        check_types(query, types, as_text=False)
        asked = query.over(engine.source.copy(), types, "postgres", as_text=False)
        cursor.execute(asked.sql(dialect="postgres"))
        return _columns(cursor.fetchall(), query)


def _columns(rows: list[tuple[Any, ...]], query: HistogramQuery) -> Distinct:
    """Rows of a driver as one array for each column."""
    width = len(query.columns)
    turned = list(zip(*rows, strict=True)) if rows else [()] * (width + 1)
    columns = [_array(values, query.columns[i].content) for i, values in enumerate(turned[:width])]
    return columns, np.array(turned[width], np.int64)


def _array(values: tuple[Any, ...], content: str) -> NDArray[Any]:
    nulls = np.array([value is None for value in values], np.bool_)
    if content == "text":
        held = np.empty(len(values), object)
        held[:] = values
    else:
        whole = all(value is None or isinstance(value, int) for value in values)
        filled = [0 if value is None else value for value in values]
        kind: Any = np.bool_ if content == "boolean" else np.int64 if whole else np.float64
        held = np.array(filled, kind)
    return np.ma.masked_array(held, nulls)
