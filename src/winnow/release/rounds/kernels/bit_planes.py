"""Compiled sums of bits that lie across: 512 of them at once, one binary digit after another.

Queries are rows of bits over the cells. Laid across, word g of a cell holds that cell's bit of 64
queries, and the words of 512 queries lie together in a line, cell after cell, chunk after chunk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from winnow.core.kernels.compiled import bare, compiled_bare, inlined
from winnow.core.workloads.forms import Words

GROUP = 64
"""Queries in a word, and in a block of proposals."""
GROUPS = 8
"""Words of a cell that lie together: a line of the cache."""
PLANES = 32
"""Binary digits of a sum."""


def in_lines(size: int) -> Words:
    """So many zeros, the first at the start of a line of the cache: no line of ours spans two."""
    room = np.zeros(size + GROUPS, np.uint64)
    first = -(room.ctypes.data // room.itemsize) % GROUPS
    return room[first : first + size]


@intrinsic
def compress(
    typing_context: Any, words: Any, first: Any, places: Any, flips: Any, start: Any, stop: Any,
    carries: Any, now: Any, count: Any, later: Any, planes: Any, at: Any,
) -> Any:  # fmt: skip
    """One binary digit of 512 sums at a time: planes[at] = the parity of all inputs, bit by bit.

    Inputs are the lines words[first + places[k]] ^ flips[k], start <= k < stop, and `count` lines
    of carries from `now` on. What is carried to the next digit is left from `later` on; returns how
    many lines that are. Full adders: each takes two inputs and makes one carry.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, line = ir.IntType(64), ir.VectorType(ir.IntType(64), GROUPS)
        arrays = {
            n: context.make_array(signature.args[n])(context, builder, arguments[n]).data
            for n in (0, 2, 3, 6, 10)
        }
        first, start, stop, now, count, later, at = (arguments[n] for n in (1, 4, 5, 7, 8, 9, 11))
        one, two, size = (ir.Constant(word, n) for n in (1, 2, GROUPS))
        parity = cgutils.alloca_once_value(builder, ir.Constant(line, [0] * GROUPS))
        made = cgutils.alloca_once_value(builder, ir.Constant(word, 0))

        def pointer(array: Any, place: Any) -> Any:
            return builder.bitcast(builder.gep(array, [place]), line.as_pointer())

        def cell(k: Any) -> Any:
            place = builder.add(first, builder.load(builder.gep(arrays[2], [k])))
            flip = builder.load(builder.gep(arrays[3], [k]))
            flags = builder.insert_element(
                ir.Constant(line, ir.Undefined), flip, ir.Constant(ir.IntType(32), 0)
            )
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), GROUPS), [0] * GROUPS)
            every = builder.shuffle_vector(flags, ir.Constant(line, ir.Undefined), lanes)
            return builder.xor(builder.load(pointer(arrays[0], place), align=8), every)

        def carried(k: Any) -> Any:
            place = builder.add(now, builder.mul(k, size))
            return builder.load(pointer(arrays[6], place), align=8)

        def keep(carry: Any) -> None:
            place = builder.add(later, builder.mul(builder.load(made), size))
            builder.store(carry, pointer(arrays[6], place), align=8)
            builder.store(builder.add(builder.load(made), one), made)

        def add(read: Any, low: Any, high: Any) -> None:
            total = builder.sub(high, low)
            with cgutils.for_range(builder, builder.sdiv(total, two)) as loop:
                k = builder.add(low, builder.mul(loop.index, two))
                a, b, parity_value = read(k), read(builder.add(k, one)), builder.load(parity)
                half = builder.xor(parity_value, a)
                builder.store(builder.xor(half, b), parity)
                keep(builder.or_(builder.and_(parity_value, a), builder.and_(half, b)))
            odd = builder.icmp_signed("!=", builder.and_(total, one), ir.Constant(word, 0))
            with builder.if_then(odd):
                a, parity_value = read(builder.sub(high, one)), builder.load(parity)
                builder.store(builder.xor(parity_value, a), parity)
                keep(builder.and_(parity_value, a))

        add(cell, start, stop)
        add(carried, ir.Constant(word, 0), count)
        place = builder.mul(at, size)
        builder.store(builder.load(parity), pointer(arrays[10], place), align=8)
        return builder.load(made)

    whole = types.int64
    signature = whole(
        words, whole, places, flips, whole, whole, carries, whole, whole, whole, planes, whole
    )
    return signature, generate


@bare
def to_numbers(planes):  # type: ignore[no-untyped-def]
    """Transpose 32 digits of 512 numbers: row r then holds the numbers r, 32 + r, 64 + r, ..."""
    width, mask = np.uint32(16), np.uint32(0x0000FFFF)
    while width > 0:
        for k in range(PLANES):
            if k & width == 0:
                for lane in range(2 * GROUPS):
                    low, high = planes[k, lane], planes[k + width, lane]
                    swap = ((low >> width) ^ high) & mask
                    planes[k, lane] = low ^ (swap << width)
                    planes[k + width, lane] = high ^ swap
        width >>= np.uint32(1)
        mask ^= mask << width


@inlined
def _swap(rows, width, mask):  # type: ignore[no-untyped-def]
    """A step of a transposition of 64 by 64 bits: swap blocks that are `width` wide."""
    shift = np.uint64(width)
    for first in range(0, GROUP, 2 * width):
        for k in range(first, first + width):
            low, high = rows[k], rows[k + width]
            swap = ((low >> shift) ^ high) & mask
            rows[k] = low ^ (swap << shift)
            rows[k + width] = high ^ swap


def _lay_across(bits, across, rows):  # type: ignore[no-untyped-def]
    """Transpose the bits, 64 queries by 64 cells at a time."""
    words = bits.shape[1]
    for group in range(-(-bits.shape[0] // GROUP)):
        first = group // GROUPS * (words * GROUP * GROUPS) + group % GROUPS
        count = min(GROUP, bits.shape[0] - group * GROUP)
        for w in range(words):
            for k in range(count):
                rows[k] = bits[group * GROUP + k, w]
            for k in range(count, GROUP):
                rows[k] = np.uint64(0)
            _swap(rows, 32, np.uint64(0x00000000FFFFFFFF))
            _swap(rows, 16, np.uint64(0x0000FFFF0000FFFF))
            _swap(rows, 8, np.uint64(0x00FF00FF00FF00FF))
            _swap(rows, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
            _swap(rows, 2, np.uint64(0x3333333333333333))
            _swap(rows, 1, np.uint64(0x5555555555555555))
            for k in range(GROUP):
                across[first + (w * GROUP + k) * GROUPS] = rows[k]


lay_across = compiled_bare(_lay_across)
