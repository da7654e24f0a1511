"""Where the tables of a graphical model lie in flat arrays, and the passes over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.fit.junction_tree import Columns, junction_tree
from winnow.fit.kernels.tree_tables import TreeTables

Floats = NDArray[np.float64]

_WORTH = 3
"""A helper that sums several tables has at most one part in so many of the cells of its clique."""


class Scope(NamedTuple):
    """What a table counts: the codes of some columns, or blocks of neighbouring codes."""

    columns: Columns
    blocks: tuple[int, ...] = ()
    """How many codes of each column make one cell; empty: one."""

    def block(self, column: int) -> int:
        """The codes of a column that make one cell."""
        return self.blocks[self.columns.index(column)] if self.blocks else 1

    def holds(self, other: Scope) -> bool:
        """Whether the other table is made of sums of this one's cells."""
        return set(other.columns) <= set(self.columns) and all(
            other.block(c) % self.block(c) == 0 for c in other.columns
        )


class TreeLayout:
    """Tables, the cliques of their junction tree, and the maps between them.

    A model is p ~ start x exp(sum of theta over the tables), start a product of columns. theta
    lives on tables and not on cliques, so it means the same when a further table changes the tree.
    An instance keeps the results of its last pass: threads need one each.
    """

    def __init__(
        self,
        shape: Sequence[int],
        scopes: Iterable[Scope],
        start: Mapping[int, Floats] | None = None,
    ) -> None:
        from winnow.fit.kernels.tree_passes import Places, Scratch, propagate, tangent

        self._propagate, self._tangent = propagate, tangent
        self.shape = tuple(int(size) for size in shape)
        self.scopes = tuple(sorted(set(scopes), key=self._rank))
        """Small tables first."""
        self.tree = junction_tree(self.shape, [scope.columns for scope in self.scopes])
        self._orders = tuple(
            Scope((*shared, *(column for column in clique if column not in shared)))
            for clique, shared in zip(self.tree.cliques, self.tree.separators, strict=True)
        )
        every = (*self.scopes, *self._helpers())
        starts = _starts(map(self.cells, (*every, *self._orders)))
        separators = _starts(map(self.tree.size, self.tree.separators))
        self._cliques = starts[len(every) :]
        self.places = {c: slice(*starts[t : t + 2]) for t, c in enumerate(self.scopes)}
        """Of each table in a flat array."""
        self.size = starts[len(self.scopes)]
        """The cells of all tables."""
        self.visited = starts[-1]
        """The cells that a pass goes through."""
        maps = Maps(self.shape)
        lines = [
            self._table(t, every, starts, maps)
            for t in sorted(range(len(every)), key=lambda t: self._rank(every[t]))
        ]
        joins = [self._clique(i, separators, maps) for i in range(len(self._orders))]
        base = np.zeros(starts[-1])
        for column, logs in (start or {}).items():
            i = self._home(Scope((column,)))
            own = maps.of(self._orders[i], Scope((column,)))
            base[self._cliques[i] : self._cliques[i + 1]] += logs[own]
        self._records = Places(
            np.array(lines, np.int64).reshape(-1, 5), np.array(joins, np.int64), maps.joined(), base
        )
        sizes = starts[-1], separators[-1], starts[-1], separators[-1]
        self._scratch = Scratch(*map(np.empty, sizes))

    def propagate(self, theta: Floats) -> tuple[float, Floats]:
        """log Z of the model, and its marginals on all tables."""
        log_z = float(self._propagate(theta, self._records, self._scratch))
        return log_z, self._scratch.state[: self.size].copy()

    def tangent(self, direction: Floats) -> Floats:
        """How the marginals of the model of the last ``propagate`` move with theta."""
        self._tangent(direction, self._records, self._scratch)
        return self._scratch.change[: self.size].copy()

    def model(self) -> TreeTables:
        """The model of the last ``propagate``."""
        tables = []
        for i, (clique, (order, _)) in enumerate(zip(self.tree.cliques, self._orders, strict=True)):
            cells = self._scratch.state[self._cliques[i] : self._cliques[i + 1]]
            table = cells.reshape(self.tree.sizes(order))
            turned = np.ascontiguousarray(table.transpose([order.index(c) for c in clique]))
            tables.append(turned / turned.sum())
        return TreeTables(self.tree, tuple(tables))

    def cells(self, scope: Scope) -> int:
        """The cells of a table."""
        return math.prod(-(-self.shape[c] // scope.block(c)) for c in scope.columns)

    def _rank(self, scope: Scope) -> tuple[int, int, tuple[int, ...], Columns]:
        """Tables before those that may hold them."""
        blocks = tuple(-scope.block(c) for c in scope.columns)
        return self.cells(scope), len(scope.columns), blocks, scope.columns

    def _home(self, scope: Scope) -> int:
        """The smallest clique with all columns of a table."""
        holding = [i for i, order in enumerate(self._orders) if order.holds(scope)]
        return min(holding, key=lambda i: self.cells(self._orders[i]))

    def _helpers(self) -> list[Scope]:
        """Unions of tables of one clique, the smallest first, well below the clique's size."""
        alone = [s for s in self.scopes if not any(o.holds(s) for o in self.scopes if o != s)]
        groups: dict[int, list[frozenset[int]]] = {}
        for scope in alone:
            groups.setdefault(self._home(scope), []).append(frozenset(scope.columns))
        helpers: set[frozenset[int]] = set()
        for i, group in groups.items():
            most = self.cells(self._orders[i])
            group = list(dict.fromkeys(group))
            while len(group) > 1:
                unions = {a | b for a, b in itertools.combinations(group, 2)}
                union = min(unions, key=lambda u: (self.tree.size(tuple(u)), sorted(u)))
                if _WORTH * self.tree.size(tuple(union)) > most:
                    break
                group = [*(c for c in group if not c <= union), union]
                helpers.add(union)
        measured = {scope for scope in self.scopes if not scope.blocks}
        made = {Scope(tuple(sorted(union))) for union in helpers} - measured
        return sorted(made, key=self._rank)

    def _table(
        self, t: int, every: Sequence[Scope], starts: list[int], maps: Maps
    ) -> tuple[int, ...]:
        """The line of a table: held by the smallest larger one that can, else by a clique."""
        scope, rank = every[t], self._rank(every[t])
        larger = [
            u for u, other in enumerate(every) if other.holds(scope) and self._rank(other) > rank
        ]
        if larger:
            u = min(larger, key=lambda u: self._rank(every[u]))
            holder, first = every[u], starts[u]
        else:
            i = self._home(scope)
            holder, first = self._orders[i], self._cliques[i]
        return starts[t], self.cells(scope), first, self.cells(holder), maps.add(holder, scope)

    def _clique(self, i: int, separators: list[int], maps: Maps) -> tuple[int, ...]:
        shared, parent = Scope(self.tree.separators[i]), self.tree.parents[i]
        rows = self.cells(shared)
        own = self._cliques[i], rows, self.cells(self._orders[i]) // rows, separators[i]
        if parent < 0:
            return *own, 0, 0, 0
        above = self._orders[parent]
        return *own, self._cliques[parent], self.cells(above), maps.add(above, shared)


class Maps:
    """Maps from the cells of holders to those of the held, one after another."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._made: list[NDArray[np.int32]] = []
        self._length = 0

    def of(self, holder: Scope, inner: Scope) -> NDArray[np.int32]:
        """For every cell of the holder the cell of the held table."""
        strides, step = {}, 1
        for column in reversed(inner.columns):
            strides[column] = step
            step *= -(-self._shape[column] // inner.block(column))
        cells = np.zeros((), np.int32)
        for column in holder.columns:
            own = holder.block(column)
            line = np.arange(-(-self._shape[column] // own), dtype=np.int32)
            wide = inner.block(column) // own if column in strides else 1
            cells = cells[..., None] + (line // wide) * np.int32(strides.get(column, 0))
        return cells.reshape(-1)

    def add(self, holder: Scope, inner: Scope) -> int:
        """The place of a new map."""
        cells = self.of(holder, inner)
        self._made.append(cells)
        self._length += cells.size
        return self._length - cells.size

    def joined(self) -> NDArray[np.int32]:
        """All of them."""
        return np.concatenate([np.zeros(0, np.int32), *self._made])


class Overlaps:
    """What tables have in common: see ``lightest``."""

    def __init__(self, layout: TreeLayout, variances: Floats) -> None:
        from winnow.fit.kernels.tree_passes import lightest

        self._lightest = lightest
        holding: dict[Columns, list[Scope]] = {}
        for scope in layout.scopes:
            if not scope.blocks:
                columns = tuple(sorted(scope.columns))
                for ways in range(len(columns) + 1):
                    for inner in itertools.combinations(columns, ways):
                        holding.setdefault(inner, []).append(scope)
        groups: list[tuple[int, ...]] = []
        lines: list[tuple[int, ...]] = []
        shares: list[float] = []
        maps, most = Maps(layout.shape), 1
        for inner in sorted(holding, key=lambda c: (-len(c), c)):
            scopes = holding[inner]
            if len(scopes) < 2:
                continue
            rows, first = layout.cells(Scope(inner)), len(lines)
            precisions = [
                rows / (layout.cells(s) * variances[layout.places[s].start]) for s in scopes
            ]
            for scope, precision in zip(scopes, precisions, strict=True):
                own = layout.places[scope]
                lines.append((own.start, own.stop - own.start, maps.add(scope, Scope(inner))))
                shares.append(precision / sum(precisions))
            groups.append((rows, first, len(lines)))
            most = max(most, rows)
        self._records = (
            np.array(groups, np.int64).reshape(-1, 3),
            np.array(lines, np.int64).reshape(-1, 3),
            np.array(shares, np.float64),
            maps.joined(),
            *np.empty((2, most)),
        )

    def lightest(self, x: Floats) -> Floats:
        """Of all x on the tables that are one function, the one with the least sum of s^2 x^2."""
        lightest_x = np.array(x)
        self._lightest(lightest_x, *self._records)
        return lightest_x


def _starts(sizes: Iterable[int]) -> list[int]:
    return list(accumulate(sizes, initial=0))
