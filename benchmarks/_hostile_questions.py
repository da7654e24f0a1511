"""Questions of somebody who knows the data and wants a session to answer badly.

Each is a set of cells. First small ones: of the cells that have more rows than the hypothesis says,
at random, so many that it is off by little more than the threshold. Each costs an update, and
teaches little. When the session stops learning from them (its threshold has risen, or no update is
left), large ones: nine tenths of all such cells, again and again others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import winnow as wn
from winnow import SealedTable
from winnow.ask.questions import Question
from winnow.ask.session import WeightsSession
from winnow.read.crossing import unsafe_true_answers

SMALL, LARGE, PATIENCE = 250, 100, 5
OVER = 1.15


def scattered(seed: int, columns: int = 17, held: int = 2**14, n: int = 500_000) -> SealedTable:
    """Rows in a random eighth of the cells: pairs of columns tell nothing of it."""
    random = np.random.default_rng(seed)
    cells = random.choice(2**columns, held, replace=False)
    rows = cells[random.integers(0, held, n)]
    frame = pd.DataFrame({f"c{i}": (rows >> i) & 1 for i in range(columns)})
    return wn.read_table(frame, schema=dict.fromkeys(frame, 2))


def histogram(table: SealedTable) -> np.ndarray:
    """The part of the rows in each cell."""
    every = wn.marginals(len(table.schema.names)).over(table.schema)
    return np.asarray(unsafe_true_answers(table, every))


def hostile(
    table: SealedTable, held: np.ndarray, epsilon: float, k: int, seed: int, **options: Any
) -> dict[str, Any]:
    """One session and its errors."""
    session = wn.ask(table, epsilon=epsilon, delta=1e-6, max_queries=k, seed=1, **options)
    random = np.random.default_rng(seed)
    off: list[float] = []

    def ask(gap: float | None = None) -> str:
        """So many of the cells that the hypothesis is off by this; None: nine tenths of them."""
        said = np.full(len(held), 1 / len(held))
        if isinstance(session, WeightsSession):
            said = session._state.weights()
        more = held - said
        cells = random.permutation(np.flatnonzero(more > 0))
        few = len(cells) * 9 // 10 if gap is None else np.searchsorted(np.cumsum(more[cells]), gap)
        inside = cells[: 1 + few]
        units = np.zeros(len(held), np.int64)
        units[inside] = 1
        answer = session.ask(Question(table.schema, None, units))
        off.append(abs(answer.value - float(held[inside].sum())))
        return answer.kind

    quiet = 0
    while isinstance(session, WeightsSession) and session.learns and quiet < PATIENCE:
        threshold = session.sizes.threshold_at(session._rounds.left, session._entropy)
        quiet = 0 if ask(OVER * threshold) == "fresh" else quiet + 1
        if len(off) >= SMALL:
            break
    for _ in range(LARGE):
        ask()
    return {
        "method": session.method,
        "max": max(off),
        "mean": float(np.mean(off[-LARGE:])),
        "bound": session.sizes.bound,
        "updates": getattr(session, "updates", None),
        "cap": session.sizes.rounds.updates if isinstance(session, WeightsSession) else None,
        "falls back": isinstance(session, WeightsSession) and not session.learns,
    }
