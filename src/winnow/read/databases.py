"""Tables of databases, named by a text: for commands, and wherever a source may be a path.

    duckdb:FILE#TABLE     a table of a DuckDB file, which is only read
    env:NAME#TABLE        the address, postgresql://... or duckdb:FILE, is in a variable
    file:PATH#TABLE       the address, postgresql://..., is in a file for its owner alone
    spark:TABLE           a table of Spark, reached as its own settings say (SPARK_REMOTE)

In the place of TABLE one SELECT may stand. An address may hold a password: it is never typed,
and no message repeats it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from winnow.errors import DataError, ExtraMissing, LedgerError
from winnow.foreign import instead, reason

DUCKDB, ENVIRONMENT, FILE, SPARK = "duckdb:", "env:", "file:", "spark:"
_SCHEMES = (DUCKDB, ENVIRONMENT, FILE, SPARK)


def names_database(source: Any) -> bool:
    """Whether a source is a text that names a table of a database."""
    text = str(source) if isinstance(source, str | Path) else ""
    return text.startswith(_SCHEMES) and not os.path.exists(text)


def opened(source: str | Path, known: dict[str, Any]) -> Any:
    """The table that a text names: a connection and a table or query, or a Spark data frame.

    ``known`` are the connections by their places; a new one is added, for the caller to close.
    """
    text = str(source)
    scheme = next(each for each in _SCHEMES if text.startswith(each))
    place, mark, what = text.removeprefix(scheme).partition("#")
    if scheme == SPARK:
        return _spark(text.removeprefix(SPARK))
    if not (place and mark and what.strip()):
        raise DataError(
            f"{scheme}... does not say which table; write {scheme}PLACE#TABLE, or one SELECT in "
            "the place of TABLE"
        )
    if scheme + place not in known:
        known[scheme + place] = _connected(scheme, place)
    return known[scheme + place], what


def _connected(scheme: str, place: str) -> Any:
    from winnow.privacy.ledger.addresses import address_of

    if scheme == DUCKDB:
        return _duckdb(place)
    if scheme == FILE:
        with instead(lambda error: DataError(str(error)), LedgerError):
            return _postgres(address_of(FILE + place, "a database") or "", f"the file {place}")
    stored = os.environ.get(place, "")
    if stored.startswith(DUCKDB):
        return _duckdb(stored.removeprefix(DUCKDB))
    address = None if stored.startswith(FILE) else address_of(stored)
    if address is None:
        raise DataError(
            f"the variable {place} of the environment does not hold the address of a database; "
            "set it to one that starts with postgresql:// or duckdb:"
        )
    return _postgres(address, f"the variable {place}")


def _duckdb(place: str) -> Any:
    import duckdb

    if not os.path.isfile(place):
        raise DataError(f"there is no DuckDB file {place}; check the path")
    with instead(
        lambda error: DataError(
            f"the DuckDB file {place} cannot be opened ({type(error).__name__}); check that it is "
            "one, and that no other process writes to it"
        )
    ):
        return duckdb.connect(place, read_only=True)


def _postgres(address: str, where: str) -> Any:
    with instead(ExtraMissing("psycopg", "postgres", "reading from Postgres"), ImportError):
        import psycopg
    with instead(
        lambda error: DataError(
            f"the database whose address is in {where} cannot be reached ({reason(error)}); check "
            "the address, the password and that the server runs"
        )
    ):
        return psycopg.connect(address)


def _spark(what: str) -> Any:
    if not what.strip():
        raise DataError("spark: does not say which table; write spark:TABLE or spark:SELECT ...")
    with instead(ExtraMissing("pyspark", "spark", "reading from Spark"), ImportError):
        from pyspark.sql import SparkSession
    with instead(
        lambda error: DataError(
            f"Spark cannot read this table ({type(error).__name__}); check that it exists and that "
            "the session can be opened by itself"
        )
    ):
        session = SparkSession.builder.getOrCreate()
        query = what.strip().lower().startswith(("select", "with"))
        return session.sql(what) if query else session.table(what.strip())


def arrow_of(source: Any, chosen: Any) -> Any:
    """Some columns of an opened source as an Arrow table; ``chosen`` picks them by all names."""
    from winnow.read.engine import TABLE, refusing

    with instead(ExtraMissing("pyarrow", "parquet", "reading scores from a database"), ImportError):
        import pyarrow as pa
    with refusing("the source cannot be read", TABLE):
        names = column_names(source)
        wanted = list(chosen(names))
        if not isinstance(source, tuple):
            return source.select(*(f"`{name.replace('`', '``')}`" for name in wanted)).toArrow()
        rows = _asked(source, wanted).fetchall()
        columns = zip(*rows, strict=True) if rows else ([] for _ in wanted)
        return pa.table(dict(zip(wanted, map(list, columns), strict=True)))


def column_names(source: Any) -> list[str]:
    """The names of the columns of an opened source."""
    if not isinstance(source, tuple):
        return list(source.columns)
    return [about[0] for about in _asked(source, None).description]


def _asked(source: tuple[Any, str], wanted: list[str] | None) -> Any:
    """A cursor on some columns, or on all columns and no rows."""
    from sqlglot import exp

    from winnow.read.engines.columns import table_or_query
    from winnow.read.engines.query import column

    connection, what = source
    dialect = (
        "duckdb" if type(connection).__module__.startswith(("duckdb", "_duckdb")) else "postgres"
    )
    table = table_or_query(what, dialect)
    if wanted is None:
        query = exp.select("*").from_(table).limit(0)
    else:
        query = exp.select(*map(column, wanted)).from_(table)
    return connection.execute(query.sql(dialect=dialect))
