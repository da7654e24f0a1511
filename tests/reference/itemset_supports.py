"""Supports of itemsets by listing every itemset of every basket."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np

from winnow.core.baskets import Baskets


def baskets_of(rows: list[list[int]], items: int) -> Baskets:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = [int(code) for row in rows for code in row]
    return Baskets(starts, np.array(flat, np.int32), items)


def supports_by_counting(rows: list[list[int]], size: int) -> list[tuple[int, tuple[int, ...]]]:
    """(support, itemset), largest first, ties in lexicographic order."""
    found: Counter[tuple[int, ...]] = Counter()
    for row in rows:
        found.update(tuple(map(int, itemset)) for itemset in combinations(row, size))
    return sorted(((s, itemset) for itemset, s in found.items()), key=lambda p: (-p[0], p[1]))
