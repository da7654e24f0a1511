"""Compiled sums of many product sets, each read off the marginal table of its own columns.

The sum of an inner axis is finished before it is added to the next one, so no value passes
through more additions than there are codes in the set's lists: what ``MarginalTables.slack``
counts on.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled

_MOST = 64  # axes


def _sum_products(values, bases, axes, starts, offsets, first, out):  # type: ignore[no-untyped-def]
    """out[i] = the sum of set first + i, whose axes are axes[first + i] .. axes[first + i + 1]."""
    digits = np.zeros(_MOST, np.int64)
    partial = np.zeros(_MOST, np.float64)
    for i in range(out.shape[0]):
        low, high = axes[first + i], axes[first + i + 1]
        place = bases[first + i]
        empty = False
        for axis in range(low, high - 1):
            if starts[axis] == starts[axis + 1]:
                empty = True
            else:
                place += offsets[starts[axis]]
        if empty:
            out[i] = 0.0
            continue
        if low == high:
            out[i] = values[place]
            continue
        begin, end = starts[high - 1], starts[high]
        while True:
            total = 0.0
            for k in range(begin, end):
                total += values[place + offsets[k]]
            axis = high - 2
            while axis >= low:
                level = axis - low
                total += partial[level]
                at = starts[axis] + digits[level]
                place -= offsets[at]
                if at + 1 < starts[axis + 1]:
                    partial[level] = total
                    digits[level] += 1
                    place += offsets[at + 1]
                    break
                partial[level] = 0.0
                digits[level] = 0
                place += offsets[starts[axis]]
                axis -= 1
            if axis < low:
                out[i] = total
                break


sum_products = compiled(_sum_products)
