"""Audits of sessions with independent noise: enumeration, sampling, fidelity, broken twins.

The adversary asks questions whose counts one person moves all at once, and each of them again and
again. With equal shifts the sum of the noise says everything that the answers say, so exact
chances are those of sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.ask.audit.by_hand import independent_plan
from winnow.ask.audit.model import CODES, COUNT, ROWS, adversary_table
from winnow.ask.independent import IndependentSession
from winnow.ask.independent_answers import IndependentAnswers
from winnow.ask.open_session import Answer
from winnow.ask.plan import AskPlan
from winnow.ask.questions import Question
from winnow.audit.driver import enumeration
from winnow.audit.fidelity import chi_square_p_value, fidelity_result
from winnow.audit.result import AuditResult, as_twin
from winnow.audit.sampling import epsilon_lower_bound
from winnow.core.noise import discrete_gaussian_array
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.schema import Schema
from winnow.core.tape import Tape
from winnow.privacy import zcdp_cost, zcdp_delta

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

QUERIES = 2
MULTIPLIER = 1.0
LEVEL = 1.0
"""Where delta is looked at."""
REPEATS = 14
FRESH_REPEATS = "an independent answer that was given is given again with fresh noise"
HALF_NOISE = "independent answers have the noise of half the sensitivity"

_SCHEMA = Schema.parse({"a": CODES})


def mechanism() -> IndependentAnswers:
    """What is audited."""
    return IndependentAnswers(QUERIES, MULTIPLIER)


def independent_enumerated() -> Iterator[AuditResult]:
    """All answers together tell no more than is charged."""
    yield enumerate_answers(QUERIES, float(mechanism().variance(1)))


def enumerate_answers(answers: int, variance: float) -> AuditResult:
    """So many answers, all moved by one, against the claim for those that are paid for."""
    measured, reach = moved_delta(answers, variance)
    claimed = claimed_delta()
    chosen = mechanism()
    return enumeration(
        f"{chosen.title}, {QUERIES} questions that one person moves all at once: between "
        f"neighbours the answers are (epsilon, delta)-close at epsilon={LEVEL:g}.",
        chosen,
        None,
        claimed,
        measured,
        f"sums of {answers} noises from {-reach} to {reach}",
    )


def moved_delta(moved: int, variance: float) -> tuple[float, int]:
    """The exact delta at the level where so many noisy counts all move by one; the sums' reach."""
    loss, chances = loss_of_sums(moved, variance)
    # sums far out count in full
    delta = float(chances @ -np.expm1(np.minimum(LEVEL - loss, 0.0))) + 1 - chances.sum()
    return delta, len(chances) // 2


def loss_of_sums(moved: int, variance: float) -> tuple[Floats, Floats]:
    """The privacy losses of so many noisy counts that all move by one, and their chances."""
    chances = _sums(moved, variance)
    reach = len(chances) // 2
    sums = np.arange(-reach, reach + 1)
    # each of the neighbour's counts lies one higher
    return (moved - 2 * sums) / (2 * variance), chances


def claimed_delta() -> float:
    """The delta that the charge claims at the level."""
    promised = mechanism().promise(Relation.SUBSTITUTION)
    return zcdp_delta(zcdp_cost(promised.event).rho, LEVEL)


def _law(variance: float) -> Floats:
    reach = math.ceil(12 * math.sqrt(variance)) + 1
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    return np.asarray(weights / weights.sum(), np.float64)


def _sums(number: int, variance: float) -> Floats:
    law = _law(variance)
    sums = law
    for _ in range(number - 1):
        sums = np.convolve(sums, law)
    return sums


