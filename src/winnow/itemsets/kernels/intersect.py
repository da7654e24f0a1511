"""Baskets restricted to some items, and turned round, compiled. Importing this imports numba."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from winnow.core.kernels.compiled import compiled


@intrinsic  # type: ignore[untyped-decorator]
def _ones(typing_context: Any, word: Any) -> Any:
    """The number of ones in a 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


def _fill_bits(items, basket_starts, bits):  # type: ignore[no-untyped-def]
    """Set the bit of every (item, basket)."""
    for basket in range(len(basket_starts) - 1):
        word, bit = basket >> 6, np.uint64(1) << np.uint64(basket & 63)
        for q in range(basket_starts[basket], basket_starts[basket + 1]):
            bits[items[q], word] |= bit


def _intersect(  # type: ignore[no-untyped-def]
    bits, size, low, high, histogram, skip, found, found_support, stop
):
    """As ``walk_occurrences`` walks, over bitsets: one row of `bits` for each item."""
    item_count, words = bits.shape
    levels = size - 1
    room = len(found_support)
    listed = 0
    seen = 0
    level_items = np.empty((size, item_count), np.int64)
    level_count = np.zeros(size, np.int64)
    cursor = np.zeros(size, np.int64)
    common = np.empty((size, words), np.uint64)
    prefix = np.zeros(size, np.int64)
    for i in range(item_count):
        level_items[0, i] = i
    level_count[0] = item_count
    depth = 0
    while depth >= 0 and stop[0] == 0:
        child = cursor[depth]
        if child == level_count[depth]:
            depth -= 1
            continue
        cursor[depth] += 1
        item = level_items[depth, child]
        prefix[depth] = item
        if depth == 0:
            row = bits[item]
        else:
            row = common[depth]
            above = common[depth - 1] if depth > 1 else bits[prefix[0]]
            other = bits[item]
            for w in range(words):
                row[w] = above[w] & other[w]
        below = depth + 1
        children = 0
        for j in range(child + 1, level_count[depth]):
            other_item = level_items[depth, j]
            other = bits[other_item]
            support = np.int64(0)
            for w in range(words):
                support += np.int64(_ones(row[w] & other[w]))
            if support < low:
                continue
            if depth < levels - 1:
                level_items[below, children] = other_item
                children += 1
                continue
            if len(histogram):
                histogram[support] += 1
            if listed < room and support <= high:
                if seen >= skip:
                    for d in range(levels):
                        found[listed, d] = prefix[d]
                    found[listed, levels] = other_item
                    found_support[listed] = support
                    listed += 1
                    if listed == room and len(histogram) == 0:
                        return listed
                seen += 1
        if children > 0:
            level_count[below] = children
            cursor[below] = 0
            depth = below
    return listed


fill_bits = compiled(_fill_bits)
intersect = compiled(_intersect)


def _restrict(items, starts, codes, least, kept_items, kept_starts):  # type: ignore[no-untyped-def]
    """Keep items whose new code is not negative, in baskets that have `least` of them.

    Returns how many baskets are kept; their ends are in `kept_starts`.
    """
    baskets, filled = 0, 0
    for basket in range(len(starts) - 1):
        first = filled
        for q in range(starts[basket], starts[basket + 1]):
            code = codes[items[q]]
            kept_items[filled] = code
            filled += 1 if code >= 0 else 0
        if filled - first < least:
            filled = first
        else:
            baskets += 1
            kept_starts[baskets] = filled
    return baskets


def _occurrences(items, starts, next_place, positions, ends):  # type: ignore[no-untyped-def]
    """Where each item occurs, and the ends of those baskets; `next_place` has the items' starts."""
    for basket in range(len(starts) - 1):
        end = starts[basket + 1]
        for q in range(starts[basket], end):
            place = next_place[items[q]]
            next_place[items[q]] = place + 1
            positions[place] = q
            ends[place] = end


restrict = compiled(_restrict)
occurrences = compiled(_occurrences)
