"""Locks that the operating system takes back however a process ends: kill -9 leaves none behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from weakref import finalize

from winnow.core.process import Owner
from winnow.errors import LedgerError


def lock_file(handle: int) -> bool:
    """Lock an open file for this process alone; False: another one (or another handle) has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Hold:
    """A dataset held for one interactive session, until it is released or forgotten."""

    def __init__(self, release: Callable[[], object], alive: Callable[[], bool]) -> None:
        self._alive = alive
        owner = Owner()

        def let_go() -> None:
            if owner.here:  # a fork shares the file or the connection, and may not end it
                release()

        self._finalize = finalize(self, let_go)

    def check(self) -> None:
        """Refuse to go on where the lock was lost, as it is with the connection to a server."""
        if not self._finalize.alive or not self._alive():
            raise LedgerError(
                "the lock on the dataset was lost, with the connection to its ledger or because "
                "its file was removed; nothing was drawn. Go on from the session's state file"
            )

    def release(self) -> None:
        """Let others open a session."""
        self._finalize()


def held_file(path: str) -> Hold | None:
    """A lock on a file that is made for it and stays; None: somebody else has it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LedgerError(
            f"the lock {path} cannot be written: {error.strerror}; nothing was drawn"
        ) from None
    if not lock_file(handle):
        os.close(handle)
        return None
    return Hold(lambda: os.close(handle), lambda: _is_at(path, handle))


def _is_at(path: str, handle: int) -> bool:
    """Whether the locked file still has its name: another one of that name is another lock."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except OSError:
        return False
