"""Noisy linear numbers as functions of a distribution: for the fit."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.bits import BitsPart
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    GridMatrix,
    ProductSets,
    RangeTable,
    WholeTable,
)
from winnow.core.workloads.part import Part
from winnow.core.workloads.real import GridPart
from winnow.core.workloads.workload import Workload
from winnow.fit.newton import fitted
from winnow.fit.tables import LEAST_NOISE, FitQuality, quality_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_SHARED = 100
"""Of the entries of all queries so many count as one cell of a tree, for the limit on work: a
guess, as sums over entries are quick, and nothing was measured."""


class _MeasuredNumbers(ABC):
    """Noisy linear numbers of the cells, all with alike noise, as functions of a model."""

    tables: tuple[slice, ...] = ()

    def __init__(self, values: Floats, deviation: float, rows: int, cells: int) -> None:
        self.observed = values / rows
        self.variances = np.full(len(values), (max(deviation, LEAST_NOISE) / rows) ** 2)
        self.joint = np.ones(len(values))
        self.visited = max(1, cells * len(values) // _SHARED)
        self._weights = np.full(cells, 1.0 / cells)

    def fitted(self) -> tuple[Floats, FitQuality]:
        """The weights of the cells that fit, and how well."""
        weights = fitted(self)
        return self._weights, quality_of(weights, weights.loss)

    def propagate(self, mu: Floats) -> tuple[float, Floats]:
        """The model over all cells."""
        logs = self.adjoint(mu)
        top = float(logs.max())
        weights = np.exp(logs - top)
        total = float(weights.sum())
        self._weights = weights / total
        return top + math.log(total), self.forward(self._weights)

    def tangent(self, direction: Floats) -> Floats:
        """How its numbers move."""
        logs = self.adjoint(direction)
        return self.forward(self._weights * (logs - float((self._weights * logs).sum())))

    def lightest(self, x: Floats) -> Floats:
        """All of it: what queries have in common is not looked for."""
        return x

    @abstractmethod
    def forward(self, p: Floats) -> Floats:
        """The numbers of a distribution."""

    @abstractmethod
    def adjoint(self, mu: Floats) -> Floats:
        """What each cell takes part in."""

    @abstractmethod
    def spread(self, numbers: Floats) -> Floats:
        """The variance of each query under the model, or somewhat more."""


class MeasuredMatrix(_MeasuredNumbers):
    """A matrix over all cells."""

    def __init__(self, matrix: Integers, numbers: Floats, deviation: float, rows: int) -> None:
        unit = float(np.abs(matrix).max())
        super().__init__(numbers / unit, deviation / unit, rows, matrix.shape[1])
        self.variances = np.full(len(numbers), (deviation / unit / rows) ** 2)
        self._matrix = matrix / unit

    def forward(self, p: Floats) -> Floats:
        """The numbers of a distribution."""
        return np.asarray(self._matrix @ p)

    def adjoint(self, mu: Floats) -> Floats:
        """What each cell takes part in."""
        return np.asarray(mu @ self._matrix)

    def spread(self, numbers: Floats) -> Floats:
        """The variance of each line."""
        return np.asarray(np.maximum(self._matrix**2 @ self._weights - numbers**2, 0.0))


class MeasuredQueries(_MeasuredNumbers):
    """The queries of a workload."""

    def __init__(self, workload: Workload, numbers: Floats, deviation: float, rows: int) -> None:
        super().__init__(numbers, deviation, rows, workload.schema.cells)
        self._workload = workload

    def forward(self, p: Floats) -> Floats:
        """The answers of a distribution."""
        return self._workload.answers(p)

    def adjoint(self, mu: Floats) -> Floats:
        """The sum of all queries, each times its coordinate."""
        logs = np.zeros(self._workload.schema.shape)
        for place, part in enumerate(self._workload.parts):
            first, last = self._workload.offsets[place : place + 2]
            logs += _sum_of_queries(part, mu[first:last])
        return logs.reshape(-1)

    def spread(self, numbers: Floats) -> Floats:
        """The variance of a query in [0, 1], at most."""
        return np.maximum(numbers * (1.0 - numbers), 0.0)


def thinned(workload: Workload, numbers: Floats, most: int) -> tuple[Workload, Floats]:
    """Some of the queries, evenly, so that none of the parts has more than so many entries."""
    parts: list[Part] = []
    values: list[Floats] = []
    for place, part in enumerate(workload.parts):
        first, last = workload.offsets[place : place + 2]
        step = -(-part.size * workload.schema.cells // most)
        match part:
            case ConjunctionPart():
                parts.append(replace(part, masks=part.masks[::step]))
            case BitsPart():
                parts.append(replace(part, bits=part.bits[::step]))
            case GridPart():
                parts.append(replace(part, values=part.values[::step]))
            case _:  # tables and ranges are quick whatever their number
                parts.append(part)
                step = 1
        values.append(numbers[first:last:step])
    return Workload(workload.schema, tuple(parts)), np.concatenate(values)


def _sum_of_queries(part: Part, mu: Floats) -> Floats:
    """The sum of the queries of a part, each times its coordinate; over all cells, or to spread."""
    shape = part.schema.shape
    match part.form:
        case WholeTable(columns):
            order = np.argsort(columns)
            table = mu.reshape([shape[c] for c in columns]).transpose(order)
            return table.reshape([n if c in columns else 1 for c, n in enumerate(shape)])
        case CodeRanges(column, starts, stops):
            size = shape[column] + 1
            ends = np.bincount(starts, mu, size) - np.bincount(stops, mu, size)
            along = [n if c == column else 1 for c, n in enumerate(shape)]
            return np.asarray(np.cumsum(ends)[:-1], np.float64).reshape(along)
        case RangeTable(axes) as form:
            sums = mu.reshape(form.shape)
            for place, axis in enumerate(axes):
                turned = np.moveaxis(sums, place, 0)
                steps = np.zeros((shape[axis.column] + 1, *turned.shape[1:]))
                np.add.at(steps, axis.starts, turned)
                np.subtract.at(steps, axis.stops, turned)
                sums = np.moveaxis(np.cumsum(steps, axis=0)[:-1], 0, place)
            sums = sums.transpose(np.argsort(form.columns))
            return sums.reshape([n if c in form.columns else 1 for c, n in enumerate(shape)])
        case ProductSets(sets):
            total = np.zeros(shape)
            for weight, masks in zip(mu.tolist(), sets, strict=True):
                weights = np.full([1] * len(shape), weight)
                for column, mask in masks.items():
                    along = [n if c == column else 1 for c, n in enumerate(shape)]
                    weights = weights * mask.reshape(along)
                total += weights
            return total
        case BitMatrix():
            rows = (weight * part.row(query) for query, weight in enumerate(mu.tolist()))
            return np.asarray(sum(rows, np.zeros(math.prod(shape)))).reshape(shape)
        case GridMatrix(values):
            return np.asarray(mu @ values.astype(np.float64) / part.grid).reshape(shape)
        case never:
            assert_never(never)
