"""A tape whose first bits are set by a test; later bits come from a seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reference.inside import CHUNK, Tape


class RiggedTape(Tape):
    """Item i starts with the bit string prefixes[i] (a text of 0 and 1), then goes on at random."""

    def __init__(self, seed: int, prefixes: dict[int, str]) -> None:
        source = Tape.seeded(seed)
        super().__init__(source._key, "seeded")
        self._prefixes = prefixes

    def _forced(self, item: int, bits: str) -> str:
        prefix = self._prefixes.get(item, "")
        return prefix[: len(bits)] + bits[len(prefix) :]

    def chunks(self, first: int, count: int) -> Iterator[np.ndarray]:
        start = first
        for words in super().chunks(first, count):
            words = words.copy()
            for item in self._prefixes:
                if start <= item < start + len(words):
                    bits = format(int(words[item - start]), "032b")
                    words[item - start] = int(self._forced(item, bits), 2)
            yield words
            start += CHUNK

    def words(self, first: int, count: int) -> np.ndarray:
        return np.concatenate([np.empty(0, np.uint32), *self.chunks(first, count)])

    def extension(self, items: np.ndarray, level: int) -> np.ndarray:
        rows = super().extension(items, level).copy()
        begin = 32 + 128 * level
        for place, item in enumerate(items.tolist()):
            prefix = self._prefixes.get(item, "")[begin : begin + 128]
            if prefix:
                bits = f"{int(rows[place, 0]):064b}{int(rows[place, 1]):064b}"
                bits = prefix + bits[len(prefix) :]
                rows[place] = int(bits[:64], 2), int(bits[64:], 2)
        return rows
