"""Everything of a session with independent noise that is fixed before the data are looked at."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from winnow.ask.constants import InteractiveRequest
from winnow.ask.independent_answers import IndependentAnswers, answer_bound
from winnow.ask.sizing import rows_of
from winnow.ask.warm_start import MEAN_OF_NORMAL
from winnow.core.checks import count, positive, probability
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.errors import ParameterError
from winnow.privacy import Calibration, Event, Guarantee, calibrate, from_json, to_json


@dataclass(frozen=True)
class IndependentPlan(InNotebook):
    """A session's public constants. Fractions are of the rows."""

    rows: int
    rows_per_person: int
    max_queries: int
    beta: float
    noise_multiplier: float
    noise: float
    """With probability 1 - beta no noise of the session is larger."""
    event: Event
    guarantee: Guarantee
    accountant: str

    @property
    def bound(self) -> float:
        """The error of all answers, with probability 1 - beta for all of them."""
        return min(1.0, self.noise)

    @property
    def deviation(self) -> float:
        """The standard deviation of one answer."""
        spread = self.noise_multiplier * self.rows_per_person * math.sqrt(self.max_queries)
        return spread / self.rows

    @property
    def typical(self) -> float:
        """The mean error of one answer."""
        return min(1.0, MEAN_OF_NORMAL * self.deviation)

    @property
    def adaptive(self) -> bool:
        """The bound holds for questions that depend on earlier answers."""
        return True

    @property
    def mechanism(self) -> IndependentAnswers:
        """The noise that is added."""
        return IndependentAnswers(self.max_queries, self.noise_multiplier)

    def _card(self) -> Card:
        return text_card(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return asdict(self) | {
            "event": to_json(self.event),
            "guarantee": self.guarantee.to_dict(),
            "bound": self.bound,
            "deviation": self.deviation,
            "typical": self.typical,
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> IndependentPlan:
        """The plan that ``to_dict`` described."""
        derived = ("bound", "deviation", "typical")
        content = {n: v for n, v in document.items() if n not in derived}
        content["event"] = from_json(content["event"])
        content["guarantee"] = Guarantee(**content["guarantee"])
        return cls(**content)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.max_queries:,} questions about {self.rows:,} rows, each with noise of its "
                "own",
                f"{self.guarantee} ({self.accountant} accountant)",
                f"standard deviation {self.deviation * self.rows:,.4g} rows in each answer",
                f"with probability {1 - self.beta:g}: all answers err by at most {self.bound:.3g}",
            ]
        )


def plan_independent(request: InteractiveRequest) -> IndependentPlan:
    """Fix everything, or say what is impossible; nothing is charged here."""
    positive(epsilon=request.epsilon)
    probability(delta=request.delta, beta=request.beta)
    count(max_queries=request.max_queries, rows_per_person=request.rows_per_person)
    useless = request.of_hypothesis
    if useless:
        raise ParameterError(
            f"{', '.join(useless)}: not for independent answers, which have no hypothesis; leave "
            "it out"
        )
    rows = rows_of(request)
    queries, width = int(request.max_queries), int(request.rows_per_person)
    found = _noise(request, queries)
    multiplier = 1 / found.parameter
    beta = float(request.beta)
    noise = answer_bound(multiplier, width, queries, beta) / rows
    event = _event(multiplier, queries, request)
    return IndependentPlan(
        rows, width, queries, beta, multiplier, noise, event, found.guarantee, found.accountant
    )


def _noise(request: InteractiveRequest, queries: int) -> Calibration:
    """The smallest noise that the budget allows; its parameter is 1/noise_multiplier."""
    return calibrate(
        lambda x: _event(1 / x, queries, request),
        epsilon=request.epsilon,
        delta=request.delta,
        accountant="best" if request.accountant == "tight" else "zcdp",
    )


def _event(multiplier: float, queries: int, request: InteractiveRequest) -> Event:
    return IndependentAnswers(queries, multiplier).promise(request.relation).event
