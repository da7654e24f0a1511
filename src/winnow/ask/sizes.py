"""The public constants of a session; ``ask.sizing`` finds those of a hypothesis."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

from winnow.ask.independent_answers import IndependentAnswers
from winnow.ask.mechanism import WeightsRounds
from winnow.core.schema import cells_text
from winnow.privacy import Guarantee

MEAN_OF_NORMAL = math.sqrt(2 / math.pi)
"""The mean size of a standard normal number."""


def normal_within(deviation: float) -> float:
    """The mean error of an answer with normal noise that is cut off at 0 and 1.

    The true answer is anywhere between, all places alike: an error of t or more stays one with
    chance 1 - t, so the mean is the integral of (1 - t) Pr[|noise| > t] from 0 to 1.
    """
    if deviation < _SHARP:
        return MEAN_OF_NORMAL * deviation
    a = 1 / (math.sqrt(2) * deviation)
    bell, tail = math.exp(-a * a) / (a * math.sqrt(math.pi)), math.erfc(a)
    plain = tail + 1 / (a * math.sqrt(math.pi)) - bell
    by_size = tail / 2 + math.erf(a) / (4 * a * a) - bell / 2
    return plain - by_size


def laplace_within(scale: float) -> float:
    """The mean error of an answer with Laplace noise that is cut off at 0 and 1."""
    return scale - scale * scale * -math.expm1(-1 / scale)


_SHARP = 1e-6
"""Below it the cut takes less than a part of 1e-6 off, and the formula loses digits."""

Cells = tuple[tuple[int, ...], ...]
"""Cells of a domain: a code for each column."""


@dataclass(frozen=True, kw_only=True)
class WeighedCells:
    """The cells of the domain, and those of them that carry weight."""

    cells: int
    kept: int
    """So many carry weight: all, those of a sample, or those of a public list."""
    whole: bool = True
    """Whether all of them do."""
    gamma: float = 0.0
    """What a universe of some cells adds to the threshold, as a fraction of the rows."""
    seed: int = 0
    """Of the sample."""
    listed: Cells | None = field(default=None, repr=False)
    """The cells of a public list."""

    @property
    def sampled(self) -> bool:
        """Whether cells were drawn: errors then hold for questions fixed beforehand."""
        return not self.whole and self.listed is None

    def __str__(self) -> str:
        cells = f"{cells_text(self.cells)} cells"
        which = "sampled" if self.listed is None else "listed"
        return cells if self.whole else f"{self.kept:,} {which} of {cells}"


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """The private tests, which end with the last update."""

    updates: int
    epsilon: float
    """Of one round."""
    steps: int
    """What the run is charged for."""
    noise: float
    """nu: but for the chance of failure no noise is larger, as a fraction of the rows."""


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """How far off, as a fraction of the rows, the hypothesis may be before it learns."""

    last: float
    gap: float
    """g: an update means that the hypothesis was off by more."""
    guaranteed: bool
    """Whether the bound is proved for all answers: fewer updates happen than there may be, or a
    fallback comes after them."""
    low: float | None = None
    """While updates that gain nothing are affordable; None: always ``last``."""
    entropy: float = 0.0
    """What the hypothesis can be off in relative entropy at the start, at most."""

    @property
    def usual(self) -> float:
        """The one that is in use while that is affordable."""
        return self.last if self.low is None else self.low

    def at(self, left: int, entropy: float, updates: int) -> float:
        """The threshold of the next round, with so many updates left and at most this entropy.

        One more update below ``last`` may gain nothing. It is affordable while all that is
        left to learn then fits the updates that remain at ``last`` (see ``sizing``).
        Towards the end of what is affordable the threshold rises.
        """
        if self.low is None:
            return self.last
        needed = 1 / (2 * self.gap**2)  # updates for a unit of entropy
        free = left - entropy * needed
        if free < 1:
            return self.last
        used = 1 - free / (updates - self.entropy * needed)
        return float(self.low * (self.last / self.low) ** max(0.0, used) ** 4)


@dataclass(frozen=True, kw_only=True)
class Start:
    """Noisy tables that the hypothesis starts from."""

    multiplier: float
    """Of their noise."""
    ways: int
    """The columns of each table."""
    mix: float
    """The part of the even distribution in the start."""


@dataclass(frozen=True, kw_only=True)
class Fallback:
    """Independent answers for when updates run out."""

    multiplier: float
    """Of the noise of as many answers as there may be questions."""
    noise: float
    """But for the chance of failure no noise of these is larger, as a fraction of the rows."""


@dataclass(frozen=True, kw_only=True)
class SessionSizes:
    """What every session has. Fractions are of the rows."""

    rows: int
    rows_per_person: int
    max_queries: int
    beta: float
    """The chance that a bound fails, for all answers together."""
    accountant: str

    def to_dict(self) -> dict[str, Any]:
        """The constants as plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class WeightsSizes(SessionSizes):
    """The constants of a session whose hypothesis learns."""

    universe: WeighedCells
    rounds: Rounds
    threshold: Threshold
    calibration: str
    fixed_step: float | None = None
    """The step of the printed mechanism; None: as far as was measured."""
    start: Start | None = None
    fallback: Fallback | None = None
    typical: float = 1.0
    """The mean error of an answer to expect, by which methods are compared."""

    @property
    def bound(self) -> float:
        """The error of all answers that state one, but for the chance of failure."""
        fallback = 0.0 if self.fallback is None else self.fallback.noise
        return min(1.0, max(self.threshold.last + self.rounds.noise, fallback))

    @property
    def usual(self) -> float:
        """The error of answers from the hypothesis while the lower threshold is in use."""
        return min(1.0, self.threshold.usual + self.rounds.noise)

    @property
    def within(self) -> float:
        """What answers usually keep to, fresh ones included."""
        return min(1.0, max(self.usual, self.rounds.noise))

    @property
    def adaptive(self) -> bool:
        """Whether bounds hold for questions that depend on earlier answers."""
        return not self.universe.sampled

    def threshold_at(self, left: int, entropy: float) -> float:
        """The threshold of the next round, with so many updates left and at most this entropy."""
        return self.threshold.at(left, entropy, self.rounds.updates)

    def gained(self, guess: float, measured: float) -> float:
        """By how much an update lowers the entropy at least."""
        off = self.rounds.noise + self.universe.gamma
        return 2 * max(0.0, abs(measured - guess) - off) ** 2

    @property
    def mechanism(self) -> WeightsRounds:
        """The rounds that run."""
        start, fallback = self.start, self.fallback
        return WeightsRounds(
            self.rounds.updates,
            self.rounds.epsilon,
            self.rounds.steps,
            prior_multiplier=None if start is None else start.multiplier,
            prior_ways=1 if start is None else start.ways,
            fallback=None
            if fallback is None
            else IndependentAnswers(self.max_queries, fallback.multiplier),
        )

    def to_dict(self) -> dict[str, Any]:
        """The constants as plain data, ready for JSON."""
        return {**super().to_dict(), "bound": self.bound, "usual": self.usual}

    def told(self, guarantee: Guarantee) -> str:
        """The constants and what they promise, in words."""
        ways = 0 if self.start is None else self.start.ways
        counts = "one-way counts" if ways == 1 else "counts of all pairs of columns"
        start = f", noisy {counts} as a prior" if ways else ""
        noise = self.rounds.noise
        lines = [
            f"{self.max_queries:,} questions about {self.rows:,} rows, {self.universe}{start}",
            f"{guarantee} ({self.calibration}, {self.accountant} accountant)",
            f"at most {self.rounds.updates:,} updates; noise scale "
            f"{self.rows_per_person / self.rounds.epsilon:,.4g} rows in each round",
            f"with probability {1 - self.beta:g}: answers from the hypothesis err by at most "
            f"{min(1.0, self.threshold.last + noise):.3g}, fresh answers by {min(1.0, noise):.3g}",
        ]
        if self.threshold.low is not None:
            lines.append(f"usually by at most {self.usual:.3g}, as each answer says itself")
        if not self.adaptive:
            lines.append("accuracy for questions that do not depend on earlier answers only")
        if self.fallback is not None:
            lines.append(
                f"should updates run out, by at most {min(1.0, self.fallback.noise):.3g}: answers "
                "then have noise of their own"
            )
        elif not self.threshold.guaranteed:
            lines.append(
                "the number of updates may run out: this threshold is below the proved one"
            )
        return "\n".join(lines)


