"""The matrices of ordered columns, chosen together for all tables from public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.core.process import one_thread
from winnow.release.tables.column_matrix import (
    MOST_BITS,
    MOST_CODES,
    ROUGH,
    column_matrix,
    query_gram,
)
from winnow.release.tables.parts import TablePart
from winnow.release.tables.strategy import Geometry

Floats = NDArray[np.float64]

_WEIGHTS = (None, 0.0, 0.2, 2.0, 20.0)
"""How much the sum of a column may count beside its mean query. With all tables of 2 and 3 of the
columns of ADULT, or of a lender's table, prefixes in five and four of them, 2 was within .2 % of
the best of a finer grid; a single table wants 0."""

_FEWEST_BITS, _ROOM = 6, 27
"""Bits of a matrix entry, at least, and of a product of two: with 2^34 rows sums stay below
2^62."""


def best_matrices(
    plain: Geometry,
    ranged: Mapping[int, Sequence[TablePart]],
    cost: Callable[[Geometry], float],
    weights: Floats,
) -> Geometry | None:
    """Matrices for all columns with ranges; None: they are too long, or numbers too large."""
    bits = min(_bits(plain, part, set(ranged)) for part in plain.parts)
    sizes = [plain.trees[column].size for column in ranged]
    if bits < _FEWEST_BITS or max(sizes) > MOST_CODES or min(sizes) < 2:
        return None
    grams = {column: _gram(plain, column, weights) for column in ranged}

    def made(weight: float | None, **rounds: int) -> Geometry:
        own = {c: column_matrix(gram, weight, bits, **rounds) for c, gram in grams.items()}
        return Geometry(plain.parts, {**plain.trees, **own})

    with one_thread():
        return made(min(_WEIGHTS, key=lambda weight: cost(made(weight, rounds=ROUGH))))


def _bits(plain: Geometry, part: TablePart, ranged: set[int]) -> int:
    """The bits of an entry of a matrix that leave room for those of all columns of a part."""
    inside = [column for column in part.columns if column in ranged]
    others = math.prod(plain.trees[c].size for c in part.columns if c not in ranged)
    return min(MOST_BITS, int(_ROOM - math.log2(others)) // max(1, len(inside)))


def _gram(plain: Geometry, column: int, weights: Floats) -> Floats:
    """What all parts ask of a column: the sum of the products of their queries."""
    size = plain.trees[column].size
    gram = np.zeros((size, size))
    for part, weight in zip(plain.parts, weights.tolist(), strict=True):
        if column in part.columns:
            axis = part.answered.axes[part.columns.index(column)]
            others = part.size / len(axis.starts)
            gram += weight * others * query_gram(size, axis.starts, axis.stops)
    return np.asarray(gram / gram.max())
