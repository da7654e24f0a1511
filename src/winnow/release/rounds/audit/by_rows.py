"""Audits of rounds that follow a noisy number of rows: enumeration, and a broken twin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_measured, of_neighbours
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.release.rounds.audit.rounds import CELLS, RoundsModel, pairs, queries
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import RowsChoice

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOTAL, LEAST = 3, 3

GAUSSIAN = SelectAndMeasure(
    2.0, 0.8, 1, "gaussian", 1.5,
    by_rows=(RowsChoice(1, 1.0, 2.5, (1,)), RowsChoice(LEAST, 2.0, 0.8, (1,))),
)  # fmt: skip
LAPLACE = SelectAndMeasure(
    1.0, 1.0, 1, "laplace", 1.0,
    by_rows=(RowsChoice(1, 0.5, 2.0, (1,)), RowsChoice(LEAST, 1.0, 1.0, (1,))),
)  # fmt: skip


@dataclass(frozen=True)
class RowsModel:
    """A noisy number of rows, then one round with the parameters that belong to it."""

    mechanism: SelectAndMeasure
    by_truth: bool = False
    """BROKEN: the true number of rows says which round is run."""

    def log_probabilities(self, table: Integers) -> Floats:
        """Of (noisy number of rows, query and sign, its count)."""
        gaussian, rows = self.mechanism.measurement == "gaussian", queries()
        scale = float(self.mechanism.total_scale(1))
        outer = RoundsModel(1.0, scale, gaussian, TOTAL)
        totals, window = outer.window(), RoundsModel(1.0, 2.5, gaussian, TOTAL).window()
        people = int(table.sum())
        counted_rows = outer._measurement(np.array([float(people)]), totals)[0]
        truth, start = rows @ table, np.full(CELLS, 1.0 / CELLS)
        outcomes = []
        for chance, seen in zip(counted_rows, totals, strict=True):
            taken = self.mechanism.taken(people if self.by_truth else int(seen))
            model = RoundsModel.of(taken, max(1, int(seen)))
            selected = model._selection(truth, rows, start)
            counted = model._measurement(truth, window)[np.arange(2 * len(rows)) % len(rows)]
            outcomes.append(chance + selected[:, None] + counted)
        return np.stack(outcomes)


def by_rows_enumerated() -> Iterator[AuditResult]:
    """No pair of neighbours is told apart more than the rows and the dearest round were charged."""
    for relation in Relation:
        for mechanism in (GAUSSIAN, LAPLACE):
            yield enumerate_by_rows(RowsModel(mechanism), relation)


def enumerate_by_rows(model: RowsModel, relation: Relation) -> AuditResult:
    """One result: in epsilon for Laplace noise, in delta and rho for Gaussian noise."""
    neighbour_pairs = pairs(relation, TOTAL)
    where = f"{model.mechanism.measurement} measurements, a round chosen by the noisy rows"
    compared = of_neighbours(model.log_probabilities, neighbour_pairs, 16)
    searched = f"over {len(neighbour_pairs)} pairs of tables of {CELLS} cells"
    return enumerate_measured(model.mechanism, relation, where, compared, searched)


FAULT = "the true number of rows chooses the rounds"


def by_rows_twins() -> Iterator[AuditResult]:
    """A choice by the number itself is caught, with either law."""
    for mechanism in (GAUSSIAN, LAPLACE):
        result = enumerate_by_rows(RowsModel(mechanism, by_truth=True), Relation.ADD_REMOVE)
        yield as_twin(FAULT, "Enumeration", result)
