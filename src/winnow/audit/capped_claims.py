"""What capped rounds are charged at one epsilon: the steps and the delta that are best there."""

from __future__ import annotations

from functools import lru_cache

from winnow.domain.checks import exact
from winnow.privacy.capped import lost_mass, optimal_composition


def capped_delta(epsilon: float, updates: int, level: float) -> float:
    """The delta that is claimed at this level."""
    return _best(epsilon, updates, level)[0]


def steps_for(epsilon: float, updates: int, level: float) -> int:
    """The number of steps with which it is claimed."""
    return _best(epsilon, updates, level)[1]


@lru_cache(maxsize=64)
def _best(epsilon: float, updates: int, level: float) -> tuple[float, int]:
    size, target = exact("epsilon", epsilon), exact("level", level)
    return min(
        (float(lost_mass(updates, size, steps)) + optimal_composition(size, steps, target), steps)
        for steps in range(updates, 40 * updates + 40)
    )
