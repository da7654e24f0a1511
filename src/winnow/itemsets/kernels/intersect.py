"""Baskets restricted to some items, and turned round, compiled. Importing this imports numba.

Counting r-itemsets by occurrence delivery, compiled: for sparse baskets.

Depth-first over prefixes in the public order of the items. The baskets that hold a prefix
deliver themselves to every item that comes after it [Uno et al. 2003, LCM], so all extensions
of a prefix are counted in one walk over its baskets, and memory is a constant number of copies
of the baskets, however many itemsets there are. Importing this module imports numba.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic

from winnow.core.kernels.compiled import compiled, helper


@intrinsic  # type: ignore[untyped-decorator]
def _ones(typing_context: Any, word: Any) -> Any:
    """The number of ones in a 64-bit word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return numba.types.uint64(numba.types.uint64), generate


def _fill_bits(items, basket_starts, rows, least, bits):  # type: ignore[no-untyped-def]
    """Set the bit of every (item, basket), where the item has a row (not below 0).

    Baskets of fewer than `least` items have no place. Returns how many have one.
    """
    place = 0
    for basket in range(len(basket_starts) - 1):
        first, last = basket_starts[basket], basket_starts[basket + 1]
        if last - first < least:
            continue
        word, bit = place >> 6, np.uint64(1) << np.uint64(place & 63)
        for q in range(first, last):
            row = rows[items[q]]
            if row >= 0:
                bits[row, word] |= bit
        place += 1
    return place


def _greedy(bits, words, size):  # type: ignore[no-untyped-def]
    """The largest support of the itemsets that grow greedily from each row."""
    common = np.empty(words, np.uint64)
    left = np.empty(len(bits), np.bool_)
    best = np.int64(0)
    for first in range(len(bits)):
        left[:] = True
        left[first] = False
        common[:] = bits[first, :words]
        support = np.int64(-1)
        for _ in range(size - 1):
            chosen, support = first, np.int64(-1)
            for other in range(len(bits)):
                if not left[other]:
                    continue
                row = bits[other]
                largest = np.int64(0)
                for w in range(words):
                    largest += np.int64(_ones(common[w] & row[w]))
                if largest > support:
                    chosen, support = other, largest
            left[chosen] = False
            row = bits[chosen]
            for w in range(words):
                common[w] &= row[w]
        best = max(best, support)
    return best


def _count_pairs(items, basket_starts, rows, held, pairs):  # type: ignore[no-untyped-def]
    """Add up pairs[a, b], a < b: how many baskets hold both items of two rows."""
    for basket in range(len(basket_starts) - 1):
        count = 0
        for q in range(basket_starts[basket], basket_starts[basket + 1]):
            row = rows[items[q]]
            if row >= 0:
                for k in range(count):
                    pairs[held[k], row] += 1
                held[count] = row
                count += 1


def _intersect(  # type: ignore[no-untyped-def]
    bits, words, rows, pair_rows, pairs, size, low, high, histogram, most, skip, itemsets,
    found_support, stop
):  # fmt: skip
    """Walk over bitsets, as ``walk_occurrences`` does over lists.

    The bitsets are those of `rows`, with so many words of each.

    The supports of pairs are looked up where `pairs` has them (else it has no rows), by their own
    rows.
    """
    known = len(pairs) > 0
    item_count = len(rows)
    levels = size - 1
    room = len(found_support)
    listed = 0
    seen = 0
    tallied = 0
    level_items = np.empty((size, item_count), np.int64)
    level_count = np.zeros(size, np.int64)
    cursor = np.zeros(size, np.int64)
    common = np.empty((size, words), np.uint64)
    prefix = np.zeros(size, np.int64)
    level_items[0, :] = rows
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
            if known:
                support += pairs[pair_rows[item], pair_rows[other_item]]
                if support < low:
                    continue
            if depth > 0 or not known:
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
                tallied += 1
                if tallied > most:
                    return listed
            if listed < room and support <= high:
                if seen >= skip:
                    for d in range(levels):
                        itemsets[listed, d] = prefix[d]
                    itemsets[listed, levels] = other_item
                    found_support[listed] = support
                    listed += 1
                    if listed == room and len(histogram) == 0:
                        return listed
                seen += 1
        if children >= size - below:  # that many more items are needed
            level_count[below] = children
            cursor[below] = 0
            depth = below
    return listed


