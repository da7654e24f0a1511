"""Baskets restricted to some items, and turned round, compiled. Importing this imports numba."""

from __future__ import annotations

from winnow.kernels.compiled import compiled


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
