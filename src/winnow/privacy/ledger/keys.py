"""The key of a ledger: made once, readable by its owner only, never stored in the ledger."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from winnow.errors import LedgerError


def key_check(key: bytes, identity: str) -> str:
    """What a ledger stores to know its key again."""
    return hmac.new(key, b"winnow-ledger:" + identity.encode(), hashlib.sha256).hexdigest()


def chain_key(key: bytes, identity: str) -> bytes:
    """The key of this ledger's own chain: entries of another ledger do not fit into it."""
    return hmac.new(key, b"winnow-chain:" + identity.encode(), hashlib.sha256).digest()


def make_key(path: Path) -> bytes:
    """A new key, readable by its owner only; a key that is there already is kept."""
    key = secrets.token_bytes(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_key(path)
    except OSError as error:
        raise LedgerError(
            f"the key file {path} cannot be written: {error.strerror}; choose another place"
        ) from None
    with os.fdopen(handle, "wb") as file:
        file.write(key.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return key


def read_key(path: Path) -> bytes:
    """The key in a file."""
    try:
        key = bytes.fromhex(path.read_text().strip())
    except (OSError, ValueError, UnicodeDecodeError):
        raise LedgerError(
            f"the key of the ledger cannot be read from {path}; name the file with key_file="
        ) from None
    if len(key) != 32:
        raise LedgerError(f"the key file {path} does not hold 32 bytes in hexadecimal digits")
    return key
