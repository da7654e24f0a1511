"""Audits of interactive sessions: enumeration, sampling, fidelity, and broken twins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.ask.audit.by_hand import weights_plan
from winnow.ask.audit.fallback import (
    fallback_enumerated,
    fallback_faithful,
    fallback_twins,
)
from winnow.ask.audit.independent import (
    independent_enumerated,
    independent_faithful,
    independent_sampled,
    independent_twins,
)
from winnow.ask.audit.model import (
    QUESTIONS,
    SCHEMA,
    Forgetful,
    RepeatedModel,
    SessionModel,
    capped_delta,
    row_of,
    sample_adversary,
    steps_for,
)
from winnow.ask.audit.tables import tables_enumerated, tables_faithful, tables_twins
from winnow.ask.mechanism import WeightsRounds
from winnow.ask.plan import AskPlan
from winnow.ask.questions import Question
from winnow.ask.session import WeightsSession
from winnow.ask.sizes import Rounds
from winnow.ask.state import CellState
from winnow.audit.driver import enumeration, largest
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.read.crossing import Rows, SealedTable, group
from winnow.release.rounds.audit.rounds import pairs

Floats = NDArray[np.float64]

TOTAL = 3
EPSILON = 0.5
UPDATES = 2
THRESHOLD = 1.2
NOISE = 1.0
LEVEL = 1.0
"""Where delta is looked at."""
TABLE = (2, 0, 0, 1)

_NEAR = tuple((d, t) for d in (0, 2, 4, 7) for t in (0.5, 2.5, 6.5))
_LEVELS = ((0.5, 1, 0.75), (0.5, 2, 1.0), (1.0, 1, 2.0))


def mechanism_at(epsilon: float, updates: int, level: float) -> WeightsRounds:
    """The mechanism with the steps that make its claim at this level smallest."""
    return WeightsRounds(updates, epsilon, steps_for(epsilon, updates, level))


def ask_enumerated(*, quick: bool = False) -> Iterator[AuditResult]:
    """Neither whole sessions nor repeated near-threshold questions tell more than is charged."""
    model = session_model()
    for relation in Relation:
        yield enumerate_sessions(model, relation)
    for epsilon, updates, level in _LEVELS[: 1 if quick else None]:
        yield enumerate_repeated(epsilon, updates, level)
    yield from tables_enumerated()
    yield from fallback_enumerated()
    yield from independent_enumerated()


def session_model() -> SessionModel:
    """The model of the audited sessions."""
    return SessionModel(1 / EPSILON, UPDATES, TOTAL, THRESHOLD, NOISE)


def enumerate_sessions(model: SessionModel, relation: Relation) -> AuditResult:
    """Every transcript of a few questions, on every pair of neighbouring tables."""
    mechanism = mechanism_at(EPSILON, UPDATES, LEVEL)
    claimed = capped_delta(EPSILON, UPDATES, LEVEL)
    neighbour_pairs = pairs(relation, TOTAL, 1)
    tables = sorted({tuple(table.tolist()) for pair in neighbour_pairs for table in pair})
    place = {table: i for i, table in enumerate(tables)}
    logs = model.log_probabilities(np.array(tables))
    masses = np.exp(logs)
    lost = np.maximum(0.0, 1 - masses.sum(axis=0))

    def told(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        i, j = place[tuple(one.tolist())], place[tuple(other.tolist())]
        over = (
            np.maximum(masses[:, p] - np.exp(LEVEL) * masses[:, q], 0.0).sum() + lost[p]
            for p, q in ((i, j), (j, i))
        )
        return float(max(over))

    return largest(
        f"{mechanism.title}, sessions of {len(QUESTIONS)} questions over four cells, hypothesis "
        f"and all: between neighbours transcripts are (epsilon, delta)-close at epsilon={LEVEL:g}.",
        mechanism,
        relation,
        claimed,
        (told(one, other) for one, other in neighbour_pairs),
        f"over {{}} pairs of tables, {len(masses)} transcripts",
    )


def enumerate_repeated(
    epsilon: float, updates: int, level: float, *, rounds: int = 60, fault: str = ""
) -> AuditResult:
    """Ask one question for many rounds, with guesses near the threshold on either side."""
    mechanism = mechanism_at(epsilon, updates, level)
    claimed = capped_delta(epsilon, updates, level)
    worst, where = 0.0, (0, 0.0)
    for distance, threshold in _NEAR:
        model = _faulty(RepeatedModel(1 / epsilon, updates, rounds, distance, threshold), fault)
        for moved in (1, -1):
            delta = model.delta(level, moved)
            if delta > worst:
                worst, where = delta, (distance, threshold)
    return enumeration(
        f"{mechanism.title}, one question for {rounds} rounds at epsilon={epsilon:g} each: "
        f"between neighbours transcripts are (epsilon, delta)-close at epsilon={level:g}.",
        mechanism,
        None,
        claimed,
        worst,
        f"over {2 * len(_NEAR)} guesses; worst at a guess {where[0]} rows off with the threshold "
        f"{where[1]:g}",
    )


NO_CAP = "the session goes on after its last update"
FREE_REPEATS = "a question that was measured is measured again without being counted"
HALF_NOISE = "the noise is that of half the sensitivity"


def _faulty(model: RepeatedModel, fault: str) -> RepeatedModel:
    match fault:
        case "":
            return model
        case _ if fault == NO_CAP:
            return replace(model, updates=12 * model.updates)
        case _ if fault == FREE_REPEATS:
            return replace(model, repeats=6)
        case _ if fault == HALF_NOISE:
            return replace(model, scale=model.scale / 2)
    raise AssertionError(fault)


def ask_sampled(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Real sessions against adversaries that ask near-threshold and repeated questions."""
    yield sample_adversary(400 if quick else 2_000, seed)
    yield from independent_sampled(quick=quick, seed=seed)


