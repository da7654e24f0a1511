"""Entries in an SQLite file that survives crashes, and is only ever appended to.

The journal is kept in TRUNCATE mode with synchronous=EXTRA: an entry is on the disk, folder
entry included, before ``append`` returns. (Not WAL: SQLite 3.7.0 to 3.51.2 can lose committed
entries there in a race, and Python links older versions.) Every change starts with BEGIN
IMMEDIATE, so that what was read cannot change before what is written. Readers open the file
for writing, too: the first one after a crash has to roll a half-written transaction back.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow.errors import InputError, LedgerError
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.locks import Hold, held_file

_LAYOUT = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    """CREATE TABLE entries (
        sequence INTEGER PRIMARY KEY CHECK (sequence > 0),
        time TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, body TEXT NOT NULL,
        previous TEXT NOT NULL UNIQUE, tag TEXT NOT NULL UNIQUE,
        used INTEGER NOT NULL CHECK (used >= 0), cap INTEGER NOT NULL CHECK (used <= cap)
    ) STRICT""",
    "CREATE INDEX by_dataset ON entries (dataset, sequence)",
    *(
        f"CREATE TRIGGER {table}_{word.lower()} BEFORE {word} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only appended to'); END"
        for table in ("meta", "entries")
        for word in ("UPDATE", "DELETE")
    ),
)
_COLUMNS = "sequence, time, kind, dataset, body, previous, tag"
_PATIENCE = 60.0  # seconds to wait for other processes


class SQLiteStore:
    """The entries of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

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
        return self.path.exists() and self.path.stat().st_size > 0

    def create(self, meta: dict[str, str]) -> None:
        """Lay out an empty ledger in one transaction; another process may have been first."""
        with self._connected("rwc") as connection, _immediate(connection):
            found = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if found:
                return
            for statement in _LAYOUT:
                connection.execute(statement)
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())

    def meta(self) -> dict[str, str]:
        """The facts that were fixed at creation."""
        with self._connected("rw") as connection:
            return dict(connection.execute("SELECT name, value FROM meta").fetchall())

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """All entries, or those of one dataset, in order."""
        where, values = ("", ()) if dataset is None else (" WHERE dataset = ?", (dataset,))
        with self._connected("rw") as connection:
            query = f"SELECT {_COLUMNS} FROM entries{where} ORDER BY sequence"
            yield from map(_entry, connection.execute(query, values))

    def hold(self, dataset: str) -> Hold | None:
        """A lock on a file beside the ledger, one for each dataset; it ends with the process."""
        place = self.path.resolve()
        mark = hashlib.sha256(dataset.encode()).hexdigest()[:16]
        return held_file(str(place.with_name(f"{place.name}.lock-{mark}")))

    @contextmanager
    def appending(self) -> Iterator[SQLiteAppending]:
        """One transaction that reads the end of the chain and adds to it; durable at its end."""
        with self._connected("rw") as connection, _immediate(connection):
            yield SQLiteAppending(connection)

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        connection: sqlite3.Connection | None = None
        problem = ""
        try:
            connection = sqlite3.connect(
                address, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode=TRUNCATE").fetchone()
            connection.execute("PRAGMA synchronous=EXTRA")
            yield connection
        except sqlite3.Error as error:
            problem = str(error)
        finally:
            if connection is not None:
                connection.close()
        if problem:
            raise LedgerError(
                f"the ledger {self.path} cannot be used: {problem}; nothing was drawn. Check the "
                "path, its permissions and the room on the disk"
            )


class SQLiteAppending:
    """The end of the chain, held still while one more entry is added."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def last(self, dataset: str | None = None) -> Entry | None:
        """The last entry of all, or of one dataset."""
        where, values = ("", ()) if dataset is None else (" WHERE dataset = ?", (dataset,))
        query = f"SELECT {_COLUMNS} FROM entries{where} ORDER BY sequence DESC LIMIT 1"
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else _entry(row)

    def first(self, dataset: str) -> Entry | None:
        """The entry that opened a dataset."""
        query = f"SELECT {_COLUMNS} FROM entries WHERE dataset = ? ORDER BY sequence LIMIT 1"
        row = self._connection.execute(query, (dataset,)).fetchone()
        return None if row is None else _entry(row)

    def since(self, dataset: str, sequence: int) -> list[Entry]:
        """The entries of a dataset that came after one of this number."""
        query = (
            f"SELECT {_COLUMNS} FROM entries WHERE dataset = ? AND sequence > ? ORDER BY sequence"
        )
        return [_entry(row) for row in self._connection.execute(query, (dataset, sequence))]

    def count(self) -> int:
        """How many entries there are."""
        return int(self._connection.execute("SELECT count(*) FROM entries").fetchone()[0])

    def add(self, entry: Entry, used: int, cap: int) -> None:
        """Add an entry; the table itself refuses what passes the cap."""
        body = json.dumps(dict(entry.body), sort_keys=True)
        values = (*(getattr(entry, name) for name in _COLUMNS.split(", ")), used, cap)
        values = (*values[:4], body, *values[5:])
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _entry(row: tuple[int, str, str, str, str, str, str]) -> Entry:
    sequence, time, kind, dataset, text, previous, tag = row
    try:
        body = json.loads(text)
    except ValueError:
        raise InputError(f"entry {sequence} of the ledger is not readable: it was edited") from None
    return Entry(sequence, time, kind, dataset, body, previous, tag)
