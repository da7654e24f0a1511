"""Graphical models from log potentials by message passing in NumPy, axis by axis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.fit.junction_tree import Columns, JunctionTree
from winnow.fit.kernels.tree_tables import TreeTables

Floats = NDArray[np.float64]


def tree_tables(
    tree: JunctionTree, potentials: Iterable[tuple[Columns, NDArray[Any]]]
) -> TreeTables:
    """The model that is the normalised product of exp(potential), by message passing."""
    logs = [np.zeros(tree.sizes(clique)) for clique in tree.cliques]
    for columns, values in potentials:
        holding = [i for i, clique in enumerate(tree.cliques) if set(columns) <= set(clique)]
        place = min(holding, key=lambda i: logs[i].size)
        logs[place] += _aligned(np.asarray(values, np.float64), columns, tree.cliques[place])
    upward: list[Floats] = [np.zeros(())] * len(logs)
    for place in reversed(range(1, len(logs))):
        shared, parent = tree.separators[place], tree.parents[place]
        upward[place] = _log_sum(logs[place], tree.cliques[place], shared)
        logs[parent] += _aligned(upward[place], shared, tree.cliques[parent])
    for place in range(1, len(logs)):
        shared, parent = tree.separators[place], tree.parents[place]
        downward = _log_sum(logs[parent], tree.cliques[parent], shared) - upward[place]
        logs[place] += _aligned(downward, shared, tree.cliques[place])
    beliefs = []
    for log in logs:
        table = np.exp(log - log.max())
        beliefs.append(table / table.sum())
    return TreeTables(tree, tuple(beliefs))


def _aligned(table: Floats, columns: Columns, clique: Columns) -> Floats:
    """The table with an axis for each column of the clique, of length 1 where it has none."""
    order = sorted(range(len(columns)), key=lambda i: clique.index(columns[i]))
    turned = np.transpose(table, order)
    sizes = iter(turned.shape)
    return turned.reshape([next(sizes) if column in columns else 1 for column in clique])


def _log_sum(log: Floats, clique: Columns, kept: Columns) -> Floats:
    """log of the sum of exp over the columns that are not kept."""
    gone = tuple(axis for axis, column in enumerate(clique) if column not in kept)
    top = log.max(axis=gone, keepdims=True)
    sums = np.log(np.exp(log - top).sum(axis=gone, keepdims=True)) + top
    return np.asarray(np.squeeze(sums, axis=gone))
