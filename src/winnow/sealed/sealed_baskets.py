"""Baskets of items, sealed: who bought what together stays inside."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.utility import Utility
from winnow.kernels.itemsets import Baskets
from winnow.sealed.seal import Sealed

Codes = NDArray[np.uint64]


@dataclass(frozen=True)
class SealedBaskets:
    """Private baskets over items that are public, or came from the data and are private too.

    The number of baskets, their lengths and which items occur are private. One person moves
    the support of every itemset by what `utility` says: by at most the number of baskets that
    a person may have, never down when a person is added.
    """

    data: Sealed[Baskets]
    labels: Sequence[Any] | Sealed[list[str]]
    utility: Utility
    unit: str
    """Whose presence is protected: 'basket' or 'user'."""
    max_items: int | None = None
    """The most items that a basket was left with; None: not bounded."""
    max_baskets_per_user: int = 1

    @property
    def items_known(self) -> bool:
        """Whether the list of items is public."""
        return not isinstance(self.labels, Sealed)

    def __repr__(self) -> str:
        what = (
            "items that are private too"
            if isinstance(self.labels, Sealed)
            else f"{len(self.labels)} public items"
        )
        return f"<sealed baskets of {what}, unit: {self.unit}>"


def keep_at_most(baskets: Baskets, labels: Sequence[Any], most: int, key: bytes) -> Baskets:
    """Baskets of more than `most` items are cut to that many, chosen by a keyed hash.

    The hash of an item in a basket depends on the key, the item and the set of items in the
    basket, and on nothing else: so a cut basket says nothing about other baskets, and which
    items are cut differs from basket to basket.
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
    owner = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((baskets.items, _scrambled(each ^ mixed[owner]), owner))
    place = np.arange(len(order)) - np.repeat(baskets.starts[:-1], lengths)
    kept = np.sort(order[place < most])
    starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))]).astype(np.int64)
    return Baskets(starts, baskets.items[kept], baskets.item_count)


def _digest(key: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8, key=key).digest()


def _scrambled(x: Codes) -> Codes:
    """A fixed bijection of 64 bits that mixes all of them [SplitMix64, Steele et al. 2014]."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
