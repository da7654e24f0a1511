"""The two files of a session's state: for their owner only, on the disk or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from winnow.errors import DataError, InputError, LedgerError
from winnow.foreign import instead, reason
from winnow.privacy.ledger.locks import lock_file


def key_path(path: Path) -> Path:
    """Where the key of a state file lies."""
    return path.with_name(path.name + ".key")


def discard(path: Path) -> None:
    """Remove a state file and its key."""
    for file in (path, key_path(path)):
        with contextlib.suppress(OSError):
            file.unlink()


def new_file(path: Path, what: str) -> int:
    """A file that was not there before, readable by its owner only."""
    with (
        instead(
            lambda error: DataError(f"{what} {path} cannot be written: {reason(error)}"), OSError
        ),
        instead(
            DataError(f"{path} exists already; go on with it (wn.resume), or name another file"),
            FileExistsError,
        ),
    ):
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)


def write_key(path: Path, key: bytes) -> None:
    """A new key file, on the disk when it returns, or not there."""
    handle = new_file(path, "the key")
    try:
        with instead(
            lambda error: DataError(f"the key {path} cannot be written: {reason(error)}"), OSError
        ):
            _write(handle, key.hex().encode() + b"\n")
            os.fsync(handle)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def read_key(path: Path) -> bytes:
    """The 64 bytes of a key file."""
    with instead(
        DataError(f"the key of the session cannot be read from {path}"), OSError, ValueError
    ):
        key = bytes.fromhex(path.read_text().strip())
    if len(key) != 64:
        raise DataError(f"the key file {path} does not hold 64 bytes in hexadecimal digits")
    return key


def append(handle: int, path: Path, content: bytes) -> None:
    """Add to the end of a file: on the disk when it returns, or as if it had never been tried."""
    with instead(
        lambda error: LedgerError(
            f"the state {path} cannot be written: {reason(error)}; "
            "what is not written down is not shown. Make room and go on from it"
        ),
        OSError,
    ):
        size = os.fstat(handle).st_size
        try:
            _write(handle, content)
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise


def whole_lines(handle: int, path: Path, start: bytes) -> list[bytes]:
    """All lines of a file, but for a last one that a crash cut off; nothing is changed.

    A file that does not start as a state does is refused, before more of it is read.
    """
    content = os.read(handle, 1 << 20)
    if content[: len(start)] != start[: len(content)]:
        raise not_a_state(path)
    while piece := os.read(handle, 1 << 20):
        content += piece
    return content.split(b"\n")[:-1]


def drop_cut_line(handle: int, lines: list[bytes]) -> None:
    """Remove what stands after the whole lines: it was never acted on."""
    size = sum(len(line) + 1 for line in lines)
    if size < os.fstat(handle).st_size:
        os.ftruncate(handle, size)


def sync_folder(path: Path) -> None:
    """The names of new files must survive too, where the system can promise that."""
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def lock(handle: int, path: Path) -> None:
    """Held until the file is closed or the process ends, however it ends."""
    if not lock_file(handle):
        raise DataError(f"the session of {path} is open in another process; close it there first")


def not_a_state(path: Path) -> InputError:
    """For a file that something else has written; it is left as it is."""
    return DataError(
        f"{path} is not the state of an interactive session; name a state file, or a new file"
    )


def never_charged(path: Path) -> InputError:
    """For a file that was begun, and no more."""
    return DataError(
        f"the session of {path} was interrupted before it was charged; nothing was spent and "
        "nothing released. Remove the file and its key and open a new session"
    )


def _write(handle: int, content: bytes) -> None:
    while content:
        content = content[os.write(handle, content) :]
