"""What chooses whose rows and items are kept where a person has more than a bound allows.

The choice is a hash under a secret salt. Where a release must be the same when it is drawn again,
from a key that was written down, the salt must be, too: then it comes from that key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from winnow.core.tape import WrittenKey

_written: ContextVar[str | None] = ContextVar("written_salt", default=None)


def salt_of_run(salt: str | None) -> str | None:
    """The salt that was given, or the one of a release that can be drawn again; None: fresh."""
    return _written.get() if salt is None else salt


@contextmanager
def salted_by(key: WrittenKey) -> Iterator[None]:
    """Derive the salt of whatever is read here from a key that was written down."""
    salt = hashlib.blake2b(key.secret, digest_size=32, person=b"winnow-salt").hexdigest()
    before = _written.set(salt)
    try:
        yield
    finally:
        _written.reset(before)
