"""``winnow.counts``: how many people have each item, from a table, sealed."""

from __future__ import annotations

import glob
import hashlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from winnow.domain.checks import count as check_count
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.errors import ExtraMissing, InputError
from winnow.sealed.public_list import public_list
from winnow.sealed.seal import Sealed
from winnow.sealed.sealed_counts import SealedCounts

ENDINGS = (".csv", ".tsv", ".parquet")


class _Engine(Protocol):
    def count(self, query: Any, parts: int | None, progress: Any) -> dict[str, int]: ...


def counts(
    source: Any,
    *,
    item: str,
    user: str | None = None,
    max_items_per_user: int | None = None,
    items: Sequence[Any] | str | Path | None = None,
    relation: str | Relation = Relation.ADD_REMOVE,
    memory: str = "2GB",
    parts: int | None = None,
    salt: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SealedCounts:
    """Count, for every item, how many people have it; the result is sealed.

    ``source`` is a CSV, TSV or Parquet file (a path, a pattern, or a list of them), a pandas,
    Polars or Arrow table, a Spark data frame, a DuckDB relation, or a pair (connection, table
    or query) of a DuckDB or psycopg connection. ``item`` and ``user`` name columns. A person
    counts at most once per item; without ``user`` every row is a person of its own.

    ``max_items_per_user`` keeps at most that many items of one person, chosen by a keyed hash
    of the person's own items, the same in every engine for the same ``salt`` (fresh and secret
    by default). ``items`` is the public list of items, or a text file with one per line: items
    outside it are left out, and those that nobody has count 0. Without it the items come from
    the data and are private.

    People and items are compared as texts, byte by byte, whatever the collation of a column.
    Rows without a person or an item are left out. Text files are read as text, so '7' and '007'
    differ. Whole numbers, booleans and dates are '7', 'true' and '2026-11-30', in a table as in
    ``items``. Columns of real numbers and of times are refused: their text differs between
    engines. With people numbered by whole numbers other items may be chosen than with the same
    numbers as texts.

    ``memory`` limits DuckDB for files and data frames, and nothing is spilled to disk: people
    are counted in ``parts`` (rounded up to a power of two), as many as that needs; ``progress``
    is called with (parts done, parts in all). A connection or relation of yours keeps its own
    settings.
    """
    from winnow.sealed.engines.query import CountQuery

    for name, value in (("item", item), ("user", user)):
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name}={value!r} is not the name of a column; give a text")
    if max_items_per_user is not None:
        check_count(max_items_per_user=max_items_per_user)
        max_items_per_user = int(max_items_per_user)
    if parts is not None:
        check_count(parts=parts)
    if user is None and max_items_per_user not in (None, 1):
        raise InputError(
            f"max_items_per_user={max_items_per_user} needs user=: without it every row is a "
            "person of its own, with one item"
        )
    utility = Utility.declare(1, monotone=True, relation=relation)
    public, listed = (None, None) if items is None else public_list(items)
    engine = _engine(source, memory, [item] if user is None else [item, user])
    key = os.urandom(16).hex() if salt is None else hashlib.blake2b(str(salt).encode()).hexdigest()
    query = CountQuery(item, user, max_items_per_user, key, listed)
    totals = engine.count(query, parts, progress)
    bound = 1 if user is None else max_items_per_user
    if public is not None and listed is not None:
        values = np.array([totals.get(text, 0) for text in listed], np.int64)
        what = f"counts of {len(public)} items"
        return SealedCounts(Sealed(values, what), public, utility, bound)
    labels = sorted(totals)
    values = np.array([totals[label] for label in labels], np.int64)
    return SealedCounts(Sealed(values, "counts"), Sealed(labels, "items"), utility, bound)


