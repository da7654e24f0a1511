"""A session whose answers have independent noise: the same interface, no hypothesis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from winnow.ask.independent_answers import OpenAnswers
from winnow.ask.journal import Journal
from winnow.ask.open_session import INDEPENDENT, Answer, OpenSession, answer_of
from winnow.ask.questions import Question, question_of, questions_of, taken
from winnow.ask.sizes import IndependentSizes
from winnow.core.released import Receipt
from winnow.core.schema import Schema
from winnow.core.unit import counted
from winnow.errors import ParameterError, SessionExhausted
from winnow.foreign import guarded
from winnow.privacy.ledger.locks import Hold

if TYPE_CHECKING:
    from winnow.ask.plan import AskPlan

_TOGETHER = 1024
"""So many answers of ``ask_all`` are written to the disk together."""


class IndependentSession(OpenSession[IndependentSizes]):
    """An open session with independent noise: ``ask`` until it is ``exhausted``.

    One session is one charge for a fixed number of questions, made when it was opened. A question
    that was answered is answered again with the same number, and does not count twice.
    """

    def __init__(
        self,
        plan: AskPlan,
        schema: Schema,
        answers: OpenAnswers,
        receipt: Receipt,
        journal: Journal | None = None,
        hold: Hold | None = None,
    ) -> None:
        sizes = plan.expected
        assert isinstance(sizes, IndependentSizes)
        super().__init__(plan, sizes, schema, receipt, journal, hold)
        self._answers = answers
        self._said: dict[bytes, int] = {}

    @property
    def method(self) -> str:
        """How it answers."""
        return self.plan.method

    @property
    def status(self) -> str:
        """'open', 'exhausted' (all questions were answered) or 'closed'."""
        if self._closed:
            return "closed"
        return "open" if self._answers.left > 0 else "exhausted"

    @property
    def rounds(self) -> int:
        """How many questions count as answered."""
        return self._answers.used

    @guarded
    def ask(self, question: Any) -> Answer:
        """Answer one question, such as ``wn.where(age=(40, 60), sex="Female")``."""
        with self._held():
            return self._ask([question_of(self.schema, question)])[0]

    @guarded
    def ask_all(self, workload: Any) -> list[Answer]:
        """Answer every query of a workload, in order; refused whole if too few are left."""
        asked = questions_of(self.schema, workload)
        questions = [taken(asked, query) for query in range(asked.size)]
        with self._held(len(questions)), self._lock:
            self._check(questions)
            answers: list[Answer] = []
            for first in range(0, len(questions), _TOGETHER):
                answers += self._ask(questions[first : first + _TOGETHER])
            return answers

    @guarded
    def ask_many(self, questions: Sequence[Any], *, fresh: int | None = None) -> list[Answer]:
        """Answer several questions in order, written down together.

        Refused whole if too few are left, or if more than ``fresh`` of them are new.
        """
        asked = [question_of(self.schema, each) for each in questions]
        with self._held(len(asked)), self._lock:
            new = len(self._check(asked))
            if fresh is not None and new > fresh:
                raise SessionExhausted(
                    f"{counted(new, 'new question')} asked, and {counted(fresh, 'fresh answer')} "
                    "left; questions that were answered before can be asked again"
                )
            return self._ask(asked)

    @guarded
    def synthesise(self, workload: Any, *, passes: int = 10) -> NoReturn:
        """Refused, and nothing is used up: only a hypothesis is a synthetic table."""
        raise ParameterError(
            "a session with independent noise keeps no hypothesis to synthesise from; open one "
            "with method='multiplicative-weights', or use winnow.release for this workload"
        )

    def _check(self, questions: list[Question]) -> list[Question]:
        """The new ones among them, all fit to be asked."""
        if self._closed:
            raise ParameterError("this session is closed; open it again from its state file")
        new: dict[bytes, Question] = {}
        for question in questions:
            self._answers.check(question)
            if question.key not in self._said:
                new.setdefault(question.key, question)
        if len(new) > self._answers.left:
            raise SessionExhausted(
                f"{len(new):,} new questions were asked, and only {self._answers.left:,} of the "
                f"{self.sizes.max_queries:,} that were paid for are left; questions that were "
                "answered before can be asked again"
            )
        return list(new.values())

    def _ask(self, questions: list[Question]) -> list[Answer]:
        with self._lock:
            new = self._check(questions)
            numbers: dict[bytes, int] = {}
            if new:
                answered = self._answers.answer(new)
                for question, (number, count) in zip(new, answered, strict=True):
                    self._said[question.key], numbers[question.key] = count, number
            return [self._answer(q, numbers.pop(q.key, None)) for q in questions]

    def _answer(self, question: Question, number: int | None) -> Answer:
        unit = self.sizes.rows * question.grid
        fraction = min(1.0, max(0.0, self._said[question.key] / unit))
        return answer_of(self.sizes, question, fraction, INDEPENDENT, self.sizes.bound, number)

    def replay(self, updates: Iterable[tuple[int, Question, int]]) -> None:
        """Remember what was answered before."""
        for _, question, count in updates:
            self._said[question.key] = count

    @guarded
    def state(self) -> dict[str, Any]:
        """The public state as plain data."""
        return {"sizes": self.sizes.to_dict(), "status": self.status, "rounds": self.rounds}

    def _write_end(self, journal: Journal) -> None:
        journal.close(self.rounds, self.rounds)

    def __repr__(self) -> str:
        return (
            f"<session with independent noise, {self.status}: {self.rounds:,} of "
            f"{self.sizes.max_queries:,} questions>"
        )
