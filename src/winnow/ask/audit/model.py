"""An adversary at the front door: it asks a real session and looks at the answers only.

It never asks quite the same question twice (a session remembers), but questions that differ in a
code that nobody has: their counts are the same, and the hypothesis answers all of them alike, near
the threshold. Then it adds up what the answers say for one of two neighbouring tables and
against the other. Whatever it does with the answers, a correct session lets it prove no more
than is claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.ask.audit.by_hand import weights_plan
from winnow.ask.plan import AskPlan
from winnow.ask.questions import Question
from winnow.ask.session import WeightsSession
from winnow.ask.sizes import Rounds
from winnow.ask.state import CellState
from winnow.audit.result import AuditResult
from winnow.audit.sampling import epsilon_lower_bound
from winnow.core.checks import exact
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.privacy.capped import lost_mass, optimal_composition
from winnow.read.crossing import Rows, SealedTable, group


def capped_delta(epsilon: float, updates: int, level: float) -> float:
    """The delta that is claimed at this level."""
    return _best(epsilon, updates, level)[0]


def steps_for(epsilon: float, updates: int, level: float) -> int:
    """The number of steps with which it is claimed."""
    return _best(epsilon, updates, level)[1]


@lru_cache(maxsize=64)
def _best(epsilon: float, updates: int, level: float) -> tuple[float, int]:
    size, target = exact("epsilon", epsilon), exact("level", level)
    return min(
        (float(lost_mass(updates, size, steps)) + optimal_composition(size, steps, target), steps)
        for steps in range(updates, 40 * updates + 40)
    )


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SCHEMA = Schema.parse({"a": 2, "b": 2})
QUESTIONS = (
    {0: 1},
    {0: 1},
    {0: 1, 1: 1},
    {1: 0},
    {0: 1},
)
"""What is asked, in order: codes by column; the first again and again."""


def row_of(codes: dict[int, int]) -> Floats:
    """The question over the four cells."""
    inside = np.ones((2, 2))
    for column, code in codes.items():
        inside[(1 - code, slice(None)) if column == 0 else (slice(None), 1 - code)] = 0.0
    return inside.ravel()


@dataclass(frozen=True)
class SessionModel:
    """Private multiplicative weights with noise of one scale, on tables of `total` rows."""

    scale: float
    updates: int
    total: int
    threshold: float
    """In rows."""
    noise: float
    """nu, in rows: what the step allows for."""

    def window(self) -> Integers:
        """The noisy counts that are enumerated."""
        reach = math.ceil(16 * self.scale) + 2
        return np.arange(-reach, self.total + 1 + reach)

    def log_probabilities(self, tables: Integers) -> Floats:
        """One row for each transcript, one column for each table."""
        transcripts: list[Floats] = []
        uniform = np.full(4, 0.25)
        self._walk(
            0, uniform, self.updates, (), (), np.zeros((1, len(tables))), tables, transcripts
        )
        return np.concatenate(transcripts)

    def _walk(
        self,
        place: int,
        p: Floats,
        left: int,
        found_near: tuple[bytes, ...],
        measured: tuple[bytes, ...],
        logs: Floats,
        tables: Integers,
        transcripts: list[Floats],
    ) -> None:
        if place == len(QUESTIONS) or left <= 0:
            transcripts.append(logs)
            return
        row = row_of(QUESTIONS[place])
        key = row.tobytes()
        rest = (p, left, found_near, measured)
        if key in measured or key in found_near:  # answered again as before
            self._walk(place + 1, *rest, logs, tables, transcripts)
            return
        guess = self.total * float(row @ p)
        window = self.window()
        far = np.abs(window - guess) > self.threshold
        near = self._released(row, tables, np.zeros((1, len(tables))), window[~far])
        with np.errstate(divide="ignore"):
            silent = np.log(np.exp(near).sum(axis=0))
        self._walk(
            place + 1, p, left, (*found_near, key), measured, logs + silent, tables, transcripts
        )
        after = (*measured, key)
        if left == 1 or place + 1 == len(QUESTIONS):  # nothing depends on the count any more
            transcripts.append(self._released(row, tables, logs, window[far]))
            return
        for count in window[far]:
            moved = p * np.exp(self._step(guess, float(count)) * row)
            shown = self._released(row, tables, logs, np.array([count]))
            self._walk(
                place + 1, moved / moved.sum(), left - 1, (), after, shown, tables, transcripts
            )

    def _released(self, row: Floats, tables: Integers, logs: Floats, counts: Integers) -> Floats:
        """Every transcript so far, followed by each of these counts."""
        distance = np.abs(counts[:, None] - (tables @ row)[None, :])
        q = math.exp(-1 / self.scale)
        mass = math.log((1 - q) / (1 + q)) - distance / self.scale
        return np.asarray((logs[:, None, :] + mass[None, :, :]).reshape(-1, logs.shape[1]))

    def _step(self, guess: float, count: float) -> float:
        """The step that makes the hypothesis answer the count, brought nu nearer."""
        if count > guess:
            target = min(max(count - self.noise, guess), self.total) / self.total
        else:
            target = max(min(count + self.noise, guess), 0) / self.total
        if not 0 < target < 1:
            return math.copysign(8.0, count - guess)
        here = guess / self.total
        step = math.log(target / (1 - target)) - math.log(here / (1 - here))
        return min(max(step, -8.0), 8.0)


@dataclass(frozen=True)
class RepeatedModel:
    """One question for many rounds, its guess at a distance from the truth."""

    scale: float
    updates: int
    rounds: int
    distance: int
    """Of the guess from the true count."""
    threshold: float
    repeats: int = 0
    """Further counts that each release brings without being counted."""

    def delta(
        self, epsilon: float, moved: int = 1, after: tuple[Floats, Floats] | None = None
    ) -> float:
        """The hockey-stick divergence when the neighbour's count lies `moved` higher (1 or -1).

        ``after`` has the losses, and their chances, of what is released when all rounds are over.
        """
        found_near, plus, minus = self._outcomes(0, moved)
        others = self._outcomes(moved, moved)
        loss = math.log(found_near / others[0])
        unit = 1 / self.scale
        reach = (self.repeats + 1) * self.updates
        width = 2 * reach + 1
        # mass[j, k]: j releases, their losses add up to (k - reach) units
        mass = np.zeros((self.updates, width))
        mass[0, reach] = 1.0
        steps = self._release_steps(plus, minus)
        net = np.asarray(unit * (np.arange(width) - reach), np.float64)
        total = 0.0
        for done in range(self.rounds):
            released = np.zeros((self.updates + 1, width))
            for shift, chance in steps.items():
                released[1:] += chance * np.roll(mass, shift, axis=1)
            ended = released[self.updates]
            silent = done - (self.updates - 1)
            total += _over(ended, silent * loss + net, epsilon, after)
            mass = found_near * mass + released[: self.updates]
        for releases in range(self.updates):
            silent = self.rounds - releases
            total += _over(mass[releases], silent * loss + net, epsilon, after)
        return total

    def _release_steps(self, plus: float, minus: float) -> dict[int, float]:
        """The losses of one release in units, and their chances."""
        steps = {1: plus, -1: minus}
        q = math.exp(-1 / self.scale)
        side = 1 / (1 + q)  # of all noise on the nearer side of a count that moves by 1
        for _ in range(self.repeats):
            grown: dict[int, float] = {}
            for shift, chance in steps.items():
                for more, part in ((1, side), (-1, 1 - side)):
                    grown[shift + more] = grown.get(shift + more, 0.0) + chance * part
            steps = grown
        return steps

    def _outcomes(self, true: int, moved: int) -> tuple[float, float, float]:
        """Chances of: found near; released with loss +1/scale; released with loss -1/scale."""
        low = math.ceil(self.distance - self.threshold)
        high = math.floor(self.distance + self.threshold)
        found_near = self._up_to(high - true) - self._up_to(low - 1 - true)
        if moved > 0:  # counts up to 0, where the table of the gain has its true count
            below = self._up_to(min(low - 1, 0) - true)
            gain = below + max(0.0, self._up_to(-true) - self._up_to(high - true))
        else:  # counts from 0 on
            above = 1 - self._up_to(max(high + 1, 0) - 1 - true)
            gain = above + max(0.0, self._up_to(low - 1 - true) - self._up_to(-1 - true))
        return found_near, gain, 1 - found_near - gain

    def _up_to(self, x: int) -> float:
        """Pr[noise <= x]."""
        q = math.exp(-1 / self.scale)
        return 1 - q ** (x + 1) / (1 + q) if x >= 0 else q ** (-x) / (1 + q)


def _over(mass: Floats, loss: Floats, epsilon: float, after: tuple[Floats, Floats] | None) -> float:
    if after is None:
        return float(mass @ -np.expm1(np.minimum(epsilon - loss, 0.0)))
    losses, chances = after
    gains = -np.expm1(np.minimum(epsilon - loss[:, None] - losses[None, :], 0.0)) @ chances
    return float(mass @ (gains + (1 - chances.sum())))  # sums far out count in full


CODES = 44
ROWS = 440
COUNT = 20
"""What the hypothesis says about two of the codes at first; the neighbour has one row more."""
ROUNDS = 40
EPSILON, UPDATES, LEVEL, THRESHOLD = 0.5, 1, 1.0, 0.5

_SCHEMA = Schema.parse({"a": CODES})
_BINS = 41


class Forgetful(WeightsSession):
    """Broken on purpose: what was measured is forgotten, and not counted."""

    def _learn(self, question: Question, number: int, count: int, guess: float) -> None:
        self._rounds._left += 1


def adversary_table(count: int) -> SealedTable:
    """So many rows with the code 1, and all others with the code 0."""
    counts = np.zeros(CODES, np.int64)
    counts[:2] = ROWS - count, count
    rows = group((np.arange(CODES, dtype=np.int32),), counts, (CODES,))
    return SealedTable(_SCHEMA, Sealed(Rows(*rows), "made-up rows"))


def sample_adversary(
    draws: int, seed: int, kind: type[WeightsSession] = WeightsSession
) -> AuditResult:
    """What so many real sessions (or broken ones) let the adversary prove, against the claim."""
    claimed = capped_delta(EPSILON, UPDATES, LEVEL)
    plan = _plan()
    tallies = [
        _tallies(plan, kind, adversary_table(count), draws, seed + count)
        for count in (COUNT, COUNT + 1)
    ]
    bound, event = epsilon_lower_bound(tallies[0], tallies[1], delta=claimed)
    mechanism = plan.expected.mechanism
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
    plan: AskPlan, kind: type[WeightsSession], table: SealedTable, draws: int, seed: int
) -> tuple[Integers, Integers]:
    """How often each amount of evidence was found, in two halves."""
    asked = [Question(_SCHEMA, {0: np.array([1, 2 + i])}) for i in range(ROUNDS)]
    root = Tape.seeded(seed)
    halves = np.zeros((2, _BINS), np.int64)
    for draw in range(draws):
        key, receipt = single_run(plan.mechanism, table.relation, root.child(f"{draw}"))
        rounds = plan.draw(table, key)
        session = kind(plan, _SCHEMA, CellState(_SCHEMA), rounds, receipt)
        halves[draw % 2, _evidence(session, asked)] += 1
    return halves[0], halves[1]


def _evidence(session: WeightsSession, asked: list[Question]) -> int:
    """The log likelihood ratio of the answers, as far as the adversary follows it, in bins."""
    silent = _below(COUNT + 1) - _below(COUNT)
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


def _below(true: int) -> float:
    """The log of the chance that the first round finds the answer near the data."""
    q = math.exp(-EPSILON)
    reach = range(math.ceil(COUNT - THRESHOLD), math.floor(COUNT + THRESHOLD) + 1)
    return math.log(sum((1 - q) / (1 + q) * q ** abs(count - true) for count in reach))


def _plan() -> AskPlan:
    steps = steps_for(EPSILON, UPDATES, LEVEL)
    return weights_plan(
        _SCHEMA,
        rows=ROWS,
        queries=ROUNDS + 1,
        rounds=Rounds(updates=UPDATES, epsilon=EPSILON, steps=steps, noise=2 / ROWS),
        threshold=THRESHOLD / ROWS,
        level=LEVEL,
        delta=capped_delta(EPSILON, UPDATES, LEVEL),
    )
