"""All rows of a dense program in blocks by falling exponent, quantised to one byte an entry.

A scan gives each row a key, its exponent in units of ln 2 at the reference point r. Rows are put
in order, norm class by norm class, largest keys first (by the buckets of ``groups``), and cut
into blocks. For a later point x, with D = x - r, row i has the exponent

    key_i + rate A_i D + (rounding of two values),   A_ij = unit_i (code_ij + rest), |rest| <= 1/2,

unit_i = max_j |A_ij|/127, so that sum_j code_ij D_j is off by |D|_1/2 at most: the bound is as
narrow as the point is near, at an eighth of the memory that the matrix takes, and rows of very
different size do not disturb each other. Codes are made when a block is first read. A block that
is not read has the bound top_b + clock of its class (``scalar_clocks``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare
from winnow.core.kernels.envelope import raised
from winnow.core.kernels.groups import WIDE, group_for
from winnow.lp.kernels.scalar_point import row_values
from winnow.lp.kernels.scalar_program import Floats, Integers

BLOCK = 256
_CODE = 127.0
_LOW = -(2.0**30)
_TINY = 1e-290


class RowBlocks(NamedTuple):
    """Rows in order of their keys; class c has the blocks first[c] .. first[c + 1]."""

    keys: Floats
    """Of each row."""
    ends: Integers
    """Workspace: of each bucket."""
    order: NDArray[np.int32]
    """The rows of each block."""
    sizes: Integers
    """How many rows a block has."""
    tops: Floats
    """No key of a block or of those below it in its class is larger."""
    first: Integers

    @classmethod
    def room(cls, rows: int, classes: int) -> RowBlocks:
        """For so many rows."""
        blocks = rows // BLOCK + classes
        return cls(
            np.zeros(rows), np.zeros(classes << WIDE.bucket_bits, np.int64),
            np.zeros((blocks, BLOCK), np.int32), np.zeros(blocks, np.int64), np.zeros(blocks),
            np.zeros(classes + 1, np.int64),
        )  # fmt: skip

    def __repr__(self) -> str:
        return "<rows in order of private keys>"


class Codes(NamedTuple):
    """The rows of all blocks, quantised."""

    ready: NDArray[np.uint8]
    """Whether a block has been quantised since the last scan."""
    codes: NDArray[np.int8]
    """Block, column, row of the block: so that a column is one vector."""
    units: Floats
    """What one unit of a row's codes stands for."""
    keys: Floats
    """The keys once more, in the order of the blocks."""
    reference: Floats
    """The point of the scan."""
    direction: NDArray[np.float32]
    """From there to the present point, over its largest coordinate."""
    sums: NDArray[np.float32]
    """Workspace: one for each row of a block."""

    @classmethod
    def room(cls, blocks: int, width: int, simplex: int) -> Codes:
        """For so many blocks of rows with `width` columns."""
        shape = blocks, BLOCK
        return cls(
            np.zeros(blocks, np.uint8), np.zeros((blocks, width, BLOCK), np.int8), np.zeros(shape),
            np.zeros(shape), np.zeros(simplex), np.zeros(width, np.float32),
            np.zeros(BLOCK, np.float32),
        )  # fmt: skip

    def __repr__(self) -> str:
        return "<quantised rows>"


@bare
def sort_rows(program, x, drift, blocks):  # type: ignore[no-untyped-def]
    """Score all rows and put them in blocks."""
    keys, ends, first = blocks.keys, blocks.ends, blocks.first
    size, classes = keys.shape[0], first.shape[0] - 1
    buckets = 1 << WIDE.bucket_bits
    highest = -np.inf
    row_values(program.matrix, x, keys)
    for i in range(size):
        score = np.float64(np.int64(np.rint(keys[i] * program.per_step)) - program.offsets[i])
        keys[i] = raised(score * drift.per_unit + abs(score) * drift.per_unit * 2.0**-46)
        highest = max(highest, keys[i])
    ceiling = np.int64(np.ceil(highest))
    ends[:] = 0
    for i in range(size):
        ends[group_for(WIDE, keys[i], np.int64(drift.norm_class[i]), ceiling)] += 1
    block = np.int64(0)
    for c in range(classes):
        first[c] = block
        place = block * BLOCK
        for g in range((c + 1) * buckets - 1, c * buckets - 1, -1):
            here = ends[g]
            ends[g] = place
            place += here
        rows = place - block * BLOCK
        while rows > 0:
            blocks.sizes[block] = min(rows, BLOCK)
            rows -= BLOCK
            blocks.tops[block] = -np.inf
            block += 1
    first[classes] = block
    for i in range(size):
        g = group_for(WIDE, keys[i], np.int64(drift.norm_class[i]), ceiling)
        b = ends[g] // BLOCK
        blocks.order[b, ends[g] % BLOCK] = i
        blocks.tops[b] = max(blocks.tops[b], keys[i])
        ends[g] += 1
    for c in range(classes):  # buckets are no strict order
        for b in range(first[c + 1] - 2, first[c] - 1, -1):
            blocks.tops[b] = max(blocks.tops[b], blocks.tops[b + 1])


