"""Entries in an SQLite file that survives crashes, and is only ever appended to.

The rollback journal is kept in PERSIST mode with synchronous=EXTRA: an entry is on the disk
before ``append`` returns. The journal is overwritten, neither cut nor removed, because a change
of a file's size makes a disk wait many times longer. (Not WAL: SQLite 3.7.0 to 3.51.2 can lose
committed entries there in a race, and Python links older versions.) Every change starts with
BEGIN IMMEDIATE, so that what was read cannot change before what is written. Readers open the
file for writing, too: the first one after a crash has to roll a half-written transaction back.

Processes that want to write pass a turnstile one by one, and the one in front asks SQLite every
millisecond. SQLite's own waiting doubles its pauses and so serves whoever has just been served.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from winnow.errors import LedgerError
from winnow.foreign import instead, reason
from winnow.privacy.ledger.connections import KeptConnection
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.locks import Hold, exclusive, held_file, sync_folder, turnstile
from winnow.privacy.ledger.store import PATIENCE, Appending, End, TableStore, TableView

T = TypeVar("T")

_ONLY_APPENDED = tuple(
    f"CREATE TRIGGER {table}_{word.lower()} BEFORE {word} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'a ledger is only appended to'); END"
    for table in ("meta", "entries")
    for word in ("UPDATE", "DELETE")
)
_SECOND = (
    "CREATE TABLE ending (id INTEGER PRIMARY KEY CHECK (id = 1), sequence INTEGER NOT NULL, "
    "tag TEXT NOT NULL, seal TEXT NOT NULL) STRICT",
    "CREATE TABLE noted (name TEXT NOT NULL, sequence INTEGER NOT NULL, "
    "PRIMARY KEY (name, sequence)) STRICT, WITHOUT ROWID",
)
_LAYOUT = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE entries (
        sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
        time TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, body TEXT NOT NULL,
        previous TEXT NOT NULL UNIQUE, tag TEXT NOT NULL UNIQUE,
        used INTEGER NOT NULL CHECK (used >= 0), cap INTEGER NOT NULL CHECK (used <= cap)
    ) STRICT""",
    "CREATE INDEX by_dataset ON entries (dataset, sequence)",
    *_ONLY_APPENDED,
    *_SECOND,
)
_TREELESS = (  # written by a library that was started before the ledger was upgraded
    "CREATE TRIGGER entries_insert BEFORE INSERT ON entries WHEN NEW.body NOT LIKE '%\"tree\":%' "
    "BEGIN SELECT RAISE(ABORT, 'the ledger was upgraded: use a later library'); END"
)


