"""Compiled steps and sums for queries that are written out over the cells.

Sums go over whole numbers, so they do not depend on the order of summation: one query alone and
a scan over all queries give the same result to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from winnow.core.kernels.compiled import compiled

_LANES = 64


@intrinsic
def masked_sum(typing_context: Any, row: Any, whole: Any) -> Any:
    """Sum of whole[x] over the set bits x of a row of uint64 words.

    `whole` is contiguous, int32 or int64, padded to 64 lanes a word; the sum fits its type.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row_type, whole_type = signature.args
        words = context.make_array(row_type)(context, builder, arguments[0])
        weights = context.make_array(whole_type)(context, builder, arguments[1])
        count = cgutils.unpack_tuple(builder, words.shape, 1)[0]
        lane = ir.IntType(whole_type.dtype.bitwidth)
        vector = ir.VectorType(lane, _LANES)
        mask_type = ir.VectorType(ir.IntType(1), _LANES)
        zero = ir.Constant(vector, [0] * _LANES)
        total = cgutils.alloca_once_value(builder, zero)
        with cgutils.for_range(builder, count) as loop:
            word = builder.load(builder.gep(words.data, [loop.index]))
            first = builder.mul(loop.index, ir.Constant(loop.index.type, _LANES))
            place = builder.bitcast(builder.gep(weights.data, [first]), vector.as_pointer())
            lanes = builder.load(place, align=whole_type.dtype.bitwidth // 8)
            selected = builder.select(builder.bitcast(word, mask_type), lanes, zero)
            builder.store(builder.add(builder.load(total), selected), total)
        value, width = builder.load(total), _LANES
        while width > 1:
            width //= 2
            halves = [_lanes(builder, value, first, width) for first in (0, width)]
            value = builder.add(*halves)
        value = builder.extract_element(value, ir.Constant(ir.IntType(32), 0))
        return value if lane.width == 64 else builder.sext(value, ir.IntType(64))

    return types.int64(row, whole), generate


def _lanes(builder: Any, value: Any, first: int, width: int) -> Any:
    wanted = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(first, first + width)))
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), wanted)


def _scale_bits(weights, sums, clock, row, factor):  # type: ignore[no-untyped-def]
    """Multiply the weights of the set bits; returns by how much the mass changed."""
    change = np.zeros(8)
    cells = weights.shape[0]
    for j in range(row.shape[0]):
        word = row[j]
        if word == 0:
            continue
        for k in range(min(64, cells - 64 * j)):
            x = 64 * j + k
            if (word >> np.uint64(k)) & np.uint64(1):
                before = weights[x]
                after = before * factor
                weights[x] = after
                sums[x] -= (after - before) * clock
                change[k & 7] += after - before
    return change.sum()


def _bit_mass(weights, row):  # type: ignore[no-untyped-def]
    """The mass of the set bits of one query."""
    mass = np.zeros(8)
    cells = weights.shape[0]
    for j in range(row.shape[0]):
        word = row[j]
        if word == 0:
            continue
        for k in range(min(64, cells - 64 * j)):
            if (word >> np.uint64(k)) & np.uint64(1):
                mass[k & 7] += weights[64 * j + k]
    return mass.sum()


bit_mass = compiled(_bit_mass)
scale_bits = compiled(_scale_bits)