@bare
def quantise(b, dense, blocks, codes):  # type: ignore[no-untyped-def]
    """Make the codes of a block; places without a row stay far below."""
    for r in range(BLOCK):
        codes.units[b, r], codes.keys[b, r] = 0.0, -1e300
        largest = 0.0
        i = np.int64(0)
        if r < blocks.sizes[b]:
            i = np.int64(blocks.order[b, r])
            codes.keys[b, r] = blocks.keys[i]
            for j in range(dense.shape[1]):
                largest = max(largest, abs(dense[i, j]))
        unit = largest / _CODE
        if unit > _TINY:
            codes.units[b, r] = unit
            inverse = 1.0 / unit
            for j in range(dense.shape[1]):
                codes.codes[b, j, r] = np.int8(np.rint(dense[i, j] * inverse))
        else:  # zeros, or too small to divide by: all of it is rest
            codes.units[b, r] = 2.0 * largest
            for j in range(dense.shape[1]):
                codes.codes[b, j, r] = np.int8(0)
    codes.ready[b] = 1


@bare
def set_direction(x, codes):  # type: ignore[no-untyped-def]
    """D = x - reference as (largest |D_j|, error of a sum); the direction is D over its largest.

    Single precision: with n columns the sum of the products is off by less than
    127 (n + 8) 2^-23 sum |direction|, and codes by half of sum |direction|.
    """
    reference, direction = codes.reference, codes.direction
    longest, sizes = 0.0, 0.0
    width = direction.shape[0]
    for j in range(width):
        longest = max(longest, abs(x[j] - reference[j]))
    for j in range(width):
        share = (x[j] - reference[j]) / longest if longest > 0.0 else 0.0
        direction[j] = share
        sizes += abs(share)
    return longest, sizes * (0.5 + 2.0**-20 + _CODE * (width + 8) * 2.0**-23) + 2.0**-100


@bare
def bound_rows(b, codes, step, limit, base, bounds):  # type: ignore[no-untyped-def]
    """Whole bounds of the rows of a block, less `base`; returns the largest.

    None is above `limit`, the bound of the block from its clock. `step` is the length of the
    direction in exponents, the error of its sums, and the rounding of scores.
    """
    length, error, rounding = step
    direction, sums, values = codes.direction, codes.sums, codes.codes
    width = direction.shape[0]
    for r in range(BLOCK):
        sums[r] = np.float32(0.0)
    whole = width - width % 4
    for j in range(0, whole, 4):
        w, x, y, z = direction[j], direction[j + 1], direction[j + 2], direction[j + 3]
        for r in range(BLOCK):
            one = np.float32(values[b, j, r]) * w + np.float32(values[b, j + 1, r]) * x
            other = np.float32(values[b, j + 2, r]) * y + np.float32(values[b, j + 3, r]) * z
            sums[r] += one + other
    for j in range(whole, width):
        for r in range(BLOCK):
            sums[r] += np.float32(values[b, j, r]) * direction[j]
    for r in range(BLOCK):
        bound = codes.keys[b, r] + codes.units[b, r] * length * (np.float64(sums[r]) + error)
        bound = np.ceil(raised(bound + rounding)) - base
        bounds[b, r] = np.int32(min(max(bound, _LOW), limit))
    largest = bounds[b, 0]
    for r in range(BLOCK):
        largest = max(largest, bounds[b, r])
    return largest
