"""Baskets out of tables: pairs (basket, item), or one column per item, from any source.

The rows come into a private DuckDB as texts (``engines.row_sources``) and are numbered there.
Names of columns become quoted identifiers, labels become parameters; nothing of the data is
ever pasted into SQL, and the engine's own messages, which may quote values, never leave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from winnow.core.baskets import Baskets
from winnow.errors import DataError
from winnow.foreign import plain_type
from winnow.read.engines.columns import check_columns, missing_column
from winnow.read.kept import KeptBaskets
from winnow.read.options import TextFormat
from winnow.read.records import unpacked_name


def ending_of(path: Path) -> str:
    """The ending of a name, without that of a packed file."""
    return unpacked_name(path).suffix.lower()


def pairs_of(
    source: Any,
    *,
    basket: str,
    item: str,
    person: str | None,
    items: Sequence[str] | None,
    max_baskets: int | None,
    salt: str,
    memory: str,
    text: TextFormat,
    most: int | None = None,
) -> tuple[Baskets, list[str]] | None:
    """Baskets from rows (basket, item), each item once per basket; and the labels.

    None where an engine has more than ``most`` pairs.

    With ``person`` a basket is a pair (person, basket): two people never share one. Of each user
    at most so many baskets are kept, those of the smallest keyed hash of the user and the
    basket: a choice that depends on the user's own rows only.
    """
    from winnow.read.engines.row_sources import Wanted

    texts = {"b": basket, "i": item} | ({} if person is None else {"u": person})
    with _opened(source, memory, list(texts.values()), text) as (engine, rows):
        check_columns(rows.types, basket=basket, item=item, person=person)
        most = None if engine.here else most
        rows.bring(Wanted(texts, {}, distinct=True, most=most), "pairs")
        ask = _Asked(rows.private)
        if most is not None and ask("SELECT count(*) FROM pairs")[0][0] > most:
            return None
        if person is None:
            ask("ALTER TABLE pairs ADD COLUMN u VARCHAR DEFAULT ''")
        if items is None:
            ask(
                "CREATE TEMP TABLE names AS SELECT i, row_number() OVER (ORDER BY i) - 1 AS c "
                "FROM (SELECT DISTINCT i FROM pairs)"
            )
            named = [str(row[0]) for row in ask("SELECT i FROM names ORDER BY c")]
        else:
            named = list(items)
            ask(
                "CREATE TEMP TABLE names AS SELECT unnest($1::VARCHAR[]) AS i, "
                "unnest(range($2::BIGINT)) AS c",
                [named, len(named)],
            )
        limit = ""
        if max_baskets is not None:
            ask(
                "CREATE TEMP TABLE kept AS SELECT u, b FROM (SELECT u, b, row_number() OVER "
                "(PARTITION BY u ORDER BY md5($1 || u || chr(31) || b), b) AS n FROM "
                "(SELECT DISTINCT u, b FROM pairs JOIN names USING (i))) WHERE n <= $2",
                [salt, max_baskets],
            )
            limit = "JOIN kept USING (u, b)"
        arrays = ask.arrays(
            "SELECT t, c FROM (SELECT dense_rank() OVER (ORDER BY u, b) - 1 AS t, c "
            f"FROM pairs JOIN names USING (i) {limit}) ORDER BY t, c"
        )
    owners, codes = np.asarray(arrays["t"], np.int64), np.asarray(arrays["c"], np.int32)
    lengths = np.bincount(owners) if len(owners) else np.empty(0, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Baskets(starts, codes, len(named)), named


def are_here(source: Any, how: Mapping[str, Any]) -> bool:
    """Whether pairs are read by a database of this process, and not by an engine that has them."""
    from winnow.read.engines.registry import engine_for

    used = [how[role] for role in ("basket", "item", "person") if how[role] is not None]
    return engine_for(source, how["memory"], used, how["text"]).here


def kept_pairs(
    source: Any,
    *,
    basket: str,
    item: str,
    person: str | None,
    items: Sequence[str] | None,
    max_baskets: int | None,
    salt: str,
    memory: str,
    text: TextFormat,
    max_items: int | None,
    bring: Callable[[], tuple[Baskets, list[str]] | None] | None,
) -> KeptBaskets:
    """Baskets that are left where they are; of each at most ``max_items`` items are kept."""
    from winnow.read.engines.basket_query import BasketQuery
    from winnow.read.engines.registry import engine_for

    listed = None if items is None else tuple(items)
    query = BasketQuery(
        item, person, None, salt, listed,
        basket=basket, max_baskets=max_baskets, max_items=max_items,
    )  # fmt: skip
    used = list(query.columns)
    engine = engine_for(source, memory, used, text)
    if engine.here:  # it would count them all
        with _opened(source, memory, used, text) as (_, rows):
            check_columns(rows.types, **query.roles)
    else:
        engine.keep(query, None, None)  # what cannot be counted is refused before a charge
    return KeptBaskets(engine, query, bring)


def indicators_of(
    source: Any,
    *,
    person: str | None,
    items: Sequence[str] | None,
    max_baskets: int | None,
    salt: str,
    memory: str,
    text: TextFormat,
) -> tuple[Baskets, list[str]]:
    """Baskets from a table with a column for each item: 1, true or yes where a row has it.

    The names of the columns are public. A row is a basket; without ``person`` one per person.
    The order of a user's rows decides nothing: rows are hashed with all they hold, and each of
    several equal rows with its number among them, so that what is kept is a uniform sample.
    """
    from winnow.read.engines.row_sources import Wanted

    texts = {} if person is None else {"u": person}
    with _opened(source, memory, list(texts.values()), text) as (_, rows):
        named = [c for c in rows.types if c != person] if items is None else list(items)
        check_columns(rows.types, person=person)
        _check_indicators(rows.types, named)
        cells = [f"c{place}" for place in range(len(named))]
        rows.bring(Wanted(texts, dict(zip(cells, named, strict=True))), "held")
        ask, asked = _Asked(rows.private), f"SELECT {', '.join(cells)} FROM held"
        given: list[Any] = []
        if max_baskets is not None:
            row = " || ".join(f"CAST({cell} AS VARCHAR)" for cell in cells)
            hashed = f"SELECT *, md5($1 || u || chr(31) || {row}) AS h FROM held"
            copies = f"SELECT *, row_number() OVER (PARTITION BY u, h) AS m FROM ({hashed})"
            ranked = (
                "SELECT *, row_number() OVER (PARTITION BY u ORDER BY md5($1 || h || m)) AS n "
                f"FROM ({copies})"
            )
            asked = f"SELECT {', '.join(cells)} FROM ({ranked}) WHERE n <= $2"
            given = [salt, max_baskets]
        arrays = ask.arrays(asked, given)
    table = np.column_stack([np.asarray(arrays[cell], np.bool_) for cell in cells])
    owners, codes = np.nonzero(table)
    lengths = np.bincount(owners, minlength=len(table))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Baskets(starts, codes.astype(np.int32), len(named)), named


def _check_indicators(types: dict[str, str], names: Sequence[str]) -> None:
    if not names:
        raise DataError("there is no column besides person=; give a column for each item")
    for place, name in enumerate(names, 1):
        if name not in types:
            raise DataError(missing_column(name, types))
        kind = plain_type(types[name])  # an enum's type quotes its values
        nested = types[name].endswith(("]", ">")) or types[name] == "unknown"
        if nested or kind.upper() in ("STRUCT", "MAP", "UNION", "BLOB", "BINARY", "BYTEA"):
            raise DataError(
                f"the column of item {place} has the type {kind}; cast it to text or to whole "
                "numbers first"
            )


class _Asked:
    """Statements with parameters, asked so that Ctrl-C stops them."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.interrupt = connection.interrupt

    def __call__(self, sql: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        from winnow.read.engines.private_duck import run

        self._given, self._as_arrays = list(given), False
        return run(self, sql)

    def arrays(self, sql: str, given: Sequence[Any] = ()) -> dict[str, Any]:
        """The columns of the answer."""
        from winnow.read.engines.private_duck import run

        self._given, self._as_arrays = list(given), True
        relation: Any = run(self, sql)[0]
        return dict(relation)

    def execute(self, sql: str) -> _Asked:
        """Begin."""
        self._connection.execute(sql, self._given)
        return self

    def fetchall(self) -> list[Any]:
        """End."""
        if self._as_arrays:
            return [self._connection.fetchnumpy()]
        rows: list[Any] = self._connection.fetchall()
        return rows


@contextmanager
def _opened(
    source: Any, memory: str, used: list[str], text: TextFormat
) -> Iterator[tuple[Any, Any]]:
    """The engine of a source, and its rows next to a private in-memory database.

    ``used`` are the columns that name people, baskets or items.
    """
    from winnow.read.engines.private_duck import private_connection
    from winnow.read.engines.registry import engine_for

    with private_connection(memory) as private:
        seen = engine_for(source, memory, used, text)
        with seen.rows(private, used) as rows:
            yield seen, rows


def readable(path: Path) -> None:
    """Refuse what is no file that may be read."""
    if not path.exists():
        raise DataError(f"there is no file {str(path)!r}; check the path")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; give a file")
