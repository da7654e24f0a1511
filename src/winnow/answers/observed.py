"""What strategies measured, as linear functions of a distribution: for the fit."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow.answers.maxent import entropy
from winnow.core.workloads.workload import marginal_tables
from winnow.tables.estimates import Layer
from winnow.tables.measured import Space
from winnow.tables.parts import TablePart
from winnow.tables.strategy import Geometry
from winnow.tables.trees import Tree

Floats = NDArray[np.float64]
Columns = tuple[int, ...]

_SWEEPS = 3
"""Of proportional fitting, before the fit proper."""


class ObservedTables:
    """The details of every subspace of some columns, as least squares found them."""

    def __init__(self, layer: Layer, columns: Columns, shape: tuple[int, ...], rows: int) -> None:
        self._layer, self._rows = layer, rows
        self._columns, self._shape = columns, shape
        self.cells = math.prod(shape)
        self._spaces = [
            space
            for space in layer.geometry.spaces
            if space and {column for column, _ in space} <= set(columns)
        ]
        sizes = [layer.details[space].size for space in self._spaces]
        self._places = np.cumsum([0, *sizes])
        sets = dict.fromkeys(_own(space) for space in self._spaces)
        self._sets = {s: tuple(columns.index(c) for c in s) for s in sets}

    @cached_property
    def values(self) -> Floats:
        """The details as fractions of the rows."""
        return self._flat([self._layer.details[s] / self._rows for s in self._spaces])

    @cached_property
    def weights(self) -> Floats:
        """Details of block sums are sqrt(blocks) times orthonormal coordinates."""
        found = []
        for space in self._spaces:
            own = self._layer.precision[space] * self._rows**2 / self._blocks(space)
            found.append(np.full(self._layer.details[space].size, own))
        return np.concatenate(found) if found else np.zeros(0)

    @cached_property
    def spread(self) -> Floats:
        """About the probability of each sum: as if columns were independent."""
        alone = {c: self._alone(c) for c in self._columns}
        found = []
        for space in self._spaces:
            table = np.ones(())
            for column, level in space:
                table = np.multiply.outer(table, alone[column][level])
            found.append(table)
        return self._flat(found)

    def _alone(self, column: int) -> list[Floats]:
        """The estimated fractions of the blocks of each level of a column, kept above 0."""
        tree, details = self._tree(column), self._layer.details
        cells = np.full(tree.size, 1.0 / tree.size)
        for level in range(tree.levels):
            if ((column, level),) in details:
                cells += tree.expand(details[(column, level),] / self._rows, 0, level)
        cells = np.maximum(cells, 0.1 / tree.size)
        cells = np.pad(cells / cells.sum(), (0, tree.padded - tree.size))
        return [tree.coarser(cells, 0, 0, level) for level in range(tree.levels)]

    @cached_property
    def joint(self) -> Floats:
        """1 for what tells of several columns together; for one column all of it."""
        several = len(self._columns) > 1
        own = [float(len(space) > 1 or not several) for space in self._spaces]
        return np.repeat(own, np.diff(self._places))

    def divergence(self, p: Floats) -> float:
        """From independent columns; of one column, from the uniform distribution."""
        if len(self._columns) == 1:
            return math.log(self.cells) - entropy(p)
        alone = marginal_tables(p.reshape(self._shape), [(i,) for i in range(len(self._columns))])
        return sum(map(entropy, alone.values())) - entropy(p)

    def start(self) -> Floats:
        """Coordinates near the fit: by a softened proportional fitting to the largest tables."""
        logs, ratios = np.zeros(self._shape), {own: np.zeros(()) for own in self._largest}
        for _ in range(_SWEEPS):
            for own, (wanted, soft) in self._targets.items():
                p = np.exp(logs - logs.max())
                place = self._sets[own]
                (held,) = marginal_tables(p / p.sum(), [place]).values()
                ratio = np.log((wanted + soft) / (held + soft))
                ratios[own] = ratios[own] + ratio
                logs += self._over(ratio, own, self._columns)
        found = []
        for space in self._spaces:
            mu = np.zeros(self._layer.details[space].shape)
            for own, ratio in ratios.items():
                if set(_own(space)) <= set(own):
                    rest = tuple(axis for axis, c in enumerate(own) if c not in _own(space))
                    mean = ratio.mean(axis=rest)
                    mu += self._details(mean, space) / self._blocks(space)
            found.append(mu)
        return self._flat(found)

    @cached_property
    def _largest(self) -> list[Columns]:
        sets = list(self._sets)
        return [s for s in sets if not any(set(s) < set(other) for other in sets)]

    @cached_property
    def _targets(self) -> dict[Columns, tuple[Floats, float]]:
        """The estimated fractions of each of the largest tables, cut off at 0, and their noise."""
        found, geometry = {}, self._layer.geometry
        for own in self._largest:
            part = TablePart(geometry.parts[0].schema, own)
            variance = Geometry((part,), geometry.trees).variance(0, self._layer.precision)
            noise = math.sqrt(float(variance.mean())) / self._rows
            cells = np.maximum(self._layer.cells(part) / self._rows, 0.0)
            found[own] = cells, max(noise, 1e-12)
        return found

    def forward(self, p: Floats) -> Floats:
        """The details of a distribution."""
        tables = marginal_tables(p.reshape(self._shape), self._sets.values())
        return self._flat([self._details(tables[self._sets[_own(s)]], s) for s in self._spaces])

    def adjoint(self, mu: Floats) -> Floats:
        """What each cell takes part in."""
        sums: dict[Columns, Floats] = {}
        for place, space in enumerate(self._spaces):
            held = mu[self._places[place] : self._places[place + 1]]
            held = held.reshape(self._layer.details[space].shape)
            for axis, (column, level) in enumerate(space):
                tree = self._tree(column)
                held = tree.expand(tree.details(held, axis, level), axis, level)
            own = _own(space)
            sums[own] = sums.get(own, 0.0) + self._blocks(space) * held
        for own in sorted(sums, key=len):
            if own not in self._largest:
                above = min((s for s in sums if set(own) < set(s)), key=len)
                sums[above] = sums[above] + self._over(sums[own], own, above)
        logs = np.zeros(self._shape)
        for own in self._largest:
            logs += self._over(sums[own], own, self._columns)
        return logs.reshape(-1)

    def _over(self, table: Floats, own: Columns, columns: Columns) -> Floats:
        sizes = [self._tree(c).size if c in own else 1 for c in columns]
        return table.reshape(sizes)

    def _details(self, table: Floats, space: Space) -> Floats:
        for axis, (column, level) in enumerate(space):
            tree = self._tree(column)
            missing = tree.padded - tree.size
            if missing:
                table = np.pad(table, [(0, missing if a == axis else 0) for a in range(table.ndim)])
            table = tree.details(tree.coarser(table, axis, 0, level), axis, level)
        return table

    def _tree(self, column: int) -> Tree:
        return self._layer.geometry.trees[column]

    def _blocks(self, space: Space) -> float:
        return float(math.prod(self._tree(c).blocks[level] for c, level in space))

    @staticmethod
    def _flat(arrays: list[Floats]) -> Floats:
        return np.concatenate([each.reshape(-1) for each in arrays]) if arrays else np.zeros(0)


def _own(space: Space) -> Columns:
    return tuple(column for column, _ in space)
