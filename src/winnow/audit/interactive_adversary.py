"""An adversary at the front door: it asks a real session and looks at the answers only.

It never asks quite the same question twice (a session remembers), but questions that differ in a
code that nobody has: their counts are the same, and the hypothesis answers all of them alike, near
the threshold. Then it adds up what the answers say for one of two neighbouring tables and
against the other. Whatever it does with the answers, a correct session lets it prove no more
than is claimed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from winnow.algorithms.interactive import Interactive
from winnow.algorithms.interactive_plan import InteractivePlan
from winnow.algorithms.interactive_state import CellState
from winnow.audit.capped_claims import capped_delta, steps_for
from winnow.audit.result import AuditResult
from winnow.audit.sampling import epsilon_lower_bound
from winnow.domain.neighbours import Relation
from winnow.domain.questions import Question
from winnow.domain.schema import Schema
from winnow.mechanisms.multiplicative_weights import MultiplicativeWeights
from winnow.privacy import Guarantee, single_use_grant
from winnow.random.tape import Tape
from winnow.sealed import Sealed
from winnow.sealed.tables import Rows, SealedTable, group

Integers = NDArray[np.int64]

CODES = 44
ROWS = 440
COUNT = 20
"""What the hypothesis says about two of the codes at first; the neighbour has one row more."""
ROUNDS = 40
EPSILON, UPDATES, LEVEL, THRESHOLD = 0.5, 1, 1.0, 0.5

_SCHEMA = Schema.parse({"a": CODES})
_BINS = 41


class Forgetful(Interactive):
    """Broken on purpose: what was measured is forgotten, and not counted."""

    def _learn(self, question: Question, number: int, count: int, guess: float) -> None:
        self._rounds._left += 1


def adversary_table(count: int) -> SealedTable:
    """So many rows with the code 1, and all others with the code 0."""
    counts = np.zeros(CODES, np.int64)
    counts[:2] = ROWS - count, count
    rows = group((np.arange(CODES, dtype=np.int32),), counts, (CODES,))
    return SealedTable(_SCHEMA, Sealed(Rows(*rows), "made-up rows"))


def sample_adversary(draws: int, seed: int, kind: type[Interactive] = Interactive) -> AuditResult:
    """What so many real sessions (or broken ones) let the adversary prove, against the claim."""
    claimed = capped_delta(EPSILON, UPDATES, LEVEL)
    plan = _plan()
    tallies = [
        _tallies(plan, kind, adversary_table(count), draws, seed + count)
        for count in (COUNT, COUNT + 1)
    ]
    bound, event = epsilon_lower_bound(tallies[0], tallies[1], delta=claimed)
    mechanism = plan.mechanism
    return AuditResult(
        "sampling",
        f"{mechanism.title}: an adversary that asks real sessions {ROUNDS} near-threshold "
        f"questions proves no larger epsilon than {LEVEL:g} at the claimed delta of "
        f"{claimed:.3g}.",
        mechanism.name,
        "both",
        mechanism.promise(Relation.SUBSTITUTION).citation,
        LEVEL,
        bound,
        bound <= LEVEL,
        f"{draws} sessions on each of two tables; an event of {event} outputs",
    )


def _tallies(
    plan: InteractivePlan, kind: type[Interactive], table: SealedTable, draws: int, seed: int
) -> tuple[Integers, Integers]:
    """How often each amount of evidence was found, in two halves."""
    promised = plan.mechanism.promise(Relation.SUBSTITUTION)
    asked = [Question(_SCHEMA, {0: np.array([1, 2 + i])}) for i in range(ROUNDS)]
    root = Tape.seeded(seed)
    halves = np.zeros((2, _BINS), np.int64)
    for draw in range(draws):
        rounds = plan.mechanism.open(table, single_use_grant(promised.event), root.child(f"{draw}"))
        session = kind(plan, _SCHEMA, CellState(_SCHEMA), rounds, rounds.receipt)
        halves[draw % 2, _evidence(session, asked)] += 1
    return halves[0], halves[1]


def _evidence(session: Interactive, asked: list[Question]) -> int:
    """The log likelihood ratio of the answers, as far as the adversary follows it, in bins."""
    silent = _quiet(COUNT + 1) - _quiet(COUNT)
    total, released = 0.0, False
    for question in asked:
        if session.status != "open":
            break
        answer = session.ask(question)
        if answer.kind == "fresh":
            released = True
            total += EPSILON if answer.count > COUNT + 0.5 else -EPSILON
        elif not released:
            total += silent
    return min(max(round(total) + _BINS // 2, 0), _BINS - 1)


def _quiet(true: int) -> float:
    """The log of the chance of a quiet round at first."""
    q = math.exp(-EPSILON)
    reach = range(math.ceil(COUNT - THRESHOLD), math.floor(COUNT + THRESHOLD) + 1)
    return math.log(sum((1 - q) / (1 + q) * q ** abs(count - true) for count in reach))


def _plan() -> InteractivePlan:
    mechanism = MultiplicativeWeights(UPDATES, EPSILON, steps_for(EPSILON, UPDATES, LEVEL))
    return InteractivePlan(
        cells=CODES, domain=CODES, rows=ROWS, rows_per_person=1, max_queries=ROUNDS + 1,
        beta=0.5, updates=UPDATES, epsilon=EPSILON, steps=mechanism.steps,
        threshold=THRESHOLD / ROWS, noise=2 / ROWS, gap=0.1, step="measured", fixed_step=0.0,
        calibration="target-charging", gamma=0.0, universe=None, universe_seed=0,
        prior_multiplier=None, guaranteed=False,
        event=mechanism.promise(Relation.SUBSTITUTION).event,
        guarantee=Guarantee(LEVEL, capped_delta(EPSILON, UPDATES, LEVEL), Relation.SUBSTITUTION),
        accountant="tight",
    )  # fmt: skip
