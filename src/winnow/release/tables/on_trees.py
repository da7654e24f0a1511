"""Estimates of columns with matrices as estimates of blocks: what a fit understands.

A fit takes tables with independent noise. The noise of a column with a matrix of its own is not
independent between codes, but nearly so between the levels of a tree: small for large blocks,
larger for single codes. So each subspace of the tree gets its details from the estimates, as they
are, and the precision that they have in the mean, from the public strategy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from winnow.release.tables.column_matrix import ColumnMatrix
from winnow.release.tables.estimates import Layer
from winnow.release.tables.measured import Space
from winnow.release.tables.parts import TablePart
from winnow.release.tables.strategy import Geometry, block_trees
from winnow.release.tables.trees import Tree

Floats = NDArray[np.float64]


def on_trees(layer: Layer) -> Layer:
    """The cells of all tables as details of blocks; the layer itself where it has no matrix."""
    bases = layer.geometry.trees
    if not any(isinstance(basis, ColumnMatrix) for basis in bases.values()):
        return layer
    trees = {c: _binary(b.size) if isinstance(b, ColumnMatrix) else b for c, b in bases.items()}
    sets = {tuple(sorted(part.columns)) for part in layer.geometry.parts}
    schema = layer.geometry.parts[0].schema
    whole = Geometry(tuple(TablePart(schema, columns) for columns in sorted(sets)), trees)
    details: dict[Space, Floats] = {}
    precision: dict[Space, float] = {}
    for part in whole.parts:
        cells = layer.cells(part)
        for space in whole.spaces_of(part.columns):
            if space not in details:
                details[space] = details_of(whole, cells, part.columns, space)
                precision[space] = 1.0 / max(_variance(layer, trees, space), 1e-300)
    if math.isinf(layer.precision[()]):
        precision[()] = math.inf
    return Layer(whole, details, precision)


def details_of(geometry: Geometry, table: Floats, columns: tuple[int, ...], space: Space) -> Floats:
    """The details of a subspace in a table of cells."""
    at, trees = dict(space), block_trees(geometry)
    summed = table.sum(axis=tuple(axis for axis, c in enumerate(columns) if c not in at))
    for axis, (column, level) in enumerate(space):
        tree = trees[column]
        summed = tree.details(tree.coarser(tree.filled(summed, axis), axis, 0, level), axis, level)
    return np.asarray(summed)


def _variance(layer: Layer, trees: dict[int, Tree], space: Space) -> float:
    """The mean variance of the details of a subspace of trees.

    Each subspace that was measured adds its own, a product over the columns.
    """
    terms: dict[Space, float] = {(): 1.0}
    for column, level in space:
        basis = layer.geometry.trees[column]
        if isinstance(basis, ColumnMatrix):
            told = basis.on_tree(trees[column])[level]
            sources: list[tuple[Space, float]] = [(((column, 0),), told[0]), ((), told[1])]
        else:
            sources = [(((column, level),), 1.0)]
        terms = {
            (*variance, *own): factor * share
            for variance, factor in terms.items()
            for own, share in sources
        }
    return sum(factor / layer.precision[source] for source, factor in terms.items())


def _binary(size: int) -> Tree:
    """Blocks of two, of four and so on."""
    levels = max(1, math.ceil(math.log2(size)))
    return Tree(size, (2,) * levels)
