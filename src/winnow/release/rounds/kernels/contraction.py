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

from winnow.core.kernels.compiled import bare, compiled_bare

_NARROW = 8  # rows of fewer values are not added side by side
MOST = 64
"""Columns."""
AXES = LENGTH, STEP, CODES, DIGIT = range(4)
"""Of an axis: its length, the distance of its cells, where its codes begin in their list (-1: they
follow each other), and the place at which a walk is."""


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


class Room(NamedTuple):
    """Where kernels write down what they need on the way."""

    change: NDArray[np.float64]
    """What was added to each cell of the set."""
    scratch: NDArray[np.float64]
    """All buffers but the first,"""
    offsets: NDArray[np.int64]
    """and where each of them begins."""
    axes: NDArray[np.int64]
    """Of a walk over a set, the axes: what ``AXES`` names of each, at most `MOST` of them."""


class TableArrays(NamedTuple):
    """Flat tables one after another."""

    strides: NDArray[np.int64]
    """Of each table and column; 0 for columns that the table lacks."""
    bases: NDArray[np.int64]
    """Where each table begins."""
    values: NDArray[np.float64]


@bare
def _buffer_size(mask, sizes):  # type: ignore[no-untyped-def]
    total = 1
    for column in range(sizes.shape[0]):
        if (mask >> column) & 1:
            total *= sizes[column]
    return total


@bare
def _sum_axis(source, at, outer, count, inner, target, to):  # type: ignore[no-untyped-def]
    """target[o, i] = sum_k source[o, k, i]."""
    if count == 2 and inner == 1:
        for o in range(outer):
            target[to + o] = source[at + 2 * o] + source[at + 2 * o + 1]
        return
    if count == 2:
        for o in range(outer):
            row, out = at + 2 * o * inner, to + o * inner
            for i in range(inner):
                target[out + i] = source[row + i] + source[row + inner + i]
        return
    if inner < _NARROW:
        for o in range(outer):
            for i in range(inner):
                place = at + o * count * inner + i
                total = source[place]
                for _ in range(1, count):
                    place += inner
                    total += source[place]
                target[to + o * inner + i] = total
        return
    for o in range(outer):
        for i in range(inner):
            target[to + o * inner + i] = source[at + o * count * inner + i]
        for k in range(1, count):
            row = at + (o * count + k) * inner
            for i in range(inner):
                target[to + o * inner + i] += source[row + i]


@bare
def _walk(mask, members, stride, axes):  # type: ignore[no-untyped-def]
    """The axes of a walk over the cells of a set, the fastest first: (first place, how many).

    Columns whose cells follow each other at one distance are one axis. There are at least two.
    """
    sizes, lists, starts = members
    count, place = 0, np.int64(0)
    for k in range(2):
        axes[LENGTH, k], axes[STEP, k], axes[CODES, k] = 1, 0, -1
    for column in range(sizes.shape[0] - 1, -1, -1):
        first, size, step = starts[column], sizes[column], stride[column]
        place += lists[first] * step
        if not (mask >> column) & 1:
            continue
        together = lists[first + size - 1] - lists[first] == size - 1
        if count > 0 and together and axes[CODES, count - 1] < 0:
            length = axes[LENGTH, count - 1]
            if step == axes[STEP, count - 1] * length:
                axes[LENGTH, count - 1] = length * size
                continue
        axes[LENGTH, count], axes[STEP, count], axes[DIGIT, count] = size, step, 0
        axes[CODES, count] = -1 if together else first
        count += 1
    return place, max(count, 2)


@bare
def _at(axes, axis, digit, lists):  # type: ignore[no-untyped-def]
    """How far from its first cell an axis is at a digit."""
    codes = axes[CODES, axis]
    if codes < 0:
        return digit * axes[STEP, axis]
    return (lists[codes + digit] - lists[codes]) * axes[STEP, axis]


@bare
def _next(place, count, lists, axes):  # type: ignore[no-untyped-def]
    """The place after a step of the axes from the third on; -1 after the last place."""
    for axis in range(2, count):
        digit = axes[DIGIT, axis]
        place -= _at(axes, axis, digit, lists)
        if digit + 1 < axes[LENGTH, axis]:
            axes[DIGIT, axis] = digit + 1
            return place + _at(axes, axis, digit + 1, lists)
        axes[DIGIT, axis] = 0
    return np.int64(-1)


@bare
def _add_table(source, at, mask, members, stride, values, base, axes):  # type: ignore[no-untyped-def]
    """Add a buffer to the cells of one table; `stride` is 0 for columns the table lacks."""
    place, count = _walk(mask, members, stride, axes)
    lists, length, step, codes = members.lists, axes[LENGTH, 0], axes[STEP, 0], axes[CODES, 0]
    while place >= 0:
        for j in range(axes[LENGTH, 1]):
            row = base + place + _at(axes, 1, j, lists)
            if codes >= 0:
                for k in range(length):
                    values[row + (lists[codes + k] - lists[codes]) * step] += source[at + k]
            elif step == 1:
                for k in range(length):
                    values[row + k] += source[at + k]
            else:
                for k in range(length):
                    values[row + k * step] += source[at + k]
            at += length
        place = _next(place, count, lists, axes)


@bare
def _contract(source, members, buffers, room, tables):  # type: ignore[no-untyped-def]
    """Fill all buffers of a plan and add them to the tables."""
    sizes, masks = members.sizes, buffers.masks
    count = masks.shape[0]
    offsets, scratch, axes = room.offsets, room.scratch, room.axes
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
            _add_table(source, 0, masks[0], members, stride, tables.values, base, axes)
        else:
            _add_table(scratch, offsets[b], masks[b], members, stride, tables.values, base, axes)


@bare
def _scale_cells(weights, sums, clock, stride, members, mask, factor, change, axes):  # type: ignore[no-untyped-def]
    """Multiply the weights of the set; `change` gets what was added to each."""
    place, count = _walk(mask, members, stride, axes)
    lists, length, step, codes = members.lists, axes[LENGTH, 0], axes[STEP, 0], axes[CODES, 0]
    at = np.int64(0)
    while place >= 0:
        for j in range(axes[LENGTH, 1]):
            row = place + _at(axes, 1, j, lists)
            for k in range(length):
                x = row + (k * step if codes < 0 else (lists[codes + k] - lists[codes]) * step)
                before = weights[x]
                after = before * factor
                weights[x] = after
                change[at + k] = after - before
                sums[x] -= (after - before) * clock
            at += length
        place = _next(place, count, lists, axes)


def _scale_set(  # type: ignore[no-untyped-def]
    weights, sums, clock, stride, factor, room, members, buffers, tables
):
    """Multiply the weights of a product set by a factor and keep every table up to date.

    Records come as plain tuples: numba is slow to tell a record's type.
    """
    here, plan, space = ProductSet(*members), Buffers(*buffers), Room(*room)
    mask = plan.masks[0]
    _scale_cells(weights, sums, clock, stride, here, mask, factor, space.change, space.axes)
    _contract(space.change, here, plan, space, TableArrays(*tables))


def _fill_tables(weights, room, members, buffers, tables):  # type: ignore[no-untyped-def]
    """All tables of the whole tensor, added to their values; the rest as ``scale_set``."""
    _contract(weights, ProductSet(*members), Buffers(*buffers), Room(*room), TableArrays(*tables))


scale_set = compiled_bare(_scale_set)
fill_tables = compiled_bare(_fill_tables)
