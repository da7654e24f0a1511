"""Entries in a Postgres database, for teams: the same chain, kept by a server.

Appending takes an advisory lock for the length of its transaction, so that charges of many
clients are one sequence (the server serves them in the order in which they came). The transaction
is READ COMMITTED whatever the server's default is: what is read after the lock was granted has to
be the latest.

Nobody waits for the disk while holding the lock. The transaction commits without waiting, and
then a message of the same connection is committed with synchronous_commit: the server's log is
written in order, so that it has the entry on the disk (and on the standbys that it waits for) when
the message is. Many clients so wait for one write together.

A charge is two journeys to the server: what is only sent waits for the next question, and the
statements go together as a pipeline. So the lock is held for one answer and one question more, and
not for the turns of a crowd of other processes in between.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from winnow.errors import DataError, ExtraMissing, LedgerError, WinnowError
from winnow.foreign import instead
from winnow.privacy.ledger.connections import KeptConnection, alive
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.locks import Hold
from winnow.privacy.ledger.store import PATIENCE, Appending, End, TableStore, TableView

T = TypeVar("T")

_ONLY_APPENDED = tuple(
    f"CREATE TRIGGER {table}_only_append BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
    "FOR EACH STATEMENT EXECUTE FUNCTION winnow_refuse()"
    for table in ("winnow_meta", "winnow_entries")
)
_SECOND = (
    "CREATE TABLE winnow_ending (id INTEGER PRIMARY KEY CHECK (id = 1), "
    "sequence BIGINT NOT NULL, tag TEXT NOT NULL, seal TEXT NOT NULL)",
    "CREATE TABLE winnow_noted (name TEXT NOT NULL, sequence BIGINT NOT NULL, "
    "PRIMARY KEY (name, sequence))",
)
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
    *_ONLY_APPENDED,
    *_SECOND,
)
_TREELESS = (  # written by a library that was started before the ledger was upgraded
    "ALTER TABLE winnow_entries ADD CONSTRAINT winnow_upgraded "
    "CHECK (body LIKE '%\"tree\":%') NOT VALID"
)
_LOCK = int.from_bytes(hashlib.sha256(b"winnow-ledger").digest()[:8], "big", signed=True)
_BEGIN = (  # only for the transaction, as SET LOCAL
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    "SELECT set_config('synchronous_commit', 'off', true), "
    f"set_config('lock_timeout', '{int(PATIENCE * 1000)}', true)",
    f"SELECT pg_advisory_xact_lock({_LOCK})",
)
_ON_DISK = (
    "BEGIN",
    "SELECT set_config('synchronous_commit', 'on', true), "
    "pg_logical_emit_message(true, 'winnow', 'on the disk')",
    "COMMIT",
)
_MARK = (
    "INSERT INTO winnow_ending VALUES (1, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET "
    "sequence = EXCLUDED.sequence, tag = EXCLUDED.tag, seal = EXCLUDED.seal"
)
_TRIES = 10
_AGAIN = {"40001", "40P01"}
"""A serialization failure or a deadlock: the server took the transaction back."""
_LOST = {None, "08000", "08003", "08006", "57P01", "57P02", "57P05"}
"""The connection is gone, as after a restart of the server."""


class PostgresStore(TableStore["_PostgresView"]):
    """The entries of one database, addressed by a URL."""

    def __init__(self, url: str) -> None:
        missing = ExtraMissing("psycopg", "postgres", "a ledger on Postgres")
        with instead(missing, ImportError):
            import psycopg
        self._driver: Any = psycopg
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            parts = {"dbname": "@"}
        self._name = str(parts.get("dbname") or "postgres")
        if "@" in self._name:  # a password with a / in it would end up in the database's name
            raise DataError(
                "the address of the ledger is not one that Postgres understands; write it as "
                "postgresql://user@host:port/database, with %40 for @ and %2F for / in a name"
            )
        self._url = url
        self._kept = KeptConnection(self._connect, lambda connection: not connection.closed)

    def _connect(self) -> Any:
        return self._driver.connect(self._url, autocommit=True)

    @property
    def name(self) -> str:
        """The name of the database; never the user, the password or the host."""
        return self._name

    @property
    def path(self) -> None:
        """None: the address may hold a password and is not written down."""

    def default_key_file(self) -> Path:
        """In the folder of the process: a database has no place of its own for a key."""
        return Path(f"{self.name.replace('/', '_')}.ledger.key")

    def exists(self) -> bool:
        """Whether the tables are there."""
        return self._read(lambda view: view.exists())

    def creating(self) -> AbstractContextManager[None]:
        """Nothing: the transaction in which a ledger is made waits for others by itself."""
        return nullcontext()

    def create(self, meta: Mapping[str, str], end: End) -> bool:
        """Lay out an empty ledger in one transaction; False: another process was first."""

        def lay_out(view: _PostgresView) -> bool:
            if view.exists():
                return False
            view.run(*_LAYOUT)
            view.set_meta(meta)
            view.mark(end)
            return True

        return self.append(lay_out)

    def upgrade(self, meta: Mapping[str, str], work: Callable[[Appending], None]) -> bool:
        """Bring the layout of version 1 up to date in one transaction; False: that was done."""

        def change(view: _PostgresView) -> bool:
            if view.exists("winnow_ending"):
                return False
            view.run("DROP TRIGGER IF EXISTS winnow_meta_only_append ON winnow_meta", *_SECOND)
            view.run("DELETE FROM winnow_meta")
            view.set_meta(meta)
            work(view)
            view.run(_ONLY_APPENDED[0], _TREELESS)
            return True

        return self.append(change)

    def hold(self, dataset: str) -> Hold | None:
        """An advisory lock of a connection that stays open; it ends with the process."""
        mark = hashlib.sha256(b"winnow-session:" + dataset.encode()).digest()[:8]
        with self._reported():
            connection = self._connect()
            number = int.from_bytes(mark, "big", signed=True)
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
            if not row[0]:
                connection.close()
                return None
        return Hold(connection.close, lambda: alive(connection))

    def _read(self, work: Callable[[_PostgresView], T]) -> T:
        return self._again(lambda connection, _: work(_PostgresView(connection)))

    def append(self, work: Callable[[_PostgresView], T]) -> T:
        """One transaction that reads the end of the chain and adds to it; durable at its end."""

        def transaction(connection: Any, sent: list[Any]) -> T:
            view = _PostgresView(connection, *_BEGIN)
            try:
                result = work(view)
            except WinnowError:  # after any other error the connection is not kept
                connection.execute("ROLLBACK")
                raise
            view.commit(sent)
            return result

        return self._again(transaction)

    def _again(self, work: Callable[[Any, list[Any]], T]) -> T:
        """Try once more what the server took back, or what a lost connection never sent.

        ``work`` puts the cursor of its COMMIT into the list before it is sent.
        """
        with self._reported():
            for trial in count(1):
                sent: list[Any] = []
                try:
                    with self._kept.connection() as connection:
                        return work(connection, sent)
                except self._driver.Error as error:
                    state = _cause(error).sqlstate
                    lost = state in _LOST and not sent and trial == 1
                    taken_back = state in _AGAIN and not any(map(_committed, sent))
                    if not lost and (not taken_back or trial == _TRIES):
                        raise
        raise AssertionError("the last trial raises")

    def _reported(self) -> instead:
        """Errors of the server without its address, its user or its statements."""
        return instead(self._refusal, self._driver.Error, UnicodeError)

    def _refusal(self, error: BaseException) -> LedgerError:
        cause = _cause(error)
        problem = getattr(cause, "sqlstate", None) or type(cause).__name__
        return LedgerError(
            f"the ledger {self.name} on Postgres cannot be used (error {problem}); nothing was "
            "shown that it does not record. Check the address, the password, the permissions "
            "and the server"
        )


class _PostgresView(TableView):
    """The tables of a database.

    Statements without an answer are sent with the next question, or with the end.
    """

    prefix, mark_of_value = "winnow_", "%s"

    def __init__(self, connection: Any, *first: str) -> None:
        self._connection = connection
        self._waiting: list[tuple[str, Any]] = [(statement, None) for statement in first]

    def commit(self, sent: list[Any]) -> None:
        """End the transaction; it is on the disk when this returns.

        ``sent`` gets the cursor of the COMMIT: whatever fails afterwards is known not to have
        prevented it.
        """
        sent.append(self._connection.cursor())
        with self._connection.pipeline():
            self._send()
            sent[0].execute("COMMIT")
            for statement in _ON_DISK:
                last = self._connection.execute(statement)
        if not _committed(sent[0]) or not _committed(last):
            raise self._connection.OperationalError("the server answered otherwise than COMMIT")

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        for statement, values in waiting:
            self._connection.execute(statement, values)

    def exists(self, table: str = "winnow_entries") -> bool:
        """Whether a table is there; to_regclass may remember what was before the lock."""
        query = (
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE relname = %s AND relkind = 'r' "
            "AND pg_catalog.pg_table_is_visible(oid))"
        )
        return bool(self._one(query, table)[0])

    def add(self, entry: Entry, used: int, cap: int, end: End, noted: str) -> None:
        """Add an entry; the table itself refuses what passes the cap."""
        marks = ", ".join(["%s"] * 9)
        self._do(
            f"WITH entry AS (INSERT INTO winnow_entries VALUES ({marks})), ending AS ({_MARK}) "
            "INSERT INTO winnow_noted SELECT %s, %s WHERE %s",
            *(*entry.to_row(), used, cap, *end, noted, entry.sequence, bool(noted)),
        )

    def mark(self, end: End) -> None:
        """Move the mark of the end."""
        self._do(_MARK, *end)

    def set_meta(self, meta: Mapping[str, str]) -> None:
        """Fix facts for good."""
        for pair in meta.items():
            self._do("INSERT INTO winnow_meta VALUES (%s, %s)", *pair)

    def _all(self, query: str, *values: Any) -> list[Any]:
        together = self._connection.pipeline() if self._waiting else nullcontext()
        with together:
            self._send()
            asked = self._connection.execute(query, values)
        rows: list[Any] = asked.fetchall()
        return rows

    def _do(self, statement: str, *values: Any) -> None:
        self._waiting.append((statement, values or None))  # without values % is itself


def _cause(error: Any) -> Any:
    """What went wrong first: the statements behind it in a pipeline only say that it did."""
    while type(error).__name__ == "PipelineAborted" and error.__context__ is not None:
        error = error.__context__
    return error


def _committed(cursor: Any) -> bool:
    """Whether the server has answered that it did."""
    return bool(cursor.statusmessage == "COMMIT")
