"""Bits that are given out twice: two parts of a draw under one name would have the same noise.

Every part of a draw has a tape of its own, by its name. If two have one name, each of them still
has its law, so that no enumeration and no distribution of one number shows it; but the noise of one
is known from the other. What may be asked for again is the same noise, by its address.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from winnow.core.tape import Tape

BY_ADDRESS = {
    "own": "the noise of each test of a sparse vector or of a search, by the number of the test",
    "common": "the noise that these tests share",
    "head": "the noise of the candidates that an index proposed, by their place",
}
"""Names under which the same noise is looked at again, and what it is."""


@contextmanager
def bits_shared() -> Iterator[set[str]]:
    """The names under which a tape gave out bits a second time while this was open."""
    honest, shared = Tape.child, set[str]()
    given: dict[int, tuple[Tape, set[str]]] = {}  # the tape is held, so that its id stays its own

    def child(self: Tape, label: str) -> Tape:
        names = given.setdefault(id(self), (self, set()))[1]
        if label in names and label not in BY_ADDRESS:
            shared.add(label)
        names.add(label)
        return honest(self, label)

    with patch.object(Tape, "child", child):
        yield shared
