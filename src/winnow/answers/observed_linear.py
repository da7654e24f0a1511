"""Noisy linear numbers as functions of a distribution: for the fit."""

from __future__ import annotations

import math
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
    WholeTable,
)
from winnow.core.workloads.part import Part
from winnow.core.workloads.real import GridPart
from winnow.core.workloads.workload import Workload

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class _ObservedNumbers:
    """What the three have in common: alike noise, and a pull to the uniform distribution."""

    def __init__(self, values: Floats, deviation: float, rows: int, cells: int) -> None:
        self.cells = cells
        self.values = values / rows
        self.weights = np.full(len(values), (rows / deviation) ** 2)
        self.joint = np.ones(len(values))
        self.spread = np.full(len(values), 1.0 / max(4, len(values)))

    def divergence(self, p: Floats) -> float:
        """From the uniform distribution."""
        held = p[p > 0.0]
        return float(held @ np.log(held * self.cells))

    def start(self) -> Floats:
        """The uniform distribution."""
        return np.zeros(len(self.values))


class ObservedMatrix(_ObservedNumbers):
    """A matrix over all cells."""

    def __init__(self, matrix: Integers, numbers: Floats, deviation: float, rows: int) -> None:
        unit = float(np.abs(matrix).max())
        super().__init__(numbers / unit, deviation / unit, rows, matrix.shape[1])
        self._matrix = matrix / unit
        mean = self._matrix.mean(axis=1, keepdims=True)
        self.spread = ((self._matrix - mean) ** 2).mean(axis=1) + 1e-12

    def forward(self, p: Floats) -> Floats:
        """The numbers of a distribution."""
        return np.asarray(self._matrix @ p)

    def adjoint(self, mu: Floats) -> Floats:
        """What each cell takes part in."""
        return np.asarray(mu @ self._matrix)


class ObservedQueries(_ObservedNumbers):
    """The queries of a workload."""

    def __init__(self, workload: Workload, numbers: Floats, deviation: float, rows: int) -> None:
        super().__init__(numbers, deviation, rows, workload.schema.cells)
        self._workload = workload
        even = workload.answers(np.full(self.cells, 1.0 / self.cells))
        self.spread = np.maximum(even * (1.0 - even), 1.0 / self.cells)

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


def thinned(workload: Workload, numbers: Floats, most: int) -> tuple[Workload, Floats]:
    """Some of the queries, evenly, so that none of the parts has more than so many entries."""
    parts: list[Part] = []
    held: list[Floats] = []
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
        held.append(numbers[first:last:step])
    return Workload(workload.schema, tuple(parts)), np.concatenate(held)


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
        case ProductSets(sets):
            found = np.zeros(shape)
            for weight, masks in zip(mu.tolist(), sets, strict=True):
                held = np.full([1] * len(shape), weight)
                for column, mask in masks.items():
                    along = [n if c == column else 1 for c, n in enumerate(shape)]
                    held = held * mask.reshape(along)
                found += held
            return found
        case BitMatrix():
            rows = (weight * part.row(query) for query, weight in enumerate(mu.tolist()))
            return np.asarray(sum(rows, np.zeros(math.prod(shape)))).reshape(shape)
        case GridMatrix(values):
            return np.asarray(mu @ values.astype(np.float64) / part.grid).reshape(shape)
        case never:
            assert_never(never)
