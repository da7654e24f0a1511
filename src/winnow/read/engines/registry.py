"""All engines, and the one that reads a source. mypy refuses here one that lacks a method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import finalize

from winnow.errors import DataError, ParameterError
from winnow.read.databases import Database, names_database, opened
from winnow.read.engine import Engine, Source
from winnow.read.engines.duck import DuckTable
from winnow.read.engines.files import ONLY_TEXT_FILES, DuckFiles
from winnow.read.engines.frames import DuckFrame
from winnow.read.engines.postgres import PostgresTable
from winnow.read.engines.spark import SparkFrame
from winnow.read.engines.warehouse import WarehouseTable
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


def engine_for(given: Any, memory: str, used: Sequence[str], text: TextFormat = PLAIN) -> Engine:
    """The engine that can see a source; ``used`` are the columns that will be read."""
    named = opened(given) if names_database(given) else Database(given, None)
    source = Source(named.source, memory, used, text)
    if text.said and source.paths is None:
        raise ParameterError(f"{ONLY_TEXT_FILES}; this source is none")
    for kind in ENGINES:
        found = kind.of(source)
        if found is not None:
            if named.connection is not None:  # it is nobody else's
                finalize(found, named.connection.close)
            return found
    raise DataError(
        f"a connection of the type {type(given[0]).__name__} is not known; give one of DuckDB, "
        "psycopg, BigQuery, Snowflake, Trino, Databricks or Ibis, or a Spark data frame"
    )
