"""Repeatable bytes for public workloads: which queries are asked is no secret.

This randomness protects nothing; noise comes from the random tape alone. The bytes are the
AES-256-CTR key stream under a hash of the seed, so a workload is the same on every machine.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InputError


class Stream:
    """The bytes of one seed and purpose, from the beginning."""

    def __init__(self, seed: int, purpose: str) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._seed = check_seed(seed)
        key = hashlib.blake2b(b"%d" % self._seed, person=b"winnow-workload", digest_size=48)
        key.update(purpose.encode())
        secret = key.digest()
        self._cipher = Cipher(algorithms.AES256(secret[:32]), modes.CTR(secret[32:])).encryptor()

    def take(self, count: int, kind: Any) -> NDArray[Any]:
        """The next ``count`` little-endian unsigned integers of a type."""
        wanted = np.dtype(kind).newbyteorder("<")
        taken = bytearray(count * wanted.itemsize)
        self._cipher.update_into(bytes(len(taken)), _room(taken))
        return np.frombuffer(taken, wanted, count).astype(kind, copy=False)

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """``count`` whole numbers 0 .. bound-1, each as likely but for 2^-32 or less."""
        if bound >= 2**31:
            raise InputError(f"{bound} choices are too many; give fewer than 2^31")
        words = self.take(count, np.uint64) >> np.uint64(1)
        return (words % np.uint64(bound)).astype(np.int64)

    def choose(self, total: int, count: int) -> list[int]:
        """``count`` different numbers of 0 .. total-1, in increasing order."""
        if total <= 1 << 20:
            keys = self.take(total, np.uint64)
            return sorted(np.argsort(keys, kind="stable")[:count].tolist())
        chosen: set[int] = set()
        while len(chosen) < count:
            wide = int.from_bytes(self.take(32, np.uint8).tobytes(), "little")
            chosen.add(wide % total)
        return sorted(chosen)


def _room(taken: bytearray) -> memoryview:
    return memoryview(taken)


def check_seed(seed: object) -> int:
    """A seed: a whole number."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise InputError(f"seed={seed!r} is not an integer; give an integer")
    return int(seed)
