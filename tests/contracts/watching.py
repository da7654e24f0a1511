"""A tape, a grant and sealed data that write down when they are used, in one log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reference.inside import BitStream, Tape
from winnow import GrantError, Sealed
from winnow.core.key import Key
from winnow.privacy import Event, single_use_grant

CLAIMED, REDEEMED, READ = "tape claimed", "grant redeemed", "tape read"
OPENED, PUBLISHED = "data opened", "public fact told"
Log = list[str]


class WatchedTape(Tape):
    """A seeded tape that tells when it is claimed and when its bits, or children, are asked for."""

    __slots__ = ("log",)

    def __init__(self, log: Log, seed: int = 1) -> None:
        super().__init__(Tape.seeded(seed)._key, "seeded")
        self.log = log

    def claim(self) -> None:
        self.log.append(CLAIMED)
        super().claim()

    def child(self, label: str) -> Tape:
        self.log.append(READ)
        return super().child(label)

    def words(self, first: int, count: int) -> Any:
        self.log.append(READ)
        return super().words(first, count)

    def chunks(self, first: int, count: int) -> Iterator[Any]:
        self.log.append(READ)
        return super().chunks(first, count)

    def extension(self, items: Any, level: int) -> Any:
        self.log.append(READ)
        return super().extension(items, level)

    def stream(self) -> BitStream:
        self.log.append(READ)
        return super().stream()


class WatchedGrant:
    """A grant that tells when it is redeemed, and refuses if it is told to."""

    def __init__(self, event: Event, log: Log, *, refuses: bool = False) -> None:
        self.event = event
        self.record, self.written = "unrecorded", ""
        self._grant = single_use_grant(event)
        self._log, self._refuses = log, refuses

    def redeem(self, event: Event) -> None:
        self._log.append(REDEEMED)
        if self._refuses:
            raise GrantError("refused")
        self._grant.redeem(event)

    @property
    def used(self) -> bool:
        return self._grant.used


@contextmanager
def watched_data(log: Log) -> Iterator[None]:
    """While it lasts, every value that a key opens, and every published fact, is written down."""
    opening, publishing = Key.open, Sealed.publish

    def opened(key: Key, sealed: Sealed[Any]) -> Any:
        log.append(OPENED)
        return opening(key, sealed)

    def published(sealed: Sealed[Any], fact: Any, tell: Any) -> Any:
        log.append(PUBLISHED)
        return publishing(sealed, fact, tell)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Key, "open", opened)
        patch.setattr(Sealed, "publish", published)
        yield
