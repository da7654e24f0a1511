"""Which questions a hypothesis was found near to, in memory that does not grow with them."""

from __future__ import annotations

import numpy as np

MOST = 500_000
"""So many are remembered at once."""
_BYTES = 20
_EMPTY = bytes(_BYTES)


class Remembered:
    """Keys of questions, each of 20 bytes, in one table with a place for at most so many.

    A set of Python would take eight times as much for each, and grow with every new question.
    """

    def __init__(self, most: int) -> None:
        self._most = min(most, MOST)
        self._slots = 1 << (2 * self._most - 1).bit_length()  # half of them stay empty
        self.clear()

    def clear(self) -> None:
        """Forget all: asked again, such questions take a new round."""
        # Zeros of numpy take no time and no memory before they are written.
        self._table = np.zeros(_BYTES * self._slots, np.uint8).data
        self._size = 0

    def add(self, key: bytes) -> None:
        """Remember one more; where there is no room, instead of all others."""
        if key in self:
            return
        if self._size >= self._most:
            self.clear()
        place = self._place(key)
        self._table[place : place + _BYTES] = key
        self._size += 1

    def __contains__(self, key: bytes) -> bool:
        place = self._place(key)
        return bytes(self._table[place : place + _BYTES]) == key

    def __len__(self) -> int:
        return self._size

    def _place(self, key: bytes) -> int:
        """Where a key stands, or would: keys are digests, so their first bytes are a place."""
        slot = int.from_bytes(key[:8], "little")
        while True:
            slot &= self._slots - 1
            stored = bytes(self._table[_BYTES * slot : _BYTES * (slot + 1)])
            if stored in (key, _EMPTY):
                return _BYTES * slot
            slot += 1
