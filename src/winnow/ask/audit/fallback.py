"""Audits of the independent answers that come when updates have run out: all kinds, and twins.

One question for many rounds, with guesses near the threshold, until a count was released; then
questions whose counts one person moves all at once. Rounds and answers have noise of their own,
so exact chances of both together are those of a release, and of sums of noise after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from winnow.ask.audit.by_hand import weights_plan
from winnow.ask.audit.independent import loss_of_sums, noise_p_value
from winnow.ask.audit.model import CODES, COUNT, ROWS, RepeatedModel, adversary_table
from winnow.ask.independent_answers import IndependentAnswers
from winnow.ask.mechanism import WeightsRounds
from winnow.ask.plan import AskPlan
from winnow.ask.questions import Question
from winnow.ask.session import WeightsSession
from winnow.ask.sizes import Fallback, Rounds
from winnow.ask.state import CellState
from winnow.audit.driver import enumeration
from winnow.audit.fidelity import fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.schema import Schema
from winnow.core.tape import Tape
from winnow.privacy import zcdp_cost, zcdp_delta

EPSILON, UPDATES, STEPS = 0.2, 1, 16
QUERIES, MULTIPLIER = 4, 1.0
LEVEL = 1.0
"""Where delta is looked at."""
ROUNDS = 40
UNCOUNTED = "independent answers after the rounds go on without being counted"
EACH_ALONE = "an independent answer after the rounds has the noise that it would need alone"

_NEAR = tuple((d, t) for d in (0, 2, 4) for t in (0.5, 2.5))
_SCHEMA = Schema.parse({"a": CODES})


def mechanism() -> WeightsRounds:
    """What is audited."""
    fallback = IndependentAnswers(QUERIES, MULTIPLIER)
    return WeightsRounds(UPDATES, EPSILON, STEPS, fallback=fallback)


def fallback_enumerated() -> Iterator[AuditResult]:
    """Rounds and the answers after them tell no more than is charged for both."""
    yield enumerate_fallback(QUERIES, _variance())


def enumerate_fallback(answers: int, variance: float) -> AuditResult:
    """So many answers after the rounds, all moved by one, against the claim for those paid for."""
    after = loss_of_sums(answers, variance)
    claimed = _claimed()
    worst = max(
        RepeatedModel(1 / EPSILON, UPDATES, ROUNDS, distance, threshold).delta(LEVEL, moved, after)
        for distance, threshold in _NEAR
        for moved in (1, -1)
    )
    chosen = mechanism()
    return enumeration(
        f"{chosen.title}, one question for {ROUNDS} rounds and {QUERIES} independent answers after "
        f"them: between neighbours transcripts are (epsilon, delta)-close at epsilon={LEVEL:g}.",
        chosen,
        None,
        claimed,
        worst,
        f"over {2 * len(_NEAR)} guesses; {answers} answers",
    )


def _variance() -> float:
    fallback = mechanism().fallback
    assert fallback is not None
    return float(fallback.variance(1))


def _claimed() -> float:
    cost = zcdp_cost(mechanism().promise(Relation.SUBSTITUTION).event)
    return float(cost.delta) + zcdp_delta(cost.rho, LEVEL)


def fallback_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Answers of real sessions after their rounds have the stated noise."""
    yield fidelity_of_fallback(_variance(), 300 if quick else 1_000, seed)


def fidelity_of_fallback(variance: float, draws: int, seed: int) -> AuditResult:
    """The noise of answers after the rounds against its law."""
    chosen = mechanism()
    return fidelity_result(
        f"{chosen.title}: answers after the rounds draw the exact probabilities of their noise.",
        chosen.name,
        chosen.promise(Relation.SUBSTITUTION).citation,
        noise_p_value(_noises(draws, seed), variance),
        f"{QUERIES * draws} answers",
    )


@lru_cache(maxsize=4)
def _noises(draws: int, seed: int) -> tuple[int, ...]:
    table, root, plan = adversary_table(COUNT), Tape.seeded(seed), _plan()
    asked = [Question(_SCHEMA, {0: np.array([1, 2 + i])}) for i in range(ROUNDS)]
    noises: list[int] = []
    for draw in range(draws):
        key, receipt = single_run(plan.mechanism, table.relation, root.child(f"{draw}"))
        run = plan.draw(table, key)
        session = WeightsSession(plan, _SCHEMA, CellState(_SCHEMA), run, receipt)
        answers = map(session.ask, asked)
        noises += [round(each.count) - COUNT for each in answers if each.kind == "independent"]
    return tuple(noises)


@lru_cache(maxsize=1)
def _plan() -> AskPlan:
    return weights_plan(
        _SCHEMA,
        rows=ROWS,
        queries=QUERIES,
        rounds=Rounds(updates=UPDATES, epsilon=EPSILON, steps=STEPS, noise=2 / ROWS),
        threshold=0.5 / ROWS,
        level=LEVEL,
        delta=_claimed(),
        fallback=Fallback(multiplier=MULTIPLIER, noise=0.1),
    )


def fallback_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Answers that are not counted, too little noise: each is caught."""
    result = enumerate_fallback(6 * QUERIES, _variance())
    yield as_twin(UNCOUNTED, "Enumeration", result)
    yield as_twin(EACH_ALONE, "Enumeration", enumerate_fallback(QUERIES, _variance() / QUERIES))
    broken = fidelity_of_fallback(_variance() / QUERIES, 300 if quick else 1_000, seed)
    yield as_twin(EACH_ALONE, "Fidelity", broken)
