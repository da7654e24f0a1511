"""How far a private linear program's rows can be violated: two bounds with explicit constants.

Both solvers are multiplicative weights with a noisy adversary. A bound has a part that falls with
the number of rounds T (regret) and one that grows with it (what selections fall short of).

Scalar-private [FastMWEM, Theorem 4.1, with constants]. Let w be half the largest range of a row
over the simplex, d its dimension, m the number of rows, and r the exponent of one unit of score.
With the step sqrt(2 ln d/T)/w the mean of the points does not regret any feasible point by more
than w sqrt(2 ln d/T) (Hoeffding's lemma; it knows ranges only, so w takes the place of the width
max |A_ij|). A selection falls short of the worst row by more than (ln m + t)/r with probability at
most e^-t, given everything before, so that the shortfalls of T rounds add up to less than those
of T exponential variables: with probability 1 - beta every row is violated by at most

    w sqrt(2 ln d/T) + S,     S = (ln m + 1 + sqrt(2 ln(1/beta)/T) + ln(1/beta)/T)/r + rounding.

Constraint-private [Theorem B.6]. Violations v_i = A_i x - b_i of all rows allowed, at all vertices,
lie between B - R and B. Weights grow by exp(h v_i), h the step, and are projected to 1/s-dense
distributions y; u uniform on any s rows is one, at relative entropy at most ln(M/s) from the
uniform distribution on the M rows (those that were added included). Projections bring no u further
away [Herbster-Warmuth 2001], so that over all rounds

    h sum_t <u, v_t> <= ln(M/s) + sum_t ln E_y exp(h v_t).

exp is convex, so with a mean E_y v_t = e the last term is at most
f(e) = h B + ln(1 - (B - e)(1 - exp(-h R))/R). When a solution exists, e is at most what the
selection fell short of; f is concave, hence f(e) <= f(0) + f'(0) e. Fewer than s rows are violated
by more than

    ln(M/s)/(h T) + f(0)/h + g S,     g = f'(0)/h,

S with ln d in place of ln m. Hoeffding's f(0) <= h^2 R^2/8 is the worst case B = R/2. Covering and
packing rows are far from it: with p = B/R the first two terms come down to about
R sqrt(2 p (1 - p) ln(M/s)/T) and not (R/2) sqrt(2 ln(M/s)/T); the paper's bound and step are the
latter.

A bound that says no more than what holds for every point of the simplex is hopeless.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


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
    """w, or R/2."""
    sensitivity: float
    """Of a score, as it enters the exponent."""
    moved: float = 0.0
    """The most that one person moves what a noisy look measures."""
    exceptions: int = 0
    """So many rows the promise leaves out."""
    highest: float | None = None
    """B; None for scalar privacy, where it is not public."""
    rounding: float = 0.0
    """By what rounded scores can mislead a selection."""

    @property
    def trivial(self) -> float:
        """A violation that no point of the simplex exceeds, if the program has a solution."""
        return 2 * self.half_range if self.highest is None else self.highest


@dataclass(frozen=True)
class LpBound:
    """A step, and what it promises."""

    step: float
    regret: float
    shortfall: float

    @property
    def total(self) -> float:
        """The promised violation."""
        return self.regret + self.shortfall


def bound(setting: LpSetting, rounds: int, epsilon: float, beta: float) -> LpBound:
    """The bound for so many rounds of bounded range epsilon, at the step that is best for it."""
    rate = epsilon / (2 * setting.sensitivity)
    tail = math.log(1 / beta)
    chosen = math.log(setting.candidates) + 1 + math.sqrt(2 * tail / rounds) + tail / rounds
    shortfall = chosen / rate + setting.rounding
    plain = math.sqrt(2 * setting.entropy / rounds) / setting.half_range
    if setting.highest is None:
        return LpBound(plain, setting.half_range**2 * plain, shortfall)
    steps = plain * np.logspace(-1.0, 3.0, 161)
    regrets, factors = _dense_weights(setting, rounds, steps)
    best = int(np.argmin(regrets + factors * shortfall))
    return LpBound(float(steps[best]), float(regrets[best]), float(factors[best]) * shortfall)


def rounds_for(setting: LpSetting, alpha: float) -> int:
    """The rounds for a regret of sqrt(2)/3 alpha, less than half of it [FastMWEM, Alg 3]."""
    wanted = 9 * (setting.half_range / alpha) ** 2 * setting.entropy
    most = max(1, math.ceil(wanted))
    if setting.highest is None:
        return most
    low, high = 0, most  # Hoeffding's number is always enough
    while high - low > 1:
        middle = (low + high) // 2
        steps = math.sqrt(2 * setting.entropy / middle) / setting.half_range
        regrets, _ = _dense_weights(setting, middle, steps * np.logspace(-1.0, 3.0, 161))
        low, high = (low, middle) if regrets.min() <= math.sqrt(2) / 3 * alpha else (middle, high)
    return high


def _dense_weights(setting: LpSetting, rounds: int, steps: np.ndarray) -> tuple[np.ndarray, ...]:
    """(ln(M/s)/(h T) + f(0)/h, g) for many steps h."""
    assert setting.highest is not None
    span, top = 2 * setting.half_range, setting.highest
    part = min(top / span, 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        fall = -np.expm1(-steps * span)
        left = np.logaddexp(np.log1p(-part), np.log(part) - steps * span)
        regrets = setting.entropy / (steps * rounds) + (top + left / steps)
        factors = fall / (steps * span) / np.exp(left)
    return regrets, factors
