"""One answer of a session, and what it says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from winnow.domain.questions import Question

HYPOTHESIS, FRESH, UNCHECKED, INDEPENDENT = "hypothesis", "fresh", "unchecked", "independent"


@dataclass(frozen=True)
class Answer:
    """One answer. ``kind`` says where it came from:

    'hypothesis': the public hypothesis, which a private test found near the data;
    'fresh': the data's own count with noise, because the hypothesis was far off;
    'unchecked': the last hypothesis, untested, after the session was exhausted;
    'independent': the data's own count with noise, in a session without a hypothesis.
    """

    question: str
    value: float
    """The answer as a fraction of the rows (or in [-c, c] for queries declared so)."""
    count: float
    """The same times the rows."""
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


class Sized(Protocol):
    """What an answer needs to know of its session's plan."""

    @property
    def rows(self) -> int:
        """The public number of rows."""

    @property
    def beta(self) -> float:
        """The chance that a bound of the session fails."""

    @property
    def adaptive(self) -> bool:
        """Whether bounds hold for questions that depend on earlier answers."""


def answer_of(
    plan: Sized,
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
        value * plan.rows,
        kind,
        None if error is None else error * question.stretch,
        1 - plan.beta,
        plan.adaptive,
        number,
    )