def independent_sampled(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Real sessions against an adversary that repeats its questions."""
    yield sample_answers(300 if quick else 2_000, seed)


class Redrawing(IndependentSession):
    """Broken on purpose: every answer has fresh noise, and repeats are not counted."""

    def _ask(self, questions: list[Question]) -> list[Answer]:
        """Draw anew, whatever was said before."""
        (question,) = questions
        if not self._said:
            tape, size = self._answers._tape, REPEATS * QUERIES
            self._noises = iter(discrete_gaussian_array(tape, size, mechanism().variance(1)))
        count = self._answers._counts.count(question) + int(next(self._noises))
        self._said[question.key] = count
        return [self._answer(question, None)]


def sample_answers(
    draws: int, seed: int, kind: type[IndependentSession] = IndependentSession
) -> AuditResult:
    """What so many real sessions let the adversary prove at the claimed delta."""
    claimed = claimed_delta()
    tallies = [_tallies(kind, count, draws, seed + count) for count in (COUNT, COUNT + 1)]
    bound, event = epsilon_lower_bound(tallies[0], tallies[1], delta=claimed)
    chosen = mechanism()
    return AuditResult(
        "sampling",
        f"{chosen.title}: an adversary that asks each of {QUERIES} questions {REPEATS} times "
        f"proves no larger epsilon than {LEVEL:g} at the claimed delta of {claimed:.3g}.",
        chosen.name,
        "both",
        chosen.promise(Relation.SUBSTITUTION).citation,
        LEVEL,
        bound,
        bound <= LEVEL,
        f"{draws} sessions on each of two tables; an event of {event} outputs",
    )


def _tallies(
    kind: type[IndependentSession], count: int, draws: int, seed: int
) -> tuple[Integers, Integers]:
    """The mean of all answers, in tenths of a row around the two counts; two halves."""
    halves = np.zeros((2, 81), np.int64)
    for draw, answers in enumerate(_answers(kind, count, draws, seed)):
        place = round(10 * (float(np.mean(answers)) - COUNT - 0.5)) + 40
        halves[draw % 2, min(max(place, 0), 80)] += 1
    return halves[0], halves[1]


def _answers(
    kind: type[IndependentSession], count: int, draws: int, seed: int, repeats: int = REPEATS
) -> Iterator[list[float]]:
    table, root, plan = adversary_table(count), Tape.seeded(seed), _plan()
    asked = [Question(_SCHEMA, {0: np.array([1, 2 + i])}) for i in range(QUERIES)]
    for draw in range(draws):
        key, receipt = single_run(plan.mechanism, table.relation, root.child(f"{draw}"))
        session = kind(plan, _SCHEMA, plan.draw(table, key), receipt)
        yield [session.ask(q).count for _ in range(repeats) for q in asked]


@lru_cache(maxsize=1)
def _plan() -> AskPlan:
    return independent_plan(
        _SCHEMA,
        rows=ROWS,
        queries=QUERIES,
        multiplier=MULTIPLIER,
        level=LEVEL,
        delta=claimed_delta(),
    )


def independent_faithful(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Real answers have discrete Gaussian noise of the stated variance."""
    yield fidelity_of_answers(float(mechanism().variance(1)), 400 if quick else 1_500, seed)


def noise_p_value(noises: Iterable[int], variance: float) -> float:
    """How well noises fit the discrete Gaussian law of this variance."""
    law = _law(variance)
    reach = len(law) // 2
    observed = np.zeros(len(law) + 1, np.int64)
    for noise in noises:
        place = noise + reach
        observed[place if 0 <= place < len(law) else -1] += 1
    return min(1.0, chi_square_p_value(observed, law))


def fidelity_of_answers(variance: float, draws: int, seed: int) -> AuditResult:
    """The noise of real answers against its law."""
    p_value = noise_p_value(_noises(draws, seed), variance)
    chosen = mechanism()
    return fidelity_result(
        f"{chosen.title}: answers draw the exact probabilities of their noise.",
        chosen.name,
        chosen.promise(Relation.SUBSTITUTION).citation,
        p_value,
        f"{QUERIES * draws} answers",
    )


@lru_cache(maxsize=4)
def _noises(draws: int, seed: int) -> list[int]:
    sessions = _answers(IndependentSession, COUNT, draws, seed, repeats=1)
    return [round(count) - COUNT for answers in sessions for count in answers]


def independent_twins(*, quick: bool = False, seed: int) -> Iterator[AuditResult]:
    """Fresh noise for repeats, too little noise: each is caught."""
    variance = float(mechanism().variance(1))
    result = enumerate_answers(REPEATS * QUERIES, variance)
    yield as_twin(FRESH_REPEATS, "Enumeration", result)
    yield as_twin(HALF_NOISE, "Enumeration", enumerate_answers(QUERIES, variance / 4))
    if not quick:  # a sample that is sure to catch it takes seconds
        yield as_twin(FRESH_REPEATS, "Sampling", sample_answers(2_000, seed, Redrawing))
    broken = fidelity_of_answers(variance / 4, 400 if quick else 1_500, seed)
    yield as_twin(HALF_NOISE, "Fidelity", broken)
