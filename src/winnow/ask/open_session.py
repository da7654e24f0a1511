"""What sessions of every method share: one charge, a lock for threads, answers with a source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from winnow.ask.journal import Journal
from winnow.ask.questions import Question
from winnow.ask.sizes import Sizes
from winnow.core.padding import SPARE, Padding, PadTo, checked
from winnow.core.released import Receipt
from winnow.core.schema import Schema
from winnow.errors import GrantError
from winnow.foreign import guarded
from winnow.privacy import Guarantee
from winnow.privacy.ledger.locks import Hold

if TYPE_CHECKING:
    from winnow.ask.plan import AskPlan

S = TypeVar("S", bound=Sizes)


class OpenSession(ABC, Generic[S]):
    """An open session. It is neither copied nor pickled, and threads that share it take turns."""

    def __init__(
        self,
        plan: AskPlan,
        sizes: S,
        schema: Schema,
        receipt: Receipt,
        journal: Journal | None,
        hold: Hold | None,
    ) -> None:
        self.plan = plan
        self.sizes = sizes
        """Its public constants."""
        self.schema = schema
        self.receipt = receipt
        self._journal, self._hold = journal, hold
        self._closed = False
        self._lock = RLock()
        self._pad_to: float | str | None = None
        self.late = 0
        """How many answers came later than they were to be held back."""

    def padded(self, pad_to: PadTo) -> Self:
        """Hold every answer back until a fixed time after its question."""
        self._pad_to = checked(pad_to)
        return self

    @contextmanager
    def _held(self, questions: int = 1) -> Iterator[None]:
        """Answers to so many questions, or an error, at a time that is fixed beforehand."""
        pad_to = self._pad_to
        if pad_to is not None and not isinstance(pad_to, str):
            pad_to *= max(1, questions)
        padding = Padding(pad_to)
        with padding.held(lambda: max(1, questions) * SPARE * self.plan.seconds):
            yield
        self.late += padding.late

    @property
    def guarantee(self) -> Guarantee:
        """What holds of everything that the session will ever release."""
        return self.plan.guarantee

    @property
    @abstractmethod
    def status(self) -> str:
        """'open', 'exhausted' or 'closed'."""

    @property
    def exhausted(self) -> bool:
        """Whether no new question is answered from the data any more."""
        return self.status == "exhausted"

    @abstractmethod
    def _write_end(self, journal: Journal) -> None:
        """Write down how far the session came, and let go of its file."""

    @guarded
    def close(self) -> None:
        """End this process' part; a session with a state file can be opened again."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._journal is not None:
                    self._write_end(self._journal)
                if self._hold is not None:
                    self._hold.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise GrantError("an interactive session is not copied or pickled: it is one charge")


HYPOTHESIS, FRESH, UNCHECKED, INDEPENDENT = "hypothesis", "fresh", "unchecked", "independent"


@dataclass(frozen=True)
class Answer:
    """One answer. ``kind`` says where it came from:

    'hypothesis': the public hypothesis, which a private test found near the data;
    'fresh': the data's own count with noise, because the hypothesis was far off;
    'unchecked': the last hypothesis, untested, after the session was exhausted;
    'independent': the data's own count with noise, in a session without a hypothesis, or when
    updates have run out.
    """

    question: str
    value: float
    """The answer as a fraction of the rows (or in [-c, c] for queries declared so)."""
    count: float
    """The answer as a number of rows."""
    kind: str
    error: float | None
    """With probability 1 - beta no answer of the session is further off; None: no bound."""
    confidence: float
    adaptive: bool
    """False: the error holds for questions that do not depend on earlier answers only."""
    number: int | None
    """The round that it took; None when no private test was needed."""

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data, ready for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
        off = "no error bound" if self.error is None else f"within {self.error:.3g}"
        return f"{self.value:.4g} ({self.kind}, {off}): {self.question}"


def answer_of(
    sizes: Sizes,
    question: Question,
    fraction: float,
    kind: str,
    error: float | None,
    number: int | None,
) -> Answer:
    """The answer to a question, from the fraction of the rows that was found for it."""
    value = question.declared(fraction)
    return Answer(
        question.label,
        value,
        value * sizes.rows,
        kind,
        None if error is None else error * question.stretch,
        1 - sizes.beta,
        sizes.adaptive,
        number,
    )


def answer_seconds(cells: int) -> float:
    """The public time of an answer; a domain that is not listed counts as 2^27 cells."""
    return 0.01 + 3e-8 * min(cells, 1 << 27)
