"""Multiplicative weights as the papers print it: dense, in plain NumPy, no laziness."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mixture_rows(
    seed: int, shape: Sequence[int], n: int, parts: int = 6
) -> list[NDArray[np.int32]]:
    """Codes of n rows from a mixture of product distributions: columns are correlated."""
    rng = np.random.default_rng(seed)
    which = rng.choice(parts, n, p=rng.dirichlet(np.ones(parts)))
    columns = []
    for codes in shape:
        laws = rng.dirichlet(np.full(codes, 0.5), size=parts)
        drawn = (laws[which].cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        columns.append(np.minimum(drawn, codes - 1).astype(np.int32))
    return columns


def slow_mwem(
    rows: Floats,
    measured: Sequence[tuple[int, float]],
    *,
    update: str,
    step: float,
    replay: int = 0,
    result: str = "last",
    noise: float = 0.0,
) -> Floats:
    """The weights after these measurements (query, fraction), one per round.

    ``rows`` holds every query's value on every cell.
    """
    cells = rows.shape[1]
    p = np.full(cells, 1 / cells)
    hypotheses = []
    told: dict[int, list[float]] = {}

    def move(query: int) -> None:
        nonlocal p
        values = told[query]
        gap = np.clip(sum(values) / len(values), 0, 1) - rows[query] @ p
        if update == "gap" and abs(gap) <= noise / math.sqrt(len(values)):
            return
        p = p * np.exp(step * gap * rows[query])
        p = p / p.sum()

    for query, value in measured:
        hypotheses.append(p)
        if update == "sign":
            p = p * np.exp(step * np.sign(value - rows[query] @ p) * rows[query])
            p = p / p.sum()
            continue
        told.setdefault(query, []).append(value)
        told[query] = told.pop(query)  # the newest goes last
        move(query)
        for _ in range(replay):
            for earlier in list(told):
                move(earlier)
    return np.mean(hypotheses, axis=0) if result == "average" else p
