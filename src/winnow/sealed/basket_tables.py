"""Baskets out of tables, by a private DuckDB: pairs (basket, item), or one column per item.

Names of columns become quoted identifiers, labels become parameters; nothing of the data is
ever pasted into SQL, and the engine's own messages, which may quote values, never leave.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from winnow.errors import ExtraMissing, InputError
from winnow.kernels.itemsets import Baskets
from winnow.sealed.counts import check_pandas
from winnow.sealed.engines.keys import check_columns

TABLES = (".csv", ".tsv", ".parquet")


def ending_of(path: Path) -> str:
    """The ending of a name, without .gz."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def pairs_of(
    source: Any,
    *,
    basket: str,
    item: str,
    user: str | None,
    items: Sequence[str] | None,
    max_baskets_per_user: int | None,
    salt: str,
    memory: str,
) -> tuple[Baskets, list[str]]:
    """Baskets from rows (basket, item), each item once per basket; and the labels.

    With ``user`` a basket is a pair (user, basket): two people never share one. Of each user
    at most so many baskets are kept, those of the smallest keyed hash of the user and the
    basket: a choice that depends on the user's own rows only.
    """
    used = [basket, item] if user is None else [basket, item, user]
    with _opened(source, memory, used) as connection:
        check_columns(_types(connection), basket=basket, item=item, user=user)
        who = "''" if user is None else f"CAST({_quoted(user)} AS VARCHAR)"
        connection.execute(
            f"CREATE TEMP TABLE pairs AS SELECT DISTINCT {who} AS u, "
            f"CAST({_quoted(basket)} AS VARCHAR) AS b, CAST({_quoted(item)} AS VARCHAR) AS i "
            f"FROM source WHERE {_quoted(basket)} IS NOT NULL AND {_quoted(item)} IS NOT NULL"
            + ("" if user is None else f" AND {_quoted(user)} IS NOT NULL")
        )
        if items is None:
            connection.execute(
                "CREATE TEMP TABLE names AS SELECT i, row_number() OVER (ORDER BY i) - 1 AS c "
                "FROM (SELECT DISTINCT i FROM pairs)"
            )
            named = [str(row[0]) for row in _rows(connection, "SELECT i FROM names ORDER BY c")]
        else:
            named = list(items)
            connection.execute(
                "CREATE TEMP TABLE names AS SELECT unnest($1::VARCHAR[]) AS i, "
                "unnest(range($2::BIGINT)) AS c",
                [named, len(named)],
            )
        limit = ""
        if max_baskets_per_user is not None:
            connection.execute(
                "CREATE TEMP TABLE kept AS SELECT u, b FROM (SELECT u, b, row_number() OVER "
                "(PARTITION BY u ORDER BY md5($1 || u || chr(31) || b), b) AS n FROM "
                "(SELECT DISTINCT u, b FROM pairs JOIN names USING (i))) WHERE n <= $2",
                [salt, max_baskets_per_user],
            )
            limit = "JOIN kept USING (u, b)"
        connection.execute(
            "SELECT t, c FROM (SELECT dense_rank() OVER (ORDER BY u, b) - 1 AS t, c "
            f"FROM pairs JOIN names USING (i) {limit}) ORDER BY t, c"
        )
        found = connection.fetchnumpy()
    owners, codes = np.asarray(found["t"], np.int64), np.asarray(found["c"], np.int32)
    lengths = np.bincount(owners) if len(owners) else np.empty(0, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Baskets(starts, codes, len(named)), named


def indicators_of(
    source: Any,
    *,
    user: str | None,
    items: Sequence[str] | None,
    max_baskets_per_user: int | None,
    salt: str,
    memory: str,
) -> tuple[Baskets, list[str]]:
    """Baskets from a table with a column for each item: 1, true or yes where a row has it.

    The names of the columns are public. A row is a basket; without ``user`` one per person.
    The order of a user's rows decides nothing: rows are hashed with all they hold.
    """
    with _opened(source, memory, [] if user is None else [user]) as connection:
        types = _types(connection)
        named = [c for c in types if c != user] if items is None else list(items)
        check_columns(types, user=user)
        _check_indicators(types, named)
        held = [f"{_truth(name)} AS c{place}" for place, name in enumerate(named)]
        who = "''" if user is None else f"CAST({_quoted(user)} AS VARCHAR)"
        there = "" if user is None else f" WHERE {_quoted(user)} IS NOT NULL"
        connection.execute(
            f"CREATE TEMP TABLE rows AS SELECT {who} AS u, {', '.join(held)} FROM source{there}"
        )
        chosen = "rows"
        if max_baskets_per_user is not None:
            texts = " || ".join(f"CAST(c{place} AS VARCHAR)" for place in range(len(named)))
            connection.execute(
                f"CREATE TEMP TABLE kept AS SELECT * EXCLUDE (n) FROM (SELECT *, row_number() "
                f"OVER (PARTITION BY u ORDER BY md5($1 || u || chr(31) || {texts})) AS n "
                f"FROM rows) WHERE n <= $2",
                [salt, max_baskets_per_user],
            )
            chosen = "kept"
        connection.execute(f"SELECT * EXCLUDE (u) FROM {chosen}")
        found = connection.fetchnumpy()
    table = np.column_stack(
        [np.asarray(found[f"c{place}"], np.bool_) for place in range(len(named))]
    )
    owners, codes = np.nonzero(table)
    lengths = np.bincount(owners, minlength=len(table))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Baskets(starts, codes.astype(np.int32), len(named)), named


def _truth(name: str) -> str:
    """Whether a cell says yes; empty cells and nulls say no."""
    text = f"lower(trim(CAST({_quoted(name)} AS VARCHAR)))"
    return f"coalesce({text} IN ('1', '1.0', 'true', 't', 'yes', 'y', 'x'), false)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _rows(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
    return found


def _types(connection: Any) -> dict[str, str]:
    return {row[0]: str(row[1]) for row in _rows(connection, "DESCRIBE SELECT * FROM source")}


def _check_indicators(types: dict[str, str], names: Sequence[str]) -> None:
    from winnow.sealed.engines.histogram import plain_type

    for name in names:
        if name not in types:
            raise InputError(
                f"there is no column {name!r} among the {len(types)} columns of the source; "
                "check its name"
            )
        kind = plain_type(types[name])  # an enum's type quotes its values
        if types[name].endswith("]") or kind in ("STRUCT", "MAP", "UNION", "BLOB"):
            raise InputError(
                f"the column {name!r} has the type {kind}; cast it to text or to whole numbers "
                "first"
            )


@contextmanager
def _opened(source: Any, memory: str, used: Sequence[str]) -> Iterator[Any]:
    """A private in-memory database with the source as the view `source`.

    ``used`` are the columns that name people, baskets or items.
    """
    import duckdb

    try:
        connection = duckdb.connect(config={"memory_limit": memory, "temp_directory": ""})
    except duckdb.Error:
        raise InputError(
            f"memory={memory!r} is not a size; give one like '2GB' or '500MB'"
        ) from None
    problem = ""
    try:
        _attach(connection, source, used)
        yield connection
    except duckdb.Error as error:  # its message may quote values
        problem = type(error).__name__.removesuffix("Exception")
    finally:
        connection.close()
    if problem:
        raise InputError(
            f"the baskets cannot be read from this table (DuckDB: {problem}); check that it is "
            "whole and that its first line names the columns"
        )


def _attach(connection: Any, source: Any, used: Sequence[str]) -> None:
    if isinstance(source, str | Path):
        path = Path(source)
        readable(path)
        ending = ending_of(path)
        if ending not in TABLES:
            raise InputError(
                f"the file {path.name!r} is no table; give one that ends in {', '.join(TABLES)}"
            )
        from winnow.sealed.engines.duck import table_of_files

        table = table_of_files([path], ending).sql(dialect="duckdb")
        connection.execute(f"CREATE TEMP VIEW source AS SELECT * FROM {table}")
        return
    module = type(source).__module__.split(".")[0]
    if module == "polars":
        try:
            import pyarrow  # noqa: F401  DuckDB reads Polars through it
        except ImportError:
            raise ExtraMissing("pyarrow", "parquet", "reading a Polars table") from None
        source = source.collect() if hasattr(source, "collect") else source
        source = source.to_arrow()
    if module == "pandas":
        check_pandas(source, used)
    for again in (False, True):
        if again and module != "pandas":
            break
        try:  # DuckDB cannot see some views of a pandas frame, and sees their copies
            connection.register("source", source.copy() if again else source)
        except Exception:
            continue
        return
    raise InputError(
        f"a {type(source).__name__} holds no baskets; give a file, a list of baskets, or a "
        "pandas, Polars or Arrow table"
    )


def readable(path: Path) -> None:
    """Refuse what is no file that may be read."""
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r}; check the path")
    if path.is_dir():
        raise InputError(f"{path.name!r} is a folder; give a file")
