"""Where entries are kept: what a ledger asks of a file or a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from winnow.errors import InputError
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.locks import Hold


class Appending(Protocol):
    """The end of the chain, held still while one more entry is added."""

    def last(self, dataset: str | None = None) -> Entry | None:
        """The last entry of all, or of one dataset."""

    def first(self, dataset: str) -> Entry | None:
        """The entry that opened a dataset."""

    def since(self, dataset: str, sequence: int) -> list[Entry]:
        """The entries of a dataset that came after one of this number."""

    def count(self) -> int:
        """How many entries there are."""

    def add(self, entry: Entry, used: int, cap: int) -> None:
        """Add an entry."""


class Store(Protocol):
    """Entries that are only appended to, durable when ``appending`` ends."""

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

    def create(self, meta: dict[str, str]) -> None:
        """Lay out an empty ledger; harmless when another process was first."""

    def meta(self) -> dict[str, str]:
        """The facts that were fixed at creation."""

    def entries(self, dataset: str | None = None) -> Iterator[Entry]:
        """All entries, or those of one dataset, in order."""

    def hold(self, dataset: str) -> Hold | None:
        """A lock on a dataset that ends with the process; None: somebody else has it."""

    def appending(self) -> AbstractContextManager[Appending]:
        """One transaction that reads the end of the chain and adds to it."""


def store_at(place: str | Path) -> Store:
    """The store that a path or a URL names."""
    from winnow.privacy.ledger.sqlite_store import SQLiteStore

    text = str(place)
    if text.startswith(("postgres://", "postgresql://")):
        from winnow.privacy.ledger.postgres_store import PostgresStore

        return PostgresStore(text)
    if "://" in text or not text.strip():
        raise InputError(f"ledger={text!r} is neither a file nor a postgresql:// address")
    return SQLiteStore(Path(text))
