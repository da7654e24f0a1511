"""From noisy whole numbers to tables: exact weighted least squares, subspace by subspace.

Everything here is public: it sees released numbers and the strategy only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.release.tables.measured import NoisyForm, Space
from winnow.release.tables.mechanism import MeasureTables
from winnow.release.tables.parts import TablePart
from winnow.release.tables.strategy import Geometry, seen_by
from winnow.release.tables.trees import Tree

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Layer:
    """The estimated details of every subspace, for counts or for sums of one column's values."""

    geometry: Geometry
    details: Mapping[Space, Floats]
    precision: Mapping[Space, float]
    """Infinite for a public total."""
    whole: bool = False
    """Whether every estimate is a sum of noisy counts, as they were drawn: a whole number."""

    def estimate(self, part: TablePart) -> Floats:
        """The answers of one part; unbiased, and the same sums in every table."""
        return part.answers(self.cells(part))

    def cells(self, part: TablePart) -> Floats:
        """The table of the cells of a part's columns, in the part's order of them."""
        trees, columns = self.geometry.trees, tuple(sorted(part.columns))
        table = np.zeros([trees[column].size for column in columns])
        for space in self.geometry.spaces_of(part.columns):
            at, detail = dict(space), np.asarray(self.details[space], np.float64)
            for axis, (column, level) in enumerate(space):
                detail = trees[column].expand(detail, axis, level)
            rest = math.prod(trees[c].padded for c in columns if c not in at and trees[c].alike)
            detail = detail.reshape([trees[c].size if c in at else 1 for c in columns]) / rest
            for axis, column in enumerate(columns):
                if column not in at and not trees[column].alike:
                    along = [-1 if place == axis else 1 for place in range(len(columns))]
                    detail = detail * trees[column].spread.reshape(along)
            table += detail
        order = [columns.index(column) for column in part.columns]
        return np.ascontiguousarray(np.transpose(table, order))

    def deviation(self, place: int) -> Floats:
        """The standard errors of the answers of a part."""
        deviations = np.sqrt(self.geometry.variance(place, self.precision))
        return np.ascontiguousarray(np.broadcast_to(deviations, self.geometry.parts[place].shape))


def layer_of(
    geometry: Geometry,
    mechanism: MeasureTables,
    noisy: Sequence[Integers],
    *,
    values: int | None = None,
    total: int | None = None,
) -> Layer:
    """The details of every subspace from all tables that see it, weighted by precision.

    ``total`` is the public number of rows; it belongs to counts.
    """
    own = [each for each in mechanism.measured if each.values == values]
    whole = total is None and len(own) == 1 and not own[0].table.residual
    whole = whole and not any(level for _, level in own[0].table.place)
    sums = {space: np.zeros(_shape(geometry, space)) for space in geometry.spaces}
    weight = dict.fromkeys(geometry.spaces, 0.0)
    for each, numbers in zip(mechanism.measured, noisy, strict=True):
        if each.values != values:
            continue
        for space, precision in precision_of(geometry, each, mechanism.law).items():
            sums[space] += precision * _details(geometry, each, numbers, space)
            weight[space] += precision
    details = {space: sums[space] / weight[space] for space in geometry.spaces if weight[space]}
    if total is not None:
        details[()], weight[()] = np.array(float(total)), math.inf
    return Layer(geometry, details, weight, whole)


def precision_of(geometry: Geometry, each: NoisyForm, law: str) -> dict[Space, float]:
    """What a measured table tells about each subspace."""
    variance = noise_variance(each.noise, law)
    if not each.table.residual:
        return seen_by(geometry, each.table.place, 1 / variance)
    place = each.table.place
    scale = math.prod(geometry.trees[column].scale(level) for column, level in place)
    return {place: scale / variance}


def noise_variance(noise: Fraction, law: str) -> float:
    """The variance of one noise integer (of a discrete Gaussian: at most, and nearly always)."""
    if law == "gaussian":
        return float(noise)
    q = math.exp(-1 / float(noise))
    return 2 * q / math.expm1(-1 / float(noise)) ** 2


def _details(geometry: Geometry, each: NoisyForm, numbers: Integers, space: Space) -> Floats:
    """The details that one measured table shows, in units of rows."""
    trees, at = geometry.trees, dict(space)
    place = each.table.place
    out = tuple(axis for axis, (column, _) in enumerate(place) if column not in at)
    table: Floats = np.asarray(numbers.astype(np.float64).sum(axis=out))
    kept = [(column, level) for column, level in place if column in at]
    for axis, (column, level) in enumerate(kept):
        basis = trees[column]
        if each.table.residual:
            table = basis.read(table, axis, level)
        else:
            assert isinstance(basis, Tree)  # sums are measured of blocks
            table = basis.coarser(table, axis, level, at[column])
            table = basis.details(table, axis, at[column])
    return table


def _shape(geometry: Geometry, space: Space) -> tuple[int, ...]:
    trees = geometry.trees
    return tuple(trees[column].places(level) for column, level in space)
