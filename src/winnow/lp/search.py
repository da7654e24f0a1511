"""Solve at a value of the objective, or look for the value by halving an interval.

A search asks for a fixed number of solves, each followed by a noisy look at the largest
violation, or at how many rows of people are violated; which value comes next depends on what
was released before only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow.lp.calibration import LpExpected
from winnow.lp.problem import OwnedProblem, ScalarProblem, Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from winnow.lp.crossing.constraint import ConstraintRun
    from winnow.lp.crossing.scalar import ScalarRun


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """A solution and the value that it was looked for at."""

    x: Floats
    opt: float
    feasible: bool | None
    measured: float | None
    """The noisy largest violation, where it was looked at."""
    selected: NDArray[np.int64]
    unmet: int | None = None
    """The noisy number of rows that are violated beyond the tolerance, where it was counted."""


def search(
    run: ScalarRun,
    problem: ScalarProblem,
    plan: LpExpected,
    unit: float,
    *,
    lazy: bool | None = None,
) -> Found:
    """All solves that were paid for; ``unit`` is the step of the released violations."""

    def solved(opt: float) -> Found:
        scale = problem.simplex.scale(opt)
        z, selected, steps = run.solve(
            problem.rows, scale, plan.step, problem.public_sides(opt), lazy=lazy
        )
        solution = problem.simplex.solution(z, opt)
        if steps is None:
            return Found(solution, opt, None, None, selected)
        measured = steps * unit
        return Found(solution, opt, measured <= accepted(plan), measured, selected)

    return _halved(solved, problem.target, run, maximise=problem.simplex.maximise)


def search_owned(run: ConstraintRun, problem: OwnedProblem, plan: LpExpected) -> Found:
    """A search where rows are people: a value passes if fewer rows than promised are unmet."""
    nothing = np.zeros(0, np.int64)

    def solved(opt: float) -> Found:
        scale = problem.simplex.scale(opt)
        drawn, unmet = run.solve(scale, plan.step, plan.tolerance)
        x = scale * drawn / plan.rounds
        passed = None if unmet is None else unmet < plan.setting.exceptions
        return Found(x, opt, passed, None, nothing, unmet)

    return _halved(solved, problem.target, run, maximise=problem.simplex.maximise)


def _halved(
    solved: Callable[[float], Found],
    target: Target,
    run: ScalarRun | ConstraintRun,
    *,
    maximise: bool,
) -> Found:
    if target.known:
        return solved(target.low)
    low, high = target.low, target.high
    best: Found | None = None
    tried: Found | None = None
    while run.left:
        tried = solved(low + (high - low) / 2)
        if tried.feasible:
            best = tried
        if tried.feasible is maximise:
            low = tried.opt
        else:
            high = tried.opt
    best_tried = best or tried
    assert best_tried is not None
    return best_tried


def accepted(plan: LpExpected) -> float:
    """Up to which noisy violation a value passes: alpha, or four times the noise of the look."""
    if plan.budget.alpha is not None:
        return float(plan.budget.alpha)
    return min(plan.violation, 4 * plan.check_deviation)


def by_choices(choose: Callable[[Floats], int], problem: ScalarProblem, plan: LpExpected) -> Found:
    """Multiplicative weights with rows that are chosen elsewhere, one at a time.

    ``choose`` takes the public point x and releases a row.
    """
    opt = problem.target.low
    scale = problem.simplex.scale(opt)
    logs, total = np.zeros(len(scale)), np.zeros(len(scale))
    selected = np.empty(plan.rounds, np.int64)
    for t in range(plan.rounds):
        z = np.exp(logs - logs.max())
        z /= z.sum()
        total += z
        selected[t] = choose((scale * z)[: problem.rows.width])
        row = problem.rows.row(int(selected[t]))
        logs[: len(row)] -= plan.step * row * scale[: len(row)]
    z = total / total.sum()
    return Found(problem.simplex.solution(z, opt), opt, None, None, selected)