def ask_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Real sessions have the transcripts of the model."""
    yield fidelity_of_sessions(session_model(), 1_000 if quick else 2_000, seed)
    yield from tables_faithful(quick=quick, seed=seed)
    yield from fallback_faithful(quick=quick, seed=seed)
    yield from independent_faithful(quick=quick, seed=seed)


def fidelity_of_sessions(model: SessionModel, draws: int, seed: int) -> AuditResult:
    """Which questions were answered freshly, in real sessions against the model."""
    mechanism = mechanism_at(EPSILON, UPDATES, LEVEL)
    observed = simulated_kinds(draws, seed)
    expected = _kinds(model)
    p_value = min(1.0, chi_square_p_value(np.append(observed, 0), expected / expected.sum()))
    return fidelity_result(
        f"{mechanism.title}: sessions draw the exact probabilities of their kinds of answers.",
        mechanism.name,
        mechanism.promise(Relation.SUBSTITUTION).citation,
        p_value,
        f"{draws} sessions",
    )


def _kinds(model: SessionModel) -> Floats:
    """The chance of each set of freshly answered questions, as bits."""
    table, window = np.array([TABLE]), model.window()
    chances = np.zeros(2 ** len(QUESTIONS))
    rows = [row_of(question) for question in QUESTIONS]
    laws = [model._released(row, table, np.zeros((1, 1)), window)[:, 0] for row in rows]

    def walk(
        place: int, p: Floats, left: int, found_near: tuple[bytes, ...],
        measured: tuple[bytes, ...], chance: float, bits: int,
    ) -> None:  # fmt: skip
        if place == len(QUESTIONS):
            chances[bits] += chance
            return
        row, logs = rows[place], laws[place]
        key, bit = row.tobytes(), 1 << place
        if key in measured:
            walk(place + 1, p, left, found_near, measured, chance, bits | bit)
            return
        if key in found_near or left <= 0:
            walk(place + 1, p, left, found_near, measured, chance, bits)
            return
        guess = model.total * float(row @ p)
        far = np.abs(window - guess) > model.threshold
        silent = float(np.exp(logs[~far]).sum())
        walk(place + 1, p, left, (*found_near, key), measured, chance * silent, bits)
        for count, log in zip(window[far], logs[far], strict=True):
            moved = p * np.exp(model._step(guess, float(count)) * row)
            walk(place + 1, moved / moved.sum(), left - 1, (), (*measured, key),
                 chance * float(np.exp(log)), bits | bit)  # fmt: skip

    walk(0, np.full(4, 0.25), model.updates, (), (), 1.0, 0)
    return chances


@lru_cache(maxsize=4)
def simulated_kinds(draws: int, seed: int) -> Any:
    """How often each set of questions was answered freshly in real sessions."""
    table, root = table_of(TABLE), Tape.seeded(seed)
    plan = _plan()
    asked = [Question(SCHEMA, {c: np.array([code]) for c, code in q.items()}) for q in QUESTIONS]
    observed = np.zeros(2 ** len(QUESTIONS), np.int64)
    for draw in range(draws):
        key, receipt = single_run(plan.mechanism, table.relation, root.child(f"draw-{draw}"))
        rounds = plan.draw(table, key)
        session = WeightsSession(plan, SCHEMA, CellState(SCHEMA), rounds, receipt)
        kinds = [session.ask(question).kind == "fresh" for question in asked]
        observed[sum(1 << place for place, fresh in enumerate(kinds) if fresh)] += 1
    return observed


def _plan() -> AskPlan:
    """The constants of the audited sessions, by hand."""
    steps = mechanism_at(EPSILON, UPDATES, LEVEL).steps
    return weights_plan(
        SCHEMA,
        rows=TOTAL,
        queries=len(QUESTIONS) + 1,
        rounds=Rounds(updates=UPDATES, epsilon=EPSILON, steps=steps, noise=NOISE / TOTAL),
        threshold=THRESHOLD / TOTAL,
        level=LEVEL,
        delta=capped_delta(EPSILON, UPDATES, LEVEL),
    )


def table_of(histogram: tuple[int, ...]) -> SealedTable:
    """A made-up table over four cells."""
    cells = np.arange(4)
    codes = ((cells // 2).astype(np.int32), (cells % 2).astype(np.int32))
    rows = group(codes, np.array(histogram, np.int64), (2, 2))
    return SealedTable(SCHEMA, Sealed(Rows(*rows), "made-up rows"))


def ask_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """No cap, uncounted measurements, too little noise: each is caught."""
    for fault in (NO_CAP, FREE_REPEATS, HALF_NOISE):
        result = enumerate_repeated(0.5, 1, 0.75, fault=fault)
        yield as_twin(fault, "Enumeration", result)
    broken = replace(session_model(), scale=0.5 / EPSILON)
    result = fidelity_of_sessions(broken, 1_000 if quick else 2_000, seed)
    yield as_twin(HALF_NOISE, "Fidelity", result)
    if not quick:  # a sample that is sure to catch it takes seconds
        yield as_twin(FREE_REPEATS, "Sampling", sample_adversary(1_500, seed, kind=Forgetful))
    yield from tables_twins(quick=quick, seed=seed)
    yield from fallback_twins(quick=quick, seed=seed)
    yield from independent_twins(quick=quick, seed=seed)
