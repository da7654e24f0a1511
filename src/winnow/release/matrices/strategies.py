"""Whole-number functions of a table that answer queries when noise is added to them.

Each is linear in the counts of the cells, so a row moves it by a column of a matrix of whole
numbers. ``single`` is the largest squared norm of a column, ``pair`` the largest squared distance
of two of them, both exact (or, for queries as they are, a bound). Strategies are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.part import Codes, Counts, marginal_counts
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError

Integers = NDArray[np.int64]
Columns = tuple[int, ...]

BITS = 20
"""Matrices are rounded to multiples of 2^-20 of their largest entry."""
MOST_TOEPLITZ = 20_000
_EXACT_PAIRS = 4096
"""Columns up to which the pairs of a Toeplitz matrix are compared exactly."""


class LinearStrategy(Protocol):
    """What gets noise."""

    @property
    def title(self) -> str:
        """In a few words, for the receipt."""

    @property
    def size(self) -> int:
        """How many numbers get noise."""

    @property
    def single(self) -> int:
        """The largest squared norm that one row moves the numbers by."""

    @property
    def pair(self) -> int:
        """The largest squared norm that a row replaced by another moves the numbers by."""

    @property
    def reach(self) -> int:
        """The largest absolute value that one row adds to a number."""

    def numbers(self, codes: Codes, weights: Counts) -> Integers:
        """The numbers without noise: private."""


@dataclass(frozen=True, eq=False)
class MatrixStrategy:
    """A matrix of whole numbers over the cells of some columns, in C order."""

    shape: tuple[int, ...]
    """Of the whole schema."""
    columns: Columns
    matrix: Integers
    title: str = "an optimised matrix"

    def __post_init__(self) -> None:
        top = int(np.abs(self.matrix).max(initial=0))
        # Below this every sum of products on the way is an exact whole number in float64.
        if top > 1 << BITS or top * top * max(self.matrix.shape) >= 2**51:
            raise ParameterError("the matrix is too large to be multiplied exactly")

    @property
    def size(self) -> int:
        """The number of rows of the matrix."""
        return len(self.matrix)

    @cached_property
    def _gram(self) -> Integers:
        floats = self.matrix.astype(np.float64)
        return np.asarray(floats.T @ floats, np.int64)

    @cached_property
    def single(self) -> int:
        """The largest squared norm of a column."""
        return int(np.diag(self._gram).max())

    @cached_property
    def pair(self) -> int:
        """The largest squared distance of two columns."""
        own = np.diag(self._gram)
        return int((own[:, None] + own[None] - 2 * self._gram).max())

    @cached_property
    def reach(self) -> int:
        """The largest entry."""
        return int(np.abs(self.matrix).max())

    def numbers(self, codes: Codes, weights: Counts) -> Integers:
        """The matrix times the counts of the cells."""
        return self.matrix @ marginal_counts(codes, weights, self.shape, self.columns)


@dataclass(frozen=True)
class ToeplitzStrategy:
    """The square root of the matrix of prefixes of one column, rounded to whole numbers.

    Entry (i, j) is f(i - j), f(0) = 2^20 and f falling. Of two columns at a distance g the squared
    distance grows with each further row by (f(m) - f(m+g))^2, so it is largest for the first column
    and the one g further: n - 1 pairs are all that have to be compared.
    """

    shape: tuple[int, ...]
    column: int
    bits: int = BITS
    title: str = "the root of the prefixes"

    @property
    def size(self) -> int:
        """The number of codes of the column."""
        return self.shape[self.column]

    @property
    def first(self) -> Integers:
        """The first column of the matrix."""
        return root_of_prefixes(self.size, self.bits)

    @cached_property
    def single(self) -> int:
        """The squared norm of the first column: no other is longer."""
        return int(self.first @ self.first)

    @cached_property
    def pair(self) -> int:
        """The largest squared distance of two columns; for long ones twice the squared norm."""
        f = self.first
        if len(f) > _EXACT_PAIRS:  # entries are not negative, so inner products are not
            return 2 * self.single
        inner = np.correlate(f, f, "full")[len(f) :]  # of the first column with the others
        tails = np.cumsum(f * f)[::-1][1:]
        return int((self.single + tails - 2 * inner).max(initial=0))

    @property
    def reach(self) -> int:
        """The entry on the diagonal."""
        return 1 << self.bits

    def numbers(self, codes: Codes, weights: Counts) -> Integers:
        """The matrix times the counts of the codes."""
        counts = marginal_counts(codes, weights, self.shape, (self.column,))
        return np.convolve(self.first, counts)[: self.size]


@lru_cache(maxsize=8)
def root_of_prefixes(size: int, bits: int = BITS) -> Integers:
    """The coefficients of 1/sqrt(1 - x), in units of 2^-bits."""
    k = np.arange(1, size)
    exactly = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
    root = np.asarray(np.rint(exactly * (1 << bits)), np.int64)
    root.flags.writeable = False
    return root


@dataclass(frozen=True, eq=False)
class QueriesStrategy:
    """The queries of a workload themselves, in whole units.

    A row adds between 0 and one unit to each of m counts, so both norms are at most sqrt(m) units.
    """

    workload: Workload
    title: str = "each query"

    @cached_property
    def unit(self) -> int:
        """What counts are multiplied up to: the grids' common multiple."""
        return math.lcm(*{part.grid for part in self.workload.parts})

    @property
    def size(self) -> int:
        """The number of queries."""
        return self.workload.size

    @property
    def single(self) -> int:
        """One unit in every query."""
        return self.size * self.unit**2

    @property
    def pair(self) -> int:
        """The squared norm for a replaced row: a count moves by at most one unit."""
        return self.single

    @property
    def reach(self) -> int:
        """One unit."""
        return self.unit

    def numbers(self, codes: Codes, weights: Counts) -> Integers:
        """The counts in units."""
        return self.workload.counts(codes, weights) * (self.unit // self.workload.grids)
