"""How many rounds, which step and which epsilon a private linear program gets; what it promises.

Both solvers are multiplicative weights with a noisy adversary, and both bounds have two parts.

Scalar-private [FastMWEM, Theorem 4.1, with constants]. Let w be half the largest range of a row
over the simplex, d its dimension, m the number of rows, and r the exponent of one unit of score.
With the step sqrt(2 ln d/T)/w the mean of the points does not regret any feasible point by more
than w sqrt(2 ln d/T) (Hoeffding's lemma; it knows ranges only, so w takes the place of the width
max |A_ij|). A selection falls short of the worst row by more than (ln m + t)/r with probability at
most e^-t, given everything before, so that the shortfalls of T rounds add up to less than those
of T exponential variables: with probability 1 - beta every row is violated by at most

    w sqrt(2 ln d/T) + (ln m + 1 + sqrt(2 ln(1/beta)/T) + ln(1/beta)/T)/r.

Constraint-private [Theorem B.6]. w is half the range of A_i x - b_i over all rows allowed and all
vertices, M the number of rows, those that were added included, s the density: fewer than s
rows are violated by more than

    w sqrt(2 ln(M/s)/T) + (ln d + 1 + sqrt(2 ln(1/beta)/T) + ln(1/beta)/T)/r,

because a uniform distribution on s rows is 1/s-dense and has relative entropy ln(M/s).

r falls like 1/sqrt(T), so there is a best T. A bound that is not below the whole range 2 w says
nothing, since every point of the simplex is that good when the program is feasible: hopeless.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from winnow.domain.checks import Real, count, delta_range, exact, one_of, positive, probability
from winnow.domain.neighbours import Relation
from winnow.errors import InputError
from winnow.privacy import (
    BoundedRange,
    Compose,
    DiscreteLaplace,
    Event,
    Gaussian,
    Guarantee,
    Repeat,
    calibrate,
    zcdp_rho,
)

MOST_ROUNDS = 100_000
_CHECK_SHARE = 0.1
"""The part of each search's budget that the noisy look at the violation gets."""


@dataclass(frozen=True)
class LpSetting:
    """The public numbers that a bound needs."""

    private: str
    """'scalar' or 'constraint'."""
    candidates: int
    """What the exponential mechanism chooses from: rows, or vertices."""
    entropy: float
    """ln d, or ln(M/s)."""
    half_range: float
    """w."""
    sensitivity: float
    """Of a score, as it enters the exponent."""
    moved: float = 0.0
    """The most that one person moves a right-hand side, on the grid."""
    exceptions: int = 0
    """So many rows the promise leaves out."""


@dataclass(frozen=True)
class LpBudget:
    """What is asked for."""

    epsilon: Real
    delta: Real
    relation: Relation
    alpha: float | None = None
    rounds: int | None = None
    searches: int = 1
    checked: bool = False
    beta: float = 0.05
    accountant: str = "best"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        delta_range(delta=self.delta)
        probability(beta=self.beta)
        count(searches=self.searches)
        one_of(("best", "pure", "zcdp", "tight"), accountant=self.accountant)
        if self.alpha is not None:
            positive(alpha=self.alpha)
        if self.rounds is not None:
            count(rounds=self.rounds)


