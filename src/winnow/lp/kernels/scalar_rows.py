"""Compiled pieces that look at the rows of a constraint matrix, dense or compressed.

A row i stands for the vector v_ij = A_ij scale_j over the simplex of z; entries that are not
stored are 0, also those of simplex coordinates beyond the matrix's columns. With the point
x_j = scale_j z_j the row's value is A_i x = sum_j v_ij z_j.
"""

from __future__ import annotations

import numpy as np

from winnow.core.kernels.compiled import bare, compiled


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
def row_values(matrix, x, found):  # type: ignore[no-untyped-def]
    """The values of all rows, to `found`."""
    if matrix.dense.shape[0] > 0:  # the sums of row_value, written out: it is what takes the time
        for i in range(found.shape[0]):
            value = 0.0
            for j in range(matrix.dense.shape[1]):
                value += matrix.dense[i, j] * x[j]
            found[i] = value
    else:
        for i in range(found.shape[0]):
            found[i] = row_value(i, matrix, x)


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
