"""What the server remembers: principals, tokens, datasets, grants, requests, quotas, audit log.

Plain SQL with a version number. What is about private data lies elsewhere: in the files of the
datasets, in the ledger and in the journals of sessions. A result is written here before it is
shown; the key of its noise is sealed (``vault``) and forgotten when the result is there.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from winnow.errors import DataError, LedgerError
from winnow.privacy.ledger.locks import Hold
from winnow.serve.database import Database, View, database_at
from winnow.serve.vault import Vault

T = TypeVar("T")

VERSION = "1"
_START = "0" * 64

_LAYOUT = (
    "CREATE TABLE {meta} (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE {principals} (name TEXT PRIMARY KEY, role TEXT NOT NULL, "
    "created DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE {tokens} (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, "
    "principal TEXT NOT NULL, scopes TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, "
    "expires DOUBLE PRECISION, revoked DOUBLE PRECISION)",
    "CREATE TABLE {logins} (hash TEXT PRIMARY KEY, token TEXT NOT NULL, "
    "expires DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE {datasets} (name TEXT PRIMARY KEY, declaration TEXT NOT NULL, "
    "created DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE {grants} (principal TEXT NOT NULL, dataset TEXT NOT NULL, "
    "PRIMARY KEY (principal, dataset))",
    "CREATE TABLE {requests} (id TEXT PRIMARY KEY, principal TEXT NOT NULL, key TEXT NOT NULL, "
    "dataset TEXT NOT NULL, kind TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL, "
    "state TEXT NOT NULL, tape BLOB, data TEXT NOT NULL, accepted DOUBLE PRECISION NOT NULL, "
    "due DOUBLE PRECISION NOT NULL, shown DOUBLE PRECISION, result TEXT, "
    "UNIQUE (principal, key))",
    "CREATE TABLE {files} (request TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL, "
    "PRIMARY KEY (request, name))",
    "CREATE TABLE {quotas} (principal TEXT NOT NULL, dataset TEXT NOT NULL, "
    "questions BIGINT NOT NULL, fresh BIGINT NOT NULL, PRIMARY KEY (principal, dataset))",
    "CREATE TABLE {audit} (sequence BIGINT PRIMARY KEY, time DOUBLE PRECISION NOT NULL, "
    "who TEXT NOT NULL, what TEXT NOT NULL, detail TEXT NOT NULL, previous TEXT NOT NULL, "
    "tag TEXT NOT NULL)",
)

_INDEXES = tuple(
    f"CREATE INDEX IF NOT EXISTS {{requests}}_{name} ON {{requests}} ({columns}) WHERE {which}"
    for name, columns, which in (
        ("releases", "accepted", "kind <> 'questions'"),
        ("own_releases", "principal, accepted", "kind <> 'questions'"),
        ("questions", "accepted", "kind = 'questions'"),
        ("answers", "due", "kind = 'questions'"),
        ("own_questions", "principal, accepted", "kind = 'questions'"),
    )
)
"""Few releases among very many questions, and the latest of either, are found without a search."""


@dataclass(frozen=True)
class Noted:
    """One line of the audit log."""

    sequence: int
    time: float
    who: str
    what: str
    detail: dict[str, Any]
    previous: str
    tag: str


class ServerStore:
    """The server's memory; several processes may use it at once."""

    def __init__(
        self, database: Database, vault: Vault, clock: Callable[[], float] = time.time
    ) -> None:
        self._database, self._vault, self.clock = database, vault, clock
        self._hold: Hold | None = None
        self._fenced = False

    @classmethod
    def open(cls, place: str, vault: Vault, *, create: bool = False) -> ServerStore:
        """The store at an address; its tables are made where there are none and ``create``."""
        is_file = "://" not in place and not place.startswith("file:")
        if is_file and not create and not Path(place).exists():
            raise DataError(
                f"there is no server at {place}; start it with winnow serve, or make its first "
                "token with winnow serve token new"
            )
        store = cls(database_at(place), vault)
        store._prepare()
        return store

    def _prepare(self) -> None:
        blob = self._database.blob

        def lay_out(view: View) -> str:
            try_meta = "SELECT value FROM {meta} WHERE name = 'version'"
            if not self._exists(view):
                for statement in _LAYOUT:
                    view.do(statement.replace("BLOB", blob))
                view.do("INSERT INTO {meta} VALUES ('version', ?)", VERSION)
                view.do(
                    "INSERT INTO {meta} VALUES ('key', ?)", self._vault.mark("store", b"winnow")
                )
            for statement in _INDEXES:
                view.do(statement)
            view.do("DROP INDEX IF EXISTS {requests}_by_time")  # of earlier versions
            return str(view.one(try_meta)[0])

        self._check(self._database.change(lay_out))

    def check(self) -> None:
        """Refuse a store that cannot be used, and one of another version or key; none is made."""
        if self.there:
            version = self.read(lambda v: v.one("SELECT value FROM {meta} WHERE name = 'version'"))
            self._check(str(version[0]))

    def _check(self, version: str) -> None:
        if version != VERSION:
            raise DataError(
                f"the store of the server has the version {version!r} and this library knows "
                f"{VERSION!r}; use the library that wrote it, or a later one"
            )
        key = self._database.read(lambda v: v.one("SELECT value FROM {meta} WHERE name = 'key'"))
        if not hmac.compare_digest(key[0], self._vault.mark("store", b"winnow")):
            raise DataError("the server's key is not that of its store; restore both together")

    @property
    def there(self) -> bool:
        """Whether the tables are there."""
        return self.read(self._exists)

    def _exists(self, view: View) -> bool:
        if self._database.blob == "BLOB":
            row = view.one("SELECT 1 FROM sqlite_master WHERE name = 'meta'")
        else:
            row = view.one("SELECT 1 WHERE to_regclass('winnow_serve_meta') IS NOT NULL")
        return row is not None

    def read(self, work: Callable[[View], T]) -> T:
        """Look at what is there."""
        return self._database.read(work)

    def change(self, work: Callable[[View], T]) -> T:
        """One transaction, durable when it returns."""
        if self._fenced:
            raise LedgerError(
                "another server uses this store since the connection that kept it was lost; end "
                "one of them. Nothing was written"
            )
        return self._database.change(work)

    def hold(self) -> Hold | None:
        """Keep the store for one server; None: another one has it."""
        lock = self._database.hold()
        if lock is None:
            return None
        self._hold = lock
        return Hold(self._let_go, lambda: not self._fenced)

    def held_still(self) -> None:
        """See that the store is still kept, or keep it again; if another has it, write no more."""
        if self._hold is None:
            return
        try:
            self._hold.check()
        except LedgerError:
            self._hold.release()
            again = self._database.hold()
            self._fenced = again is None
            if again is not None:
                self._hold = again

    def _let_go(self) -> None:
        if self._hold is not None:
            self._hold.release()
            self._hold = None

    def note(self, who: str, what: str, **detail: Any) -> None:
        """Add a line to the audit log."""
        self.change(lambda view: self.note_in(view, who, what, detail))

    def note_in(self, view: View, who: str, what: str, detail: dict[str, Any]) -> None:
        """Write a note inside a transaction."""
        last = view.one("SELECT sequence, tag FROM {audit} ORDER BY sequence DESC LIMIT 1")
        number, previous = (0, _START) if last is None else last
        text = json.dumps(detail, sort_keys=True)
        line = (number + 1, self.clock(), who, what, text, previous)
        tag = self._tag(line)
        view.do("INSERT INTO {audit} VALUES (?, ?, ?, ?, ?, ?, ?)", *line, tag)
        view.do(
            "INSERT INTO {meta} VALUES ('audit end', ?) ON CONFLICT (name) "
            "DO UPDATE SET value = excluded.value",
            self._end(tag),
        )

    def _end(self, tag: str) -> str:
        """The mark of the last line, so that lines cannot be cut from the end alone."""
        return self._vault.mark("audit end", tag.encode())

    def _tag(self, line: tuple[Any, ...]) -> str:
        return self._vault.mark("audit", json.dumps(line).encode())

    def audit_log(self, *, after: int = 0, most: int = 500) -> list[Noted]:
        """Lines of the audit log, in order."""
        rows = self.read(
            lambda view: view.all(
                "SELECT sequence, time, who, what, detail, previous, tag FROM {audit} "
                f"WHERE sequence > ? ORDER BY sequence LIMIT {int(most)}",
                after,
            )
        )
        return [
            Noted(n, t, who, what, json.loads(d), p, tag) for n, t, who, what, d, p, tag in rows
        ]

    def verify_audit_log(self) -> str:
        """What is wrong with the audit log; empty: every line follows from the one before."""
        previous, number = _START, 0
        while page := self.audit_log(after=number):
            for line in page:
                number += 1
                text = json.dumps(line.detail, sort_keys=True)
                content = (line.sequence, line.time, line.who, line.what, text, line.previous)
                if line.sequence != number or line.previous != previous:
                    return f"line {number} of the audit log is missing or was moved"
                if not hmac.compare_digest(self._tag(content), line.tag):
                    return f"line {number} of the audit log was changed"
                previous = line.tag
        end = self.read(lambda view: view.one("SELECT value FROM {meta} WHERE name = 'audit end'"))
        whole = number == 0 if end is None else hmac.compare_digest(end[0], self._end(previous))
        if whole or self.audit_log(after=number):  # a line that came meanwhile moved the end
            return ""
        return "lines of the audit log are missing at the end"
