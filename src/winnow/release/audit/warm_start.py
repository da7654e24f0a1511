"""Audits of a warm start: a table, then a round that starts from it; and a broken twin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.audit.numerics import NOTHING, distance
from winnow.audit.result import AuditResult
from winnow.core.relation import Relation
from winnow.privacy import guarantee_of, pure_cost, zcdp_cost
from winnow.release.audit.rounds import CELLS, RoundsModel, as_twin, pairs, queries
from winnow.release.crossing.rounds import SelectAndMeasure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DELTA = 1e-3
_TOLERANCE = 1e-9
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
    promised = mechanism.promise(relation)
    pure = mechanism.measurement == "laplace"
    claimed = (
        float(pure_cost(promised.event).epsilon)
        if pure
        else guarantee_of(promised.event, DELTA).epsilon
    )
    rho = float(zcdp_cost(promised.event).rho)
    worst, found = NOTHING, pairs(relation, TOTAL)
    for pair in found:
        p, q = (_log_probabilities(model, tuple(table.tolist())) for table in pair)
        worst = worst.or_larger(distance(p, q, claimed))
    _log_probabilities.cache_clear()
    what = "no output's log-probability moves by more than epsilon" if pure else (
        f"outputs are (epsilon, delta)-close at epsilon={claimed:.4g}"
    )  # fmt: skip
    return AuditResult(
        "enumeration",
        f"{mechanism.title}, {mechanism.measurement} measurements, a table of one column and a "
        f"round that starts from it: between neighbours {what}.",
        mechanism.name,
        str(relation),
        promised.citation,
        claimed if pure else DELTA,
        worst.epsilon if pure else worst.delta,
        worst.rho <= rho * (1 + _TOLERANCE)
        and (worst.epsilon <= claimed * (1 + _TOLERANCE) if pure else worst.delta <= DELTA),
        f"over {len(found)} pairs of tables of {CELLS} cells; rho {worst.rho:.4g} of {rho:.4g} "
        "charged",
    )


@lru_cache(maxsize=16)  # the tables of one relation
def _log_probabilities(model: StartModel, table: tuple[int, ...]) -> Floats:
    return model.log_probabilities(np.array(table)).ravel()


FAULT = "a table is priced as if replaced rows moved one cell"


def broken_models() -> list[tuple[SelectAndMeasure, StartModel]]:
    """A start whose noise forgets that who is replaced leaves one cell and enters another."""
    found = []
    for mechanism in (GAUSSIAN, LAPLACE):
        honest = StartModel.of(mechanism, Relation.SUBSTITUTION)
        short = StartModel.of(mechanism, Relation.ADD_REMOVE)
        found.append((mechanism, replace(honest, cell=short.cell)))
    return found


def start_twins() -> Iterator[AuditResult]:
    """The forgotten cell is caught, with either law."""
    for mechanism, broken in broken_models():
        result = enumerate_start(mechanism, broken, Relation.SUBSTITUTION)
        yield as_twin(FAULT, "Enumeration", result)