@dataclass(frozen=True)
class LpPlan:
    """What will be run, what it costs, and what it promises. All of it is public."""

    setting: LpSetting
    budget: LpBudget
    rounds: int
    step: float
    """By what the loss is multiplied in the update."""
    selection_epsilon: float
    check_multiplier: float | None
    event: Event
    accountant: str
    guarantee: Guarantee
    regret: float
    shortfall: float

    @property
    def violation(self) -> float:
        """The promised bound on A_i x - b_i, with probability 1 - beta, if a solution exists."""
        return self.regret + self.shortfall

    @property
    def hopeless(self) -> bool:
        """Whether the promise says no more than what holds for every point of the simplex."""
        return self.violation >= 2 * self.setting.half_range

    @property
    def meets_alpha(self) -> bool | None:
        """Whether the promise is as good as alpha; None where none was asked."""
        return None if self.budget.alpha is None else self.violation <= self.budget.alpha

    @property
    def check_deviation(self) -> float:
        """The standard deviation of the noisy look at the largest violation."""
        wide = math.sqrt(2) if self.measurement == "laplace" else 1.0
        return wide * (self.check_multiplier or 0.0) * self.setting.moved

    @property
    def measurement(self) -> str:
        """The noise of checks."""
        return "gaussian" if exact("delta", self.budget.delta) else "laplace"

    def lines(self) -> list[tuple[str, str]]:
        """The plan as rows of a table."""
        left_out = f", all but {self.setting.exceptions - 1} rows" * bool(self.setting.exceptions)
        rows = [
            ("privacy", f"{self.setting.private}-private, {self.guarantee}"),
            ("rounds", f"{self.rounds}, each with bounded range {self.selection_epsilon:g}"),
            (
                "promised violation",
                f"{self.violation:.4g} with probability {1 - float(self.budget.beta):g}{left_out}",
            ),
            ("of which", f"regret {self.regret:.4g}, selection {self.shortfall:.4g}"),
            ("range of a row", f"{2 * self.setting.half_range:.4g}"),
        ]
        if self.check_multiplier is not None:
            times = f"{self.budget.searches} solves, the budget split evenly" * (
                self.budget.searches > 1
            )
            look = f"the largest violation is measured with deviation {self.check_deviation:.3g}"
            rows.append(("measured", "; ".join(filter(None, (times, look)))))
        if self.hopeless:
            rows.append(("verdict", "hopeless at this budget: any point is promised as much"))
        elif self.meets_alpha is False:
            rows.append(("verdict", f"the promise misses alpha={self.budget.alpha:g}"))
        return rows

    def to_dict(self) -> dict[str, object]:
        """The plan as plain data."""
        return {
            "private": self.setting.private,
            "rounds": self.rounds,
            "searches": self.budget.searches,
            "step": self.step,
            "selection_epsilon": self.selection_epsilon,
            "check_multiplier": self.check_multiplier,
            "violation": self.violation,
            "regret": self.regret,
            "shortfall": self.shortfall,
            "confidence": 1 - float(self.budget.beta),
            "exceptions": self.setting.exceptions,
            "row_range": 2 * self.setting.half_range,
            "hopeless": self.hopeless,
            "meets_alpha": self.meets_alpha,
            "accountant": self.accountant,
            "guarantee": self.guarantee.to_dict(),
        }

    def __str__(self) -> str:
        rows = self.lines()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def plan_lp(setting: LpSetting, budget: LpBudget) -> LpPlan:
    """The rounds that are given, those for alpha, or those with the best promise."""
    rounds = budget.rounds
    if rounds is None and budget.alpha is not None:
        # [FastMWEM, Alg 3]: T = 9 w^2 ln d/alpha^2, for a regret of less than alpha/2
        wanted = 9 * (setting.half_range / float(budget.alpha)) ** 2 * setting.entropy
        rounds = max(1, math.ceil(wanted))
        if rounds > MOST_ROUNDS:
            raise InputError(
                f"alpha={budget.alpha:g} needs {rounds} rounds for rows with a range of "
                f"{2 * setting.half_range:.3g}; give a larger alpha, or rounds="
            )
    if rounds is None:
        rounds = _best_rounds(setting, budget)
    make = _events(budget, rounds)
    found = calibrate(
        lambda e: make(*_short_pair(e, budget, rounds)),
        epsilon=budget.epsilon,
        delta=budget.delta,
        accountant=budget.accountant,
    )
    epsilon, check = _short_pair(found.parameter, budget, rounds)
    regret, shortfall = _bound(setting, rounds, epsilon, float(budget.beta))
    return LpPlan(
        setting,
        budget,
        rounds,
        math.sqrt(2 * setting.entropy / rounds) / setting.half_range,
        epsilon,
        check,
        make(epsilon, check),
        found.accountant,
        found.guarantee,
        regret,
        shortfall,
    )


def _bound(setting: LpSetting, rounds: int, epsilon: float, beta: float) -> tuple[float, float]:
    rate = epsilon / (2 * setting.sensitivity)
    tail = math.log(1 / beta)
    chosen = math.log(setting.candidates) + 1 + math.sqrt(2 * tail / rounds) + tail / rounds
    return setting.half_range * math.sqrt(2 * setting.entropy / rounds), chosen / rate


def _best_rounds(setting: LpSetting, budget: LpBudget) -> int:
    """About the best number of rounds, with the epsilon that zCDP (or pure sums) would give."""
    share = (1 - _CHECK_SHARE) if budget.checked else 1.0
    if exact("delta", budget.delta):
        rho = float(zcdp_rho(budget.epsilon, budget.delta)) * share / budget.searches

        def epsilon(rounds: int) -> float:
            return math.sqrt(8 * rho / rounds)
    else:

        def epsilon(rounds: int) -> float:
            return float(budget.epsilon) * share / budget.searches / rounds

    tried = sorted({round(10 ** (k / 16)) for k in range(16 * 5 + 1)})
    return min(
        tried, key=lambda t: sum(_bound(setting, t, epsilon(t), float(budget.beta)))
    )  # fmt: skip


def _short_pair(parameter: float, budget: LpBudget, rounds: int) -> tuple[float, float | None]:
    """(epsilon of a selection, noise multiplier of a check) in a few digits, on the safe side."""
    epsilon = _short(parameter, ROUND_FLOOR)
    if not budget.checked:
        return epsilon, None
    odds = _CHECK_SHARE / (1 - _CHECK_SHARE)
    if exact("delta", budget.delta):
        precision = parameter * math.sqrt(rounds * odds) / 2
    else:
        precision = parameter * rounds * odds
    return epsilon, _short(1 / precision, ROUND_CEILING)


def _short(value: float, rounding: str) -> float:
    return float(Context(prec=6, rounding=rounding).create_decimal(Decimal(value)))


def _events(budget: LpBudget, rounds: int) -> Callable[[float, float | None], Event]:
    relation = budget.relation
    noise = Gaussian if exact("delta", budget.delta) else DiscreteLaplace

    def make(epsilon: float, check: float | None) -> Event:
        event: Event = BoundedRange(epsilon, relation)
        if rounds > 1:
            event = Repeat(event, rounds)
        if check is not None:
            event = Compose((event, noise(check, relation)))
            if budget.searches > 1:
                event = Repeat(event, budget.searches)
        return event

    return make
