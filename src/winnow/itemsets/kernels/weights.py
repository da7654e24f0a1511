"""Counts of items and of itemsets in which every basket has the same limited weight."""

from __future__ import annotations

from math import comb, isqrt

import numpy as np
from numpy.typing import NDArray

from winnow.core.baskets import Baskets
from winnow.itemsets.kernels.mine import Itemset, restricted, stoppable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNIT = 256
"""Weights are whole multiples of 1/UNIT."""
LONGEST = 1024
"""Items of longer baskets weigh nothing, so that one person has a bounded number of them."""


def item_counts(baskets: Baskets, *, squares: bool, longest: int = LONGEST) -> Integers:
    """The sum over baskets of n items of floor(UNIT/n), of floor(UNIT/sqrt(n)) with `squares`.

    So one basket adds at most UNIT in all, or at most UNIT in the l2 norm; one of more than
    `longest` items adds nothing.
    """
    lengths = baskets.lengths()
    weights_of = range(1, int(lengths.max(initial=0)) + 1)
    by_length = [0] + [item_weight(n, squares=squares) * (n <= longest) for n in weights_of]
    weights = np.repeat(np.array(by_length, np.float64)[lengths], lengths)
    counts = np.bincount(baskets.items, weights=weights, minlength=baskets.item_count)
    return counts.astype(np.int64)  # whole numbers below 2^53: the sums were exact


def item_weight(n: int, *, squares: bool) -> int:
    """What a basket of so many items adds to each of them."""
    if n > LONGEST:
        return 0
    return isqrt(UNIT * UNIT // n) if squares else UNIT // n


def itemset_counts(
    baskets: Baskets, keep: NDArray[np.bool_], likely: Floats, size: int, shares: int, squares: bool
) -> Integers:
    """The weighted counts of all itemsets of the items to keep, by their places.

    ``likely`` belongs to the items that are kept, in their order. One basket adds at most UNIT
    `shares` in all, or at most UNIT sqrt(shares) in the l2 norm with `squares`.
    """
    from winnow.itemsets.kernels.weigh import weigh

    reduced, codes = restricted(baskets, keep, size)
    # no itemset stands at a place beyond the last one, so nothing reads what is cut here
    table = [[min(comb(c, i), 2**62) for i in range(size + 1)] for c in range(len(codes) + 1)]
    places = np.array(table, np.int64)
    counts = np.zeros(comb(len(codes), size), np.int64)
    lengths = reduced.lengths().astype(np.float64)
    steps = float((lengths ** min(size, 20)).sum())
    arguments = likely, size, shares, UNIT, squares, places, counts
    stoppable(weigh, steps, reduced.items, reduced.starts, *arguments)
    return counts


def itemset_at(place: int, size: int) -> Itemset:
    """The itemset at a place, as places among the items that were kept."""
    places = []
    for left in range(size, 0, -1):
        item = left - 1
        while comb(item + 1, left) <= place:
            item += 1
        place -= comb(item, left)
        places.append(item)
    return tuple(reversed(places))
