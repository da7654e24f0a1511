"""Audits of select-and-measure, end to end: enumeration, fidelity, and broken twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_measured, of_neighbours
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.workload import Workload
from winnow.inner_product.vectors import seal_vectors
from winnow.release.rounds.crossing.lazy_selection import Search
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import Task
from winnow.release.rounds.kernels.distribution import uniform_distribution
from winnow.release.rounds.mwem import Mwem

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
    """The queries, written out over the cells."""
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
        """The model of a mechanism's public parameters, for binary queries.

        An index that is exact leaves the law as it is; slack is paid for, used or not.
        """
        return cls(
            (float(mechanism.epsilon) - 2 * float(mechanism.slack)) / (2 * rows_per_person),
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

    def _selection(self, truth: Floats, rows: Floats, distribution: Floats) -> Floats:
        score = truth - self.total * (distribution @ rows.T)
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
    by_tables = {}
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
                    by_tables[key] = (np.array(key[0]), np.array(key[1]))
    return [by_tables[key] for key in sorted(by_tables)]


def _histogram(cells: tuple[int, ...]) -> Integers:
    return np.bincount(np.array(cells, np.int64), minlength=CELLS)


GAUSSIAN = SelectAndMeasure(2.0, 1.5, 2, "gaussian")
SHARP = SelectAndMeasure(2.0, 0.75, 2, "gaussian")
LAPLACE = SelectAndMeasure(1.0, 1.0, 2, "laplace")
INDEXED = SelectAndMeasure(6.0, 1.5, 2, "gaussian", index="flat", slack=2.0)
TOTAL = 3
TABLE = np.array([2, 0, 0, 1])
"""What is drawn from."""


def rounds_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No pair of neighbouring tables is told apart by two rounds more than was charged."""
    for relation in Relation:
        for mechanism in (GAUSSIAN, LAPLACE):
            model = RoundsModel.of(mechanism, TOTAL)
            yield enumerate_rounds(mechanism, model, relation, quick=quick)
    if not quick:
        model = RoundsModel.of(SHARP, TOTAL, 2)
        yield enumerate_rounds(SHARP, model, Relation.SUBSTITUTION, 2, quick=True)


def enumerate_rounds(
    mechanism: SelectAndMeasure,
    model: RoundsModel,
    relation: Relation,
    rows_per_person: int = 1,
    *,
    quick: bool = False,
) -> AuditResult:
    """One result: in epsilon for Laplace noise, in delta and rho for Gaussian noise."""
    neighbour_pairs = pairs(relation, TOTAL, rows_per_person)
    neighbour_pairs = neighbour_pairs[:: 4 if quick else 1]
    where = f"{mechanism.measurement} measurements, four cells, two rounds"
    if rows_per_person > 1:
        where += f", {rows_per_person} rows per person"
    window = model.window()
    searched = f"over {len(neighbour_pairs)} pairs of tables, {len(window)} noisy counts per round"
    compared = of_neighbours(
        lambda table: model.log_probabilities(table, window), neighbour_pairs, 32
    )
    return enumerate_measured(mechanism, relation, where, compared, searched)


def rounds_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The real rounds draw the enumerated probabilities."""
    for i, mechanism in enumerate((GAUSSIAN, LAPLACE, INDEXED)):
        model = RoundsModel.of(mechanism, TOTAL)
        draws = _draws(quick) // (1 if mechanism.index is None else 3)  # an index takes its time
        yield fidelity_of_rounds(mechanism, model, draws, seed + i)


def _draws(quick: bool) -> int:
    return 1_000 if quick else 2_000


def fidelity_of_rounds(
    mechanism: SelectAndMeasure, model: RoundsModel, draws: int, seed: int
) -> AuditResult:
    """Draws through the real selector, sampler and distribution against a model.

    Looked at are (first query with its sign, its count: below 0, 0, 1, 2, above) and (first
    and second query with their signs).
    """
    drawn = simulated(mechanism, draws, seed)
    window = model.window()
    exact = np.exp(model.log_probabilities(TABLE, window))
    binned = np.zeros((exact.shape[0], 5))
    for place, value in enumerate(np.clip(window, -1, 3) + 1):
        binned[:, value] += exact[:, place].sum(axis=(1, 2))
    values = []
    for expected, places in (
        (binned, (drawn[:, 0], np.clip(drawn[:, 1], -1, 3) + 1)),
        (exact.sum(axis=(1, 3)), (drawn[:, 0], drawn[:, 2])),
    ):
        observed = np.zeros(expected.shape, np.int64)
        np.add.at(observed, places, 1)
        chances = expected.ravel() / expected.sum()
        values.append(chi_square_p_value(np.append(observed.ravel(), 0), chances))
    p_value = min(1.0, 2 * min(values))
    indexed = "" if mechanism.index is None else f", {mechanism.index} index with slack"
    return fidelity_result(
        f"{mechanism.title}, {mechanism.measurement} measurements{indexed}: the rounds draw the "
        "exact probabilities.",
        mechanism.name,
        mechanism.promise(Relation.SUBSTITUTION).citation,
        p_value,
        f"{draws} draws of two rounds",
    )


@lru_cache(maxsize=8)
def simulated(mechanism: SelectAndMeasure, draws: int, seed: int) -> Integers:
    """Rows of (first signed query, its count, second signed query)."""
    asked, root = workload(), Tape.seeded(seed)
    codes = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    counts = asked.counts(codes, TABLE)
    mwem = Mwem("hardt", STEP, 0, "average")
    search = None
    if mechanism.index is not None:
        vectors = seal_vectors(asked.matrix(), index=mechanism.index)
        search = Search(vectors, Sealed(TABLE, "a made-up table"))
    rows = np.empty((draws, 3), np.int64)
    for draw in range(draws):
        task = Task(Sealed(counts, "made-up counts"), asked, mechanism.rounds, search)
        key, _ = single_run(mechanism, Relation.SUBSTITUTION, root.child(f"draw-{draw}"))
        run = mechanism.open([task], key, relation=Relation.SUBSTITUTION)
        fit = mwem.fit(run.tasks[0], uniform_distribution(asked, TOTAL), asked, 0.0)
        one, two = fit.measurements
        signed = [m.query + (asked.size if m.sign < 0 else 0) for m in (one, two)]
        rows[draw] = signed[0], one.count, signed[1]
    return rows


def rounds_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Half the sensitivity, in the selection or in the measurement, is caught."""
    for fault, broken in broken_models():
        result = enumerate_rounds(GAUSSIAN, broken, Relation.SUBSTITUTION, quick=quick)
        yield as_twin(fault, "Enumeration", result)
        result = fidelity_of_rounds(GAUSSIAN, broken, _draws(quick), seed)
        yield as_twin(fault, "Fidelity", result)


def broken_models() -> list[tuple[str, RoundsModel]]:
    """The Gaussian mechanism with one of its two numbers off by a factor 2."""
    honest = RoundsModel.of(GAUSSIAN, TOTAL)
    return [
        ("the selection takes half the sensitivity", replace(honest, exponent=2 * honest.exponent)),
        ("the measurement has half the noise", replace(honest, noise=honest.noise / 2)),
    ]
