"""Released estimates as tables with independent noise: what a model is fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from winnow.core.schema import Schema
from winnow.fit.junction_tree import Columns
from winnow.fit.tables import NoisyTable, Start, TreeFit, fit, start_of
from winnow.release.tables.estimates import Layer
from winnow.release.tables.measured import Space
from winnow.release.tables.on_trees import on_trees
from winnow.release.tables.parts import TablePart
from winnow.release.tables.strategy import Geometry, block_trees, seen_by

_LEAST = 1e-6
"""Tables with less than this part of the precision of a subspace are left out."""


def white_tables(
    layer: Layer, schema: Schema, scopes: Sequence[Columns] | None = None
) -> list[NoisyTable]:
    """Tables with independent noise that tell the same as estimates of subspaces.

    Of all columns, or of those inside the ``held`` sets.

    A table of blocks with white noise tells of each subspace below it (``seen_by``). From the
    largest tables down, each gets the precision that those above it leave open. Then the sum of
    w |y_c - A_c p|^2, with y the estimates, which agree with each other, is the sum over the
    subspaces of precision times squared distance. Where the larger tables already tell more of a
    subspace than was measured of it, nothing is added, and the fit trusts it more than it might:
    the guarantee does not rest on that.
    """
    layer = on_trees(layer)
    trees, tables = block_trees(layer.geometry), []
    left: dict[Space, float] = {
        s: p for s, p in layer.precision.items() if s and 0.0 < p < math.inf
    }
    if scopes is not None:
        inside = {
            chosen for c in scopes for k in range(len(c)) for chosen in combinations(c, k + 1)
        }
        left = {s: p for s, p in left.items() if tuple(column for column, _ in s) in inside}
    for space in sorted(left, key=lambda s: (-len(s), [level for _, level in s], s)):
        blocks = tuple(trees[column].blocks[level] for column, level in space)
        precision = left[space] / math.prod(blocks)
        if left[space] <= _LEAST * layer.precision[space]:
            continue
        for below, told in seen_by(layer.geometry, space, precision).items():
            if below in left:
                left[below] -= told
        columns = tuple(column for column, _ in space)
        counts = layer.cells(TablePart(schema, columns))
        for axis, block in enumerate(blocks):
            counts = np.add.reduceat(counts, np.arange(0, counts.shape[axis], block), axis)
        tables.append(NoisyTable(columns, counts, precision**-0.5, blocks))
    return sorted(tables, key=lambda table: (len(table.columns), table.columns, table.blocks))


def estimated(columns: Columns, layer: Layer, schema: Schema) -> NoisyTable:
    """The table of some columns as released tables tell it, with the noise of a usual cell."""
    part = TablePart(schema, tuple(columns))
    variance = Geometry((part,), layer.geometry.trees).variance(0, layer.precision)
    return NoisyTable(part.columns, layer.cells(part), math.sqrt(float(variance.mean())))


def fit_layer(
    layer: Layer, schema: Schema, columns: Columns, total: int
) -> tuple[TreeFit, list[NoisyTable]]:
    """The model of all estimates of some columns, which it numbers anew, and its tables."""
    every = [tuple(sorted(part.columns)) for part in layer.geometry.parts]
    tables = white_tables(layer, schema, [c for c in every if set(c) <= set(columns)])
    place = {column: i for i, column in enumerate(columns)}

    def renamed(table: NoisyTable) -> NoisyTable:
        names = tuple(place[c] for c in table.columns)
        return NoisyTable(names, table.counts, table.sigma, table.blocks)

    start: Start = {}
    if len(columns) > 1:  # one column alone is pulled towards even codes
        start = start_of([renamed(estimated((c,), layer, schema)) for c in columns], total)
    shape = [schema.shape[c] for c in columns]
    return fit(shape, [renamed(table) for table in tables], total, start=start), tables
