"""The public point of the scalar-private solver, and its step away from a row.

The point is a function of the rows that were selected, so any arithmetic will do as long as it is
always the same: only + - * / and bit patterns are used, no library whose results differ between
machines. The loops have no order to keep, so that they become vector instructions.

Compiled pieces that look at the rows of a constraint matrix, dense or compressed.

A row i stands for the vector v_ij = A_ij scale_j over the simplex of z; entries that are not
stored are 0, also those of simplex coordinates beyond the matrix's columns. With the point
x_j = scale_j z_j the row's value is A_i x = sum_j v_ij z_j.
"""

from __future__ import annotations

import math

import numpy as np

from winnow.core.kernels.compiled import bare, compiled
from winnow.core.kernels.draw_state import BEGIN, CANDIDATE, PHASE
from winnow.lp.kernels.scalar_program import ROUND


@bare
def row_value(i, matrix, x):  # type: ignore[no-untyped-def]
    """A_i x, summed from left to right: the same whenever the point is the same."""
    total = 0.0
    if matrix.dense.shape[0] > 0:
        for j in range(matrix.dense.shape[1]):
            total += matrix.dense[i, j] * x[j]
    else:
        for k in range(matrix.starts[i], matrix.starts[i + 1]):
            total += matrix.values[k] * x[matrix.columns[k]]
    return total


@bare
def row_values(matrix, x, values):  # type: ignore[no-untyped-def]
    """The values of all rows, to `found`."""
    if matrix.dense.shape[0] > 0:  # the sums of row_value, written out: it is what takes the time
        for i in range(values.shape[0]):
            value = 0.0
            for j in range(matrix.dense.shape[1]):
                value += matrix.dense[i, j] * x[j]
            values[i] = value
    else:
        for i in range(values.shape[0]):
            values[i] = row_value(i, matrix, x)


@bare
def row_score(i, program, x):  # type: ignore[no-untyped-def]
    """The value of row i in whole steps, minus its offset."""
    value = row_value(i, program.matrix, x)
    return np.int64(np.rint(value * program.per_step)) - program.offsets[i]


def _shapes(matrix, scale, lengths, halves, tops):  # type: ignore[no-untyped-def]
    """Of each v_i: its length without its mean, half its range, and its largest entry.

    The first two are rounded up: s - t^2/n, of s = sum v^2 and t = sum v, is off by less than
    (n + 8) 2^-52 s, and 2^-30 s is allowed.
    """
    dense, starts = matrix.dense, matrix.starts
    size = scale.shape[0]
    for i in range(lengths.shape[0]):
        square, total = 0.0, 0.0
        stored = np.int64(0)
        low, high = np.inf, -np.inf
        if dense.shape[0] > 0:
            stored = np.int64(dense.shape[1])
            for j in range(dense.shape[1]):
                v = dense[i, j] * scale[j]
                square += v * v
                total += v
                low, high = min(low, v), max(high, v)
        else:
            stored = starts[i + 1] - starts[i]
            for k in range(starts[i], starts[i + 1]):
                v = matrix.values[k] * scale[matrix.columns[k]]
                square += v * v
                total += v
                low, high = min(low, v), max(high, v)
        if stored < size:
            low, high = min(low, 0.0), max(high, 0.0)
        apart = max(0.0, square - total * total / size) + 2.0**-30 * square
        lengths[i] = np.sqrt(apart) * (1.0 + 2.0**-40)
        halves[i] = 0.5 * (high - low) * (1.0 + 2.0**-40)
        tops[i] = high


def _column_sizes(dense, sizes):  # type: ignore[no-untyped-def]
    """The largest |A_ij| of each column."""
    for i in range(dense.shape[0]):
        for j in range(dense.shape[1]):
            sizes[j] = max(sizes[j], abs(dense[i, j]))


shapes = compiled(_shapes)
column_sizes = compiled(_column_sizes)


_PER_LN2 = 1.4426950408889634
_LN2_HIGH = 0.6931471803691238  # 33 bits: products with small whole numbers are exact
_LN2_LOW = 1.9082149292705877e-10
_MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, in the low bits
_EVEN = tuple(1.0 / math.factorial(j) for j in range(12, -1, -2))
_ODD = tuple(1.0 / math.factorial(j) for j in range(13, 0, -2))


@bare
def _power(y):  # type: ignore[no-untyped-def]
    """exp(y) for -700 <= y <= 0, to about 2^-52."""
    shifted = y * _PER_LN2 + _MAGIC
    n = shifted - _MAGIC
    r = (y - n * _LN2_HIGH) - n * _LN2_LOW
    square = r * r
    even, odd = 0.0, 0.0
    for coefficient in _EVEN:
        even = even * square + coefficient
    for coefficient in _ODD:
        odd = odd * square + coefficient
    bits = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return (odd * r + even) * np.int64(bits).view(np.float64)


@bare
def _highest(logs):  # type: ignore[no-untyped-def]
    a, b, c, d = logs[0], logs[0], logs[0], logs[0]
    whole = logs.shape[0] - logs.shape[0] % 4
    for j in range(0, whole, 4):
        a, b = max(a, logs[j]), max(b, logs[j + 1])
        c, d = max(c, logs[j + 2]), max(d, logs[j + 3])
    for j in range(whole, logs.shape[0]):
        a = max(a, logs[j])
    return max(max(a, b), max(c, d))


@bare
def _sum(z):  # type: ignore[no-untyped-def]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = z.shape[0] - z.shape[0] % 4
    for j in range(0, whole, 4):
        a, b, c, d = a + z[j], b + z[j + 1], c + z[j + 2], d + z[j + 3]
    for j in range(whole, z.shape[0]):
        a += z[j]
    return (a + b) + (c + d)


@bare
def move(i, matrix, program, point):  # type: ignore[no-untyped-def]
    """Count the point into the mean, then step away from row i: z_j ~ z_j exp(-step v_ij).

    `matrix` is that of the program, or rows of it that were copied.
    """
    logs, z = point.logs, point.z
    if matrix.dense.shape[0] > 0:
        for j in range(matrix.dense.shape[1]):
            logs[j] -= program.step * (matrix.dense[i, j] * program.scale[j])
    else:
        for k in range(matrix.starts[i], matrix.starts[i + 1]):
            j = matrix.columns[k]
            logs[j] -= program.step * (matrix.values[k] * program.scale[j])
    highest = _highest(logs)
    for j in range(z.shape[0]):
        point.total[j] += z[j]
        z[j] = _power(max(logs[j] - highest, -700.0))
    share = 1.0 / _sum(z)
    for j in range(z.shape[0]):
        z[j] *= share
        point.x[j] = z[j] * program.scale[j]


@bare
def finish_round(program, point, state):  # type: ignore[no-untyped-def]
    """Note the row that was accepted, and step away from it."""
    row = state[CANDIDATE]
    point.chosen[state[ROUND]] = row
    move(row, program.matrix, program, point)
    state[ROUND] += 1
    state[PHASE] = BEGIN
