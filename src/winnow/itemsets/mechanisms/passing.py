"""The threshold that private items have to pass; ``WeightedCounts`` has the proof."""

from __future__ import annotations

from functools import lru_cache

from winnow.itemsets.kernels.weights import LONGEST, UNIT, item_weight
from winnow.select.mechanisms.weighted_gaussian import tail


@lru_cache(maxsize=64)
def least_threshold(variance: int, lost: float, baskets: int, longest: int = LONGEST) -> int:
    """The least threshold that new items of one person pass with no more probability than this.

    A person has so many baskets, and none of more than `longest` items adds to any.
    """
    lengths = {
        item_weight(n, squares=True): n for n in range(1, longest + 1)
    }  # the longest of each

    def enough(least: int) -> bool:
        others = (baskets - 1) * longest * tail(least, variance)
        return all(
            n * tail(least - baskets * weight, variance) + others <= lost * (1 - 2.0**-40)
            for weight, n in lengths.items()
        )

    low = baskets * UNIT + 1  # from here on the tail is one, and convex
    if enough(low):
        return low
    high = 2 * low
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
