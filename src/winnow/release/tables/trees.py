"""The blocks of one column: leaves, groups of leaves, groups of groups.

A tree with one level is a plain column (all codes are siblings). With more levels, a range of
codes is the sum of a few blocks. The functions on a column split into orthogonal parts: the
details of each level (what differs between siblings) and the constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_LEVELS = 12
"""Of a tree of ranges: 2^12 codes by twos."""


@dataclass(frozen=True)
class Tree:
    """Blocks over the codes 0 .. size-1; radices from the leaves up.

    Codes from ``size`` to ``padded`` do not exist: nobody has them.
    """

    size: int
    radices: tuple[int, ...]
    alike: ClassVar[bool] = True
    """Whether all codes have the same variance."""

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """The length of a block at each level; the last is the whole column."""
        return tuple(accumulate((1, *self.radices), mul))

    @property
    def padded(self) -> int:
        """The length of the whole column with the codes that do not exist."""
        return self.blocks[-1]

    @property
    def levels(self) -> int:
        """How many levels of details there are; a column with one code has none."""
        return len(self.radices)

    def share(self, level: int) -> float:
        """The squared length of the details of one code at this level."""
        return 1 / self.blocks[level] - 1 / self.blocks[level + 1]

    def scale(self, level: int) -> float:
        """The precision of an orthonormal coordinate that residuals with variance 1 give."""
        return float(self.radices[level] ** 2 * self.blocks[level])

    def norm(self, level: int) -> int:
        """The squared norm of one row in residuals: (r-1)^2 + (r-1)."""
        return self.radices[level] * (self.radices[level] - 1)

    def reach(self, level: int) -> int:
        """The largest residual is less than so many times the number of rows."""
        return self.radices[level]

    def places(self, level: int) -> int:
        """How many blocks a level has."""
        return self.padded // self.blocks[level]

    def inner_products(self) -> Floats:
        """Of two rows' residuals, for each way (row) and level (column); the last: the constant."""
        products = np.zeros((self.levels + 1, self.levels + 1))
        products[:, -1] = 1.0
        for level, r in enumerate(self.radices):
            products[0, level] = r * (r - 1)
            for way in range(1, self.levels + 1):
                parted = way - 1
                products[way, level] = (
                    -r if parted == level else (r * (r - 1) if parted < level else 0)
                )
        return products

    def cell_energies(self) -> Floats:
        """|P_l q|^2 of every cell: a row for each level, the last for the constant."""
        shares = [self.share(level) for level in range(self.levels)]
        return np.array([*shares, 1 / self.padded**2])[:, None]

    @property
    def spread(self) -> Floats:
        """How the sum of the column is spread over its codes."""
        return np.full(self.size, 1 / self.padded)

    def energies(self, starts: Integers, stops: Integers) -> Floats:
        """|P_l q|^2 of ranges [start, stop): one row for each level, the last for the constant.

        The constant is measured as the sum of the column, so its row is (length/padded)^2.
        """
        rows = []
        for block in self.blocks:
            first, last = -(-starts // block) * block, stops // block * block
            inside = first > last  # the range lies inside one block
            left = np.where(inside, stops - starts, first - starts)
            right = np.where(inside, 0, stops - last)
            partial = left.astype(np.float64) ** 2 + right.astype(np.float64) ** 2
            rows.append(np.maximum(last - first, 0) + partial / block)
        energies_by_level = np.array(rows)
        return np.vstack(
            [energies_by_level[:-1] - energies_by_level[1:], energies_by_level[-1:] / self.padded]
        )

    def sums(self, table: NDArray[np.int64], axis: int, level: int) -> Integers:
        """The sums over the blocks of a level along an axis of ``size`` codes."""
        turned = np.moveaxis(self.filled(table, axis), axis, 0)
        block = self.blocks[level]
        summed = turned.reshape(self.padded // block, block, *turned.shape[1:]).sum(axis=1)
        return np.moveaxis(summed, 0, axis)

    def filled(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """A table with zeros for the codes that do not exist."""
        missing = self.padded - self.size
        if not missing:
            return table
        wide = (*table.shape[:axis], missing, *table.shape[axis + 1 :])
        return np.concatenate([table, np.zeros(wide, table.dtype)], axis)

    def residuals(self, sums: Integers, axis: int, level: int) -> Integers:
        """r x minus the sum of its r siblings, for each block x of a level: whole numbers."""
        grouped, shape = self._grouped(sums, axis, level)
        apart = self.radices[level] * grouped - grouped.sum(axis=1, keepdims=True)
        return np.moveaxis(apart.reshape(shape), 0, axis)

    def details(self, sums: Floats, axis: int, level: int) -> Floats:
        """What is left of blocks of a level when the mean of the siblings is taken off."""
        grouped, shape = self._grouped(sums, axis, level)
        return np.moveaxis((grouped - grouped.mean(axis=1, keepdims=True)).reshape(shape), 0, axis)

    def read(self, numbers: Floats, axis: int, level: int) -> Floats:
        """The details that noisy residuals show."""
        return self.details(numbers, axis, level) / self.radices[level]

    def _grouped(
        self, sums: NDArray[np.generic], axis: int, level: int
    ) -> tuple[NDArray[np.generic], tuple[int, ...]]:
        turned = np.moveaxis(sums, axis, 0)
        return turned.reshape(-1, self.radices[level], *turned.shape[1:]), turned.shape

    def coarser(self, sums: Floats, axis: int, fine: int, coarse: int) -> Floats:
        """Sums of the blocks of a coarse level from those of a fine one."""
        turned = np.moveaxis(sums, axis, 0)
        group = self.blocks[coarse] // self.blocks[fine]
        summed = turned.reshape(-1, group, *turned.shape[1:]).sum(axis=1)
        return np.moveaxis(summed, 0, axis)

    def expand(self, details: Floats, axis: int, level: int) -> Floats:
        """Details of block sums, spread evenly over the codes that exist."""
        block = self.blocks[level]
        spread = np.repeat(details, block, axis) / block
        return np.take(spread, np.arange(self.size), axis) if self.padded > self.size else spread

    def noise(self, numbers: Floats, axis: int, level: int) -> Floats:
        """What noise of precision 1 does to the codes, from independent standard normal numbers."""
        details = self.details(numbers, axis, level)
        return math.sqrt(self.blocks[level]) * self.expand(details, axis, level)


def flat(size: int) -> Tree:
    """The tree of a column without an order: all codes are siblings."""
    return Tree(size, (size,) if size > 1 else ())


def candidates(size: int) -> list[Tree]:
    """Trees of every depth with nearly equal radices, and few codes that do not exist."""
    trees = [flat(size)]
    for depth in range(2, MOST_LEVELS + 1):
        if 2**depth > 2 * size:
            break
        large = max(2, math.ceil(round(size ** (1 / depth), 9)))
        for small in {max(2, large - 1), max(2, large - 2)}:
            many = 0
            while many < depth and small ** (many + 1) * large ** (depth - many - 1) >= size:
                many += 1
            trees.append(Tree(size, (small,) * many + (large,) * (depth - many)))
    sixteens = max(1, math.ceil(round(math.log(size, 16), 9))) if size > 16 else 0
    if sixteens > 1:  # the fanout of Qardaji et al.; the last radix is as small as it can be
        last = -(-size // 16 ** (sixteens - 1))
        trees.append(Tree(size, (16,) * (sixteens - 1) + (max(2, last),)))
    return list(dict.fromkeys(trees))
