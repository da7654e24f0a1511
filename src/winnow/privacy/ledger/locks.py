"""Locks that the operating system takes back however a process ends: kill -9 leaves none behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from weakref import finalize

from winnow.core.process import Owner
from winnow.errors import LedgerError
from winnow.foreign import instead, reason


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
                "its file was removed; nothing was shown. Go on from the session's state file"
            )

    def release(self) -> None:
        """Let others open a session."""
        self._finalize()


def held_file(path: str) -> Hold | None:
    """A lock on a file that is made for it and stays; None: somebody else has it."""
    with instead(
        lambda error: LedgerError(
            f"the lock {path} cannot be written: {reason(error)}; nothing was drawn"
        ),
        OSError,
    ):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
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


@contextmanager
def exclusive(path: Path, patience: float, what: str) -> Iterator[None]:
    """A file that one process has at a time, waited for, and removed at the end."""
    deadline = time.monotonic() + patience
    while True:
        hold = held_file(str(path))
        if hold is not None and _is_current(hold):
            break
        if time.monotonic() > deadline:
            raise LedgerError(
                f"another process has been {what} for {patience:.0f} seconds and holds {path}; "
                "nothing was charged. Wait for it, or end it, and try again"
            )
        time.sleep(0.01)
    try:
        yield
    finally:
        with suppress(OSError):
            if path.stat().st_size == 0:  # a lock is empty; what is not was there before
                path.unlink()
        hold.release()


def _is_current(hold: Hold) -> bool:
    """Whether the file is still at its place: the one before us may have removed it."""
    try:
        hold.check()
    except LedgerError:
        hold.release()
        return False
    return True


@contextmanager
def turnstile(path: str, deadline: float) -> Iterator[None]:
    """Let one process through at a time, so that whoever was served joins the others at the back.

    It is for fairness only: where the file cannot be made, or the deadline passes, nobody waits.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        yield
        return
    turn = _Turn(handle)
    try:
        turn.wait(deadline)
        yield
    finally:
        turn.end()


class _Turn:
    """A place in the queue for a lock, which the system serves in order; one that can be left."""

    def __init__(self, handle: int) -> None:
        self._handle, self._ours = handle, Lock()
        self._had, self._left, self._asking = Event(), False, False

    def wait(self, deadline: float) -> None:
        """Until it is our turn, or too late."""
        if lock_file(self._handle):
            return
        if sys.platform == "win32":
            while not lock_file(self._handle) and time.monotonic() < deadline:
                time.sleep(0.002)
            return
        self._asking = True
        Thread(target=self._queue, name="winnow-turn", daemon=True).start()
        self._had.wait(max(deadline - time.monotonic(), 0))

    def _queue(self) -> None:
        """The system waits without an end, so that this thread does, and not its user."""
        import fcntl

        with suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_EX)
        with self._ours:
            self._asking = False
            if self._left:
                _let_go(self._handle)
        self._had.set()

    def end(self) -> None:
        """Let the next one through, or leave the queue."""
        with self._ours:
            self._left = True
            if not self._asking:  # else the thread lets go as soon as it comes to the front
                _let_go(self._handle)


def _let_go(handle: int) -> None:
    """Unlock and close a file; a fork that shares it would go on holding what is only closed."""
    if sys.platform != "win32":
        import fcntl

        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def sync_folder(path: Path) -> None:
    """A new name is on the disk when this returns, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
