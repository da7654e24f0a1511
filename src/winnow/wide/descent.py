"""L-BFGS for the fit of a graphical model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from winnow.wide.objective import FitPoint, Floats, TreeObjective

_CAP = 2.0
"""The largest change of a log potential in a step: cells driven to 0 hardly come back."""
_TINY = 1e-3
_ARMIJO = 1e-4
_MEMORY = 8
_BACKTRACKS = 30
_CALM = 3


@dataclass(frozen=True)
class _Pair:
    """A step, how the gradient moved along it, and 1 / (their product)."""

    step: Floats
    moved: Floats
    inverse: float


def minimise(
    objective: TreeObjective, theta: Floats, *, most: int, tolerance: float
) -> tuple[FitPoint, int]:
    """A point near the minimum, and how many steps led there.

    Stops after three steps in a row that each gain at most ``tolerance`` x (F + 1), when no step
    gains anything, or after ``most`` steps. F is not convex in theta, but its gradient Cov g is 0
    only where p is the best distribution, or has cells of probability 0: so steps are bounded.
    """
    point = objective.at(theta)
    descent = objective.descent(point)
    pairs: list[_Pair] = []
    steps = calm = 0
    while steps < most and calm < _CALM:
        direction = _direction(objective, point, descent, pairs)
        slope = objective.dot(descent, direction)
        if not slope > 0.0:  # rounding: forget the past, or end at the minimum
            if not pairs:
                break
            pairs.clear()
            continue
        found = _search(objective, point, direction, slope)
        if found is None:
            break
        steps += 1
        next_descent = objective.descent(found)
        _remember(objective, pairs, found.theta - point.theta, descent - next_descent)
        calm = calm + 1 if point.value - found.value <= tolerance * (found.value + 1.0) else 0
        point, descent = found, next_descent
    return point, steps


def _direction(
    objective: TreeObjective, point: FitPoint, descent: Floats, pairs: list[_Pair]
) -> Floats:
    """The inverse Hessian times the descent: two loops around a diagonal.

    The diagonal is that of the Gauss-Newton matrix Cov s^-2 Cov, for cells below the noise s as if
    they had that probability.
    """
    dot, marginals = objective.dot, point.marginals
    floor = np.sqrt(objective.variances)
    diagonal = objective.variances / ((marginals + _TINY * floor) * (marginals + floor))
    found, kept = descent.copy(), []
    for pair in reversed(pairs):
        along = pair.inverse * dot(pair.step, found)
        found -= along * pair.moved
        kept.append(along)
    if pairs:
        last = pairs[-1]
        found *= diagonal / (last.inverse * dot(last.moved, diagonal * last.moved))
    else:
        found *= diagonal / len(objective.layout.sets)
    for pair, along in zip(pairs, reversed(kept), strict=True):
        found += (along - pair.inverse * dot(pair.moved, found)) * pair.step
    return found


def _search(
    objective: TreeObjective, point: FitPoint, direction: Floats, slope: float
) -> FitPoint | None:
    """A point along the direction that is lower in Armijo's sense; None where rounding hides it."""
    length = min(1.0, _CAP / float(np.abs(direction).max()))
    for _ in range(_BACKTRACKS):
        found = objective.at(point.theta + length * direction)
        gain = length * slope
        if found.value <= point.value - _ARMIJO * gain:  # False for nan, too: shorter
            return found
        bend = found.value - point.value + gain
        length *= min(0.5, max(0.1, 0.5 * gain / bend)) if bend > 0 else 0.5
    return None


def _remember(objective: TreeObjective, pairs: list[_Pair], step: Floats, moved: Floats) -> None:
    dot = objective.dot
    curved = dot(step, moved)
    if curved > 1e-10 * math.sqrt(dot(step, step) * dot(moved, moved)):
        pairs.append(_Pair(step, moved, 1.0 / curved))
        del pairs[:-_MEMORY]