def _engine(source: Any, memory: str, used: list[str]) -> _Engine:
    """The engine that can see the source; none of them is imported before it is needed."""
    module = type(source).__module__.split(".")[0]
    if isinstance(source, str | Path) or (
        isinstance(source, list) and source and all(isinstance(p, str | Path) for p in source)
    ):
        return _files(source if isinstance(source, list) else [source], memory)
    if isinstance(source, tuple) and len(source) == 2:
        return _connected(*source)
    if module == "pyspark":
        from winnow.sealed.engines.spark import SparkFrame

        return SparkFrame(source)
    return _in_memory(source, module, memory, used)


def _files(sources: list[str | Path], memory: str) -> _Engine:
    from winnow.sealed.engines.duck import DuckFiles

    paths: list[Path] = []
    for source in sources:
        text = str(source)
        found = [text] if Path(text).exists() else sorted(glob.glob(text))
        if not found:
            raise InputError(f"there is no file {text!r}; check the path")
        paths += map(Path, found)
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path.name!r} is a folder; give files, or a pattern like '*.csv'")
        if not os.access(path, os.R_OK):
            raise InputError(f"the file {path.name!r} may not be read; check its permissions")
        if path.stat().st_size == 0:
            raise InputError(f"the file {path.name!r} is empty; its first line names the columns")
    endings = {path.with_suffix("").suffix.lower() if path.suffix == ".gz" else path.suffix.lower()
               for path in paths}  # fmt: skip
    if len(endings) != 1 or not endings <= set(ENDINGS):
        raise InputError(
            f"the files end in {', '.join(sorted(endings))}; give files of one kind: "
            f"{', '.join(ENDINGS)} (text may be gzipped)"
        )
    return DuckFiles(paths, endings.pop(), memory)


def _connected(connection: Any, what: Any) -> _Engine:
    from winnow.sealed.engines.postgres import PostgresTable, table_or_query

    if not isinstance(what, str):
        raise InputError("give (connection, 'table name or SELECT') as the source")
    module = type(connection).__module__.split(".")[0].lstrip("_")
    if module == "duckdb":
        from winnow.sealed.engines.duck_connection import DuckTable

        return DuckTable(connection, table_or_query(what, "duckdb"))
    if module == "psycopg":
        return PostgresTable(connection, table_or_query(what, "postgres"))
    raise InputError(
        f"a connection of the type {type(connection).__name__} is not known; give one of DuckDB "
        "or psycopg, or a Spark data frame"
    )


def _in_memory(source: Any, module: str, memory: str, used: list[str]) -> _Engine:
    from sqlglot import exp

    from winnow.sealed.engines.duck import DuckFrame
    from winnow.sealed.engines.duck_connection import DuckTable, RelationConnection

    if type(source).__name__ == "DuckDBPyRelation":
        return DuckTable(RelationConnection(source), exp.to_table("source"))
    if module in ("polars", "pyarrow") and importlib.util.find_spec("pyarrow") is None:
        # DuckDB reads both through it
        raise ExtraMissing("pyarrow", "parquet", "counting a Polars or Arrow table")
    if module == "polars":
        source = source.collect() if hasattr(source, "collect") else source
        source = source.to_arrow()
    elif module == "pandas":
        check_pandas(source, used)
    return DuckFrame(source, memory)


def check_pandas(frame: Any, used: Sequence[str]) -> None:
    """Refuse an object column that may mix 1 and '1', which would become one text."""
    names = [str(name) for name in getattr(frame, "columns", ())]  # a Series has none
    if len({name.lower() for name in names}) < len(names):  # DuckDB would rename some of them
        raise InputError(
            "the data frame has several columns of one name, or of names that differ in letter "
            "case only; rename or drop some"
        )
    for name in set(names).intersection(used):  # if one is not there, that is said later
        column = frame.iloc[:, names.index(name)]
        if column.dtype == object and len({type(v) for v in column.dropna()}) > 1:
            raise InputError(
                f"the column {name!r} mixes several types; convert it to one, for example with "
                "astype(str)"
            )
