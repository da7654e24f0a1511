"""Tables without negative cells, near the estimates and consistent: least squares under bounds.

Alternating directions (ADMM): one step keeps the tables consistent, the other cuts off what is
below zero; each has a closed form in the subspaces. The result is biased.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from winnow.release.tables.estimates import Layer
from winnow.release.tables.measured import Space
from winnow.release.tables.on_trees import details_of, on_trees
from winnow.release.tables.parts import TablePart

Floats = NDArray[np.float64]

_ROUNDS = 100


def nonnegative(layer: Layer, parts: tuple[TablePart, ...]) -> list[Floats]:
    """For each part the fitted answers: no negative cells, and nearly the same sums."""
    sets = dict.fromkeys(tuple(sorted(part.columns)) for part in parts)
    tables = [TablePart(parts[0].schema, columns) for columns in sets]
    cells = dict(zip(sets, _fit(on_trees(layer), tables), strict=True))
    return [_answers(part, cells[tuple(sorted(part.columns))]) for part in parts]


def _answers(part: TablePart, cells: Floats) -> Floats:
    columns = sorted(part.columns)
    turned = np.transpose(cells, [columns.index(c) for c in part.columns])
    return np.ascontiguousarray(part.answers(turned))


def _fit(layer: Layer, tables: list[TablePart]) -> list[Floats]:
    geometry, precision = layer.geometry, layer.precision
    trees = geometry.trees
    weights = [value for space, value in precision.items() if space]
    force = math.exp(sum(map(math.log, weights)) / len(weights)) if weights else 1.0
    rest = {
        (space, table.columns): math.prod(
            trees[c].padded for c in table.columns if c not in dict(space)
        )
        for table in tables
        for space in geometry.spaces_of(table.columns)
    }
    pull = dict.fromkeys(geometry.spaces, 0.0)
    for (space, _), width in rest.items():
        pull[space] += force / width
    now = [layer.cells(table) for table in tables]
    dual = [np.zeros_like(table) for table in now]
    for _ in range(_ROUNDS):
        kept = [np.maximum(t + u, 0.0) for t, u in zip(now, dual, strict=True)]
        push: dict[Space, Floats] = {s: np.zeros(np.shape(layer.details[s])) for s in pull}
        for table, scope, u in zip(tables, kept, dual, strict=True):
            for space in geometry.spaces_of(table.columns):
                shown = details_of(geometry, scope - u, table.columns, space)
                push[space] += force / rest[space, table.columns] * shown
        details = {
            space: found if math.isinf(precision[space]) else
            (precision[space] * found + push[space]) / (precision[space] + pull[space])
            for space, found in layer.details.items()
        }  # fmt: skip
        fitted = Layer(geometry, details, precision)
        now = [fitted.cells(table) for table in tables]
        dual = [u + t - k for u, t, k in zip(dual, now, kept, strict=True)]
    return [np.maximum(t + u, 0.0) for t, u in zip(now, dual, strict=True)]
