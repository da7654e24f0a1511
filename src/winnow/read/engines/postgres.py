"""Postgres tables and queries, counted by the server: only the counts travel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.errors import DataError
from winnow.foreign import instead
from winnow.read.engine import TABLE, Counts, Distinct, Engine, Progress, Source, own_name, refusing
from winnow.read.engines.columns import table_or_query, typed
from winnow.read.engines.distinct import distinct_of_rows
from winnow.read.engines.histogram import HistogramQuery, check_types
from winnow.read.engines.kept import Asking, EngineKept, KeptQuery, Wanted
from winnow.read.engines.query import (
    CountQuery,
    listed_in_one_text,
    no_more_than,
    numbered_in_one_text,
)
from winnow.read.engines.row_sources import RowSource, batches, receiver
from winnow.read.engines.row_sources import Wanted as WantedRows
from winnow.read.engines.scored import scores_query
from winnow.read.engines.weight_query import WeightQuery
from winnow.read.kept import KeptCounts

_SETTINGS = (
    "SET LOCAL DateStyle = 'ISO'",  # the text of dates is that of the other engines
    "SET LOCAL standard_conforming_strings = on",  # literals mean what they say
    "SET LOCAL client_encoding = 'UTF8'",  # texts come as texts
)
_UNKNOWN_BYTES = ("SQL_ASCII", "MULE_INTERNAL")
"""Encodings of databases that do not say which letters their bytes are."""


class PostgresTable(Engine):
    """A table or query of a Postgres database, through a psycopg connection."""

    def __init__(self, connection: Any, source: exp.Expression) -> None:
        self.connection, self.source = connection, source

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """A pair of a psycopg connection and a table or query."""
        pair = source.connected_by("psycopg")
        return None if pair is None else cls(pair[0], table_or_query(pair[1], "postgres"))

    def count(
        self,
        query: CountQuery,
        parts: int | None,
        progress: Progress | None,
        most: int | None = None,
    ) -> Counts | None:
        """The counts, in a transaction that is rolled back with its settings.

        Texts are compared by their bytes, whatever the columns' collations.
        """
        with (
            refusing("Postgres cannot count this source", TABLE),
            self._settled() as cursor,
        ):
            counts = self.asked(self._typed(query, cursor), cursor).counts
            self._understood(cursor, counts)
            cursor.execute(no_more_than(most, counts).sql(dialect="postgres"))
            counted = {item: int(count) for item, count in cursor.fetchall()}
            return None if most is not None and len(counted) > most else counted

    def keep(self, query: CountQuery, parts: int | None, progress: Progress | None) -> KeptCounts:
        """Nothing is asked before a release but the types of the columns, and for a plan."""
        with refusing("Postgres cannot count this source", TABLE), self._settled() as cursor:
            query = self._typed(query, cursor)
            self._understood(cursor, self.asked(query, cursor).sizes())
            return _PostgresKept(self, query)

    def asked(self, query: CountQuery, cursor: Any) -> KeptQuery:
        """The counts."""
        listed, numbered = listed_in_one_text(query.items), numbered_in_one_text(query.items)
        if isinstance(query, WeightQuery) and query.items is not None:
            rows = [(0, item) for item in query.items]
            copied = copied_table(cursor, rows)
            listed = listed if copied is None else exp.select(exp.alias_("b", "i")).from_(copied)
        return KeptQuery(query, query.over(self.source.copy(), listed=listed), numbered)

    def _understood(self, cursor: Any, query: exp.Select) -> None:
        """Have the server plan a query, so that what it never can answer is refused at once."""
        from psycopg.errors import UntranslatableCharacter

        encoding = self.connection.info.parameter_status("server_encoding")
        foreign = DataError(
            f"this Postgres database holds texts in {encoding}, which has no bytes for a letter of "
            "the public list or of the query; leave out what it cannot hold"
        )
        with instead(foreign, UntranslatableCharacter):
            cursor.execute(f"EXPLAIN {query.sql(dialect='postgres')}")

    @contextmanager
    def _settled(self) -> Iterator[Any]:
        """A cursor inside a transaction that is rolled back with its settings."""
        encoding = self.connection.info.parameter_status("server_encoding")
        if encoding in _UNKNOWN_BYTES:
            raise DataError(
                f"this Postgres database has the encoding {encoding}, which does not say what its "
                "texts are; copy the table to a database of UTF8, or unload it to a file"
            )
        with (
            self.connection.transaction(force_rollback=True),
            tuple_cursor(self.connection) as cursor,
        ):
            for setting in _SETTINGS:
                cursor.execute(setting)
            yield cursor

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        """A cursor in a transaction that sees one state of the database.

        A transaction that the user has open, and that sees more than one, is left as it is: what
        changed is then noticed by its size.
        """
        from psycopg.pq import TransactionStatus

        idle = self.connection.info.transaction_status == TransactionStatus.IDLE
        with self.connection.transaction(force_rollback=True):
            if idle:
                self.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            with self._settled() as cursor:
                yield cursor

    def _typed(self, query: CountQuery, cursor: Any) -> CountQuery:
        return replace(typed(query, self._types(cursor)), collation="C")

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """In a transaction that is rolled back, so that a failure leaves the user's own alone."""
        with self._settled() as cursor:
            types = self._types(cursor)
            check_types(query, types, as_text=False)
            asked = query.over(self.source.copy(), types, "postgres", as_text=False)
            cursor.execute(asked.sql(dialect="postgres"))
            return distinct_of_rows(cursor.fetchall(), query), False

    def check_scores(self, id: str, score: str) -> None:
        """By the types of the columns."""
        with self._settled() as cursor:
            scores_query(self._types(cursor), self.source, id, score)

    def contenders(self, worker: Worker, id: str, score: str) -> list[bytes]:
        """Through a cursor of the server, so that it sends no more than a batch at a time."""
        parts: list[bytes] = []
        with self._settled() as cursor:
            asked = scores_query(self._types(cursor), self.source, id, score)
            with tuple_cursor(self.connection, own_name("scores")) as rows:
                rows.execute(asked.sql(dialect="postgres"))
                for batch in batches(rows.fetchmany):
                    ids, scores = zip(*batch, strict=True)
                    parts.append(worker.contenders(list(ids), list(scores)))
        return parts

    @contextmanager
    def rows(self, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
        """Inside one transaction, which is rolled back with its settings."""
        with self._settled() as cursor:
            yield _PostgresRows(private, self._types(cursor), self)

    def types(self) -> dict[str, str]:
        """The columns and their types, by a transaction of their own."""
        with self._settled() as cursor:
            return self._types(cursor)

    def _types(self, cursor: Any) -> dict[str, str]:
        """The columns and their types."""
        nothing = exp.select("*").from_(self.source.copy()).limit(0)
        cursor.execute(nothing.sql(dialect="postgres"))
        return _types(cursor)


class _PostgresKept(EngineKept):
    """Counts that the server makes anew for each question of a release."""

    def __init__(self, table: PostgresTable, query: CountQuery) -> None:
        super().__init__(query, TABLE)
        self._table = table

    @contextmanager
    def asking(self) -> Iterator[tuple[Asking, KeptQuery]]:
        """In one transaction, rolled back."""
        with self._table.snapshot() as cursor:
            yield _PostgresAsking(cursor), self._table.asked(self.query, cursor)


class _PostgresAsking(Asking):
    """What is asked for comes by COPY: the text of a query may stand in the server's log."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def table(self, wanted: list[Wanted]) -> exp.Expression:
        """A temporary table of the values, gone with the transaction; or a list, if refused."""
        copied = copied_table(self._cursor, wanted)
        return super().table(wanted) if copied is None else copied

    def rows(self, query: exp.Select) -> list[tuple[Any, ...]]:
        """The answer."""
        self._cursor.execute(query.sql(dialect="postgres"))
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        return rows


def copied_table(cursor: Any, rows: Sequence[Wanted]) -> exp.Table | None:
    """A temporary table w of numbers n and values b, by COPY; None where none may be made."""
    from psycopg.errors import InsufficientPrivilege, ReadOnlySqlTransaction

    name, kind = own_name("wanted"), "text" if isinstance(rows[0][1], str) else "bigint"
    try:
        with cursor.connection.transaction():
            cursor.execute(f"CREATE TEMP TABLE {name} (n bigint, b {kind})")
            with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
    except (InsufficientPrivilege, ReadOnlySqlTransaction):
        return None
    return exp.to_table(name, alias="w")


def tuple_cursor(connection: Any, name: str = "") -> Any:
    """A cursor whose rows are tuples, whatever rows the user's connection gives by itself."""
    from psycopg.rows import tuple_row

    return connection.cursor(name, row_factory=tuple_row)


def _types(cursor: Any) -> dict[str, str]:
    import psycopg

    types = {}
    for column in cursor.description:
        known = psycopg.adapters.types.get(column.type_code)
        single = known is not None and known.oid == column.type_code  # not an array of them
        types[column.name] = known.name if known is not None and single else "unknown"
    return types


class _PostgresRows(RowSource):
    """A table or query of a Postgres database, inside one transaction."""

    def __init__(self, private: Any, types: dict[str, str], table: PostgresTable) -> None:
        self._table = table
        super().__init__(private, types)

    def bring(self, wanted: WantedRows, table: str) -> None:
        """Through a cursor of the server, so that it sends no more than a batch at a time."""
        receive = receiver(self.private, table, wanted.kinds())
        with tuple_cursor(self._table.connection, own_name("rows")) as cursor:
            cursor.execute(wanted.over(self._table.source, _in_bytes).sql(dialect="postgres"))
            for rows in batches(cursor.fetchmany):
                receive(rows)


def _in_bytes(text: exp.Expression) -> exp.Expression:
    return exp.Paren(this=exp.Collate(this=text, expression=exp.to_identifier("C", quoted=True)))
