"""How far one person moves all measured tables together.

Charged jointly: the maximum is over the ways in which two rows can differ, of the sum over
all tables. Pricing each table by its own worst case would be wrong in both directions: a
residual table moves by more than sqrt(2) times its add/remove norm under substitution, and
rows that differ in *every* column are not the worst case (between two binary columns their
interaction does not move at all).

Two rows can be alike in a column, or part at one of the levels of its tree: in the same block
of level l + 1 and in different ones of level l. The number of ways is the product of
(levels + 1) over the columns.

A column with a matrix of its own has two ways: rows that are alike there, with the largest squared
norm N of a code, and rows with the least inner product m of two codes. That is enough. The squared
distance of two rows is the sum over tables of w (|v|^2 + |v'|^2 - 2 v.v'), where each term is a
product over columns, of |v_c|^2 <= N and of an inner product within [m, N]. So it is at most what
it is with N for all norms, and that is affine in the inner product of each column: its maximum is
at an end, m or N.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.release.tables.column_matrix import Basis
from winnow.release.tables.measured import Space, TableForm

Floats = NDArray[np.float64]

MOST_WAYS = 1 << 22
"""So many ways are looked at one by one; beyond, each table is bounded for itself."""

_MOST_EXACT = 2_000
"""So many different weights are added exactly."""

_SLACK = Fraction(1, 2**32)
"""More than the relative rounding error of a sum of a million float64 products."""


def squared_single(
    tables: Sequence[TableForm], trees: Mapping[int, Basis], weights: Floats
) -> Fraction:
    """The largest squared norm of one row, each table's part multiplied by its weight."""
    terms = [_own(table, trees) * float(w) for table, w in zip(tables, weights, strict=True)]
    return _rounded_up(math.fsum(terms), terms)


def squared_pair(
    tables: Sequence[TableForm], trees: Mapping[int, Basis], weights: Floats
) -> Fraction:
    """The largest squared distance of two rows, weighted, over all ways in which they differ.

    At least the maximum, and more by about 10^-9 of it; with more than ``MOST_WAYS`` ways
    every table has its own maximum.
    """
    used = sorted({column for table in tables for column, _ in table.place})
    shape = [trees[column].levels + 1 for column in used]
    own = [_own(table, trees) * float(w) for table, w in zip(tables, weights, strict=True)]
    if math.prod(shape) > MOST_WAYS:
        apart = [_worst(table, trees) * float(w) for table, w in zip(tables, weights, strict=True)]
        return _rounded_up(math.fsum(apart), apart)
    total = np.zeros(shape)
    inner = np.zeros(shape)  # places: the level of each column; the last is the constant
    for table, weight, norm in zip(tables, weights, own, strict=True):
        if table.residual:
            at = dict(table.place)
            inner[tuple(at.get(column, -1) for column in used)] += 2 * float(weight)
            total += 2 * norm
        else:
            alike = _alike(table.place, used, shape)
            if table.signed:  # in one cell they may be -reach and reach
                total += 2 * norm * (1.0 + alike)
            else:
                total += 2 * norm * (1.0 - alike)
    for axis, column in enumerate(used):
        inner = np.moveaxis(
            np.tensordot(trees[column].inner_products(), inner, axes=([1], [axis])), 0, axis
        )
    return _rounded_up(float((total - inner).max()), [4 * term for term in own])


def total_pair(tables: Sequence[TableForm], weights: Sequence[Fraction]) -> Fraction:
    """The largest l1 distance of two rows in sums of blocks: each may move two cells of each."""
    moved = [table.reach if table.place or table.signed else 0 for table in tables]
    return 2 * _weighted(moved, weights)


def total_single(tables: Sequence[TableForm], weights: Sequence[Fraction]) -> Fraction:
    """The largest l1 norm of one row in sums of blocks."""
    return _weighted([table.reach for table in tables], weights)


def _weighted(moved: Sequence[int], weights: Sequence[Fraction]) -> Fraction:
    """The sum of moves times weights; of very many different weights at most 2^-64 too high.

    Exact sums of thousands of fractions have denominators of thousands of digits.
    """
    often: Counter[Fraction] = Counter()
    for each, weight in zip(moved, weights, strict=True):
        often[weight] += each
    if len(often) <= _MOST_EXACT:
        return sum((each * weight for weight, each in often.items()), Fraction(0))
    unit = 1 << (64 + len(moved).bit_length() + max(moved).bit_length())
    tops = [each * -(-w.numerator * unit // w.denominator) for w, each in often.items()]
    return Fraction(sum(tops), unit)


def _own(table: TableForm, trees: Mapping[int, Basis]) -> float:
    """The largest squared norm of one row: a product over the columns."""
    if not table.residual:
        return float(table.reach**2)
    return float(math.prod(trees[column].norm(level) for column, level in table.place))


def _worst(table: TableForm, trees: Mapping[int, Basis]) -> float:
    """The largest squared distance of two rows in one table.

    Of residuals: the inner product is a product over the columns of what two codes have there,
    from the least to the squared norm of one. (In a tree: -r of siblings to r (r-1) of equal
    codes.) The least product is that of intervals.
    """
    if not table.residual:
        return float((4 if table.signed else 2) * table.reach**2)
    low = high = 1.0
    for column, level in table.place:
        inner = trees[column].inner_products()[:, level]
        ends = [a * b for a in (low, high) for b in (inner.min(), inner.max())]
        low, high = min(ends), max(ends)
    return 2 * (_own(table, trees) - float(low))


def _alike(place: Space, used: list[int], shape: list[int]) -> Floats:
    """1 for the ways that leave two rows in one cell of a table of block sums, else 0."""
    alike = np.ones([1] * len(used))
    for column, level in place:
        axis = used.index(column)
        along = [1] * len(used)
        along[axis] = -1
        alike = alike * (np.arange(shape[axis]) <= level).astype(np.float64).reshape(along)
    return alike


def _rounded_up(value: float, terms: Sequence[float]) -> Fraction:
    return Fraction(value) + _SLACK * Fraction(math.fsum(terms))