class SQLiteStore(TableStore["_SQLiteView"]):
    """The entries of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: object = None
        self._kept = KeptConnection(self._connect, lambda _: self._file == _file(path))

    def _connect(self) -> sqlite3.Connection:
        self._file = _file(self.path)  # before it is opened: another file of its name is found
        return _open(self.path, "rw")

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return self._path

    @property
    def name(self) -> str:
        """What receipts call this ledger: the file's name, never its folder."""
        return self.path.name

    def default_key_file(self) -> Path:
        """Beside the ledger, with the ending .key."""
        return self.path.with_name(self.path.name + ".key")

    def exists(self) -> bool:
        """Whether there is a ledger to open (an empty file is what a crash leaves behind)."""
        try:
            return self.path.stat().st_size > 0
        except OSError:
            return False

    def creating(self) -> AbstractContextManager[None]:
        """A lock on a file beside the ledger that is to be."""
        return exclusive(self._beside(".making"), PATIENCE, "making this ledger")

    def create(self, meta: Mapping[str, str], end: End) -> bool:
        """Lay out an empty ledger under another name, and give it its own when it is whole."""
        draft = self._beside(".draft")
        with self._reported():
            for file in (draft, draft.with_name(draft.name + "-journal")):
                file.unlink(missing_ok=True)
            connection = _open(draft, "rwc")
            try:
                view = _SQLiteView(connection)
                with _immediate(connection, time.monotonic()):
                    for statement in _LAYOUT:
                        connection.execute(statement)
                    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
                    view.mark(end)
                connection.execute("PRAGMA journal_mode=DELETE").fetchone()
            finally:
                connection.close()
            made = self._give_name(draft)
            draft.unlink(missing_ok=True)
            sync_folder(self.path)
        return made

    def _give_name(self, draft: Path) -> bool:
        if not self.exists():
            with suppress(FileNotFoundError):
                self.path.unlink()  # empty: what a crash of an older version left behind
        try:
            os.link(draft, self.path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links; whoever makes a ledger holds a lock
            os.replace(draft, self.path)
        return True

    def upgrade(self, meta: Mapping[str, str], work: Callable[[Appending], None]) -> bool:
        """Bring the layout of version 1 up to date in one transaction; False: that was done."""

        def change(view: _SQLiteView) -> bool:
            if view.tables() > 2:
                return False
            view.run("DROP TRIGGER IF EXISTS meta_update", *_SECOND)
            view.set_meta(meta)
            work(view)
            view.run(_ONLY_APPENDED[0], _TREELESS)
            return True

        return self.append(change)

    def hold(self, dataset: str) -> Hold | None:
        """A lock on a file beside the ledger, one for each dataset; it ends with the process."""
        mark = hashlib.sha256(dataset.encode()).hexdigest()[:16]
        return held_file(str(self._beside(f".lock-{mark}")))

    def _read(self, work: Callable[[_SQLiteView], T]) -> T:
        with self._reported(), self._kept.connection() as connection:
            return work(_SQLiteView(connection))

    def append(self, work: Callable[[_SQLiteView], T]) -> T:
        """One transaction that reads the end of the chain and adds to it; durable at its end."""
        deadline = time.monotonic() + PATIENCE
        with self._reported(), self._kept.connection() as connection:
            with turnstile(str(self._beside(".turn")), deadline):
                _patiently(connection, "BEGIN IMMEDIATE", deadline)
            with _immediate(connection, deadline, begun=True):
                return work(_SQLiteView(connection))

    def _beside(self, ending: str) -> Path:
        place = self.path.resolve()
        return place.with_name(place.name + ending)

    def _reported(self) -> instead:
        """Errors of SQLite and of the system, without what they hold of the file."""
        return instead(
            self._refusal,
            *(sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError, MemoryError, OSError),
        )

    def _refusal(self, error: BaseException) -> LedgerError:
        code = getattr(error, "sqlite_errorname", None)
        if isinstance(error, OSError):
            problem = reason(error)
        else:
            problem = f"{error} ({code})" if code in _PLAIN else code or type(error).__name__
        return LedgerError(
            f"the ledger {self.path} cannot be used: {problem}; nothing was shown that it does "
            "not record. Check the path, its permissions and the room on the disk; if the file "
            "is damaged, restore it from a copy that verifies"
        )


_PLAIN = {
    "SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_CORRUPT", "SQLITE_FULL", "SQLITE_IOERR",
    "SQLITE_NOTADB", "SQLITE_PERM", "SQLITE_READONLY", "SQLITE_CONSTRAINT_TRIGGER",
}  # fmt: skip
"""Errors whose text says what is wrong and quotes nothing from the file."""


class _SQLiteView(TableView):
    """The tables of a file."""

    prefix, mark_of_value = "", "?"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, entry: Entry, used: int, cap: int, end: End, noted: str) -> None:
        """Add an entry; the table itself refuses what passes the cap."""
        values = (*entry.to_row(), used, cap)
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.mark(end)
        if noted:
            self.note(noted, entry.sequence)

    def mark(self, end: End) -> None:
        """Move the mark of the end."""
        self._connection.execute("REPLACE INTO ending VALUES (1, ?, ?, ?)", end)

    def tables(self) -> int:
        """How many tables there are."""
        query = "SELECT count(*) FROM sqlite_master WHERE type = 'table'"
        return int(self._one(query)[0])

    def set_meta(self, meta: Mapping[str, str]) -> None:
        """Replace facts that were fixed at creation."""
        self._connection.executemany("REPLACE INTO meta VALUES (?, ?)", meta.items())

    def _all(self, query: str, *values: Any) -> list[Any]:
        return _patiently(self._connection, query, time.monotonic() + PATIENCE, *values)

    def _do(self, statement: str, *values: Any) -> None:
        self._connection.execute(statement, values)


def _open(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        address, uri=True, timeout=0, isolation_level=None, check_same_thread=False
    )
    try:
        deadline = time.monotonic() + PATIENCE
        for setting in ("journal_mode=PERSIST", "synchronous=EXTRA", "trusted_schema=OFF"):
            _patiently(connection, f"PRAGMA {setting}", deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _file(path: Path) -> object:
    """What tells a file from another one of its name."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _patiently(
    connection: sqlite3.Connection, statement: str, deadline: float, *values: Any
) -> list[Any]:
    """Run a statement, as soon as nobody is in the way."""
    while True:
        try:
            return connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > deadline:
                raise
        time.sleep(0.001)


@contextmanager
def _immediate(
    connection: sqlite3.Connection, deadline: float, *, begun: bool = False
) -> Iterator[None]:
    if not begun:
        _patiently(connection, "BEGIN IMMEDIATE", deadline)
    try:
        yield
        _patiently(connection, "COMMIT", deadline)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
