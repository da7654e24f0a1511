"""``winnow.solve_lp``: a linear program whose right-hand sides, or whose rows, are private."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from winnow.algorithms.lp_plan import LpBudget, LpPlan, LpSetting, plan_lp
from winnow.algorithms.lp_problem import ScalarProblem, Target, check_model, constraint_setting
from winnow.algorithms.lp_search import Found, by_choices, search
from winnow.domain.checks import Real, exact, one_of
from winnow.domain.neighbours import Relation
from winnow.domain.simplex import Simplex
from winnow.domain.utility import Utility
from winnow.errors import InputError
from winnow.mechanisms.constraint_lp import ConstraintPrivateLp
from winnow.mechanisms.indexed_rounds import IndexedRounds, rounds_event
from winnow.mechanisms.indexed_selection import IndexedExponential
from winnow.mechanisms.scalar_lp import ScalarPrivateLp
from winnow.privacy import Budget
from winnow.random.tape import Randomness
from winnow.released import Released
from winnow.released.linear_programs import LpSolution
from winnow.sealed.right_hand_sides import (
    SealedOffsets,
    as_upper_rows,
    checked_matrix,
    seal_offset_vectors,
    seal_offsets,
    seal_rows,
)
from winnow.sealed.vectors import seal_query
from winnow.verbs.charging import grant_for


def solve_lp(
    A: Any,
    b: Any,
    c: Any,
    *,
    private: str,
    epsilon: Real,
    delta: Real = 0.0,
    opt: Any = None,
    maximise: bool = True,
    senses: Any = "<=",
    sensitivity: Real | tuple[Real, Real] | None = None,
    monotone: bool = False,
    relation: str | Relation = Relation.ADD_REMOVE,
    alpha: float | None = None,
    rounds: int | None = None,
    searches: int | None = None,
    measure: bool = False,
    bound: float | None = None,
    entries: tuple[Real, Real] | None = None,
    sides: tuple[Real, Real] | None = None,
    rows: int | None = None,
    exceptions: int | None = None,
    beta: float = 0.05,
    names: Any = None,
    index: str | None = None,
    accountant: str = "best",
    budget: Budget | None = None,
    seed: int | None = None,
) -> Released[LpSolution]:
    """Solve max (or min) c'x with A x <= b, x >= 0, privately and approximately.

    ``private="scalar"``: A and c are public, and one person moves every b_i by at most
    ``sensitivity`` (a number, or a pair for what adding a person does; ``monotone`` for
    counts). The number of rows is public. Every row is met up to ``value.violation``.
    ``private="constraint"``: every row of A and b is a person; c and the ranges ``entries`` of
    A and ``sides`` of b are public, and ``rows`` is a public bound on their number. Entries
    outside the range are clipped. All but fewer than ``exceptions`` rows are met.

    ``opt`` is the optimal value, when it is public; or (low, high): then ``searches`` solves
    (8 unless given), with the budget split evenly between them, halve the interval, and each
    is followed by a noisy look at the largest violation (scalar privacy only): a value passes
    if it is at most alpha, or four deviations of the noise. With a public ``opt``,
    ``measure=True`` pays a tenth of the budget for such a look. Without c > 0
    give ``bound``, a public bound on the sum of all x. ``senses`` are "<=", ">=" or "=", one
    for all rows or one for each.

    ``index`` ("flat", "lsh", "ivf", "hnsw") takes the paper's way to select rows (scalar
    privacy, dense A, a public ``opt``): an index over (A_i, b_i), which is private data, with
    certified bounds on what it leaves out. The law is the same; it is slower than the default.

    ``alpha`` is the violation that is aimed at: it sets the number of ``rounds``, unless that is
    given; without both the number with the best promise is taken. The promise holds with
    probability 1 - ``beta`` if the program has a solution; ``wn.plan.lp`` tells it beforehand.
    """
    check_model(private)
    matrix = checked_matrix(A)
    upper, sides_in, mixed = as_upper_rows(matrix, b, senses)
    labels = _names(names, matrix.shape[1])
    simplex = Simplex(_costs(c, matrix.shape[1]), maximise, _number("bound", bound))
    target = Target.of(opt)
    kind = Relation.parse(relation)
    randomness = Randomness(seed)
    asked = _budget_of(epsilon, delta, kind, alpha, rounds, beta, accountant, budget)
    if private == "scalar":
        _refuse("scalar", entries=entries, sides=sides, rows=rows, exceptions=exceptions)
        if sensitivity is None:
            raise InputError("sensitivity is missing; give the most that one person moves any b_i")
        utility = Utility.declare(sensitivity, monotone=monotone, relation=kind)
        problem = ScalarProblem.of(upper, simplex, target, mixed=mixed)
        asked = searched(asked, target, searches, measure=measure)
        plan = plan_lp(problem.setting(utility), asked)
        offsets = seal_offsets(sides_in, upper.shape[0], utility)
        if index is not None:
            return _with_index(index, offsets, problem, plan, labels, budget, randomness)
        mechanism = ScalarPrivateLp(
            plan.selection_epsilon,
            plan.rounds,
            asked.searches,
            plan.check_multiplier,
            plan.measurement,
        )
        mechanism.check(offsets, problem.largest, mixed=mixed)
        grant = grant_for(mechanism.promise(kind).event, budget)
        run = mechanism.open(offsets, grant, randomness.tape(), mixed=mixed)
        found = search(run, problem, plan, 2.0 ** mechanism.grid(offsets, mixed=mixed).power)
        value = _solution(found.x, simplex, found.opt, plan, labels, found)
        return Released(value, plan.guarantee, run.receipt)
    _refuse(
        "constraint",
        sensitivity=sensitivity,
        searches=searches,
        measure=measure or None,
        index=index,
    )
    _one_value(target)
    given = _constraint_numbers(entries, sides, rows, exceptions)
    plan = plan_lp(
        constraint_setting(simplex, target.low, relation=kind, **given), asked
    )  # fmt: skip
    owned = ConstraintPrivateLp(
        plan.selection_epsilon, plan.rounds, given["exceptions"], given["entries"]
    )
    sealed = seal_rows(upper, sides_in)
    scale = simplex.scale(target.low)
    grant = grant_for(owned.promise(kind).event, budget)
    drawn_run = owned.open(sealed, scale, grant, randomness.tape(), relation=kind)
    drawn = drawn_run.solve(plan.step)
    x = scale * drawn / plan.rounds
    value = _solution(x, simplex, target.low, plan, labels, None)
    return Released(value, plan.guarantee, drawn_run.receipt)


def _with_index(
    index: str,
    offsets: SealedOffsets,
    problem: ScalarProblem,
    plan: LpPlan,
    names: Any,
    budget: Budget | None,
    randomness: Randomness,
) -> Released[LpSolution]:
    """Rows selected over an index of (A_i, b_i) with the queries (x, -1)."""
    if not problem.target.known or plan.check_multiplier is not None:
        raise InputError("index= is for a public opt and without measure; leave it out")
    if problem.simplex.bound is not None or len(problem.rows.dense) == 0:
        raise InputError("index= needs a dense A and c > 0; leave it out")
    mechanism = IndexedExponential(plan.selection_epsilon)
    utility = offsets.utility
    if problem.mixed:
        utility = Utility(utility.relation, utility.one_sided, utility.one_sided)
    vectors = seal_offset_vectors(problem.rows.dense, offsets, index)
    event = rounds_event(mechanism, utility, plan.rounds)
    grant = grant_for(event, budget)
    run = IndexedRounds(mechanism, vectors, utility, plan.rounds, grant, randomness.tape())
    found = by_choices(
        lambda x: run.next(seal_query(np.append(x, -1.0), utility))[0], problem, plan
    )
    value = _solution(found.x, problem.simplex, found.opt, plan, names, found)
    return Released(value, plan.guarantee, run.receipt)


def lp_setting(
    A: Any,
    c: Any,
    *,
    private: str,
    opt: Any,
    maximise: bool = True,
    senses: Any = "<=",
    sensitivity: Real | tuple[Real, Real] | None = None,
    monotone: bool = False,
    relation: Relation = Relation.ADD_REMOVE,
    bound: float | None = None,
    entries: tuple[Real, Real] | None = None,
    sides: tuple[Real, Real] | None = None,
    rows: int | None = None,
    exceptions: int | None = None,
) -> tuple[LpSetting, Target]:
    """The public numbers that a plan needs; A is not looked at for constraint privacy."""
    check_model(private)
    target = Target.of(opt)
    if private == "constraint":
        _refuse("constraint", sensitivity=sensitivity)
        _one_value(target)
        given = _constraint_numbers(entries, sides, rows, exceptions)
        simplex = Simplex(np.asarray(c, np.float64), maximise, bound)
        return constraint_setting(simplex, target.low, relation=relation, **given), target
    _refuse("scalar", entries=entries, sides=sides, rows=rows, exceptions=exceptions)
    if sensitivity is None:
        raise InputError("sensitivity is missing; give the most that one person moves any b_i")
    matrix = checked_matrix(A)
    upper, _, mixed = as_upper_rows(matrix, np.zeros(matrix.shape[0]), senses)
    simplex = Simplex(_costs(c, matrix.shape[1]), maximise, bound)
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    return ScalarProblem.of(upper, simplex, target, mixed=mixed).setting(utility), target


def _one_value(target: Target) -> None:
    if not target.known:
        raise InputError("constraint-private programs are solved at one value; give opt=number")


def searched(asked: LpBudget, target: Target, searches: int | None, *, measure: bool) -> LpBudget:
    """How often is solved, and whether the violation is looked at."""
    if not isinstance(measure, bool):
        raise InputError(f"measure={measure!r} is not True or False")
    if target.known:
        if searches is not None:
            raise InputError("searches are for opt=(low, high); leave it out")
        return replace(asked, checked=measure)
    return replace(asked, searches=8 if searches is None else searches, checked=True)


def _budget_of(
    epsilon: Real,
    delta: Real,
    relation: Relation,
    alpha: float | None,
    rounds: int | None,
    beta: float,
    accountant: str,
    budget: Budget | None,
) -> LpBudget:
    if budget is not None:
        sizing = budget.accountant if exact("delta", delta) else "pure"
        one_of(("best", sizing), accountant=accountant)
        accountant = sizing
    return LpBudget(epsilon, delta, relation, alpha, rounds, beta=beta, accountant=accountant)


def _solution(
    x: Any, simplex: Simplex, opt: float, plan: LpPlan, names: Any, found: Found | None
) -> LpSolution:
    return LpSolution(
        np.asarray(x, np.float64),
        float(simplex.costs @ x),
        opt,
        plan.violation,
        1 - float(plan.budget.beta),
        max(0, plan.setting.exceptions - 1),
        None if found is None else found.feasible,
        None if found is None else found.measured,
        plan.rounds,
        np.zeros(0, np.int64) if found is None else found.selected,
        names,
    )


def _costs(c: Any, columns: int) -> Any:
    try:
        costs = np.array(c, np.float64)
    except (TypeError, ValueError):
        raise InputError("c is not a vector of numbers; give one for each variable") from None
    if costs.shape != (columns,):
        raise InputError(
            f"c has the shape {costs.shape} and A has {columns} columns; give one for each"
        )
    return costs


def _number(name: str, value: Any) -> float | None:
    return None if value is None else float(exact(name, value))


def _names(names: Any, columns: int) -> list[str] | None:
    if names is None:
        return None
    listed = [str(name) for name in names]
    if len(listed) != columns:
        raise InputError(f"there are {len(listed)} names for {columns} variables; give one each")
    return listed


def _refuse(private: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(f"{name} does nothing for private={private!r}; leave it out")


def _constraint_numbers(entries: Any, sides: Any, rows: Any, exceptions: Any) -> dict[str, Any]:
    given = {"entries": entries, "sides": sides, "rows": rows, "exceptions": exceptions}
    for name, value in given.items():
        if value is None:
            raise InputError(
                f"{name} is missing; private='constraint' needs the public ranges entries= and "
                "sides=, a bound rows= on their number, and exceptions="
            )
    for name in ("entries", "sides"):
        if not isinstance(given[name], tuple | list) or len(given[name]) != 2:
            raise InputError(f"{name} is not a pair; give (low, high)")
    return {**given, "entries": tuple(entries), "sides": tuple(sides)}
