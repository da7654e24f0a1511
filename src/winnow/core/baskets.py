"""Baskets of item codes, one after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


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
