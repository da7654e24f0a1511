"""Baskets of item codes, one after another, and how large ones are cut."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Codes = NDArray[np.uint64]


@dataclass(frozen=True, repr=False)
class Baskets:
    """Baskets one after another (CSR): each an ascending run of distinct item codes."""

    starts: Integers
    items: NDArray[np.int32]
    item_count: int
    """How many items there are to choose from; some may be in no basket."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> Integers:
        """How many items each basket has."""
        return np.diff(self.starts)

    def supports(self) -> Integers:
        """How many baskets hold each item."""
        return np.bincount(self.items, minlength=self.item_count).astype(np.int64)


def keep_at_most(baskets: Baskets, labels: Sequence[Any], most: int, key: bytes) -> Baskets:
    """Baskets of more than `most` items are cut to that many, chosen by a keyed hash.

    The hash of an item in a basket depends on the key, the item, the set of items in the basket,
    and the number of the basket among those with the same set. So which items are cut differs from
    basket to basket, of equal ones, too, and what is kept is a uniform sample of each. One more
    basket among m equal ones is the one of number m + 1, and changes nothing of the others:
    adding or removing a basket adds or removes one cut basket, wherever it stands.
    """
    lengths = baskets.lengths()
    if not len(lengths) or int(lengths.max()) <= most:
        return baskets
    hashed = np.array(
        [int.from_bytes(_digest(key, str(label)), "little") for label in labels], np.uint64
    )
    each = hashed[baskets.items]
    filled = np.flatnonzero(lengths)
    mixed = np.zeros(len(lengths), np.uint64)
    mixed[filled] = np.bitwise_xor.reduceat(_scrambled(each), baskets.starts[:-1][filled])
    mixed ^= _scrambled(_among_equals(baskets, lengths > most))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((baskets.items, _scrambled(each ^ mixed[owner]), owner))
    place = np.arange(len(order)) - np.repeat(baskets.starts[:-1], lengths)
    kept = np.sort(order[place < most])
    starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))]).astype(np.int64)
    return Baskets(starts, baskets.items[kept], baskets.item_count)


def _among_equals(baskets: Baskets, asked: NDArray[np.bool_]) -> Codes:
    """The number, from 0, of each of the baskets asked for among those with the same items."""
    numbers = np.zeros(len(asked), np.uint64)
    seen: Counter[bytes] = Counter()
    for place in np.flatnonzero(asked).tolist():
        items = baskets.items[baskets.starts[place] : baskets.starts[place + 1]].tobytes()
        numbers[place] = seen[items]
        seen[items] += 1
    return numbers


def _digest(key: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8, key=key).digest()


def _scrambled(x: Codes) -> Codes:
    """A fixed bijection of 64 bits that mixes all of them [SplitMix64, Steele et al. 2014]."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
