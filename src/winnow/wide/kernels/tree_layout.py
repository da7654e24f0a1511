"""Where the tables of a graphical model lie in flat arrays, and the passes over them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from winnow.wide.junction_tree import Columns, junction_tree
from winnow.wide.kernels.tree_tables import TreeTables

Floats = NDArray[np.float64]


class TreeLayout:
    """Tables, the cliques of their junction tree, and the maps between them.

    A model is p ~ exp(sum of theta over the tables). theta lives on tables and not on cliques, so
    it means the same when a further table changes the tree. An instance keeps the results of its
    last pass: threads need one each.
    """

    def __init__(self, shape: Sequence[int], sets: Iterable[Columns]) -> None:
        from winnow.wide.kernels.tree_passes import Places, Scratch, propagate, tangent

        self._propagate, self._tangent = propagate, tangent
        self._shape = tuple(int(size) for size in shape)
        self.sets = tuple(sorted(set(sets), key=lambda c: (self._size(c), len(c), c)))
        """Small tables first."""
        self.tree = junction_tree(self._shape, self.sets)
        self._orders = tuple(
            (*shared, *(column for column in clique if column not in shared))
            for clique, shared in zip(self.tree.cliques, self.tree.separators, strict=True)
        )
        starts = _starts(map(self._size, self.sets))
        self._cliques = _starts(map(self._size, self._orders))
        separators = _starts(map(self._size, self.tree.separators))
        self.places = {c: slice(*starts[t : t + 2]) for t, c in enumerate(self.sets)}
        """Of each table in a flat array."""
        self.size = starts[-1]
        """The cells of all tables."""
        maps = _Maps(self._shape)
        self._records = Places(
            np.array(
                [self._table(t, starts, maps) for t in range(len(self.sets))], np.int64
            ).reshape(-1, 6),
            np.array(
                [self._clique(i, separators, maps) for i in range(len(self._orders))], np.int64
            ),
            maps.joined(),
        )
        cells, shared = self._cliques[-1], separators[-1]
        self._scratch = Scratch(*map(np.empty, (self.size, cells, shared, cells, shared)))

    def propagate(self, theta: Floats, marginals: Floats) -> float:
        """log Z of the model; its marginals on all tables are written."""
        return float(self._propagate(theta, marginals, self._records, self._scratch))

    def tangent(self, direction: Floats) -> Floats:
        """How the marginals of the model of the last ``propagate`` move with theta."""
        moved = np.empty(self.size)
        self._tangent(direction, moved, self._records, self._scratch)
        return moved

    def model(self) -> TreeTables:
        """The model of the last ``propagate``."""
        found = []
        for i, (clique, order) in enumerate(zip(self.tree.cliques, self._orders, strict=True)):
            cells = self._scratch.belief[self._cliques[i] : self._cliques[i + 1]]
            table = cells.reshape(self.tree.sizes(order))
            turned = np.ascontiguousarray(table.transpose([order.index(c) for c in clique]))
            found.append(turned / turned.sum())
        return TreeTables(self.tree, tuple(found))

    def _size(self, columns: Columns) -> int:
        return math.prod(self._shape[c] for c in columns)

    def _table(self, t: int, starts: list[int], maps: _Maps) -> tuple[int, ...]:
        """The line of a table: held by the smallest larger table that can, else by a clique."""
        columns, wanted = self.sets[t], set(self.sets[t])
        own = starts[t], self._size(columns)
        for u in range(t + 1, len(self.sets)):
            larger = self.sets[u]
            if wanted < set(larger):
                return *own, 0, starts[u], self._size(larger), maps.add(larger, columns)
        holding = [i for i, order in enumerate(self._orders) if wanted <= set(order)]
        i = min(holding, key=lambda i: self._size(self._orders[i]))
        order = self._orders[i]
        return *own, 1, self._cliques[i], self._size(order), maps.add(order, columns)

    def _clique(self, i: int, separators: list[int], maps: _Maps) -> tuple[int, ...]:
        shared, parent = self.tree.separators[i], self.tree.parents[i]
        rows = self._size(shared)
        own = self._cliques[i], rows, self._size(self._orders[i]) // rows, separators[i]
        if parent < 0:
            return *own, 0, 0, 0
        above = self._orders[parent]
        return *own, self._cliques[parent], self._size(above), maps.add(above, shared)


class _Maps:
    """Maps from the cells of holders to those of the held, one after another."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._made: list[NDArray[np.int32]] = []
        self._length = 0

    def add(self, holder: Columns, held: Columns) -> int:
        """The place of a new map."""
        strides, step = {}, 1
        for column in reversed(held):
            strides[column] = step
            step *= self._shape[column]
        cells = np.zeros((), np.int32)
        for column in holder:
            line = np.arange(self._shape[column], dtype=np.int32)
            cells = cells[..., None] + line * np.int32(strides.get(column, 0))
        self._made.append(cells.reshape(-1))
        self._length += cells.size
        return self._length - cells.size

    def joined(self) -> NDArray[np.int32]:
        """All of them."""
        return np.concatenate([np.zeros(0, np.int32), *self._made])


def _starts(sizes: Iterable[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))
