"""Exact output probabilities of rounds that select and measure whole marginal tables.

From the definitions, with no kernel and no tape: a softmax over tables by their l1 distance
from a public model, then a noisy count in every cell, then a public model that follows it,
then both again. Noisy counts run over a window of integers; the mass outside it is known, and
counted against the mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.workload import Workload
from winnow.release.rounds.crossing.tables import STEPS
from winnow.release.rounds.mechanism import MeasureMarginals

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class AuditedRounds:
    """Columns with two codes each, the tables that may be selected, and their public numbers."""

    columns: int
    sets: tuple[tuple[int, ...], ...]
    weights: tuple[int, ...]
    penalties: tuple[float, ...]
    total: int
    """The public number of rows."""

    @cached_property
    def workload(self) -> Workload:
        """The candidates."""
        schema = Schema.parse({f"c{i}": 2 for i in range(self.columns)})
        return Workload(schema, tuple(MarginalPart(schema, each) for each in self.sets))

    @property
    def cells(self) -> int:
        """The size of the domain."""
        return 1 << self.columns

    def tables(self, histogram: Integers) -> list[Integers]:
        """The counts of every candidate."""
        codes = [np.arange(self.cells) >> (self.columns - 1 - i) & 1 for i in range(self.columns)]
        return [part.counts(codes, histogram) for part in self.workload.parts]

    def start(self) -> list[Floats]:
        """The tables of the first model: uniform."""
        return [np.full(part.size, self.total / part.size) for part in self.workload.parts]

    def followed(self, noisy: Integers) -> Floats:
        """What the second model says of a measured table, for many noisy ones, a line each.

        That is what was measured, cut off at 0 and rescaled; other tables stay as they were.
        """
        positive = np.maximum(noisy, 0.0)
        sums = positive.sum(axis=1, keepdims=True)
        even = np.full(noisy.shape, self.total / noisy.shape[1])
        return np.where(sums > 0, self.total * positive / np.maximum(sums, 1.0), even)


ONE_ROUND = AuditedRounds(
    3, ((0,), (1,), (2,), (0, 1)), (1, 1, 2, 2), (0.0, 0.5, 0.25, 1.0), 2
)  # fmt: skip
TWO_ROUNDS = AuditedRounds(2, ((0,), (1,)), (1, 1), (0.0, 0.25), 3)


@dataclass(frozen=True)
class MarginalModel:
    """One or two rounds, by the two numbers that privacy rests on."""

    setting: AuditedRounds
    exponent: float
    """What a score in rows is multiplied with: epsilon/(2 Delta)."""
    noise: float
    """The variance of Gaussian noise, the scale of Laplace noise."""
    rounds: int
    gaussian: bool = True
    last: tuple[float, float] | None = None
    """Exponent and noise of the second round, where it belongs to another stage."""

    @classmethod
    def of(
        cls,
        mechanism: MeasureMarginals,
        setting: AuditedRounds,
        relation: Relation,
        rows_per_person: int = 1,
    ) -> MarginalModel:
        """The model of a mechanism's public parameters."""
        who, heaviest = (relation, rows_per_person), max(setting.weights)
        stages = [
            (
                float(mechanism.exponent(*who, heaviest, stage) * STEPS),
                float(mechanism.noise(mechanism.multiplier(stage), *who).size),
            )
            for stage in range(mechanism.stages)
        ]
        return cls(
            setting,
            *stages[0],
            mechanism.rounds,
            mechanism.measurement == "gaussian",
            stages[1] if len(stages) > 1 else None,
        )

    @cached_property
    def window(self) -> Integers:
        """The noisy counts of one cell that are enumerated."""
        reach = int(np.ceil(5 * np.sqrt(self.noise) if self.gaussian else 14 * self.noise))
        return np.arange(-reach, self.setting.total + 1 + reach)

    def log_probabilities(self, histogram: Integers) -> Floats:
        """Of every (table, noisy counts), of the second round too where there are two."""
        truth = self.setting.tables(histogram)
        first = self._selection(truth, self.setting.start())
        counted = [self._measurement(each, self.noise) for each in truth]
        one = [first[i] + counted[i] for i in range(len(truth))]
        if self.rounds == 1:
            return np.concatenate(one)
        outcomes, second, noise = [], self, self.noise
        if self.last is not None:
            second, noise = replace(self, exponent=self.last[0]), self.last[1]
        counted = [self._measurement(each, noise) for each in truth]
        for i, noisy in enumerate(self._outcomes):
            after = second._selection(truth, self.setting.start(), i, self.setting.followed(noisy))
            for j in range(len(truth)):
                both = one[i] + after[:, j]
                outcomes.append((both[:, None] + counted[j][None, :]).ravel())
        return np.concatenate(outcomes)

    @cached_property
    def _outcomes(self) -> list[Integers]:
        """All noisy tables of each candidate: a line each."""
        return [
            np.stack(np.meshgrid(*[self.window] * part.size, indexing="ij"), -1).reshape(
                -1, part.size
            )
            for part in self.setting.workload.parts
        ]

    def _selection(
        self,
        truth: list[Integers],
        model: list[Floats],
        changed: int = 0,
        lines: Floats | None = None,
    ) -> Floats:
        """Log-probabilities of the candidates; a line for each version of the changed table."""
        several = [np.rint(STEPS * table)[None, :] / STEPS for table in model]
        if lines is not None:
            several[changed] = np.rint(STEPS * lines) / STEPS
        distances = np.stack(
            np.broadcast_arrays(
                *[np.abs(t - m).sum(axis=1) for t, m in zip(truth, several, strict=True)]
            ),
            axis=1,
        )
        scores = np.array(self.setting.weights) * (distances - np.array(self.setting.penalties))
        logits = self.exponent * (scores - scores.max(axis=1, keepdims=True))
        chances = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return np.asarray(chances if lines is not None else chances[0])

    def _measurement(self, truth: Integers, noise: float) -> Floats:
        """The log-probability of each noisy table."""
        mass = np.log(np.exp(self._exponents(np.arange(-2000, 2001), noise)).sum())
        chances = np.zeros(())
        for value in truth:
            chances = np.add.outer(chances, self._exponents(self.window - value, noise) - mass)
        return chances.ravel()

    def _exponents(self, drawn: Integers, noise: float) -> Floats:
        if self.gaussian:
            return np.asarray(-(drawn**2) / (2 * noise))
        return np.asarray(-np.abs(drawn) / noise)


def neighbours(
    setting: AuditedRounds, relation: Relation, rows_per_person: int = 1
) -> list[tuple[Integers, Integers]]:
    """Pairs of neighbouring histograms over the setting's cells, up to exchange of the two."""
    pairs = {}
    person = list(combinations_with_replacement(range(setting.cells), rows_per_person))
    for rows in combinations_with_replacement(range(setting.cells), setting.total):
        table = _histogram(rows, setting.cells)
        for mine in person:
            left = table - _histogram(mine, setting.cells)
            if left.min() < 0:
                continue
            others = [left]
            if relation is Relation.SUBSTITUTION:
                others = [left + _histogram(other, setting.cells) for other in person]
            for other in others:
                key = tuple(sorted([tuple(table.tolist()), tuple(other.tolist())]))
                if key[0] != key[1]:
                    pairs[key] = (np.array(key[0]), np.array(key[1]))
    return [pairs[key] for key in sorted(pairs)]


def _histogram(cells: tuple[int, ...], size: int) -> Integers:
    return np.bincount(np.array(cells, np.int64), minlength=size)
