"""One database beside the ledger: an SQLite file or a Postgres server, the same SQL for both.

Every change is one transaction that nobody else writes in meanwhile, on the disk when it returns.
SQLite keeps a rollback journal, not WAL, for the reason that the ledger gives.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from winnow.errors import DataError, ExtraMissing, LedgerError, WinnowError
from winnow.foreign import instead, reason
from winnow.privacy.ledger.addresses import address_of
from winnow.privacy.ledger.connections import KeptConnection, alive, spelled
from winnow.privacy.ledger.locks import Hold, held_file
from winnow.serve.problems import Refusal

T = TypeVar("T")

_PATIENCE = 20.0
_ALONE = (
    "SELECT pg_try_advisory_lock(hashtext('winnow-serve alone'), "
    "to_regclass('winnow_serve_meta')::oid::bigint::bit(32)::int)"
)
_OURS = {"meta", "tokens", "requests", "audit"}
"""Tables by which the file of a server is known."""


class View:
    """Rows of the tables, inside one transaction; names of tables stand in braces."""

    def __init__(
        self, run: Callable[[str, tuple[Any, ...]], list[Any]], prefix: str, mark: str
    ) -> None:
        self._run, self._prefix, self._mark = run, prefix, mark

    def all(self, query: str, *values: Any) -> list[Any]:
        """The rows that a query finds."""
        if any(isinstance(each, str) and "\0" in each for each in values):
            raise Refusal("invalid", "a text has a NUL character, which no name has")
        return self._run(spelled(query, self._prefix, self._mark), values)

    def one(self, query: str, *values: Any) -> Any:
        """The first of them; None: there is none."""
        return next(iter(self.all(query, *values)), None)

    def do(self, statement: str, *values: Any) -> None:
        """Change something."""
        self.all(statement, *values)


class SQLiteDatabase:
    """A file that only its owner can read."""

    blob = "BLOB"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = KeptConnection(self._connect, lambda _: True)

    def _connect(self) -> sqlite3.Connection:
        if not self._path.exists():
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(
            self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            self._refuse_foreign(connection)
            os.chmod(self._path, 0o600)
            connection.execute("PRAGMA journal_mode=PERSIST").fetchone()
            connection.execute("PRAGMA synchronous=FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        """Refuse a database of something else before anything of it is changed."""
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name for (name,) in rows}
        if tables and not tables >= _OURS:
            raise DataError(
                f"the store {self._path} is a database of something else, and stays as it is; "
                "name a file of its own"
            )

    def read(self, work: Callable[[View], T]) -> T:
        """Look at what is there."""
        with _reported(), self._kept.connection() as connection:
            return work(_sqlite_view(connection))

    def hold(self) -> Hold | None:
        """A lock on a file beside it, for one server; None: another one has it."""
        return held_file(f"{self._path}.serving")

    def change(self, work: Callable[[View], T]) -> T:
        """One transaction; durable when it returns, or as if it had never been tried."""
        with _reported(), self._kept.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(_sqlite_view(connection))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result


def _sqlite_view(connection: sqlite3.Connection) -> View:
    return View(lambda query, values: connection.execute(query, values).fetchall(), "", "?")


class PostgresDatabase:
    """Tables of a Postgres database; the password is the driver's matter."""

    blob = "BYTEA"

    def __init__(self, address: str) -> None:
        self._address = address
        self._kept = KeptConnection(self._connect, lambda connection: not connection.broken)

    def _connect(self) -> Any:
        with instead(ExtraMissing("psycopg", "postgres", "a store in Postgres"), ImportError):
            import psycopg
        connection = psycopg.connect(self._address, connect_timeout=10)
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return connection

    def read(self, work: Callable[[View], T]) -> T:
        """Look at what is there."""
        with _reported(), self._kept.connection() as connection, connection.transaction():
            return work(_postgres_view(connection))

    def hold(self) -> Hold | None:
        """An advisory lock of a connection that stays open, for these tables and one server."""
        with _reported():
            connection = self._connect()
            connection.autocommit = True
            row = connection.execute(_ALONE).fetchone()
            if not row[0]:
                connection.close()
                return None
        return Hold(connection.close, lambda: alive(connection))

    def change(self, work: Callable[[View], T]) -> T:
        """One transaction, the only one that writes; durable when it returns."""
        with _reported(), self._kept.connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('winnow-serve'))")
            return work(_postgres_view(connection))


def _postgres_view(connection: Any) -> View:
    def run(query: str, values: tuple[Any, ...]) -> list[Any]:
        cursor = connection.execute(query, values)
        return cursor.fetchall() if cursor.description is not None else []

    return View(run, "winnow_serve_", "%s")


Database = SQLiteDatabase | PostgresDatabase


def database_at(place: str) -> Database:
    """The database that a path, a URL, or ``file:`` with a path names."""
    address = address_of(place, "the store of the server")
    if address is not None:
        return PostgresDatabase(address)
    if "://" in place or not place.strip() or "\0" in place:
        raise DataError("store is neither a file, nor a postgresql:// address, nor file:PATH")
    return SQLiteDatabase(Path(place))


def _unwritable(error: BaseException) -> bool:
    """Whether what was to be written is at fault, and not the store: to try again is no use.

    A text that is too large, or is none in UTF-8, a number beyond 64 bits; of Postgres by their
    class, errors in data (22), in constraints (23) and of limits of the program (54).
    """
    if isinstance(error, UnicodeError | OverflowError | MemoryError):
        return True
    if isinstance(
        error,
        sqlite3.DataError
        | sqlite3.IntegrityError
        | sqlite3.InterfaceError
        | sqlite3.ProgrammingError,
    ):
        return True
    state = getattr(error, "sqlstate", None)
    return isinstance(state, str) and state[:2] in ("22", "23", "54")


def _reporting(error: BaseException) -> WinnowError:
    if _unwritable(error):
        return DataError(f"the store of the server cannot hold this: {reason(error)}")
    return LedgerError(
        f"the store of the server cannot be used: {reason(error)}; nothing was shown"
    )


@contextmanager
def _reported() -> Iterator[None]:
    """What goes wrong in a database is for the owner, without the text of the driver."""
    with instead(_reporting):
        yield
