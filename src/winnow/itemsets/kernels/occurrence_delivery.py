"""Counting r-itemsets by occurrence delivery, compiled: for sparse baskets.

Depth-first over prefixes in the public order of the items. The baskets that hold a prefix
deliver themselves to every item that comes after it [Uno et al. 2003, LCM], so all extensions
of a prefix are counted in one walk over its baskets, and memory is a constant number of copies
of the baskets, however many itemsets there are. Importing this module imports numba.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled, helper


@helper
def _sort_first(values, size):  # type: ignore[no-untyped-def]
    """The first `size` values ascending, in place."""
    values[:size].sort()


def _walk_occurrences(  # type: ignore[no-untyped-def]
    items, starts, positions, ends, size, low, high, histogram, skip, found, found_support, stop
):
    """Walk all itemsets of `size` >= 2 items with support >= low.

    `items` holds the baskets one after another, each ascending; the occurrences of item i are
    positions[starts[i]:starts[i+1]] in it, with the ends of their baskets in `ends`. Supports
    are tallied in `histogram` (length 0: not asked). Those of support low..high after the
    first `skip` are listed in `found`, in lexicographic order; when that is full the walk stops,
    unless it tallies. Returns how many are listed. It ends early once `stop` holds a 1.
    """
    item_count = len(starts) - 1
    levels = size - 1
    room = len(found_support)
    listed = 0
    seen = 0
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
                if room and support <= high and listed < room:
                    if seen >= skip:
                        for d in range(levels):
                            found[listed, d] = prefix[d]
                        found[listed, levels] = item
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
