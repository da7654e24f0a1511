"""All rows of a dense program in blocks by falling exponent, with codes of one byte an entry.

A look at all rows gives each a key, its exponent in units of ln 2 at the reference point r. Rows
are put in order, norm class by norm class, largest keys first (by the buckets of
``constraint_groups``), and cut into blocks: the rungs of a ladder. For a later point x, with
D = x - r, row i has the exponent

    key_i + rate A_i D + (rounding of two values),   A_ij = unit_i (code_ij + rest), |rest| <= 1/2,

unit_i = max_j |A_ij|/127, so that sum_j code_ij D_j is off by |D|_1/2 at most: the bound is as
narrow as the point is near, at an eighth of the memory that the matrix takes, and rows of very
different size do not disturb each other. Codes are made when a block is first read. A block that
is not read has the bound top_b + clock of its class (``constraint_clocks``).
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import bare
from winnow.core.kernels.envelope import raised
from winnow.lp.kernels.constraint_groups import BUCKETS, group_for

BLOCK = 256
_CODE = 127.0
_LOW = -(2.0**30)
_TINY = 1e-290


@bare
def climb(  # type: ignore[no-untyped-def]
    dense, offsets, per_step, per_unit, kinds, point, keys, counts, order, held, tops, ready,
    first,
):  # fmt: skip
    """Look at all rows and put them in blocks; class c has the blocks first[c] .. first[c + 1]."""
    size, classes = offsets.shape[0], first.shape[0] - 1
    highest = -np.inf
    for i in range(size):
        value = 0.0
        for j in range(dense.shape[1]):
            value += dense[i, j] * point[j]
        keys[i] = value
    for i in range(size):
        score = np.float64(np.int64(np.rint(keys[i] * per_step)) - offsets[i])
        keys[i] = raised(score * per_unit + abs(score) * per_unit * 2.0**-46)
        highest = max(highest, keys[i])
    ceiling = np.int64(np.ceil(highest))
    counts[:] = 0
    for i in range(size):
        counts[group_for(keys[i], np.int64(kinds[i]), ceiling)] += 1
    block = np.int64(0)
    for c in range(classes):
        first[c] = block
        place = block * BLOCK
        for k in range(BUCKETS - 1, -1, -1):
            here = counts[c * BUCKETS + k]
            counts[c * BUCKETS + k] = place
            place += here
        rows = place - block * BLOCK
        while rows > 0:
            held[block] = min(rows, BLOCK)
            rows -= BLOCK
            tops[block], ready[block] = -np.inf, 0
            block += 1
    first[classes] = block
    for i in range(size):
        g = group_for(keys[i], np.int64(kinds[i]), ceiling)
        order[counts[g] // BLOCK, counts[g] % BLOCK] = i
        tops[counts[g] // BLOCK] = max(tops[counts[g] // BLOCK], keys[i])
        counts[g] += 1
    for c in range(classes):  # buckets are no strict order
        for b in range(first[c + 1] - 2, first[c] - 1, -1):
            tops[b] = max(tops[b], tops[b + 1])


@bare
def encode(b, dense, keys, order, held, codes, units, near):  # type: ignore[no-untyped-def]
    """Make the codes of a block; places without a row stay far below."""
    for r in range(BLOCK):
        units[b, r], near[b, r] = 0.0, -1e300
        largest = 0.0
        i = np.int64(0)
        if r < held[b]:
            i = np.int64(order[b, r])
            near[b, r] = keys[i]
            for j in range(dense.shape[1]):
                largest = max(largest, abs(dense[i, j]))
        unit = largest / _CODE
        if unit > _TINY:
            units[b, r] = unit
            inverse = 1.0 / unit
            for j in range(dense.shape[1]):
                codes[b, j, r] = np.int8(np.rint(dense[i, j] * inverse))
        else:  # zeros, or too small to divide by: all of it is rest
            units[b, r] = 2.0 * largest
            for j in range(dense.shape[1]):
                codes[b, j, r] = np.int8(0)


@bare
def direction(point, reference, ahead):  # type: ignore[no-untyped-def]
    """D = point - reference as (largest |D_j|, error of a sum); `ahead` is D over its largest.

    Single precision: with n columns the sum of the products is off by less than
    127 (n + 8) 2^-23 sum |ahead|, and codes by half of sum |ahead|.
    """
    longest, sizes = 0.0, 0.0
    width = ahead.shape[0]
    for j in range(width):
        longest = max(longest, abs(point[j] - reference[j]))
    for j in range(width):
        share = (point[j] - reference[j]) / longest if longest > 0.0 else 0.0
        ahead[j] = share
        sizes += abs(share)
    return longest, sizes * (0.5 + 2.0**-20 + _CODE * (width + 8) * 2.0**-23) + 2.0**-100


@bare
def read(b, limit, base, speed, error, slack, codes, ahead, units, near, sums, found):  # type: ignore[no-untyped-def]
    """Whole bounds of the rows of a block, less `base`; returns the largest.

    None is above `limit`, the bound of the block from its clock.
    """
    width = ahead.shape[0]
    for r in range(BLOCK):
        sums[r] = np.float32(0.0)
    whole = width - width % 4
    for j in range(0, whole, 4):
        w, x, y, z = ahead[j], ahead[j + 1], ahead[j + 2], ahead[j + 3]
        for r in range(BLOCK):
            one = np.float32(codes[b, j, r]) * w + np.float32(codes[b, j + 1, r]) * x
            other = np.float32(codes[b, j + 2, r]) * y + np.float32(codes[b, j + 3, r]) * z
            sums[r] += one + other
    for j in range(whole, width):
        for r in range(BLOCK):
            sums[r] += np.float32(codes[b, j, r]) * ahead[j]
    for r in range(BLOCK):
        bound = near[b, r] + units[b, r] * speed * (np.float64(sums[r]) + error)
        bound = np.ceil(raised(bound + slack)) - base
        found[b, r] = np.int32(min(max(bound, _LOW), limit))
    largest = found[b, 0]
    for r in range(BLOCK):
        largest = max(largest, found[b, r])
    return largest
