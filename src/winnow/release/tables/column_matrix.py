"""One ordered column measured by a matrix of its own: the best for its prefixes and ranges.

A table of residuals applies such a matrix to each of its columns. The matrix M has whole numbers,
n codes and rank n - 1: it is blind to one vector, scaled to the sum 1 (``blind``), and everything
else is told by the number of rows. With L = (I - blind 1') M^+ the counts of the codes are

    x = blind (1'x) + L (M x),

so a query q of the column is (q.blind) times the sum of the column plus (q L) times what is
measured, and of a product of columns the terms are products: one subspace for each choice.
[ResidualPlanner+] takes matrices apart like this; its published errors are those of the blind
vector that the best matrix for the queries alone has. The least sum of squares over many tables is
reached between that and an even vector: many tables tell of the sum of a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.release.tables.trees import Tree

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_CODES = 256
"""Of a column: a plan decomposes a matrix of so many rows some hundred times, in about 2 s."""

MOST_BITS = 12
_ROUNDS, ROUGH = 12, 4
"""After so many steps of the fixed point the sum of squares of 100 prefixes is within .1 % of where
it ends; after the second number within 2 %, which is enough to compare weights."""
_STEP = 2.0
"""The weights go so many times as far as the fixed point says, in logarithms: with 1 it takes 25
steps to come as near, on prefixes of 42, 100 and 256 codes; with all ranges of 100 it takes 12."""

_RIDGE = 1e-6
"""Of the mean diagonal, so that what no query asks of a column is measured, too, if poorly."""


@dataclass(frozen=True, eq=False)
class ColumnMatrix:
    """A matrix of whole numbers over the codes of one column, as one level of details."""

    matrix: Integers
    alike = False
    """Whether all codes have the same variance."""
    levels = 1

    @property
    def size(self) -> int:
        """The number of codes."""
        return int(self.matrix.shape[1])

    @property
    def padded(self) -> int:
        """The length of the column: there are no codes that do not exist."""
        return self.size

    @cached_property
    def gram(self) -> Integers:
        """The inner products of the columns of the matrix, exactly."""
        floats = self.matrix.astype(np.float64)  # entries below 2^12: sums are below 2^53
        return np.asarray(floats.T @ floats, np.int64)

    @cached_property
    def blind(self) -> Floats:
        """The vector with the sum 1 that the matrix takes to 0."""
        direction = np.linalg.svd(self.matrix.astype(np.float64))[2][-1]
        return np.asarray(direction / direction.sum())

    @cached_property
    def back(self) -> Floats:
        """L, which takes what is measured back to counts whose sum is 0."""
        inverse = np.linalg.pinv(self.matrix.astype(np.float64), rcond=1e-12)
        return np.asarray(inverse - np.outer(self.blind, inverse.sum(axis=0)))

    # What is measured

    def norm(self, level: int) -> int:
        """The largest squared norm that one row moves the numbers by."""
        return int(np.diag(self.gram).max())

    def reach(self, level: int) -> int:
        """The largest absolute value that one row adds to a number, or that sums stay within."""
        return int(np.abs(self.matrix).max())

    def inner_products(self) -> Floats:
        """Of two rows' numbers, for each way (row) and level (column); the last: the constant.

        Two rows are alike, or they have the least inner product of any two codes. All others lie
        between, and the distance of two rows is affine in the product of each column.
        """
        norm, least = float(self.norm(0)), float(self.gram.min())
        return np.array([[norm, 1.0], [least, 1.0]])

    def sums(self, table: Integers, axis: int, level: int) -> Integers:
        """The counts of the codes, as they are."""
        return table

    def residuals(self, sums: Integers, axis: int, level: int) -> Integers:
        """The matrix times the counts along an axis, exactly.

        Numbers below 2^62 are multiplied as two halves of 31 bits: then all products and sums on
        the way are whole numbers below 2^31 2^12 2^8 in float64.
        """
        turned = np.moveaxis(sums, axis, 0)
        flat = turned.reshape(self.size, -1)
        floats = self.matrix.astype(np.float64)
        high = flat >> 31
        product = (floats @ high.astype(np.float64)).astype(np.int64) << 31
        product += (floats @ (flat - (high << 31)).astype(np.float64)).astype(np.int64)
        return np.moveaxis(product.reshape(-1, *turned.shape[1:]), 0, axis)

    # What it tells

    def scale(self, level: int) -> float:
        """The precision in units of the longest row that noise of variance 1 gives."""
        return float(self.norm(level))

    def share(self, level: int) -> float:
        """The squared length of one row in these units."""
        return 1.0

    def places(self, level: int) -> int:
        """How many numbers are measured."""
        return len(self.matrix)

    def read(self, numbers: Floats, axis: int, level: int) -> Floats:
        """The details that noisy numbers show: these numbers."""
        return numbers

    def expand(self, details: Floats, axis: int, level: int) -> Floats:
        """Details as counts of the codes."""
        return np.moveaxis(np.tensordot(self.back, details, axes=([1], [axis])), 0, axis)

    def noise(self, numbers: Floats, axis: int, level: int) -> Floats:
        """What noise of precision 1 does to the codes, from independent standard normal numbers."""
        return np.asarray(np.sqrt(self.scale(level)) * self.expand(numbers, axis, level))

    @property
    def spread(self) -> Floats:
        """How the sum of the column is spread over its codes."""
        return self.blind

    def energies(self, starts: Integers, stops: Integers) -> Floats:
        """The variance of ranges for precision 1: of the details, and of the constant."""
        sums = np.zeros((self.size + 1, self.places(0)))
        np.cumsum(self.back, axis=0, out=sums[1:])
        constant = np.concatenate([[0.0], np.cumsum(self.blind)])
        inside = ((sums[stops] - sums[starts]) ** 2).sum(axis=1)
        return np.stack([self.scale(0) * inside, (constant[stops] - constant[starts]) ** 2])

    def cell_energies(self) -> Floats:
        """The variance of cells for precision 1, likewise."""
        codes = np.arange(self.size)
        return self.energies(codes, codes + 1)

    def on_tree(self, tree: Tree) -> Floats:
        """The mean variance of each level of a tree (rows; the last: the sum) from each source.

        From details of precision 1, and from the constant.
        """
        variances = np.zeros((tree.levels + 1, 2))
        for level in range(tree.levels):
            block, r = tree.blocks[level], tree.radices[level]
            numbers = tree.padded // block * (1 - 1 / r)
            for place, cells in enumerate((self.back, self.blind[:, None])):
                shown = tree.details(tree.coarser(tree.filled(cells, 0), 0, 0, level), 0, level)
                variances[level, place] = (shown**2).sum() / block / numbers
        variances[:, 0] *= self.scale(0)
        variances[-1] = (0.0, 1.0)
        return variances


def query_gram(size: int, starts: Integers, stops: Integers) -> Floats:
    """The sum over ranges of the products of their indicators, for each pair of codes."""
    begins = np.zeros((size + 1, size + 1))
    np.add.at(begins, (starts, stops), 1.0)
    # (i, j): ranges that start at i or before and stop after j
    within = np.cumsum(begins, axis=0)
    after = np.cumsum(within[:, ::-1], axis=1)[:, ::-1]
    codes = np.arange(size)
    low, high = np.minimum.outer(codes, codes), np.maximum.outer(codes, codes)
    return np.asarray(after[low, high + 1])


def column_matrix(
    gram: Floats, weight: float | None, bits: int, rounds: int = _ROUNDS
) -> ColumnMatrix:
    """The matrix for queries with this Gram matrix.

    ``weight`` is how much the sum of the column counts beside the mean query, None: a blind
    vector that is even.
    """
    return _column_matrix(gram.tobytes(), len(gram), weight, bits, rounds)


@lru_cache(maxsize=64)
def _column_matrix(
    content: bytes, size: int, weight: float | None, bits: int, rounds: int
) -> ColumnMatrix:
    gram = np.frombuffer(content).reshape(size, size)
    gram = gram + _RIDGE * np.trace(gram) / size * np.eye(size)
    blind = np.full(size, 1.0 / size)
    if weight is not None:
        whole = optimal_square(gram + weight * np.trace(gram) / size, rounds)
        blind = np.linalg.solve(whole, np.ones(size))
        blind /= blind.sum()
    apart = np.eye(size) - np.outer(blind, np.ones(size))
    square = optimal_square(apart.T @ gram @ apart, rounds)
    values, vectors = np.linalg.eigh(square)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    factor = np.linalg.qr(root, mode="r")[:-1]
    unit = ((1 << bits) - 1) / np.abs(factor).max()
    return ColumnMatrix(np.asarray(np.rint(factor * unit), np.int64))


def optimal_square(gram: Floats, rounds: int = _ROUNDS) -> Floats:
    """The X = A'A with no diagonal entry above 1 that has the least tr(gram X^+), by a fixed point.

    For weights d on the codes the best X of trace sum d X is
    D^-1/2 (D^1/2 gram D^1/2)^1/2 D^-1/2, and its diagonal gives the next d.
    [Denisov-McMahan-Rush-Smith-Thakurta 2022]
    """
    d = np.full(len(gram), 1.0 / len(gram))
    for turn in range(rounds + 1):
        root = np.sqrt(d)
        values, vectors = np.linalg.eigh(gram * root[:, None] * root)
        values = np.sqrt(np.maximum(values, 0.0))
        if turn < rounds:
            told = np.maximum((vectors * vectors) @ values, 1e-300)
            d = np.maximum(d * (told / told.sum() / d) ** _STEP, 1e-300)
            d /= d.sum()
    square = (vectors * values) @ vectors.T / root[:, None] / root
    return np.asarray(square / np.diag(square).max())


Basis = Tree | ColumnMatrix
"""How a column is measured."""
