"""All engines, and the one that reads a source. mypy refuses here one that lacks a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import finalize

from winnow.errors import DataError, ParameterError
from winnow.read.databases import names_database, opened
from winnow.read.engine import Engine, Source
from winnow.read.engines.duck import DuckTable
from winnow.read.engines.files import ONLY_TEXT_FILES, DuckFiles
from winnow.read.engines.frames import DuckFrame
from winnow.read.engines.joined import engine_of_join
from winnow.read.engines.postgres import PostgresTable
from winnow.read.engines.spark import SparkFrame
from winnow.read.engines.warehouse import WarehouseTable
from winnow.read.joins import Join
from winnow.read.options import PLAIN, TextFormat


def _whole(*engines: type[Engine]) -> tuple[type[Engine], ...]:
    """Them; to a parameter of this type mypy gives no class that lacks a method."""
    return engines


ENGINES = _whole(
    DuckFiles,
    DuckTable,
    PostgresTable,
    WarehouseTable,
    SparkFrame,
    DuckFrame,
)
"""Asked in this order; the last takes whatever is in memory."""


def engine_for(
    given: Any,
    memory: str,
    used: Sequence[str],
    text: TextFormat = PLAIN,
    *,
    joins: bool = False,
) -> Engine:
    """The engine that can see a source; ``used`` are the columns that will be read.

    ``joins`` says that a join may be read, whose people are those on whom it is joined.
    """
    if isinstance(given, Join):
        if not joins:
            raise ParameterError("a join is read by wn.counts and wn.read_table; give one source")
        tables = [*given.tables, *given.public.values()]
        written = [_is_text(table) for table in tables]
        if text.said and not any(written):
            raise ParameterError(f"{ONLY_TEXT_FILES}; these sources are not")
        known: dict[str, Any] = {}
        parts = [
            _engine_of(table, memory, used, text if is_text else PLAIN, known)
            for table, is_text in zip(tables, written, strict=True)
        ]
        whole = engine_of_join(given, parts, memory, used)
        for connection in known.values():
            finalize(whole, connection.close)
        return whole
    known = {}
    engine = _engine_of(given, memory, used, text, known)
    for connection in known.values():  # it is nobody else's
        finalize(engine, connection.close)
    return engine


def _engine_of(
    given: Any, memory: str, used: Sequence[str], text: TextFormat, known: dict[str, Any]
) -> Engine:
    """The engine of one source; ``known`` holds the connections that were opened for its name."""
    named = opened(given, known) if names_database(given) else given
    source = Source(named, memory, used, text)
    if text.said and source.paths is None:
        raise ParameterError(f"{ONLY_TEXT_FILES}; this source is not one")
    for kind in ENGINES:
        engine = kind.of(source)
        if engine is not None:
            return engine
    raise DataError(
        f"a connection of the type {type(given[0]).__name__} is not known; give one of DuckDB, "
        "psycopg, BigQuery, Snowflake, Trino, Databricks or Ibis, or a Spark data frame"
    )


def _is_text(table: Any) -> bool:
    """Whether a table of a join is a text file."""
    paths = None if names_database(table) else Source(table, "", ()).paths
    return paths is not None and not any(str(path).endswith(".parquet") for path in paths)
