"""One question to four mechanisms: which margin lets a best candidate win often enough?

`near` candidates share the best score, all others lie one margin behind, and there may be more
of them than anybody can list. See ``winnow.plan.large_margin`` for what follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from winnow.errors import InputError
from winnow.plan.chances import win_chances
from winnow.plan.margin import two_level_chance
from winnow.random.laws import Law

COMPARED = ("permute-and-flip", "exponential", "large-margin", "large-margin (printed)")
"""The words for the four: the third has tight thresholds, the fourth those of the paper."""
_LARGEST = 600.0  # ln of the largest universe: a float holds it with its weights


@dataclass(frozen=True)
class MarginQuestion:
    """What all answers have in common; everything is public or assumed."""

    near: int
    epsilon: float
    delta: float
    chance: float
    sensitivity: float

    def needed(
        self, mechanism: str, others: float, *, at_most: float = math.inf, within: float = 1e-6
    ) -> float:
        """The least margin with the wanted chance, in score units; `others` may be infinite.

        ``at_most`` is a margin that is known to suffice, ``within`` the relative accuracy.
        """
        if others == 0:
            return 0.0
        if mechanism == "exponential":
            odds = math.log(self.chance) - math.log1p(-self.chance)
            multiple = max(0.0, math.log(others / self.near) + odds)
        else:
            known = at_most / self._unit(mechanism)
            multiple = _least(
                lambda m: self._chance(mechanism, others, m) >= self.chance, known, within
            )
        return multiple * self._unit(mechanism)

    def chance_at(self, mechanism: str, others: float, margin: float) -> float:
        """The chance of a best candidate at this margin in score units."""
        return self._chance(mechanism, others, margin / self._unit(mechanism))

    def crossover(self, against: str, bounded: float) -> float:
        """log10 of the universe at which `against` needs this margin, too."""
        multiple = bounded / self._unit(against)
        reached = _least(
            lambda size: (
                self._chance(against, math.exp(min(size, _LARGEST)), multiple) <= self.chance
                or size > _LARGEST
            )
        )
        if reached > _LARGEST:
            return math.inf
        return math.log10(math.exp(reached) + self.near)

    def _unit(self, mechanism: str) -> float:
        """Score units of one unit of the exponent, or of the large margin mechanism's noise."""
        return (2.0 if is_pure(mechanism) else 1.0) * self.sensitivity / self.epsilon

    def _chance(self, mechanism: str, others: float, multiple: float) -> float:
        """The chance at a margin in units of `_unit`."""
        if is_pure(mechanism):
            law = Law.GUMBEL if mechanism == "exponential" else Law.EXPONENTIAL
            if multiple == 0:
                return self.near / (self.near + others)
            scores, counts = np.array([0.0, -multiple]), np.array([float(self.near), others])
            return float(win_chances(law, scores, counts)[0])
        thresholds = "printed" if "printed" in mechanism else "tight"
        margin = multiple / self.epsilon
        return two_level_chance(self.near, others, margin, self.epsilon, self.delta, thresholds)


def is_pure(mechanism: str) -> bool:
    """Whether it is epsilon-DP, without a delta."""
    return mechanism in COMPARED[:2]


def _least(
    reached: Callable[[float], bool], known: float = math.inf, within: float = 1e-6
) -> float:
    """The least x >= 0 that reaches the target; ``known`` is one that does."""
    if reached(0.0):
        return 0.0
    low, high = 0.0, min(known, 1.0)
    while high < known and not reached(high):
        low, high = high, min(known, 2.0 * high)
        if high > 2.0**60:
            raise InputError("no margin reaches this chance; lower the chance")
    while high - low > within * high:
        middle = 0.5 * (low + high)
        if reached(middle):
            high = middle
        else:
            low = middle
    return high