fill_bits = compiled(_fill_bits)
greedy = compiled(_greedy)
count_pairs = compiled(_count_pairs)
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


@helper
def _sort_first(values, size):  # type: ignore[no-untyped-def]
    """The first `size` values ascending, in place."""
    values[:size].sort()


def _walk_occurrences(  # type: ignore[no-untyped-def]
    items,
    starts,
    positions,
    ends,
    size,
    low,
    high,
    histogram,
    most,
    skip,
    itemsets,
    found_support,
    stop,
):
    """Walk all itemsets of `size` >= 2 items with support >= low.

    `items` holds the baskets one after another, each ascending; the occurrences of item i are
    positions[starts[i]:starts[i+1]] in it, with the ends of their baskets in `ends`. Supports
    are tallied in `histogram` (length 0: not asked). Those of support low..high after the
    first `skip` are listed in `found`, in lexicographic order; when that is full the walk stops,
    unless it tallies. Returns how many are listed. It ends early once more than `most` are
    tallied, or `stop` holds a 1.
    """
    item_count = len(starts) - 1
    levels = size - 1
    room = len(found_support)
    listed = 0
    seen = 0
    tallied = 0
    counter = np.zeros(item_count, np.int64)
    touched = np.empty(item_count, np.int64)
    level_starts = np.zeros((levels, item_count + 1), np.int64)
    level_items = np.empty((levels, item_count), np.int64)
    level_count = np.zeros(levels, np.int64)
    cursor = np.zeros(levels, np.int64)
    deep = 0 if levels == 1 else len(positions)
    deep_positions = np.empty((levels, deep), positions.dtype)
    deep_ends = np.empty((levels, deep), ends.dtype)
    target = np.full(item_count, -1, np.int64)
    prefix = np.zeros(size, np.int64)
    for i in range(item_count):
        level_items[0, i] = i
        level_starts[0, i] = starts[i]
    level_starts[0, item_count] = starts[item_count]
    level_count[0] = item_count
    depth = 0
    while depth >= 0 and stop[0] == 0:
        child = cursor[depth]
        if child == level_count[depth]:
            depth -= 1
            continue
        cursor[depth] += 1
        prefix[depth] = level_items[depth, child]
        first, last = level_starts[depth, child], level_starts[depth, child + 1]
        if depth == 0:
            where, until = positions, ends
        else:
            where, until = deep_positions[depth], deep_ends[depth]
        if last - first < low:
            continue
        reached = 0
        for o in range(first, last):
            for q in range(where[o] + 1, until[o]):
                item = items[q]
                if counter[item] == 0:
                    touched[reached] = item
                    reached += 1
                counter[item] += 1
        if depth == levels - 1:
            if room:
                _sort_first(touched, reached)
            for j in range(reached):
                item = touched[j]
                support = counter[item]
                counter[item] = 0
                if support < low:
                    continue
                if len(histogram):
                    histogram[support] += 1
                    tallied += 1
                    if tallied > most:
                        return listed
                if room and support <= high and listed < room:
                    if seen >= skip:
                        for d in range(levels):
                            itemsets[listed, d] = prefix[d]
                        itemsets[listed, levels] = item
                        found_support[listed] = support
                        listed += 1
                    seen += 1
            if room and listed == room and len(histogram) == 0:
                return listed
            continue
        _sort_first(touched, reached)
        below = depth + 1
        children, filled = 0, 0
        for j in range(reached):
            item = touched[j]
            if counter[item] >= low:
                target[item] = filled
                level_items[below, children] = item
                level_starts[below, children] = filled
                filled += counter[item]
                children += 1
            counter[item] = 0
        level_starts[below, children] = filled
        level_count[below] = children
        cursor[below] = 0
        if children:
            for o in range(first, last):
                for q in range(where[o] + 1, until[o]):
                    place = target[items[q]]
                    if place >= 0:
                        deep_positions[below, place] = q
                        deep_ends[below, place] = until[o]
                        target[items[q]] = place + 1
            for j in range(children):
                target[level_items[below, j]] = -1
            depth = below
    return listed


walk_occurrences = compiled(_walk_occurrences)
