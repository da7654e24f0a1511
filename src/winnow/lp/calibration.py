"""How many rounds, which step and which epsilon a private linear program gets; what it promises.

The bounds are in ``lp.bounds``. The exponent of a score falls like 1/sqrt(T) when a
budget is shared by T rounds, so there is a best T.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from winnow.core.checks import Real, exact
from winnow.core.measurement import MEASUREMENTS
from winnow.core.relation import Relation
from winnow.errors import ParameterError
from winnow.lp.bounds import LpSetting, bound, rounds_for
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


@dataclass(frozen=True)
class LpExpected:
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
        return self.violation >= self.setting.trivial

    @property
    def meets_alpha(self) -> bool | None:
        """Whether the promise is as good as alpha; None where none was asked."""
        return None if self.budget.alpha is None else self.violation <= self.budget.alpha

    @property
    def tolerance(self) -> float:
        """From which violation on a row of people is counted as not met."""
        return self.violation if self.budget.alpha is None else float(self.budget.alpha)

    @property
    def check_deviation(self) -> float:
        """The standard deviation of the noisy look at the largest violation, or at a count."""
        wide = MEASUREMENTS[self.measurement].deviation
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
            ("any point", f"is violated by at most {self.setting.trivial:.4g}"),
        ]
        if self.check_multiplier is not None:
            times = f"{self.budget.searches} solves, the budget split evenly" * (
                self.budget.searches > 1
            )
            what = "the largest violation is measured"
            if self.setting.exceptions:
                what = f"rows violated by more than {self.tolerance:.4g} are counted"
            look = f"{what} with deviation {self.check_deviation:.3g}"
            rows.append(("measured", "; ".join(filter(None, (times, look)))))
        if self.hopeless:
            rows.append(("verdict", "of no use at this budget: every point meets this bound"))
        elif self.meets_alpha is False:
            rows.append(("verdict", f"the promise misses alpha={self.budget.alpha:g}"))
        return rows

    def to_dict(self) -> dict[str, object]:
        """The plan as plain data."""
        return {
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
            "trivial": self.setting.trivial,
            "hopeless": self.hopeless,
            "meets_alpha": self.meets_alpha,
            "accountant": self.accountant,
            "guarantee": self.guarantee.to_dict(),
        }


def expect_lp(setting: LpSetting, budget: LpBudget) -> LpExpected:
    """The rounds that are given, those for alpha, or those with the best promise.

    Where rows are people and no number of rounds has a promise, as many are taken as would bring
    the regret below half of what every point has: such points are often good nevertheless.
    """
    rounds = budget.rounds
    if rounds is None and budget.alpha is not None:
        rounds = rounds_for(setting, float(budget.alpha))
        if rounds > MOST_ROUNDS:
            raise ParameterError(
                f"alpha={budget.alpha:g} needs {rounds} rounds for rows with a range of "
                f"{2 * setting.half_range:.3g}; give a larger alpha, or rounds="
            )
    if rounds is None:
        rounds = _best_rounds(setting, budget)
    make = _events(budget, rounds)
    calibrated = calibrate(
        lambda e: make(*_short_pair(e, budget, rounds)),
        epsilon=budget.epsilon,
        delta=budget.delta,
        accountant=budget.accountant,
    )
    epsilon, check = _short_pair(calibrated.parameter, budget, rounds)
    promised = bound(setting, rounds, epsilon, float(budget.beta))
    return LpExpected(
        setting,
        budget,
        rounds,
        promised.step,
        epsilon,
        check,
        make(epsilon, check),
        calibrated.accountant,
        calibrated.guarantee,
        promised.regret,
        promised.shortfall,
    )


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

    def promised(rounds: int) -> float:
        return bound(setting, rounds, epsilon(rounds), float(budget.beta)).total

    best = min(sorted({round(10 ** (k / 16)) for k in range(16 * 5 + 1)}), key=promised)
    if setting.highest is None or promised(best) < setting.trivial:
        return best
    # No number of rounds has a promise: as many as the weights need, whatever the noise is.
    return min(MOST_ROUNDS, rounds_for(setting, setting.trivial or 1.0))


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
