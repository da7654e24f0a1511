"""Compiled sums over axes: all marginal tables of a product set of cells, added where they belong.

The set is given by a list of codes for each column (all codes of a free column, one code of a
fixed one). Columns with several codes are active. Buffer 0 holds one value for each cell of the
set, the active columns as axes in ascending order; every further buffer is an earlier one with
one axis summed out, in the order of a plan (``tables.plan``). Each table adds the buffer of
its own active columns to the cells that the set meets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import compiled, helper

_MOST = 64  # columns


class ProductSet(NamedTuple):
    """The codes of each column: sizes[c] of them, from lists[starts[c]] on."""

    sizes: NDArray[np.int64]
    lists: NDArray[np.int64]
    starts: NDArray[np.int64]


class Buffers(NamedTuple):
    """The plan: of each buffer its axes, the buffer it is summed from, and over which axis."""

    masks: NDArray[np.int64]
    sources: NDArray[np.int64]
    dropped: NDArray[np.int64]
    of_table: NDArray[np.int64]
    """Of each table, the buffer that it adds."""


class Tables(NamedTuple):
    """Flat tables one after another."""

    strides: NDArray[np.int64]
    """Of each table and column; 0 for columns that the table lacks."""
    bases: NDArray[np.int64]
    """Where each table begins."""
    values: NDArray[np.float64]


@helper
def _buffer_size(mask, sizes):  # type: ignore[no-untyped-def]
    total = 1
    for column in range(sizes.shape[0]):
        if (mask >> column) & 1:
            total *= sizes[column]
    return total


@helper
def _sum_axis(source, at, outer, count, inner, target, to):  # type: ignore[no-untyped-def]
    """target[o, i] = sum_k source[o, k, i]."""
    if inner == 1:
        for o in range(outer):
            total = 0.0
            for k in range(count):
                total += source[at + o * count + k]
            target[to + o] = total
        return
    for o in range(outer):
        for i in range(inner):
            target[to + o * inner + i] = source[at + o * count * inner + i]
        for k in range(1, count):
            row = at + (o * count + k) * inner
            for i in range(inner):
                target[to + o * inner + i] += source[row + i]


@helper
def _add_table(source, at, mask, held, stride, values, base):  # type: ignore[no-untyped-def]
    """Add a buffer to the cells of one table; `stride` is 0 for columns the table lacks."""
    sizes, lists, starts = held
    columns = np.empty(_MOST, np.int64)
    digits = np.zeros(_MOST, np.int64)
    active = 0
    place = base
    for column in range(sizes.shape[0]):
        if (mask >> column) & 1:
            columns[active] = column
            active += 1
            place += lists[starts[column]] * stride[column]
        else:
            place += lists[starts[column]] * stride[column]
    if active == 0:
        values[place] += source[at]
        return
    last = columns[active - 1]
    first, count, step = starts[last], sizes[last], stride[last]
    origin = lists[first] * step
    while True:
        for k in range(count):
            values[place + lists[first + k] * step - origin] += source[at + k]
        at += count
        axis = active - 2
        while axis >= 0:
            column = columns[axis]
            digit = digits[axis]
            place -= lists[starts[column] + digit] * stride[column]
            digit += 1
            if digit < sizes[column]:
                digits[axis] = digit
                place += lists[starts[column] + digit] * stride[column]
                break
            digits[axis] = 0
            place += lists[starts[column]] * stride[column]
            axis -= 1
        if axis < 0:
            return


@helper
def _contract(source, held, buffers, scratch, tables):  # type: ignore[no-untyped-def]
    """Fill all buffers of a plan and add them to the tables."""
    sizes, masks = held.sizes, buffers.masks
    count = masks.shape[0]
    offsets = np.empty(count, np.int64)
    free = 0
    offsets[0] = 0
    for b in range(1, count):
        offsets[b] = free
        free += _buffer_size(masks[b], sizes)
    for b in range(1, count):
        parent, axis = buffers.sources[b], buffers.dropped[b]
        low = masks[parent] & ((np.int64(1) << axis) - 1)
        high = masks[parent] >> (axis + 1) << (axis + 1)
        outer, inner = _buffer_size(low, sizes), _buffer_size(high, sizes)
        if parent == 0:
            _sum_axis(source, 0, outer, sizes[axis], inner, scratch, offsets[b])
        else:
            _sum_axis(scratch, offsets[parent], outer, sizes[axis], inner, scratch, offsets[b])
    for t in range(tables.bases.shape[0]):
        b = buffers.of_table[t]
        stride, base = tables.strides[t], tables.bases[t]
        if b == 0:
            _add_table(source, 0, masks[0], held, stride, tables.values, base)
        else:
            _add_table(scratch, offsets[b], masks[b], held, stride, tables.values, base)


@helper
def _scale_cells(weights, sums, clock, stride, held, mask, factor, change):  # type: ignore[no-untyped-def]
    """Multiply the weights of the set; `change` gets what was added to each."""
    sizes, lists, starts = held
    columns = np.empty(_MOST, np.int64)
    digits = np.zeros(_MOST, np.int64)
    active = 0
    place = 0
    for column in range(sizes.shape[0]):
        place += lists[starts[column]] * stride[column]
        if (mask >> column) & 1:
            columns[active] = column
            active += 1
    inner = active - 1
    first, count, step = 0, 1, 0
    if active > 0:
        last = columns[inner]
        first, count, step = starts[last], sizes[last], stride[last]
    origin = lists[first] * step
    at = 0
    while True:
        for k in range(count):
            x = place + lists[first + k] * step - origin
            before = weights[x]
            after = before * factor
            weights[x] = after
            change[at + k] = after - before
            sums[x] -= (after - before) * clock
        at += count
        axis = inner - 1
        while axis >= 0:
            column = columns[axis]
            digit = digits[axis]
            place -= lists[starts[column] + digit] * stride[column]
            digit += 1
            if digit < sizes[column]:
                digits[axis] = digit
                place += lists[starts[column] + digit] * stride[column]
                break
            digits[axis] = 0
            place += lists[starts[column]] * stride[column]
            axis -= 1
        if axis < 0:
            return at


def _scale_set(  # type: ignore[no-untyped-def]
    weights, sums, clock, stride, factor, change, scratch, held, buffers, tables
):
    """Multiply the weights of a product set by a factor and keep every table up to date.

    The set, the buffers and the tables are plain tuples: numba is slow to tell a record's type.
    """
    here, plan = ProductSet(*held), Buffers(*buffers)
    _scale_cells(weights, sums, clock, stride, here, plan.masks[0], factor, change)
    _contract(change, here, plan, scratch, Tables(*tables))


def _fill_tables(weights, scratch, held, buffers, tables):  # type: ignore[no-untyped-def]
    """All tables of the whole tensor, added to their values; the rest as ``scale_set``."""
    _contract(weights, ProductSet(*held), Buffers(*buffers), scratch, Tables(*tables))


scale_set = compiled(_scale_set)
fill_tables = compiled(_fill_tables)
