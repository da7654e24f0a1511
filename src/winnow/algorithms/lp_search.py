"""Solve at a value of the objective, or look for the value by halving an interval.

A search asks for a fixed number of solves, each followed by a noisy look at the largest
violation; which value comes next depends on what was released before only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow.algorithms.lp_plan import LpPlan
from winnow.algorithms.lp_problem import ScalarProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from winnow.mechanisms.scalar_lp import ScalarRun

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


def search(run: ScalarRun, problem: ScalarProblem, plan: LpPlan, unit: float) -> Found:
    """All solves that were paid for; ``unit`` is the step of the released violations."""
    target, simplex = problem.target, problem.simplex
    if target.known:
        return _solved(run, problem, plan, target.low, unit)
    low, high = target.low, target.high
    best: Found | None = None
    tried: Found | None = None
    while run.left:
        tried = _solved(run, problem, plan, low + (high - low) / 2, unit)
        if tried.feasible:
            best = tried
        if tried.feasible is simplex.maximise:
            low = tried.opt
        else:
            high = tried.opt
    found = best or tried
    assert found is not None
    return found


def _solved(run: ScalarRun, problem: ScalarProblem, plan: LpPlan, opt: float, unit: float) -> Found:
    scale = problem.simplex.scale(opt)
    z, selected, steps = run.solve(problem.rows, scale, plan.step, problem.public_sides(opt))
    found = problem.simplex.solution(z, opt)
    if steps is None:
        return Found(found, opt, None, None, selected)
    measured = steps * unit
    return Found(found, opt, measured <= accepted(plan), measured, selected)


def accepted(plan: LpPlan) -> float:
    """Up to which noisy violation a value passes: alpha, or four times the noise of the look."""
    if plan.budget.alpha is not None:
        return float(plan.budget.alpha)
    return min(plan.violation, 4 * plan.check_deviation)


def by_choices(choose: Callable[[Floats], int], problem: ScalarProblem, plan: LpPlan) -> Found:
    """The same multiplicative weights, with rows that are chosen elsewhere, one at a time.

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
