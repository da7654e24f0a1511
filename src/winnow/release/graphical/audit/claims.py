"""Audits of rounds over whole marginal tables: enumeration, fidelity, and broken twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.audit.driver import enumerate_measured, of_neighbours
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.release.graphical.audit.model import (
    ONE_ROUND,
    TWO_ROUNDS,
    AuditedRounds,
    Integers,
    MarginalModel,
    neighbours,
)
from winnow.release.rounds.crossing.tables import MeasuredTable
from winnow.release.rounds.mechanism import MeasureMarginals

Floats = NDArray[np.float64]

SELECTING = MeasureMarginals(4.0, 0.8, 1)
MEASURING = MeasureMarginals(0.5, 0.75, 2)
SINGLE = MeasureMarginals(0.5, 0.75, 1)
LAPLACE = MeasureMarginals(0.5, 1.0, 1, measurement="laplace")
STAGED = MeasureMarginals(0.5, 0.75, 2, stages=2)
CASES = (
    (SELECTING, ONE_ROUND),
    (MEASURING, TWO_ROUNDS),
    (LAPLACE, TWO_ROUNDS),
    (STAGED, TWO_ROUNDS),
)
_TABLE = {3: np.array([0, 1, 0, 0, 0, 0, 1, 0]), 2: np.array([2, 0, 1, 0])}
"""What is drawn from, by the number of columns."""


def marginal_rounds_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """No pair of neighbouring tables is told apart by the rounds more than was charged."""
    for relation in Relation:
        for mechanism, setting in CASES:
            model = MarginalModel.of(mechanism, setting, relation)
            yield enumerate_marginal_rounds(mechanism, model, relation, quick=quick)
    if not quick:
        model = MarginalModel.of(SINGLE, TWO_ROUNDS, Relation.SUBSTITUTION, 2)
        yield enumerate_marginal_rounds(SINGLE, model, Relation.SUBSTITUTION, 2)


def enumerate_marginal_rounds(
    mechanism: MeasureMarginals,
    model: MarginalModel,
    relation: Relation,
    rows_per_person: int = 1,
    *,
    quick: bool = False,
) -> AuditResult:
    """One result: in delta and in rho for Gaussian noise, in epsilon for Laplace noise."""
    pairs = neighbours(model.setting, relation, rows_per_person)
    pairs = pairs[:: max(1, len(pairs) // (20 if quick else 60))]
    rounds = "one round" if mechanism.rounds == 1 else f"{mechanism.rounds} rounds"
    where = f"{model.setting.columns} columns of two codes, {rounds}"
    if rows_per_person > 1:
        where += f", {rows_per_person} rows per person"
    compared = of_neighbours(model.log_probabilities, pairs, 8)
    searched = f"over {len(pairs)} pairs of tables"
    return enumerate_measured(mechanism, relation, where, compared, searched)


def marginal_rounds_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """The real rounds draw the enumerated probabilities."""
    for i, (mechanism, setting) in enumerate(CASES):
        model = MarginalModel.of(mechanism, setting, Relation.SUBSTITUTION)
        yield fidelity_of_marginal_rounds(mechanism, model, _draws(mechanism, quick), seed + i)


def _draws(mechanism: MeasureMarginals, quick: bool) -> int:
    """A wrong selection shows in fewer draws than wrong noise."""
    if mechanism is SELECTING:
        return 500 if quick else 1_000
    return 800 if quick else 1_500


def fidelity_of_marginal_rounds(
    mechanism: MeasureMarginals, model: MarginalModel, draws: int, seed: int
) -> AuditResult:
    """Draws through the real mechanism against a model.

    Looked at are the selected table of the first round with its first count (below 0, 0, 1,
    above), and of the second round alone, where there is one.
    """
    drawn = simulated(mechanism, model.setting, draws, seed)
    histogram = _TABLE[model.setting.columns]
    log_p = np.exp(model.log_probabilities(histogram))
    values = []
    for place, expected in enumerate(_margins(model, log_p)):
        observed = np.zeros(expected.shape, np.int64)
        np.add.at(observed, (drawn[:, 2 * place], np.clip(drawn[:, 2 * place + 1], -1, 2) + 1), 1)
        chances = expected.ravel() / expected.sum()
        values.append(chi_square_p_value(np.append(observed.ravel(), 0), chances))
    p_value = min(1.0, len(values) * min(values))
    return fidelity_result(
        f"{mechanism.title}, {mechanism.measurement} noise, {model.setting.columns} columns of "
        "two codes: the rounds draw the exact probabilities.",
        mechanism.name,
        mechanism.promise(Relation.SUBSTITUTION).citation,
        p_value,
        f"{draws} draws",
    )


def _margins(model: MarginalModel, probabilities: Floats) -> Iterator[Floats]:
    """For each round: the probability of each (table, first count in four classes)."""
    sizes = [len(model.window) ** part.size for part in model.setting.workload.parts]
    classes = np.clip(model.window, -1, 2) + 1
    first = np.zeros((len(sizes), 4))
    last = np.zeros((len(sizes), 4))
    start = 0
    for i, size in enumerate(sizes):
        seconds = list(enumerate(sizes)) if model.rounds == 2 else [(-1, 1)]
        for j, other in seconds:
            block = probabilities[start : start + size * other].reshape(size, other)
            start += size * other
            by_count = block.sum(axis=1).reshape(len(model.window), -1).sum(axis=1)
            np.add.at(first[i], classes, by_count)
            if j >= 0:
                by_count = block.sum(axis=0).reshape(len(model.window), -1).sum(axis=1)
                np.add.at(last[j], classes, by_count)
    yield first
    if model.rounds == 2:
        yield last


@lru_cache(maxsize=8)
def simulated(
    mechanism: MeasureMarginals, setting: AuditedRounds, draws: int, seed: int
) -> Integers:
    """Rows of (selected table, its first count) for each round."""
    root = Tape.seeded(seed)
    counts = np.concatenate(setting.tables(_TABLE[setting.columns]))
    rows = np.empty((draws, 2 * mechanism.rounds), np.int64)
    every = range(len(setting.sets))
    for draw in range(draws):
        key, _ = single_run(mechanism, Relation.SUBSTITUTION, root.child(f"draw-{draw}"))
        run = mechanism.open(None, None, key, relation=Relation.SUBSTITUTION)
        rounds = run.start(Sealed(counts, "made-up counts"), setting.workload, setting.weights)
        for i, said in enumerate(setting.start()):
            rounds.look(i, said)
        for place in range(mechanism.rounds):  # two at most: one table says something new
            measured: MeasuredTable = rounds.draw(every, setting.penalties)
            rows[draw, 2 * place : 2 * place + 2] = measured.candidate, measured.counts[0]
            new = setting.followed(measured.counts[None, :])[0]
            rounds.look(measured.candidate, new)
    return rows


def marginal_rounds_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """A replaced row counted as one change instead of two is caught, and a stage for nothing."""
    for i, (fault, mechanism, broken) in enumerate(broken_marginal_models()):
        result = enumerate_marginal_rounds(mechanism, broken, Relation.SUBSTITUTION, quick=quick)
        yield as_twin(fault, "Enumeration", result)
        result = fidelity_of_marginal_rounds(mechanism, broken, _draws(mechanism, quick), seed + i)
        yield as_twin(fault, "Fidelity", result)


def broken_marginal_models() -> list[tuple[str, MeasureMarginals, MarginalModel]]:
    """The sensitivities of add/remove, used under substitution; a stage that is not paid for."""
    here, wrong = Relation.SUBSTITUTION, Relation.ADD_REMOVE
    honest = [MarginalModel.of(m, s, here) for m, s in CASES]
    broken = [MarginalModel.of(m, s, wrong) for m, s in CASES]
    return [
        (
            "the selection of a table takes a replaced row for one change",
            SELECTING,
            replace(honest[0], exponent=broken[0].exponent),
        ),
        (
            "the noise of a table takes a replaced row for one change",
            MEASURING,
            replace(honest[1], noise=broken[1].noise),
        ),
        (
            "Laplace noise of a table takes a replaced row for one change",
            LAPLACE,
            replace(honest[2], noise=broken[2].noise),
        ),
        (
            "the second stage is charged like the first",
            MEASURING,
            honest[3],
        ),
    ]
