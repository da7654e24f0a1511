"""Junction trees: which columns a graphical model has to hold together.

A model that fits several marginal tables is a product of tables. Eliminating one column after
another joins the tables that share it; the largest joint sets that occur are the cliques, and
they form a tree in which the cliques that hold a column hang together. Everything about the
model, its marginals and its rows, comes from one table for each clique.

Only sets of columns and their sizes are looked at here: all of it is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

Columns = tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques, each after its parent; columns of a clique in rising order."""

    shape: tuple[int, ...]
    """The number of codes of every column of the schema."""
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    """The place of each clique's parent; -1 for the first."""

    @cached_property
    def separators(self) -> tuple[Columns, ...]:
        """The columns that each clique shares with its parent; none for the first."""
        return tuple(
            tuple(c for c in clique if parent >= 0 and c in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def tops(self) -> dict[int, int]:
        """For each column the clique nearest to the root that holds it."""
        highest: dict[int, int] = {}
        for place, clique in enumerate(self.cliques):
            for column in clique:
                highest.setdefault(column, place)
        return highest

    @property
    def cells(self) -> int:
        """The cells of all cliques together."""
        return sum(self.size(clique) for clique in self.cliques)

    def size(self, columns: Columns) -> int:
        """The cells of a table of some columns."""
        return math.prod(self.shape[c] for c in columns)

    def sizes(self, columns: Columns) -> tuple[int, ...]:
        """The shape of a table of some columns."""
        return tuple(self.shape[c] for c in columns)


def junction_tree(shape: Sequence[int], sets: Iterable[Columns]) -> JunctionTree:
    """A tree over all columns whose cliques hold every one of the sets.

    Columns are eliminated in the order that makes the next table smallest. The cliques are
    joined so that neighbours share as many columns as possible, which makes the cliques of
    each column hang together.
    """
    sizes = tuple(int(size) for size in shape)
    cliques = sorted(_maximal(_elimination(sizes, sets)))
    order, parents = [0], [-1]
    shared = {i: (len(set(cliques[0]) & set(cliques[i])), 0) for i in range(1, len(cliques))}
    while shared:
        nearest = max(shared, key=lambda i: (shared[i][0], -i))
        _, parent = shared.pop(nearest)
        order.append(nearest)
        parents.append(parent)
        for i, (common, _) in shared.items():
            here = len(set(cliques[nearest]) & set(cliques[i]))
            if here > common:
                shared[i] = (here, len(order) - 1)
    return JunctionTree(sizes, tuple(cliques[i] for i in order), tuple(parents))


def tree_cells(shape: Sequence[int], sets: Iterable[Columns]) -> int:
    """The cells of all cliques of the junction tree of these sets."""
    cliques = _maximal(_elimination(tuple(shape), sets))
    return sum(math.prod(shape[c] for c in clique) for clique in cliques)


def _elimination(shape: tuple[int, ...], sets: Iterable[Columns]) -> list[frozenset[int]]:
    """For each column, in the order of elimination, itself and those still joined to it."""
    near: dict[int, set[int]] = {column: {column} for column in range(len(shape))}
    for joined in sets:
        for column in joined:
            near[column].update(joined)
    cliques = []
    costs = {column: math.prod(shape[c] for c in around) for column, around in near.items()}
    while near:
        column = min(costs, key=lambda c: (costs[c], c))
        around = near.pop(column)
        del costs[column]
        cliques.append(frozenset(around))
        for other in around - {column}:
            near[other] |= around
            near[other].discard(column)
            costs[other] = math.prod(shape[c] for c in near[other])
    return cliques


def _maximal(sets: list[frozenset[int]]) -> list[Columns]:
    kept: list[frozenset[int]] = []
    for one in sorted(sets, key=len, reverse=True):
        if not any(one <= other for other in kept):
            kept.append(one)
    return [tuple(sorted(one)) for one in kept]
