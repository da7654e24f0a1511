"""Orthogonal subspaces of the domain, and what a precision on each of them gives.

A subspace is a choice of one level of details, or the constant, for every column: written as
((column, level), ...) for the columns that are not constant in it. An estimate of each, with
its own precision (one over the variance of an orthonormal coordinate), gives every table by
exact least squares, and the variance of every answer before anything is measured:

    variance of q = sum over S of  prod |P_l q_i|^2 / precision_S.

One level everywhere is ResidualPlanner [Xiao, He, Zhang, Kifer 2023]; more levels are a weighted
hierarchy [Qardaji, Yang, Li 2013]. A column with a matrix of its own (``ColumnMatrix``) has one
level, too; there P_l q is what the matrix needs to tell q, and the constant's part depends on q.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow.release.tables.column_matrix import Basis
from winnow.release.tables.errors import Spread
from winnow.release.tables.measured import Space
from winnow.release.tables.parts import TablePart
from winnow.release.tables.simulation import MOST_CELLS, median_of_largest, median_of_product
from winnow.release.tables.trees import Tree

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Precision = Mapping[Space, float]


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which subspaces the tables of cells are made of: one entry for each pair."""

    parts: Integers
    """The places of these tables among all parts."""
    of: Integers
    """For each entry the place of its table in ``parts``."""
    spaces: Integers
    """For each entry the number of its subspace."""
    energies: Floats
    """|P_S q|^2, which is the same for all cells of a table."""
    seen: Floats
    """What noise of precision 1 on the cells gives to the subspace."""

    def variances(self, precision: Floats) -> Floats:
        """Of a cell of each table, when every subspace has its precision."""
        each = self.energies / precision[self.spaces]
        return np.bincount(self.of, each, len(self.parts)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Geometry:
    """The tables that are asked for, over columns with trees or matrices; all public."""

    parts: tuple[TablePart, ...]
    trees: Mapping[int, Basis]

    def spaces_of(self, columns: tuple[int, ...]) -> list[Space]:
        """The subspaces that a table of these columns is made of."""
        spaces: list[Space] = [()]
        for column in sorted(columns):
            levels = [((column, level),) for level in range(self.trees[column].levels)]
            spaces += [space + own for space in spaces for own in levels]
        return spaces

    @cached_property
    def spaces(self) -> tuple[Space, ...]:
        """All subspaces, smaller ones first."""
        spaces = {space for part in self.parts for space in self.spaces_of(part.columns)}
        return tuple(sorted(spaces, key=lambda space: (len(space), space)))

    @cached_property
    def numbers(self) -> Mapping[Space, int]:
        """The place of each subspace among all."""
        return {space: number for number, space in enumerate(self.spaces)}

    def is_even(self, part: TablePart) -> bool:
        """Whether all answers of a part have one variance: cells, and columns that are even."""
        return part.of_cells and all(self.trees[column].alike for column in part.columns)

    @cached_property
    def incidence(self) -> Incidence:
        """Of the tables of cells; energies are products over columns."""
        numbers, trees = self.numbers, self.trees
        parts = [place for place, part in enumerate(self.parts) if self.is_even(part)]
        lists = [self.spaces_of(self.parts[place].columns) for place in parts]
        spaces = np.array([numbers[space] for each in lists for space in each], np.int64)
        of = np.repeat(np.arange(len(parts)), [len(each) for each in lists])
        columns = [self.parts[place].columns for place in parts]
        wholes = np.array([math.prod(float(trees[c].padded) for c in each) for each in columns])
        inside = [math.prod(float(trees[c].padded) for c, _ in space) for space in self.spaces]
        rest = wholes[of] / np.array(inside)[spaces]
        return Incidence(
            np.array(parts, np.int64), of, spaces, self.prices[spaces] / rest**2, 1.0 / rest
        )

    @cached_property
    def prices(self) -> Floats:
        """The squared length of one row in every subspace: what precision one there costs."""
        return np.array([self.price(space) for space in self.spaces])

    def price(self, space: Space) -> float:
        """The price of one of them."""
        return math.prod(self.trees[column].share(level) for column, level in space)

    @cached_property
    def uneven(self) -> Mapping[int, tuple[Floats, ...]]:
        """Of the parts whose answers differ in variance |P_l q|^2 along each axis, by place."""
        return {
            place: self._energies(part)
            for place, part in enumerate(self.parts)
            if not self.is_even(part)
        }

    def _energies(self, part: TablePart) -> tuple[Floats, ...]:
        """For each axis one row for each level, the last for the constant."""
        energies = []
        for column, axis in zip(part.columns, part.axes, strict=True):
            basis = self.trees[column]
            if axis is None:
                energies.append(basis.cell_energies())
            else:
                energies.append(basis.energies(axis.starts, axis.stops))
        return tuple(energies)

    def gains(self, weights: Floats) -> dict[Space, float]:
        """By how much the weighted sum of variances falls with one over each precision."""
        cells = self.incidence
        sizes = [float(self.parts[place].size) for place in cells.parts.tolist()]
        each = (weights[cells.parts] * np.array(sizes))[cells.of] * cells.energies
        # numpy makes whole numbers of no weights at all
        gained = np.bincount(cells.spaces, each, len(self.spaces)).astype(np.float64)
        for place, energies in self.uneven.items():
            part, whole = self.parts[place], np.array(weights[place])
            for size, own in zip(part.shape, energies, strict=True):
                whole = np.multiply.outer(whole, own.sum(axis=1) * (size / own.shape[1]))
            np.add.at(gained, self._numbers(part), whole)
        return dict(zip(self.spaces, gained.tolist(), strict=True))

    def _numbers(self, part: TablePart) -> Integers:
        """The subspace of each choice of a level, or the constant (the last), along the axes."""
        if part.columns not in self._numbered:
            self._numbered[part.columns] = self._numbers_of(part)
        return self._numbered[part.columns]

    @cached_property
    def _numbered(self) -> dict[tuple[int, ...], Integers]:
        return {}

    def _numbers_of(self, part: TablePart) -> Integers:
        shape = [self.trees[column].levels + 1 for column in part.columns]
        numbers = np.empty(shape, np.int64)
        for chosen in np.ndindex(*shape):
            pairs = zip(part.columns, chosen, strict=True)
            space = sorted((c, level) for c, level in pairs if level < self.trees[c].levels)
            numbers[chosen] = self.numbers[tuple(space)]
        return numbers

    def array(self, precision: Precision) -> Floats:
        """The precision of every subspace, by number."""
        return np.array([precision[space] for space in self.spaces])

    def variance(self, place: int, precision: Precision) -> Floats:
        """Of the answers of a part; axes along which all are alike have length 1."""
        part = self.parts[place]
        if place not in self.uneven:
            alone = Geometry((part,), self.trees)
            variances = alone.incidence.variances(alone.array(precision))
            return variances.reshape([1] * len(part.columns))
        return self._sums(part, self.uneven[place], 1.0 / self.array(precision))

    def _sums(self, part: TablePart, each: tuple[Floats, ...], variances: Floats) -> Floats:
        """The variance of every choice of an answer along each axis, by those of the subspaces."""
        sums = variances[self._numbers(part)]
        for energies in each:  # the first axis goes, and its answers become the last
            sums = np.tensordot(sums, energies, axes=([0], [0]))
        return np.maximum(sums, 0.0)

    def worst(self, precision: Precision) -> Floats:
        """The largest variance of an answer of each part."""
        largest = np.empty(len(self.parts))
        largest[self.incidence.parts] = self.incidence.variances(self.array(precision))
        variances = 1.0 / self.array(precision)
        for place, each in self._extremes.items():
            largest[place] = self._sums(self.parts[place], each, variances).max()
        return largest

    @cached_property
    def _extremes(self) -> Mapping[int, tuple[Floats, ...]]:
        """Of the uneven parts the answers along each axis among which the worst one is."""
        return {
            place: tuple(extreme_columns(energies) for energies in each)
            for place, each in self.uneven.items()
        }

    def spreads(self, precision: Precision, law: str) -> list[Spread]:
        """The standard errors of each part; for ranges with their largest error, simulated."""
        cells = self.incidence
        deviations = np.sqrt(cells.variances(self.array(precision)))
        listed = {
            place: Spread(deviations[i : i + 1], self.parts[place].size)
            for i, place in enumerate(cells.parts.tolist())
        }
        for place in self.uneven:
            part = self.parts[place]
            variances = self.variance(place, precision).ravel()
            largest = self.largest(part, precision, law)
            times = part.size // len(variances)
            listed[place] = Spread.of_variances(variances, times, largest)
        return [listed[place] for place in range(len(self.parts))]

    def largest(self, part: TablePart, precision: Precision, law: str) -> float | None:
        """The median of the largest error, simulated; None: as of independent answers."""
        if part.of_cells:
            return None
        if len(part.columns) == 1:
            return median_of_largest(part, self.trees[part.columns[0]], precision, law)
        if not self._few_products:
            return None
        spaces = self.spaces_of(part.columns)
        return median_of_product(part, self.trees, precision, spaces, law)

    @cached_property
    def _few_products(self) -> bool:
        """Whether there is time to simulate all products."""
        shape = self.parts[0].schema.shape
        products = [p.columns for p in self.parts if len(p.columns) > 1 and not p.of_cells]
        cells = sum(math.prod(shape[c] for c in columns) for columns in products)
        return cells <= MOST_CELLS


def extreme_columns(energies: Floats) -> Floats:
    """The columns among which some column has the largest sum, whatever weights the rows have.

    Weights are not negative. Of two rows these are the corners of the convex hull, up and to the
    right; of more rows all different columns.
    """
    if len(energies) != 2:
        return np.unique(energies, axis=1)
    corners: list[Floats] = []
    for point in energies.T[np.lexsort((energies[1], energies[0]))]:  # from left to right
        while corners and corners[-1][1] <= point[1]:
            corners.pop()
        while len(corners) > 1 and _below(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    return np.array(corners).T


def _below(first: Floats, middle: Floats, last: Floats) -> bool:
    """Whether the middle point lies on the line between the others, or below it."""
    rise, run = last[1] - first[1], last[0] - first[0]
    return bool((middle[1] - first[1]) * run <= rise * (middle[0] - first[0]))


def seen_by(geometry: Geometry, place: Space, precision: float) -> dict[Space, float]:
    """What noise of one precision on each sum of blocks gives to every subspace below.

    White noise on block sums is white noise on each subspace: divided by the block, and summed
    over the columns that a subspace does not have. A joint table tells of more than is asked for;
    only what is asked for is listed.
    """
    trees, seen = block_trees(geometry), {}
    size = math.prod(trees[column].blocks[level] for column, level in place)
    for space in _inside(geometry, place):
        at = dict(space)
        rest = math.prod(trees[column].padded for column, _ in place if column not in at)
        seen[space] = precision * size / rest
    return seen


def block_trees(geometry: Geometry) -> Mapping[int, Tree]:
    """The trees of a geometry whose columns have blocks; none has a matrix of its own."""
    trees = {c: basis for c, basis in geometry.trees.items() if isinstance(basis, Tree)}
    assert len(trees) == len(geometry.trees)
    return trees


def _inside(geometry: Geometry, place: Space) -> Iterator[Space]:
    """The subspaces of the geometry that block sums tell of; there may be far more of others."""
    ranges = [range(level, geometry.trees[column].levels) for column, level in place]
    if math.prod(len(levels) + 1 for levels in ranges) > len(geometry.spaces):
        inside = dict(zip((column for column, _ in place), ranges, strict=True))
        for space in geometry.spaces:
            if all(column in inside and level in inside[column] for column, level in space):
                yield space
        return
    for chosen in itertools.product(*([None, *levels] for levels in ranges)):
        pairs = zip(place, chosen, strict=True)
        space = tuple((column, x) for (column, _), x in pairs if x is not None)
        if space in geometry.numbers:
            yield space


def combined(geometry: Geometry, measured: Mapping[Space, float]) -> dict[Space, float]:
    """The precision of every subspace when tables of block sums are measured."""
    cells, rest = geometry.incidence, dict(measured)
    places = [geometry.parts[place].place for place in cells.parts.tolist()]
    own = np.array([rest.pop(place, 0.0) for place in places])
    sums = np.bincount(cells.spaces, own[cells.of] * cells.seen, len(geometry.spaces))
    by_space = dict(zip(geometry.spaces, sums.tolist(), strict=True))
    for place, precision in rest.items():
        for space, each in seen_by(geometry, place, precision).items():
            by_space[space] += each
    return by_space
