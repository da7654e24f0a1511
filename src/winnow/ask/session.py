"""Private multiplicative weights: questions one by one, answered from a hypothesis that learns.

[PMW, Fig 1] with the update direction mended: weights fall by exp(-eta r) with r = 1 - f where
the data have more than the hypothesis says, and r = f where they have less. (As printed, the two
are exchanged and every update makes the hypothesis worse.)

The step. Let h be the hypothesis' answer and q the noisy one brought nu nearer to h; with
|noise| <= nu the true answer lies beyond q, seen from h. (On a sub-universe, nu + gamma nearer: so
does the answer of the distribution there that is within gamma of the data.) The step of
log odds(q) - log odds(h) makes the hypothesis answer q (for a set of cells), and lowers the
relative entropy to the data by at least KL(q || h) >= 2 (q - h)^2 > 2 g^2. Proof: for values f in
[0, 1] the mean of e^(eta f) is at most 1 - h + h e^eta, so the entropy falls by at least
eta q - ln(1 - h + h e^eta), which is concave in eta, largest at that step with the value
KL(q || h), and at least 2 (q - h)^2 from 4 |q - h| on; so steps are cut at 8 without harm.

When updates have run out, questions are answered with noise of their own where part of the charge
was kept for that (``fallback``), and else by the last hypothesis, untested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from winnow.ask.journal import Journal
from winnow.ask.kept import Release
from winnow.ask.mechanism import OpenRounds
from winnow.ask.open_session import (
    FRESH,
    HYPOTHESIS,
    INDEPENDENT,
    UNCHECKED,
    Answer,
    OpenSession,
    answer_of,
)
from winnow.ask.questions import Question, question_of, questions_of, taken
from winnow.ask.remembered import Remembered
from winnow.ask.sizes import WeightsSizes
from winnow.ask.state import CellState, PointState, State
from winnow.core.released import Receipt, Released
from winnow.core.schema import Schema
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.foreign import guarded, shown
from winnow.privacy.ledger.locks import Hold
from winnow.release.factors import Factor
from winnow.release.synthetic import SyntheticDistribution

if TYPE_CHECKING:
    from winnow.ask.plan import AskPlan

LARGEST_STEP = 8.0
TOGETHER = 1000
"""So many questions are written down together."""

__all__ = ["Answer", "SyntheticPasses", "WeightsSession", "log_step"]


@dataclass(frozen=True)
class SyntheticPasses:
    """How passes over a workload ended: 'converged', 'pass limit' or 'exhausted'."""

    status: str
    passes: int
    updates: int
    weights: Any
    """The hypothesis over the cells, sum 1; None where the domain is not held in memory."""
    answers: tuple[Answer, ...]
    """Every query of the workload, from the last hypothesis."""
    released: Released[SyntheticDistribution] | None = None
    """The hypothesis as a synthetic table; None where the domain is not held in memory."""

    @property
    def synthetic(self) -> SyntheticDistribution:
        """The synthetic table: it answers workloads, samples rows and saves itself."""
        if self.released is None:
            raise ParameterError(
                "the domain is kept as a list of updates, from which no rows are drawn; open the "
                "session with a larger memory=, or sample the domain with universe="
            )
        return self.released.value


class WeightsSession(OpenSession[WeightsSizes]):
    """An open session whose hypothesis learns: ``ask`` until it is ``exhausted``.

    One session is one charge, made when it was opened. It cannot be copied or pickled, and
    threads that share it take turns.
    """

    def __init__(
        self,
        plan: AskPlan,
        schema: Schema,
        state: State,
        rounds: OpenRounds,
        receipt: Receipt,
        journal: Journal | None = None,
        hold: Hold | None = None,
    ) -> None:
        sizes = plan.expected
        assert isinstance(sizes, WeightsSizes)
        super().__init__(plan, sizes, schema, receipt, journal, hold)
        self._state = state
        self._rounds = rounds
        self._measured: dict[bytes, tuple[int, int]] = {}
        self._said: dict[bytes, int] = {}
        """Noisy counts of questions that were answered after the rounds."""
        self._found_near = Remembered(sizes.max_queries)
        self._near = math.nan
        """The threshold that the hypothesis passed on all of these."""
        self._entropy = sizes.threshold.entropy

    @property
    def method(self) -> str:
        """How it answers."""
        return self.plan.method

    @property
    def status(self) -> str:
        """'open', 'exhausted' (nothing new is answered from the data any more) or 'closed'."""
        if self._closed:
            return "closed"
        return "open" if self.learns or self.fallback_left > 0 else "exhausted"

    @property
    def learns(self) -> bool:
        """Whether an update and a round are left; if not, a fallback answers if there is one."""
        return self._rounds.left > 0 and self._rounds.rounds < self.sizes.max_queries

    @property
    def fallback_left(self) -> int:
        """How many independent answers are paid for, for when updates run out."""
        return 0 if self._rounds.fallback is None else self._rounds.fallback.left

    @property
    def updates(self) -> int:
        """How many updates are used up: released, or lost in a crash."""
        return self.sizes.rounds.updates - self._rounds.left

    @property
    def rounds(self) -> int:
        """How many private tests were used up."""
        return self._rounds.rounds

    @guarded
    def ask(self, question: Any) -> Answer:
        """Answer one question, such as ``wn.where(age=(40, 60), sex="Female")``."""
        with self._held():
            return self._ask(question_of(self.schema, question))

    @guarded
    def ask_all(self, workload: Any) -> list[Answer]:
        """Answer every query of a workload, in order."""
        asked = questions_of(self.schema, workload)
        answers: list[Answer] = []
        with self._held(asked.size):
            for first in range(0, asked.size, TOGETHER):
                part = range(first, min(asked.size, first + TOGETHER))
                answers += self._ask_together([taken(asked, query) for query in part])
        return answers

    @guarded
    def ask_many(self, questions: Sequence[Any], *, fresh: int | None = None) -> list[Answer]:
        """Answer several questions in order; after ``fresh`` fresh answers, without testing.

        Answers that are not tested come from the hypothesis as it is, and have no error bound.
        With a state file up to 1,000 answers are written down together, before any is shown.
        """
        asked = [question_of(self.schema, each) for each in questions]
        with self._held(len(asked)), self._lock:
            for question in asked:
                self._check(question)
            first = self._released
            answers: list[Answer] = []
            for start in range(0, len(asked), TOGETHER):
                most = None if fresh is None else fresh - (self._released - first)
                answers += self._ask_together(asked[start : start + TOGETHER], most)
            return answers

    def _ask_together(self, questions: list[Question], fresh: int | None = None) -> list[Answer]:
        """Answers that are written down together."""
        with self._lock:
            for question in questions:
                self._check(question)
            first, answers = self._released, []
            with self._rounds.together(questions):
                for question in questions:
                    tested = fresh is None or self._released - first < fresh
                    answers.append(self._answered(question, again=False, tested=tested))
            return answers

    def _ask(self, question: Question, *, again: bool = False) -> Answer:
        """One answer; ``again`` tests a question anew that was measured before."""
        with self._lock:
            self._check(question)
            return self._answered(question, again=again)

    def _check(self, question: Question) -> None:
        if self._closed:
            raise ParameterError("this session is closed; open it again from its state file")
        self._rounds.check(question)
        self._state.check(question)

    def _answered(self, question: Question, *, again: bool, tested: bool = True) -> Answer:
        said = None if again else self._measured.get(question.key)
        if said is not None:
            return self._fresh(question, said[1], None)
        if not again and question.key in self._said:
            return self._independent(question, None)
        guess = self._state.answer(question)
        if question.key in self._found_near:
            return self._guessed(question, guess, self._near, None)
        if tested and not self.learns and self.fallback_left > 0:
            return self._fallen_back(question)
        if not self.learns or not tested:
            return self._guessed(question, guess, None, None)
        unit = self.sizes.rows * question.grid
        threshold = self.sizes.threshold_at(self._rounds.left, self._entropy)
        crossing = self._rounds.ask(question, guess * unit, threshold * unit)
        if crossing.count is None:
            if threshold != self._near:
                self._found_near.clear()
                self._near = threshold
            self._found_near.add(question.key)
            return self._guessed(question, guess, threshold, crossing.number)
        self._learn(question, crossing.number, crossing.count, guess)
        return self._fresh(question, crossing.count, crossing.number)

    def _learn(self, question: Question, number: int, count: int, guess: float) -> None:
        self._found_near.clear()
        self._measured[question.key] = (number, count)
        fraction = count / (self.sizes.rows * question.grid)
        self._entropy -= self.sizes.gained(guess, fraction)
        self._state.update(question, log_step(self.sizes, guess, fraction))

    @property
    def _released(self) -> int:
        """Fresh and independent answers so far."""
        return self.updates + len(self._said)

    def _fallen_back(self, question: Question) -> Answer:
        """With noise of its own: no update is left to learn from it."""
        assert self._rounds.fallback is not None
        ((number, count),) = self._rounds.fallback.answer([question])
        self._said[question.key] = count
        return self._independent(question, self.sizes.max_queries + number)

    def _independent(self, question: Question, number: int | None) -> Answer:
        unit = self.sizes.rows * question.grid
        fraction = min(1.0, max(0.0, self._said[question.key] / unit))
        assert self.sizes.fallback is not None
        error = min(1.0, self.sizes.fallback.noise)
        return answer_of(self.sizes, question, fraction, INDEPENDENT, error, number)

    def recall(self, answers: Iterable[Release]) -> None:
        """Remember independent answers that were given before."""
        self._said |= {question.key: count for _, question, count in answers}

    def replay(self, updates: Iterable[Release]) -> None:
        """Take the steps of updates that were released before."""
        for number, question, count in updates:
            self._learn(question, number, count, self._state.answer(question))

    def _guessed(
        self, question: Question, guess: float, threshold: float | None, number: int | None
    ) -> Answer:
        """From the hypothesis, which was found this near; None: it was not tested."""
        kind = UNCHECKED if threshold is None else HYPOTHESIS
        error = None if threshold is None else min(1.0, threshold + self.sizes.rounds.noise)
        return answer_of(self.sizes, question, guess, kind, error, number)

    def _fresh(self, question: Question, count: int, number: int | None) -> Answer:
        fraction = min(1.0, max(0.0, count / (self.sizes.rows * question.grid)))
        return answer_of(
            self.sizes, question, fraction, FRESH, min(1.0, self.sizes.rounds.noise), number
        )

    @guarded
    def synthesise(self, workload: Any, *, passes: int = 10) -> SyntheticPasses:
        """Passes over a workload until one has no update [PMW, Section II].

        ``synthetic`` of the result is the hypothesis as a synthetic table: it answers, samples and
        saves as that of ``winnow.release``; ``released`` has the session's guarantee beside it.
        Every query of every pass is a round and counts towards ``max_queries``.
        """
        asked = questions_of(self.schema, workload)
        if isinstance(passes, bool) or not isinstance(passes, int) or passes < 1:
            raise ParameterError(
                f"passes={shown(passes)} is not a number of passes; give 1 or more"
            )
        with self._held(asked.size * passes):
            return self._passes(asked, passes)

    def _passes(self, asked: Workload, passes: int) -> SyntheticPasses:
        status, done = "pass limit", 0
        for _ in range(passes):
            before = self.updates
            done += 1
            for query in range(asked.size):
                if not self.learns:
                    break
                self._ask(taken(asked, query), again=True)
            if not self.learns:
                status = "exhausted" if not self._whole_pass(asked, before) else "converged"
                break
            if self.updates == before:
                status = "converged"
                break
        return self._synthetic(asked, status, done)

    def _whole_pass(self, asked: Workload, before: int) -> bool:
        """Whether the last pass was complete, and no answer was found far from the data."""
        near = all(taken(asked, q).key in self._found_near for q in range(asked.size))
        return self.updates == before and near

    def _synthetic(self, asked: Workload, status: str, passes: int) -> SyntheticPasses:
        answers = []
        for query in range(asked.size):
            question = taken(asked, query)
            near = self._near if question.key in self._found_near else None
            answers.append(self._guessed(question, self._state.answer(question), near, None))
        state, weights, released = self._state, None, None
        if isinstance(state, CellState | PointState):
            weights = state.weights()
            points = state.points if isinstance(state, PointState) else None
            columns = tuple(range(len(self.schema.columns)))
            factor = Factor(columns, self.schema.shape, weights, points)
            which = "sampled" if self.sizes.universe.listed is None else "listed"
            rests_on = "" if points is None else f"the fit is on {len(points):,} {which} cells"
            value = SyntheticDistribution(
                self.schema, (factor,), self.sizes.rows, workload=asked, rests_on=rests_on
            )
            released = Released(value, self.guarantee, self.receipt)
        return SyntheticPasses(status, passes, self.updates, weights, tuple(answers), released)

    @guarded
    def state(self) -> dict[str, Any]:
        """The public state as plain data: constants, place on the tape, updates so far."""
        return {
            "sizes": self.sizes.to_dict(),
            "status": self.status,
            "rounds": self.rounds,
            "updates": self.updates,
        }

    def _write_end(self, journal: Journal) -> None:
        journal.close(self._rounds.rounds if self._rounds.whole else None)

    def __repr__(self) -> str:
        return (
            f"<interactive session, {self.status}: {self.rounds:,} of {self.sizes.max_queries:,} "
            f"rounds, {self.updates} of {self.sizes.rounds.updates} updates>"
        )


def log_step(sizes: WeightsSizes, guess: float, measured: float) -> float:
    """The exponent of the update: cells inside the question are multiplied by e to this."""
    up = measured > guess
    if sizes.fixed_step is not None:
        return sizes.fixed_step if up else -sizes.fixed_step
    off = sizes.rounds.noise + sizes.universe.gamma
    target = min(max(measured - off, guess), 1.0) if up else max(min(measured + off, guess), 0.0)
    step = _log_odds(target) - _log_odds(guess)
    if math.isnan(step):  # the hypothesis already puts all or nothing there
        return 0.0
    return min(max(step, -LARGEST_STEP), LARGEST_STEP)


def _log_odds(p: float) -> float:
    if p <= 0:
        return -math.inf
    return math.inf if p >= 1 else math.log(p) - math.log1p(-p)
