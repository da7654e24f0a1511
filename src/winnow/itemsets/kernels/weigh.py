"""Itemsets of every basket, weighed so that no basket has more than a fixed weight, compiled.

Importing this module imports numba.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled


def _weigh(items, starts, likely, size, shares, unit, squares, places, counts, stop):  # type: ignore[no-untyped-def]
    """Add what each basket gives to each of its itemsets to `counts`.

    An itemset of a basket gets the share f = min(1, shares v/V), v the product of what its items
    are likely, V the sum of v over all itemsets of the basket; all get 1 if there are no more
    than `shares`. It adds floor(unit f), or floor(unit sqrt(f)) with `squares`. The sum over a
    basket, of squares with `squares`, is held to unit shares (unit^2 shares) by whole numbers:
    what rounding would add above that is left out.

    The place of an itemset c_1 < c_2 < .. is the sum of C(c_i, i): ``places[c, i]``.
    """
    members = np.empty(len(likely), np.int64)
    sums, chosen = np.empty(size + 1), np.empty(size, np.int64)
    for basket in range(len(starts) - 1):
        if stop[0]:
            return
        n = starts[basket + 1] - starts[basket]
        if n < size:
            continue
        sums[:] = 0.0
        sums[0] = 1.0
        for q in range(n):
            members[q] = items[starts[basket] + q]
            for d in range(size, 0, -1):
                sums[d] += sums[d - 1] * likely[members[q]]
        many = 1.0
        for d in range(size):
            many = many * (n - d) / (d + 1)
        everything = many < shares + 0.5
        left = unit * unit * shares if squares else unit * shares
        for d in range(size):
            chosen[d] = d
        while True:
            share, place = shares / sums[size], np.int64(0)
            for d in range(size):
                share *= likely[members[chosen[d]]]
                place += places[members[chosen[d]], d + 1]
            if everything or share > 1.0:
                share = 1.0
            weight = np.int64(unit * np.sqrt(share) if squares else unit * share)
            cost = weight * weight if squares else weight
            if cost <= left:
                left -= cost
                counts[place] += weight
            d = size - 1
            while d >= 0 and chosen[d] == n - size + d:
                d -= 1
            if d < 0:
                break
            chosen[d] += 1
            for e in range(d + 1, size):
                chosen[e] = chosen[e - 1] + 1


weigh = compiled(_weigh)
