"""Entries in a Postgres database, for teams: the same chain, kept by a server.

Appending takes an advisory lock for the length of its transaction, so that charges of many
clients are one sequence, and asks the server to commit to its disk (synchronous_commit).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from winnow.errors import ExtraMissing, LedgerError
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.locks import Hold

_LAYOUT = (
    "CREATE TABLE winnow_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE winnow_entries (
        sequence BIGINT PRIMARY KEY CHECK (sequence > 0),
        time TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, body TEXT NOT NULL,
        previous TEXT NOT NULL UNIQUE, tag TEXT NOT NULL UNIQUE,
        used BIGINT NOT NULL CHECK (used >= 0), cap BIGINT NOT NULL CHECK (used <= cap)
    )""",
    'CREATE INDEX winnow_by_dataset ON winnow_entries (dataset COLLATE "C", sequence)',
    """CREATE FUNCTION winnow_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a ledger is only appended to'; END $$""",
    *(
        f"CREATE TRIGGER {table}_only_append BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION winnow_refuse()"
        for table in ("winnow_meta", "winnow_entries")
    ),
)
_COLUMNS = "sequence, time, kind, dataset, body, previous, tag"
_LOCK = int.from_bytes(hashlib.sha256(b"winnow-ledger").digest()[:8], "big", signed=True)


class PostgresStore:
    """The entries of one database, addressed by a URL."""

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise ExtraMissing("psycopg", "postgres", "a ledger on Postgres") from None
        self._driver: Any = psycopg
        self._url = url

    @property
    def name(self) -> str:
        """The name of the database; never the user, the password or the host."""
        return urlsplit(self._url).path.lstrip("/") or "postgres"

    @property
    def path(self) -> None:
        """None: the address may hold a password and is not written down."""

    def default_key_file(self) -> Path:
        """In the folder of the process: a database has no place of its own for a key."""
        return Path(f"{self.name}.ledger.key")

    def exists(self) -> bool:
        """Whether the tables are there."""
        with self._transaction() as cursor:
            cursor.execute("SELECT to_regclass('winnow_entries') IS NOT NULL")
            return bool(cursor.fetchone()[0])

    def create(self, meta: dict[str, str]) -> None:
        """Lay out an empty ledger in one transaction; another process may have been first."""
        with self._transaction(lock=True) as cursor:
            cursor.execute("SELECT to_regclass('winnow_entries') IS NOT NULL")
            if cursor.fetchone()[0]:
                return
            for statement in _LAYOUT:
                cursor.execute(statement)
            cursor.executemany("INSERT INTO winnow_meta VALUES (%s, %s)", list(meta.items()))

    def meta(self) -> dict[str, str]:
        """The facts that were fixed at creation."""
        with self._transaction() as cursor:
            cursor.execute("SELECT name, value FROM winnow_meta")
            return dict(cursor.fetchall())

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """All entries, or those of one dataset, in order."""
        where, values = ("", ()) if dataset is None else (" WHERE dataset = %s", (dataset,))
        with self._transaction() as cursor:
            cursor.execute(
                f"SELECT {_COLUMNS} FROM winnow_entries{where} ORDER BY sequence", values
            )
            rows = cursor.fetchall()
        return map(_entry, rows)

    def hold(self, dataset: str) -> Hold | None:
        """An advisory lock of a connection that stays open; it ends with the process."""
        mark = hashlib.sha256(b"winnow-session:" + dataset.encode()).digest()[:8]
        with self._reported():
            connection = self._driver.connect(self._url, autocommit=True)
            number = int.from_bytes(mark, "big", signed=True)
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
            if not row[0]:
                connection.close()
                return None
        return Hold(connection.close, lambda: _alive(connection))

    @contextmanager
    def appending(self) -> Iterator[PostgresAppending]:
        """One transaction that reads the end of the chain and adds to it; durable at its end."""
        with self._transaction(lock=True) as cursor:
            yield PostgresAppending(cursor)

    @contextmanager
    def _transaction(self, *, lock: bool = False) -> Iterator[Any]:
        with (
            self._reported(),
            self._driver.connect(self._url) as connection,
            connection.cursor() as cursor,
        ):
            if lock:
                cursor.execute("SET LOCAL synchronous_commit = on")
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            yield cursor

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Errors of the server without its address, its user or its statements."""
        problem = ""
        try:
            yield
        except self._driver.Error as error:
            problem = error.sqlstate or type(error).__name__
        if problem:
            raise LedgerError(
                f"the ledger {self.name} on Postgres cannot be used (error {problem}); nothing was "
                "drawn. Check the address, the permissions and the server"
            )


class PostgresAppending:
    """The end of the chain, held still while one more entry is added."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def last(self, dataset: str | None = None) -> Entry | None:
        """The last entry of all, or of one dataset."""
        return self._one("DESC", dataset)

    def first(self, dataset: str) -> Entry | None:
        """The entry that opened a dataset."""
        return self._one("ASC", dataset)

    def _one(self, direction: str, dataset: str | None) -> Entry | None:
        where, values = ("", ()) if dataset is None else (" WHERE dataset = %s", (dataset,))
        self._cursor.execute(
            f"SELECT {_COLUMNS} FROM winnow_entries{where} ORDER BY sequence {direction} LIMIT 1",
            values,
        )
        row = self._cursor.fetchone()
        return None if row is None else _entry(row)

    def since(self, dataset: str, sequence: int) -> list[Entry]:
        """The entries of a dataset that came after one of this number."""
        self._cursor.execute(
            f"SELECT {_COLUMNS} FROM winnow_entries WHERE dataset = %s AND sequence > %s "
            "ORDER BY sequence",
            (dataset, sequence),
        )
        return [_entry(row) for row in self._cursor.fetchall()]

    def count(self) -> int:
        """How many entries there are."""
        self._cursor.execute("SELECT count(*) FROM winnow_entries")
        return int(self._cursor.fetchone()[0])

    def add(self, entry: Entry, used: int, cap: int) -> None:
        """Add an entry; the table itself refuses what passes the cap."""
        marks = ", ".join(["%s"] * 9)
        body = json.dumps(dict(entry.body), sort_keys=True)
        self._cursor.execute(
            f"INSERT INTO winnow_entries VALUES ({marks})",
            (entry.sequence, entry.time, entry.kind, entry.dataset, body, entry.previous,
             entry.tag, used, cap),
        )  # fmt: skip


def _alive(connection: Any) -> bool:
    """Whether the server still holds this connection, and so its lock."""
    try:
        connection.execute("SELECT 1").fetchone()
    except Exception:  # whatever the driver says: the lock cannot be relied on
        return False
    return True


def _entry(row: tuple[int, str, str, str, str, str, str]) -> Entry:
    sequence, time, kind, dataset, text, previous, tag = row
    return Entry(sequence, time, kind, dataset, json.loads(text), previous, tag)
