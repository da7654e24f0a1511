"""Audits of a warm start: a table, then a round that starts from it; and a broken twin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_measured, of_neighbours
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.release.rounds.audit.rounds import CELLS, RoundsModel, pairs, queries
from winnow.release.rounds.crossing.rounds import SelectAndMeasure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TOTAL = 2

GAUSSIAN = SelectAndMeasure(1.0, 2.5, 1, "gaussian", first=(0.75,))
LAPLACE = SelectAndMeasure(0.5, 1.0, 1, "laplace", first=(0.5,))


@dataclass(frozen=True)
class StartModel:
    """A table of two cells, then one round against a distribution that follows it."""

    cell: float
    """Sigma of a cell of the table, or its Laplace scale."""
    rounds: RoundsModel

    @classmethod
    def of(
        cls, mechanism: SelectAndMeasure, relation: Relation, rows_per_person: int = 1
    ) -> StartModel:
        """The model of a mechanism's public parameters."""
        (noise,) = mechanism.table_noises(relation, rows_per_person)
        size = float(noise.size) ** (0.5 if noise.law == "gaussian" else 1.0)
        return cls(size, RoundsModel.of(mechanism, TOTAL, rows_per_person))

    def log_probabilities(self, table: Integers) -> Floats:
        """Of (count of one cell, count of the other, query and sign, its count)."""
        cells = replace(self.rounds, noise=self.cell)
        outer, window = cells.window(), self.rounds.window()
        halves = np.array([table[:2].sum(), table[2:].sum()], np.float64)
        first, second = cells._measurement(halves, outer)
        # any public function of the table may be the start: here one that follows it softly
        share = 1 / (1 + np.exp(-0.5 * (outer[:, None] - outer[None, :])))
        start = np.stack([share / 2, share / 2, (1 - share) / 2, (1 - share) / 2], axis=-1)
        rows = queries()
        truth = rows @ table
        selected = self.rounds._selection(truth, rows, start)
        counted = self.rounds._measurement(truth, window)[np.arange(2 * len(rows)) % len(rows)]
        before = first[:, None] + second[None, :]
        return np.asarray(before[:, :, None, None] + selected[..., None] + counted)


def start_enumerated() -> Iterator[AuditResult]:
    """No pair of neighbouring tables is told apart by a start and a round more than was charged."""
    for relation in Relation:
        for mechanism in (GAUSSIAN, LAPLACE):
            yield enumerate_start(mechanism, StartModel.of(mechanism, relation), relation)


def enumerate_start(
    mechanism: SelectAndMeasure, model: StartModel, relation: Relation
) -> AuditResult:
    """One result: in epsilon for Laplace noise, in delta and rho for Gaussian noise."""
    neighbour_pairs = pairs(relation, TOTAL)
    where = (
        f"{mechanism.measurement} measurements, a table of one column and a round that starts "
        "from it"
    )
    compared = of_neighbours(model.log_probabilities, neighbour_pairs, 16)
    searched = f"over {len(neighbour_pairs)} pairs of tables of {CELLS} cells"
    return enumerate_measured(mechanism, relation, where, compared, searched)


FAULT = "a table is priced as if replaced rows moved one cell"


def broken_models() -> list[tuple[SelectAndMeasure, StartModel]]:
    """A start whose noise forgets that who is replaced leaves one cell and enters another."""
    models = []
    for mechanism in (GAUSSIAN, LAPLACE):
        honest = StartModel.of(mechanism, Relation.SUBSTITUTION)
        short = StartModel.of(mechanism, Relation.ADD_REMOVE)
        models.append((mechanism, replace(honest, cell=short.cell)))
    return models


def start_twins() -> Iterator[AuditResult]:
    """The forgotten cell is caught, with either law."""
    for mechanism, broken in broken_models():
        result = enumerate_start(mechanism, broken, Relation.SUBSTITUTION)
        yield as_twin(FAULT, "Enumeration", result)
