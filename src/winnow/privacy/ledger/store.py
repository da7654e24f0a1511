"""Where entries are kept: what a ledger asks of a file or a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.locks import Hold

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds to wait for other processes."""


class End(NamedTuple):
    """The mark of a chain's end: the last entry, sealed under the ledger's key."""

    sequence: int
    tag: str
    seal: str


class Reading(Protocol):
    """Single entries; what was written is never changed."""

    def newest(self, known: int) -> tuple[Entry | None, End | None, str]:
        """The last entry, the mark of the end, and the tag of a known entry, all at once."""

    def at(self, sequence: int) -> Entry | None:
        """The entry of a number."""

    def named(self, name: str) -> list[int]:
        """The numbers that were noted under a name."""


class Appending(Reading, Protocol):
    """The end of the chain, held still while entries are added."""

    def entries(self) -> Iterator[Entry]:
        """All entries, in order."""

    def add(self, entry: Entry, used: int, cap: int, end: End, noted: str) -> None:
        """Add an entry, move the mark of the end, and note the entry under a name."""

    def mark(self, end: End) -> None:
        """Move the mark of the end."""

    def note(self, name: str, sequence: int) -> None:
        """Note the number of an entry under a name."""


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

    def read(self, work: Callable[[Reading], T]) -> T:
        """Read some entries."""

    def append(self, work: Callable[[Appending], T]) -> T:
        """One transaction; it may be tried again, so that ``work`` has to be repeatable."""
