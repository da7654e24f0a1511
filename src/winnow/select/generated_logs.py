"""Logs that nobody wrote: people, how many labels they have, and how popular labels are.

Which way finds most labels depends on the log, and a choice may not look at it. So ways are
compared on these: none was fitted to anybody's data, and what they hold is known by formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from winnow.core.spread import GRID, weight

Floats = NDArray[np.float64]

_PEOPLE = (1_000, 10_000, 100_000, 1_000_000)
"""In a log."""
_ACTIVITY = ((2.0, 0.8), (8.0, 1.0), (40.0, 1.2))
"""The median number of events of a person, and by how much its logarithm varies."""
_POWERS = (0.6, 0.8, 1.0, 1.2)
"""A label's popularity falls with its rank to this power."""
_AUDIENCES = (0.0, 0.5)
"""By so much, for each deviation of activity, is the odds of every second label larger among the
active and of the others smaller: weights then order labels otherwise than people do."""
_LABELS = 100_000
"""In all."""
_GROUPS = 15
"""Of people who have about as many events each."""


@dataclass(frozen=True)
class Log:
    """One of them; what it holds is expected, the most common labels first."""

    people: int
    sizes: Floats
    """How many labels are in each block of like ones."""
    has: Floats
    """The chance that somebody of a group (row) has a label of a block (column)."""

    @property
    def owned(self) -> Floats:
        """How many labels each group has."""
        return np.asarray(self.has @ self.sizes, np.float64)

    def counts(self, most: int | None) -> Floats:
        """The people of a label, each counted for so many labels at most."""
        kept = np.ones(len(self.has)) if most is None else np.minimum(1.0, most / self.owned)
        return np.asarray(self.people * (kept @ self.has) / len(self.has), np.float64)

    def weights(self, most: int, left: Floats | None = None) -> Floats:
        """The weight of a label, where everybody's is spread over theirs: of ``left`` of them."""
        has = self.has if left is None else self.has * left
        kept = np.minimum(1.0, most / np.maximum(self.owned, 1.0))
        owned = np.maximum(kept * (has @ self.sizes), 1.0)
        each = np.array([weight(round(min(most, d))) / GRID for d in owned.tolist()])
        return np.asarray(self.people * ((kept * each) @ has) / len(has), np.float64)


@lru_cache(maxsize=1)
def generated_logs() -> tuple[Log, ...]:
    """All of them."""
    edges = np.unique(np.concatenate([np.arange(1, 65), np.geomspace(64, _LABELS, 80).round()]))
    sizes = np.diff(np.append(edges, _LABELS + 1))
    middle = edges + (sizes - 1) / 2
    normal = ndtri((np.arange(_GROUPS) + 0.5) / _GROUPS)
    logs = []
    for people in _PEOPLE:
        for median, spread in _ACTIVITY:
            events = np.maximum(1.0, median * np.exp(spread * normal))
            for power, audience in product(_POWERS, _AUDIENCES):
                side = np.where(np.arange(len(sizes)) % 2, 1.0, -1.0)
                popular = middle**-power * np.exp(audience * np.outer(normal, side))
                share = popular / (popular @ sizes)[:, None]
                has = -np.expm1(-events[:, None] * share)
                order = np.argsort(-has.sum(axis=0), kind="stable")
                logs.append(Log(people, sizes[order], has[:, order]))
    return tuple(logs)
