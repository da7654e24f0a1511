"""Which tables a junction tree may still take: the order of elimination, compiled.

The order is that of ``winnow.fit.junction_tree``: the column first whose clique is smallest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import bare, compiled_bare
from winnow.fit.junction_tree import Columns


def within(
    shape: Sequence[int], scopes: Sequence[Columns], more: Sequence[Columns], most: int
) -> NDArray[np.bool_]:
    """For each further set: whether the tree of it and the held ones has at most so many cells."""
    columns = len(shape)
    near = np.eye(columns, dtype=np.bool_)
    for joined in scopes:
        near[np.ix_(joined, joined)] = True
    sets = np.full((len(more), max(map(len, more), default=1)), -1, np.int64)
    for line, joined in zip(sets, more, strict=True):
        line[: len(joined)] = joined
    fits = np.zeros(len(more), np.bool_)
    sizes = np.array(shape, np.float64)
    work, costs = np.empty_like(near), np.empty(columns)
    order, joint = np.empty(columns, np.int64), np.empty(columns, np.int64)
    each_within(sizes, near, sets, float(most), work, costs, order, joint, fits)
    return fits


@bare
def _cost(sizes, line):  # type: ignore[no-untyped-def]
    """The cells of a clique: a float, and exact wherever it is small enough to count."""
    cells = 1.0
    for c in range(len(sizes)):
        if line[c]:
            cells *= sizes[c]
    return cells


@bare
def _eliminate(sizes, near, most, costs, order, joint):  # type: ignore[no-untyped-def]
    """Whether the maximal cliques have at most so many cells in all; ``near`` is used up.

    A column's clique without it is inside the clique of the next of its columns to go, p. So that
    of p is not maximal just where some clique that leads to p has one column more.
    """
    columns = len(sizes)
    for c in range(columns):
        costs[c] = _cost(sizes, near[c])
        order[c] = -1
    for step in range(columns):
        column = -1
        for c in range(columns):
            if order[c] < 0 and (column < 0 or costs[c] < costs[column]):
                column = c
        if costs[column] > most:
            return False
        order[column] = step
        joint[column] = 0
        for c in range(columns):
            joint[column] += near[column, c]
        for other in range(columns):
            if near[column, other] and other != column:
                for c in range(columns):
                    near[other, c] |= near[column, c]
                near[other, column] = False
                costs[other] = _cost(sizes, near[other])
    total = 0.0
    for column in range(columns):
        total += costs[column]
    for column in range(columns):  # take off what is not maximal, once
        following = -1
        for c in range(columns):
            if near[column, c] and c != column and (following < 0 or order[c] < order[following]):
                following = c
        if following >= 0 and joint[following] == joint[column] - 1:
            total -= costs[following]
            costs[following] = 0.0
    return total <= most


def _each(sizes, near, sets, most, work, costs, order, joint, fits):  # type: ignore[no-untyped-def]
    columns = len(sizes)
    for line in range(len(sets)):
        for a in range(columns):
            for b in range(columns):
                work[a, b] = near[a, b]
        for i in range(sets.shape[1]):
            for j in range(sets.shape[1]):
                if sets[line, i] >= 0 and sets[line, j] >= 0:
                    work[sets[line, i], sets[line, j]] = True
        fits[line] = _eliminate(sizes, work, most, costs, order, joint)


each_within = compiled_bare(_each)
