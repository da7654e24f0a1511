"""Where entries are kept: what a ledger asks of a file or a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from winnow.privacy.ledger.connections import spelled
from winnow.privacy.ledger.entry import COLUMNS, Entry
from winnow.privacy.ledger.locks import Hold

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds to wait for other processes."""


class End(NamedTuple):
    """The mark of a chain's end: the last entry, sealed under the ledger's key."""

    sequence: int
    tag: str
    seal: str


class Entries(Protocol):
    """Single entries; what was written is never changed."""

    def newest(self, known: int) -> tuple[Entry | None, End | None, str]:
        """The last entry, the mark of the end, and the tag of a known entry, all at once."""

    def at(self, sequence: int) -> Entry | None:
        """The entry of a number."""

    def named(self, name: str) -> list[int]:
        """The numbers that were noted under a name."""


class Appending(Entries, Protocol):
    """The end of the chain, held still while entries are added."""

    def entries(self) -> Iterator[Entry]:
        """All entries, in order."""

    def add(self, entry: Entry, used: int, cap: int, end: End, noted: str) -> None:
        """Add an entry, move the mark of the end, and note the entry under a name."""

    def mark(self, end: End) -> None:
        """Move the mark of the end."""

    def note(self, name: str, sequence: int) -> None:
        """Note the number of an entry under a name."""


_PAGE = 1000
"""Entries that are read at once, so that nobody waits long for a reader."""


class TableView(ABC):
    """Entries by their numbers, and in a transaction the end of the chain, in tables of SQL."""

    prefix: ClassVar[str]
    """What the names of the tables begin with."""
    mark_of_value: ClassVar[str]
    """What stands for a value in a statement."""

    @abstractmethod
    def _all(self, query: str, *values: Any) -> list[Any]:
        """The rows that a query finds."""

    @abstractmethod
    def _do(self, statement: str, *values: Any) -> None:
        """Run a statement."""

    def _sql(self, text: str) -> str:
        """With the names of the tables, and the marks of values."""
        return spelled(text, self.prefix, self.mark_of_value)

    def _one(self, query: str, *values: Any) -> Any:
        return next(iter(self._all(query, *values)), None)

    def newest(self, known: int) -> tuple[Entry | None, End | None, str]:
        """The last entry, the mark of the end, and the tag of a known entry, all at once."""
        columns = ", ".join(f"e.{name}" for name in COLUMNS.split(", "))
        row = self._one(
            self._sql(
                f"SELECT m.sequence, m.tag, m.seal, k.tag, {columns} FROM (SELECT 1) one "
                "LEFT JOIN {ending} m ON m.id = 1 LEFT JOIN {entries} k ON k.sequence = ? "
                "LEFT JOIN {entries} e ON e.sequence = "
                "(SELECT sequence FROM {entries} ORDER BY sequence DESC LIMIT 1)"
            ),
            known,
        )
        entry = None if row[4] is None else Entry.from_row(row[4:])
        return entry, None if row[0] is None else End(*row[:3]), row[3] or ""

    def at(self, sequence: int) -> Entry | None:
        """The entry of a number."""
        query = self._sql(f"SELECT {COLUMNS} FROM {{entries}} WHERE sequence = ?")
        row = self._one(query, sequence)
        return None if row is None else Entry.from_row(row)

    def named(self, name: str) -> list[int]:
        """The numbers that were noted under a name."""
        query = self._sql("SELECT sequence FROM {noted} WHERE name = ? ORDER BY sequence")
        return [int(row[0]) for row in self._all(query, name)]

    def page(self, after: int, dataset: str | None) -> list[Entry]:
        """Some entries after one, in order."""
        where, values = ("", ()) if dataset is None else (" AND dataset = ?", (dataset,))
        query = self._sql(
            f"SELECT {COLUMNS} FROM {{entries}} WHERE sequence > ?{where} "
            f"ORDER BY sequence LIMIT {_PAGE}"
        )
        return [Entry.from_row(row) for row in self._all(query, after, *values)]

    def entries(self) -> Iterator[Entry]:
        """All entries, in order."""
        after = 0
        while page := self.page(after, None):
            yield from page
            after = page[-1].sequence

    def meta(self) -> dict[str, str]:
        """The facts that were fixed at creation."""
        rows = self._all(self._sql("SELECT name, value FROM {meta}"))
        return {str(name): str(value) for name, value in rows}

    def note(self, name: str, sequence: int) -> None:
        """Note the number of an entry under a name."""
        self._do(self._sql("INSERT INTO {noted} VALUES (?, ?)"), name, sequence)

    def run(self, *statements: str) -> None:
        """Change the layout."""
        for statement in statements:
            self._do(statement)


View = TypeVar("View", bound=TableView)


class TableStore(ABC, Generic[View]):
    """What is read of a store in the same way, whatever tables of SQL it has."""

    @abstractmethod
    def _read(self, work: Callable[[View], T]) -> T:
        """Read some entries."""

    def read(self, work: Callable[[Entries], T]) -> T:
        """Read some entries."""
        return self._read(work)

    def meta(self) -> dict[str, str]:
        """The facts that were fixed at creation."""
        return self._read(lambda view: view.meta())

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """All entries, or those of one dataset, in order; nobody waits between two pages."""
        after = 0
        while page := self._read(partial(TableView.page, after=after, dataset=dataset)):
            yield from page
            after = page[-1].sequence


class Store(Protocol):
    """Entries that are only appended to, durable when ``append`` returns."""

    @property
    def name(self) -> str:
        """What receipts call the ledger."""

    @property
    def path(self) -> Path | None:
        """Where the file lies; None for a database."""

    def default_key_file(self) -> Path:
        """Where the key lies unless another place is named."""

    def exists(self) -> bool:
        """Whether there is a ledger to open."""

    def creating(self) -> AbstractContextManager[object]:
        """Held by whoever makes the ledger, where processes can wait for each other."""

    def create(self, meta: Mapping[str, str], end: End) -> bool:
        """Lay out an empty ledger, whole or not at all; False: another process was first."""

    def upgrade(self, meta: Mapping[str, str], work: Callable[[Appending], None]) -> bool:
        """Bring the layout of version 1 up to date in one transaction; False: that was done."""

    def meta(self) -> dict[str, str]:
        """The facts that were fixed at creation."""

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """All entries, or those of one dataset, in order."""

    def hold(self, dataset: str) -> Hold | None:
        """A lock on a dataset that ends with the process; None: somebody else has it."""

    def read(self, work: Callable[[Entries], T]) -> T:
        """Read some entries."""

    def append(self, work: Callable[[Appending], T]) -> T:
        """One transaction; it may be tried again, so that ``work`` has to be repeatable."""
