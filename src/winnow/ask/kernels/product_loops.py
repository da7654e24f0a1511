"""Compiled walks over product sets of cells.

Importing this imports numba, so it stands apart from ``product_sets``: plans need no loops.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled, helper


@helper
def _advance(digits, offsets, starts, axes, place):  # type: ignore[no-untyped-def]
    """The next choice of all axes but the last; -1 after the last choice."""
    axis = axes - 2
    while axis >= 0:
        first = starts[axis]
        place -= offsets[first + digits[axis]]
        digits[axis] += 1
        if first + digits[axis] < starts[axis + 1]:
            return place + offsets[first + digits[axis]]
        digits[axis] = 0
        place += offsets[first]
        axis -= 1
    return -1


def _product_sum(values, offsets, starts):  # type: ignore[no-untyped-def]
    """The sum of the values over the set."""
    axes = starts.shape[0] - 1
    digits = np.zeros(axes, np.int64)
    place = 0
    for axis in range(axes - 1):
        place += offsets[starts[axis]]
    first, stop = starts[axes - 1], starts[axes]
    run = offsets[stop - 1] - offsets[first] == stop - first - 1
    total = values[0] * 0
    while place >= 0:
        if run:
            low = place + offsets[first]
            a = values[0] * 0
            b = values[0] * 0
            c = values[0] * 0
            d = values[0] * 0
            count = stop - first
            whole = count - count % 4
            for k in range(0, whole, 4):
                a += values[low + k]
                b += values[low + k + 1]
                c += values[low + k + 2]
                d += values[low + k + 3]
            for k in range(whole, count):
                a += values[low + k]
            total += (a + b) + (c + d)
        else:
            part = values[0] * 0
            for k in range(first, stop):
                part += values[place + offsets[k]]
            total += part
        place = _advance(digits, offsets, starts, axes, place)
    return total


def _product_scale(values, offsets, starts, factor):  # type: ignore[no-untyped-def]
    """Multiply the values of the set by a factor."""
    axes = starts.shape[0] - 1
    digits = np.zeros(axes, np.int64)
    place = 0
    for axis in range(axes - 1):
        place += offsets[starts[axis]]
    first, stop = starts[axes - 1], starts[axes]
    while place >= 0:
        for k in range(first, stop):
            values[place + offsets[k]] *= factor
        place = _advance(digits, offsets, starts, axes, place)


product_sum = compiled(_product_sum)
product_scale = compiled(_product_scale)
