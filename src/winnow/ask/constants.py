"""The public constants of an interactive session; ``interactive_sizing`` finds them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from winnow.ask.independent_answers import IndependentAnswers
from winnow.ask.mechanism import MultiplicativeWeights
from winnow.core.checks import Real, exact
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.core.schema import cells_text
from winnow.privacy import Event, Guarantee, from_json, to_json

Cells = tuple[tuple[int, ...], ...]
"""Cells of a domain: a code for each column."""


@dataclass(frozen=True)
class InteractiveRequest:
    """The public parameters of a session."""

    cells: int
    epsilon: Real
    delta: Real
    max_queries: int = 10_000
    beta: Real = 0.05
    relation: Relation = Relation.SUBSTITUTION
    rows_per_person: int = 1
    public_rows: int | None = None
    rows: int | None = None
    updates: int | None = None
    threshold: Real | str | None = None
    alpha: Real | None = None
    calibration: str = "target-charging"
    warm_start: Real | str = 0.0
    fallback: Real | str = 0.0
    universe: int | str | None = None
    listed: Cells | None = None
    """The cells of a public list, where the universe is one; ``universe`` counts them."""
    smoothness: Real | None = None
    phi: Real | str = 0.0
    phi_beta: float = 0.0
    """What of beta pays for a phi that follows from the rows."""
    universe_seed: int = 0
    accountant: str = "tight"
    lost: Real | None = None
    shape: tuple[int, ...] | None = None
    """The sizes of the columns, where all cells are held in memory."""

    @property
    def of_hypothesis(self) -> list[str]:
        """The options given that only a session with a hypothesis has."""
        given = {
            "updates": self.updates, "threshold": self.threshold, "alpha": self.alpha,
            "universe": self.universe, "smoothness": self.smoothness,
            "warm_start": None
            if isinstance(self.warm_start, str)
            else exact("warm_start", self.warm_start) or None,
            "fallback": None
            if isinstance(self.fallback, str)
            else exact("fallback", self.fallback) or None,
            "phi": None if self.phi == 0 else self.phi,
            "calibration": None if self.calibration == "target-charging" else self.calibration,
        }  # fmt: skip
        return [name for name, value in given.items() if value is not None]


@dataclass(frozen=True)
class InteractivePlan(InNotebook):
    """A session's public constants. Fractions are of the rows."""

    cells: int
    domain: int
    """Cells that carry weight: all, or the sampled ones."""
    rows: int
    rows_per_person: int
    max_queries: int
    beta: float
    updates: int
    epsilon: float
    """Of one round."""
    steps: int
    threshold: float
    noise: float
    """nu: with probability 1 - beta no noise of the session is larger."""
    gap: float
    """g: an update means that the hypothesis was off by more, with that probability."""
    step: str
    """'measured', or the fixed step of the printed mechanism."""
    fixed_step: float
    calibration: str
    gamma: float
    """What a universe of some cells adds to the threshold."""
    universe: int | None
    universe_seed: int
    prior_multiplier: float | None
    guaranteed: bool
    """Whether `bound` is proved for all answers, with probability 1 - beta: fewer than `updates`
    updates happen, or a fallback comes after them."""
    event: Event
    guarantee: Guarantee
    accountant: str
    entropy: float = 0.0
    """What the hypothesis can be off in relative entropy at the start, at most."""
    low: float | None = None
    """The threshold while updates that gain nothing are affordable; None: always ``threshold``."""
    prior_ways: int = 1
    """The columns of each table of the prior."""
    prior_mix: float = 0.1
    """The part of the even distribution in the prior."""
    listed: Cells | None = field(default=None, repr=False)
    """The cells of a public list, where the universe is one."""
    fallback_multiplier: float | None = None
    """Of the noise of ``max_queries`` independent answers, for when updates run out."""
    fallback_noise: float = 0.0
    """No noise of these is larger, with the same probability for all noise of the session."""
    typical: float = 1.0
    """The mean error of an answer to expect, by which methods are compared."""

    @property
    def bound(self) -> float:
        """The error of all answers that state one, with probability 1 - beta for all of them."""
        return min(1.0, max(self.threshold + self.noise, self.fallback_noise))

    @property
    def usual(self) -> float:
        """The error of answers from the hypothesis while the lower threshold is in use."""
        return min(1.0, (self.threshold if self.low is None else self.low) + self.noise)

    def threshold_at(self, left: int, entropy: float) -> float:
        """The threshold of the next round, with so many updates left and at most this entropy.

        One more update below ``threshold`` may gain nothing. It is affordable while all that is
        left to learn then fits the updates that remain at ``threshold`` (see ``sizing``).
        Towards the end of what is affordable the threshold rises.
        """
        if self.low is None:
            return self.threshold
        needed = 1 / (2 * self.gap**2)  # updates for a unit of entropy
        free = left - entropy * needed
        if free < 1:
            return self.threshold
        used = 1 - free / (self.updates - self.entropy * needed)
        return float(self.low * (self.threshold / self.low) ** max(0.0, used) ** 4)

    def gained(self, guess: float, measured: float) -> float:
        """By how much an update lowers the entropy at least."""
        return 2 * max(0.0, abs(measured - guess) - self.noise - self.gamma) ** 2

    @property
    def mechanism(self) -> MultiplicativeWeights:
        """The rounds that run."""
        fallback = None
        if self.fallback_multiplier is not None:
            fallback = IndependentAnswers(self.max_queries, self.fallback_multiplier)
        return MultiplicativeWeights(
            self.updates, self.epsilon, self.steps, self.prior_multiplier, self.prior_ways, fallback
        )

    @property
    def adaptive(self) -> bool:
        """Whether the bound holds for questions that depend on earlier answers."""
        return self.universe is None or self.listed is not None

    def _card(self) -> Card:
        return text_card(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return asdict(self) | {
            "event": to_json(self.event),
            "guarantee": self.guarantee.to_dict(),
            "bound": self.bound,
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> InteractivePlan:
        """The plan that ``to_dict`` described."""
        content = {name: value for name, value in document.items() if name != "bound"}
        content["event"] = from_json(content["event"])
        content["guarantee"] = Guarantee(**content["guarantee"])
        if content.get("listed") is not None:
            content["listed"] = tuple(tuple(cell) for cell in content["listed"])
        return cls(**content)

    def __str__(self) -> str:
        counts = "one-way counts" if self.prior_ways == 1 else "counts of all pairs of columns"
        start = f", noisy {counts} as a prior" if self.prior_multiplier else ""
        where = f"{cells_text(self.cells)} cells"
        if self.universe is not None:
            which = "sampled" if self.listed is None else "listed"
            where = f"{self.domain:,} {which} of {where}"
        lines = [
            f"{self.max_queries:,} questions about {self.rows:,} rows, {where}{start}",
            f"{self.guarantee} ({self.calibration}, {self.accountant} accountant)",
            f"at most {self.updates:,} updates; noise scale "
            f"{self.rows_per_person / self.epsilon:,.4g} rows in each round",
            f"with probability {1 - self.beta:g}: answers from the hypothesis err by at most "
            f"{min(1.0, self.threshold + self.noise):.3g}, fresh answers by {self.noise:.3g}",
            *(
                [f"usually by at most {self.usual:.3g}, as each answer says itself"]
                if self.low is not None
                else []
            ),
        ]
        if not self.adaptive:
            lines.append("accuracy for questions that do not depend on earlier answers only")
        if self.fallback_multiplier is not None:
            lines.append(
                f"should updates run out, by at most {min(1.0, self.fallback_noise):.3g}: answers "
                "then have noise of their own"
            )
        elif not self.guaranteed:
            lines.append(
                "the number of updates may run out: this threshold is below the proved one"
            )
        return "\n".join(lines)
