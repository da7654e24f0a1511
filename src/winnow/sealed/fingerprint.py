"""A digest of a sealed table's content, or of files, for a ledger to key and remember.

The digest itself could be tested against guesses; it goes nowhere but into the ledger's
HMAC, whose result says nothing without the ledger's key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.sealed.opening import open_sealed
from winnow.sealed.tables import SealedTable


def fingerprint(table: SealedTable) -> bytes:
    """SHA-256 of the schema's names, and of the distinct rows and weights in their order."""
    codes, weights = open_sealed(table.rows)
    digest = hashlib.sha256(json.dumps([list(table.schema.names), len(weights)]).encode())
    order = np.lexsort(codes[::-1]) if codes else np.arange(len(weights))
    columns: list[NDArray[Any]] = [*codes, weights]
    for column in columns:
        digest.update(np.ascontiguousarray(column[order], "<i8").tobytes())
    return digest.digest()


def fingerprint_of_files(files: Iterable[Path]) -> bytes:
    """SHA-256 of the bytes of files, whatever they are called and in whatever order.

    It knows the same files again, not the same data in another format.
    """
    digests = []
    for file in files:
        with file.open("rb") as content:
            digests.append(hashlib.file_digest(content, "sha256").digest())
    return hashlib.sha256(b"files:" + b"".join(sorted(digests))).digest()
