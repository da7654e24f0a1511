"""A secret key, and what it protects: of a server tape keys, tokens of forms, the audit log.

One file of 32 bytes that only its owner can read. Everything else is derived from it, one key for
each use, so that no use can stand in for another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from winnow.errors import DataError
from winnow.foreign import instead
from winnow.privacy.ledger.keys import make_key, read_key
from winnow.privacy.ledger.locks import exclusive

_NONCE = 12
_PATIENCE = 60.0


class Vault:
    """Keys for one use each, and sealed bytes that only its owner can open."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def open(cls, path: Path, *, create: bool = False) -> Vault:
        """The vault of a key file, which is made where there is none and ``create``."""
        if create and not path.exists():
            making = path.with_name(path.name + ".making")
            with exclusive(making, _PATIENCE, "making this key"):
                if not path.exists():
                    make_key(path)
        return cls(read_key(path, "the key of the server", "name its file with key ="))

    def derived(self, use: str) -> bytes:
        """The key of one use."""
        return hmac.new(self._key, b"winnow-serve:" + use.encode(), hashlib.sha256).digest()

    def mark(self, use: str, content: bytes) -> str:
        """A keyed fingerprint: without the key it says nothing about the content."""
        return hmac.new(self.derived(use), content, hashlib.sha256).hexdigest()

    def seal(self, content: bytes, name: str) -> bytes:
        """The content, readable with this key only, under this name only."""
        nonce = os.urandom(_NONCE)
        return nonce + AESGCM(self.derived("seal")).encrypt(nonce, content, name.encode())

    def unseal(self, sealed: bytes, name: str) -> bytes:
        """What was sealed under this name."""
        with instead(
            DataError(
                "what was sealed was changed, or belongs to another key; restore the key and what "
                "it sealed from one backup"
            ),
            InvalidTag,
            ValueError,
        ):
            return AESGCM(self.derived("seal")).decrypt(
                sealed[:_NONCE], sealed[_NONCE:], name.encode()
            )

    def __repr__(self) -> str:
        return "<vault>"
