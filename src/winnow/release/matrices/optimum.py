"""The optimal Gaussian factorisation of any queries over few cells, by a fixed point.

Minimised is the sum of the variances of all answers, tr(W X^-1 W'), over X = A'A with no diagonal
entry above 1 (the squared norm of a column of A). For weights d on the cells the best X of trace
sum d X is D^-1/2 (D^1/2 W'W D^1/2)^1/2 D^-1/2, and its diagonal gives the next d. [Optimal
factorisation: Edmonds-Nikolov-Ullman 2020; Denisov-McMahan-Rush-Smith-Thakurta 2022]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow.core.process import one_thread
from winnow.core.workloads.workload import Workload
from winnow.release.matrices.strategies import BITS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ROUNDS = 12
_RIDGE = 1e-7
"""Of the mean diagonal, so that every direction is measured, if poorly."""


def query_matrix(workload: Workload) -> Floats:
    """The value of every query on every cell."""
    cells = workload.schema.cells
    if workload.size <= cells:
        return np.array([workload.row(query) for query in range(workload.size)], np.float64)
    one, matrix = np.zeros(cells), np.empty((workload.size, cells))
    for cell in range(cells):
        one[cell] = 1.0
        matrix[:, cell] = workload.answers(one)
        one[cell] = 0.0
    return matrix


@one_thread()
def optimal_matrix(queries: Floats, *, centred: bool) -> Integers:
    """A strategy for these queries in whole numbers; ``centred``: the total is known anyway."""
    gram = queries.T @ queries
    if centred:
        gram = gram - gram.mean(0, keepdims=True) - gram.mean(1, keepdims=True) + gram.mean()
    cells = len(gram)
    d = np.full(cells, 1.0 / cells)
    for _ in range(_ROUNDS):
        values, vectors, _ = _root(gram, d)
        d = (vectors * vectors) @ values
        d = np.maximum(d, 1e-9 * d.max(initial=1e-300))
        d /= d.sum()
    values, vectors, root = _root(gram, d)
    square = (vectors * values) @ vectors.T / root[:, None] / root[None]
    square += _RIDGE * (np.trace(square) / cells + 1e-300) * np.eye(cells)
    values, vectors = np.linalg.eigh(square)
    matrix = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(np.rint(matrix / np.abs(matrix).max() * (1 << BITS)), np.int64)


def _root(gram: Floats, d: Floats) -> tuple[Floats, Floats, Floats]:
    root = np.sqrt(d)
    values, vectors = np.linalg.eigh(gram * root[:, None] * root[None])
    return np.sqrt(np.maximum(values, 0.0)), vectors, root
