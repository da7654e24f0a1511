"""The key of a ledger: made once, readable by its owner only, never stored in the ledger."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shlex
import stat
from pathlib import Path

from winnow.errors import LedgerError
from winnow.foreign import instead, reason

_OTHERS = stat.S_IRWXO | stat.S_IWGRP
"""What nobody may do but the owner; a team may read through its group."""


def key_check(key: bytes, identity: str, version: str) -> str:
    """What a ledger stores to know its key again, and that its version was not edited."""
    mark = "winnow-ledger:" if version == "1" else f"winnow-ledger-{version}:"
    return hmac.new(key, (mark + identity).encode(), hashlib.sha256).hexdigest()


def chain_key(key: bytes, identity: str) -> bytes:
    """The key of this ledger's own chain: entries of another ledger do not fit into it."""
    return hmac.new(key, b"winnow-chain:" + identity.encode(), hashlib.sha256).digest()


def pending(path: Path) -> Path:
    """Where a new key lies until its ledger is made.

    So a key without a ledger is that of a ledger that is gone, and a ledger without a key but
    with a pending one was made by a process that was killed right then.
    """
    return path.with_name(path.name + ".new")


def make_key(path: Path) -> bytes:
    """A new key in a file that was not there, on the disk when this returns."""
    key = secrets.token_bytes(32)
    with instead(
        lambda error: LedgerError(
            f"the key file {path} cannot be written: {reason(error)}; choose another place"
        ),
        OSError,
    ):
        _remove_left_key(path)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(key.hex().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
    return key


def _remove_left_key(path: Path) -> None:
    """Remove the key, or the beginning of one, of a process that was killed; nothing else."""
    if not os.path.lexists(path):
        return
    with path.open("rb") as file:
        content = file.read(66)
    if len(content) == 66 or content.strip(b"0123456789abcdef\n"):
        raise LedgerError(
            f"the key file {path} cannot be written: a file of this name exists and is not a key; "
            "move it, or choose another place"
        )
    path.unlink()


def read_key(
    path: Path, what: str = "the key of the ledger", mend: str = "name the file with key_file="
) -> bytes:
    """The key in a file; messages call it ``what`` and end with ``mend``."""
    with instead(LedgerError(f"{what} cannot be read from {path}; {mend}"), OSError, ValueError):
        check_private(path, what)
        key = bytes.fromhex(path.read_text("ascii").strip())
    if len(key) != 32:
        raise LedgerError(f"the key file {path} does not hold 32 bytes in hexadecimal digits")
    return key


def check_private(path: Path, what: str) -> None:
    """Refuse a secret that others than its owner can read or write."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & _OTHERS:
        raise LedgerError(
            f"{what} in {path} can be read by others (mode {mode:o}), who could forge what it "
            f"protects; correct that with: chmod 600 {shlex.quote(str(path))}"
        )
