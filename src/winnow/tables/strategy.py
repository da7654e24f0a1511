"""Orthogonal subspaces of the domain, and what a precision on each of them gives.

A subspace is a choice of one level of details, or the constant, for every column: written as
((column, level), ...) for the columns that are not constant in it. An estimate of each, with
its own precision (one over the variance of an orthonormal coordinate), gives every table by
exact least squares, and the variance of every answer before anything is measured:

    variance of q = sum over S of  prod |P_l q_i|^2 / precision_S.

One level everywhere is ResidualPlanner [Xiao, He, Zhang, Kifer 2023]; more levels are a weighted
hierarchy [Qardaji, Yang, Li 2013].
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow.tables.errors import Spread
from winnow.tables.measured import Space
from winnow.tables.parts import TablePart
from winnow.tables.simulation import median_of_largest
from winnow.tables.trees import Tree

Floats = NDArray[np.float64]
Precision = Mapping[Space, float]


@dataclass(frozen=True, eq=False)
class Geometry:
    """The tables that are asked for, over columns with trees; all public."""

    parts: tuple[TablePart, ...]
    trees: Mapping[int, Tree]

    def spaces_of(self, columns: tuple[int, ...]) -> Iterator[Space]:
        """The subspaces that a table of these columns is made of."""
        choices = [[None, *range(self.trees[column].levels)] for column in columns]
        for levels in itertools.product(*choices):
            yield tuple(
                sorted((c, x) for c, x in zip(columns, levels, strict=True) if x is not None)
            )

    @cached_property
    def spaces(self) -> tuple[Space, ...]:
        """All subspaces, smaller ones first."""
        found = {space for part in self.parts for space in self.spaces_of(part.columns)}
        return tuple(sorted(found, key=lambda space: (len(space), space)))

    @cached_property
    def known(self) -> frozenset[Space]:
        """The same, for looking one up."""
        return frozenset(self.spaces)

    @cached_property
    def energies(self) -> tuple[tuple[Floats, ...], ...]:
        """For each part and column |P_l q|^2 of every query; one column where all are alike."""
        return tuple(tuple(self._energies(part)) for part in self.parts)

    def _energies(self, part: TablePart) -> Iterator[Floats]:
        for column in part.columns:
            tree = self.trees[column]
            if part.starts is None or part.stops is None:
                yield tree.cell_energies()
            else:
                yield tree.energies(part.starts, part.stops)

    def gains(self, weights: Floats) -> dict[Space, float]:
        """By how much the weighted sum of variances falls with one over each precision."""
        found = dict.fromkeys(self.spaces, 0.0)
        for part, weight, energies in zip(self.parts, weights, self.energies, strict=True):
            sums = [e.sum(axis=1) for e in energies]
            weight *= part.size / math.prod(e.shape[1] for e in energies)  # answers that are alike
            for space in self.spaces_of(part.columns):
                at = dict(space)
                pairs = zip(part.columns, sums, strict=True)
                found[space] += weight * math.prod(float(e[at.get(c, -1)]) for c, e in pairs)
        return found

    def price(self, space: Space) -> float:
        """The squared length of one row in a subspace: what precision one there costs."""
        return math.prod(self.trees[column].share(level) for column, level in space)

    def variance(self, place: int, precision: Precision) -> Floats:
        """Of the answers of a part; axes along which all are alike have length 1."""
        part = self.parts[place]
        tensor = np.zeros([self.trees[column].levels + 1 for column in part.columns])
        for space in self.spaces_of(part.columns):
            at = dict(space)
            tensor[tuple(at.get(c, -1) for c in part.columns)] = 1 / precision[space]
        for energies in self.energies[place]:
            tensor = np.tensordot(tensor, energies, axes=([0], [0]))
        return np.maximum(tensor, 0.0)

    def spreads(self, precision: Precision, law: str) -> list[Spread]:
        """The standard errors of each part; for ranges with their largest error, simulated."""
        found = []
        for place, part in enumerate(self.parts):
            held = np.sqrt(self.variance(place, precision)).ravel()
            largest = None
            if part.starts is not None:
                tree = self.trees[part.columns[0]]
                largest = median_of_largest(part, tree, precision, law)
            found.append(Spread(held, part.size // held.size, largest))
        return found


def place_of(part: TablePart) -> Space:
    """The table of all leaves of a part's columns, as something that can be measured."""
    return tuple((column, 0) for column in sorted(part.columns))


def seen_by(geometry: Geometry, place: Space, precision: float) -> dict[Space, float]:
    """What noise of one precision on each sum of blocks gives to every subspace below.

    White noise on block sums is white noise on each subspace: divided by the block, and summed
    over the columns that a subspace does not have. A joint table tells of more than is asked for;
    only what is asked for is listed.
    """
    trees, found = geometry.trees, {}
    size = math.prod(trees[column].blocks[level] for column, level in place)
    for space in _below(geometry, place):
        at = dict(space)
        rest = math.prod(trees[column].padded for column, _ in place if column not in at)
        found[space] = precision * size / rest
    return found


def _below(geometry: Geometry, place: Space) -> Iterator[Space]:
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
        if space in geometry.known:
            yield space


def combined(geometry: Geometry, measured: Mapping[Space, float]) -> dict[Space, float]:
    """The precision of every subspace when tables of block sums are measured."""
    found = dict.fromkeys(geometry.spaces, 0.0)
    for place, precision in measured.items():
        for space, each in seen_by(geometry, place, precision).items():
            found[space] += each
    return found