@dataclass(frozen=True, kw_only=True)
class IndependentSizes(SessionSizes):
    """The constants of a session with noise on every answer."""

    multiplier: float
    """Of the noise of all answers together."""
    noise: float
    """But for the chance of failure no noise of the session is larger."""

    @property
    def bound(self) -> float:
        """The error of all answers, but for the chance of failure."""
        return min(1.0, self.noise)

    @property
    def usual(self) -> float:
        """What answers keep to: the bound, which is no worse than what is usual."""
        return self.bound

    @property
    def within(self) -> float:
        """What answers usually keep to."""
        return self.bound

    @property
    def deviation(self) -> float:
        """The standard deviation of one answer."""
        spread = self.multiplier * self.rows_per_person * math.sqrt(self.max_queries)
        return spread / self.rows

    @property
    def typical(self) -> float:
        """The mean error of one answer."""
        return normal_within(self.deviation)

    @property
    def adaptive(self) -> bool:
        """The bound holds for questions that depend on earlier answers."""
        return True

    @property
    def mechanism(self) -> IndependentAnswers:
        """The noise that is added."""
        return IndependentAnswers(self.max_queries, self.multiplier)

    def to_dict(self) -> dict[str, Any]:
        """The constants as plain data, ready for JSON."""
        return {
            **super().to_dict(),
            "bound": self.bound,
            "deviation": self.deviation,
            "typical": self.typical,
        }

    def told(self, guarantee: Guarantee) -> str:
        """The constants and what they promise, in words."""
        return "\n".join(
            [
                f"{self.max_queries:,} questions about {self.rows:,} rows, each with noise of its "
                "own",
                f"{guarantee} ({self.accountant} accountant)",
                f"standard deviation {self.deviation * self.rows:,.4g} rows in each answer",
                f"with probability {1 - self.beta:g}: all answers err by at most {self.bound:.3g}",
            ]
        )


Sizes = WeightsSizes | IndependentSizes
S = TypeVar("S", bound=Sizes)


@dataclass(frozen=True)
class Sized(Generic[S]):
    """The constants of a session, and what it promises."""

    sizes: S
    guarantee: Guarantee
