"""Compiled sums over axes: all marginal tables of a product set of cells, added where they belong.

The set is given by a list of codes for each column (all codes of a free column, one code of a
fixed one). Columns with several codes are active. Buffer 0 holds one value for each cell of the
set, the active columns as axes in ascending order; every further buffer is an earlier one with
one axis summed out, in the order of a plan (``contraction_plan``). Each table adds the buffer of
its own active columns to the cells that the set meets.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import compiled, helper

_MOST = 64  # columns


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
def _add_table(  # type: ignore[no-untyped-def]
    source, at, mask, lists, starts, sizes, stride, values, base
):
    """Add a buffer to the cells of one table; `stride` is 0 for columns the table lacks."""
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
def _contract(  # type: ignore[no-untyped-def]
    source, sizes, lists, starts, masks, sources, dropped, scratch, table_buffer, table_stride,
    table_base, values,
):  # fmt: skip
    """Fill all buffers of a plan and add them to the tables."""
    buffers = masks.shape[0]
    offsets = np.empty(buffers, np.int64)
    free = 0
    offsets[0] = 0
    for b in range(1, buffers):
        offsets[b] = free
        free += _buffer_size(masks[b], sizes)
    for b in range(1, buffers):
        parent, axis = sources[b], dropped[b]
        low = masks[parent] & ((np.int64(1) << axis) - 1)
        high = masks[parent] >> (axis + 1) << (axis + 1)
        outer, inner = _buffer_size(low, sizes), _buffer_size(high, sizes)
        if parent == 0:
            _sum_axis(source, 0, outer, sizes[axis], inner, scratch, offsets[b])
        else:
            _sum_axis(scratch, offsets[parent], outer, sizes[axis], inner, scratch, offsets[b])
    for t in range(table_base.shape[0]):
        b = table_buffer[t]
        if b == 0:
            _add_table(
                source, 0, masks[0], lists, starts, sizes, table_stride[t], values, table_base[t]
            )
        else:
            _add_table(
                scratch, offsets[b], masks[b], lists, starts, sizes, table_stride[t], values,
                table_base[t],
            )  # fmt: skip


@helper
def _scale_cells(  # type: ignore[no-untyped-def]
    weights, sums, clock, stride, sizes, lists, starts, mask, factor, change
):
    """Multiply the weights of the set; `change` gets what was added to each."""
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
    weights, sums, clock, stride, sizes, lists, starts, factor, masks, sources, dropped, change,
    scratch, table_buffer, table_stride, table_base, values,
):  # fmt: skip
    """Multiply the weights of a product set by a factor and keep every table up to date."""
    _scale_cells(weights, sums, clock, stride, sizes, lists, starts, masks[0], factor, change)
    _contract(
        change, sizes, lists, starts, masks, sources, dropped, scratch, table_buffer,
        table_stride, table_base, values,
    )  # fmt: skip


def _fill_tables(  # type: ignore[no-untyped-def]
    weights, sizes, lists, starts, masks, sources, dropped, scratch, table_buffer, table_stride,
    table_base, values,
):  # fmt: skip
    """All tables of the whole tensor, added to `values`."""
    _contract(
        weights, sizes, lists, starts, masks, sources, dropped, scratch, table_buffer,
        table_stride, table_base, values,
    )  # fmt: skip


scale_set = compiled(_scale_set)
fill_tables = compiled(_fill_tables)
