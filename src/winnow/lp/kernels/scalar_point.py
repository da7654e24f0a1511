"""The public point of the scalar-private solver, and its step away from a row.

The point is a function of the rows that were selected, so any arithmetic will do as long as it is
always the same: only + - * / and bit patterns are used, no library whose results differ between
machines. The loops have no order to keep, so that they become vector instructions.
"""

from __future__ import annotations

import math

import numpy as np

from winnow.core.kernels.compiled import bare
from winnow.core.kernels.draw_state import BEGIN, CANDIDATE, PHASE
from winnow.lp.kernels.scalar_program import ROUND

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
