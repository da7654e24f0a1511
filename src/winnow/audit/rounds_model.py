"""Exact output probabilities of two rounds of selection and measurement on four cells.

From the definitions, with no kernel and no tape: a softmax over signed queries, then a noisy
count, then a hypothesis that follows it, then both again. Noisy counts run over a window of
integers; the mass outside it is known, and counted against the mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from winnow.domain.neighbours import Relation
from winnow.domain.schema import Schema
from winnow.domain.workloads import MarginalPart, Workload
from winnow.mechanisms.rounds import SelectAndMeasure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEP = 0.5
"""The update between the rounds is that of Hardt-Ligett-McSherry 2012."""

CELLS = 4


def workload() -> Workload:
    """All marginals of two columns with two codes each: eight queries over four cells."""
    schema = Schema.parse({"a": 2, "b": 2})
    return Workload(schema, tuple(MarginalPart(schema, c) for c in ((0,), (1,), (0, 1))))


def queries() -> Floats:
    """The same, written out over the cells."""
    each = workload()
    return np.array([each.row(i) for i in range(each.size)])


@dataclass(frozen=True)
class RoundsModel:
    """Two rounds, by the two numbers that privacy rests on."""

    exponent: float
    """What a score is multiplied with: epsilon/(2 Delta)."""
    noise: float
    """Sigma, or the Laplace scale."""
    gaussian: bool
    total: int
    """The public number of rows."""

    @classmethod
    def of(cls, mechanism: SelectAndMeasure, total: int, rows_per_person: int = 1) -> RoundsModel:
        """The model of a mechanism's public parameters, for binary queries."""
        return cls(
            float(mechanism.epsilon) / (2 * rows_per_person),
            float(mechanism.noise_scale(rows_per_person)),
            mechanism.measurement == "gaussian",
            total,
        )

    def window(self) -> Integers:
        """The noisy counts that are enumerated."""
        reach = int(np.ceil(7.5 * self.noise if self.gaussian else 16 * self.noise)) + 2
        return np.arange(-reach, self.total + 2 + reach)

    def log_probabilities(self, table: Integers, window: Integers) -> Floats:
        """Of (first query and sign, its count, second query and sign, its count)."""
        rows = queries()
        truth = rows @ table
        start = np.full(CELLS, 1.0 / CELLS)
        first = self._selection(truth, rows, start)
        counted = self._measurement(truth, window)
        gap = window / self.total - (rows @ start)[:, None]
        moved = start * np.exp(STEP * gap[:, :, None] * rows[:, None, :])
        moved /= moved.sum(axis=2, keepdims=True)
        second = self._selection(truth, rows, moved)
        signs = np.arange(2 * len(rows)) % len(rows)
        one = first[:, None] + counted[signs]
        two = second[signs][:, :, :, None] + counted[signs][None, None]
        return np.asarray(one[:, :, None, None] + two)

    def _selection(self, truth: Floats, rows: Floats, hypothesis: Floats) -> Floats:
        score = truth - self.total * (hypothesis @ rows.T)
        logits = self.exponent * np.concatenate([score, -score], axis=-1)
        logits -= logits.max(axis=-1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)))

    def _measurement(self, truth: Floats, window: Integers) -> Floats:
        offset = window[None, :] - truth[:, None]
        everything = np.arange(-4000, 4001)
        if self.gaussian:
            mass = np.exp(-(everything**2) / (2 * self.noise**2)).sum()
            return np.asarray(-(offset**2) / (2 * self.noise**2) - np.log(mass))
        mass = np.exp(-np.abs(everything) / self.noise).sum()
        return np.asarray(-np.abs(offset) / self.noise - np.log(mass))


def pairs(relation: Relation, total: int, rows_per_person: int = 1) -> list[tuple[Integers, ...]]:
    """Neighbouring tables over the four cells, up to exchange of the two."""
    found = {}
    tables = [_histogram(rows) for rows in combinations_with_replacement(range(CELLS), total)]
    person = list(combinations_with_replacement(range(CELLS), rows_per_person))
    for table in tables:
        for mine in person:
            left = table - _histogram(mine)
            if left.min() < 0:
                continue
            others = [left + _histogram(other) for other in person]
            for other in others if relation is Relation.SUBSTITUTION else [left]:
                key = tuple(sorted([tuple(table.tolist()), tuple(other.tolist())]))
                if key[0] != key[1]:
                    found[key] = (np.array(key[0]), np.array(key[1]))
    return [found[key] for key in sorted(found)]


def _histogram(cells: tuple[int, ...]) -> Integers:
    return np.bincount(np.array(cells, np.int64), minlength=CELLS)
