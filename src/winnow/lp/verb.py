"""``winnow.solve_lp``: a linear program whose right-hand sides, or whose rows, are private."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.padding import Padding, PadTo
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded
from winnow.inner_product.crossing import IndexedExponential
from winnow.inner_product.rounds import IndexedRounds, RepeatedSelection
from winnow.inner_product.vectors import seal_query
from winnow.lp.arguments import (
    budget_of,
    costs_of,
    names_of,
    number,
    owned_numbers,
    refuse,
    searched,
    selection_for,
    wants_lazy,
)
from winnow.lp.calibration import LpBudget, LpPlan, plan_lp
from winnow.lp.crossing.rows import (
    SealedOffsets,
    SealedRows,
    as_upper_rows,
    checked_matrix,
    seal_offset_vectors,
    seal_offsets,
    seal_rows,
)
from winnow.lp.mechanisms.constraint import ConstraintPrivateLp
from winnow.lp.mechanisms.scalar import ScalarPrivateLp
from winnow.lp.problem import OwnedProblem, ScalarProblem, Simplex, Target, check_model
from winnow.lp.search import Found, by_choices, search, search_owned
from winnow.lp.solution import LpSolution
from winnow.privacy import Budget


@guarded
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
    selection: str | None = None,
    index: str | None = None,
    accountant: str = "best",
    budget: Budget | None = None,
    pad_to: PadTo = None,
    seed: int | None = None,
) -> Released[LpSolution]:
    """Solve max (or min) c'x with A x <= b, x >= 0, privately and approximately.

    ``private="scalar"``: A and c are public, and one person moves every b_i by at most
    ``sensitivity`` (a number, or a pair for what adding a person does; ``monotone`` for
    counts). The number of rows is public. Every row is met up to ``value.violation``.
    ``private="constraint"``: every row of A and b is a person; c and the ranges ``entries`` of
    A and ``sides`` of b are public, and ``rows`` is a public bound on their number. What is outside
    these ranges is clipped. All but fewer than ``exceptions`` rows are met.

    ``opt`` is the optimal value, when it is public; or (low, high): then ``searches`` solves
    (8 unless given), with the budget split evenly between them, halve the interval, and each
    is followed by a noisy look that gets a tenth of its share. Scalar privacy: at the largest
    violation; a value passes if it is at most alpha, or four deviations of the noise. Constraint
    privacy: at the number of rows that are violated by more than ``alpha``, which has to be given;
    a value passes if it is below ``exceptions``. With a public ``opt``, ``measure=True`` pays a
    tenth of the budget for such a look. Without c > 0 give ``bound``, a public bound on the
    sum of all x (scalar privacy). ``senses`` are "<=", ">=" or "=", one for all rows or one
    for each (rows of people: one for all).

    ``selection`` is "dense" (every candidate is scored in every round) or "lazy" (only those that
    certified bounds let through); unless it is said, the public size of the program decides.
    ``index`` ("flat", "lsh", "p-stable", "ivf", "hnsw") takes the paper's way over an index, which
    is private data, with certified bounds on what it leaves out: of rows (A_i, b_i) for scalar
    privacy (dense A, a public ``opt``), of columns for constraint privacy. The law is always the
    same.

    ``alpha`` is the violation that is aimed at: it sets the number of ``rounds``, unless that is
    given; without both the number with the best promise is taken. The promise holds with
    probability 1 - ``beta`` if the program has a solution; ``wn.plan.lp`` tells it beforehand.

    ``pad_to`` holds the result back (and an error after the charge) until so many seconds after
    the call, or until a multiple of that if it takes longer; "plan" takes a public estimate.
    """
    padding = Padding(pad_to)
    check_model(private)
    owned = private == "constraint"
    matrix = checked_matrix(A, empty=owned)
    if owned:  # by what was said alone: nothing here may depend on whether there are rows
        senses = senses if senses is None or isinstance(senses, str) else _one_sense(senses)
        if senses not in (None, "<=", ">="):
            raise DataError("a row of a person is no equation; give <= or >= for all rows")
    upper, sides_in, mixed = as_upper_rows(matrix, b, senses, empty=owned)
    labels = names_of(names, matrix.shape[1])
    simplex = Simplex(costs_of(c, matrix.shape[1]), maximise, number("bound", bound))
    target = Target.of(opt)
    kind = Relation.parse(relation)
    asked = budget_of(epsilon, delta, kind, alpha, rounds, beta, accountant, budget)
    asked = searched(asked, target, searches, measure=measure, owned=owned)
    if owned:
        refuse("constraint", sensitivity=sensitivity, monotone=monotone or None)
        given = owned_numbers(entries, sides, rows, exceptions, senses)
        people = OwnedProblem(simplex, target, **given)
        ways = selection_for(
            selection,
            index,
            sparse=not isinstance(upper, np.ndarray),
            columns=upper.shape[1],
            rows=int(people.rows),
        )
        sealed = seal_rows(upper, sides_in, kind)
        return _owned(people, sealed, asked, ways, labels, budget, seed, padding)
    refuse("scalar", entries=entries, sides=sides, rows=rows, exceptions=exceptions)
    if sensitivity is None:
        raise ParameterError("sensitivity is missing; give the most that one person moves any b_i")
    lazy = wants_lazy(selection, index)
    utility = Utility.declare(sensitivity, monotone=monotone, relation=kind)
    problem = ScalarProblem.of(upper, simplex, target, mixed=mixed)
    plan = plan_lp(problem.setting(utility), asked)
    offsets = seal_offsets(sides_in, upper.shape[0], utility)
    if index is not None:
        return _with_index(index, offsets, problem, plan, labels, budget, seed, padding)
    mechanism = ScalarPrivateLp(
        plan.selection_epsilon,
        plan.rounds,
        asked.searches,
        plan.check_multiplier,
        plan.measurement,
    )

    def solved(private_sides: SealedOffsets, key: Key) -> LpSolution:
        grid_step = 2.0 ** mechanism.grid(private_sides, mixed=mixed).power
        run = mechanism.drawn(private_sides, key, mixed=mixed)
        point = search(run, problem, plan, grid_step, lazy=lazy)
        solution = _solution(simplex, plan, labels, point)
        return replace(solution, objective_misses=problem.missed(plan.violation))

    planned = Plan(
        mechanism=mechanism,
        relation=kind,
        guarantee=plan.guarantee,
        draw=solved,
        check=lambda private_sides: mechanism.check(private_sides, problem.largest, mixed=mixed),
        seconds=lp_seconds(plan, _entries(upper), lazy=lazy is not False),
    )
    return planned.run(offsets, budget=budget, seed=seed, padding=padding)


def _owned(
    problem: OwnedProblem,
    rows: SealedRows,
    asked: LpBudget,
    selection: str,
    names: Any,
    budget: Budget | None,
    seed: int | None,
    padding: Padding,
) -> Released[LpSolution]:
    """Every row is a person."""
    plan = plan_lp(problem.setting(), asked)
    mechanism = ConstraintPrivateLp(
        plan.selection_epsilon,
        plan.rounds,
        problem.exceptions,
        problem.entries,
        problem.sides,
        asked.searches,
        plan.check_multiplier,
        plan.measurement,
        selection,
    )

    def solved(private_rows: SealedRows, key: Key) -> LpSolution:
        run = mechanism.drawn(private_rows, key)
        return _solution(problem.simplex, plan, names, search_owned(run, problem, plan))

    entries = int(problem.rows) * len(problem.simplex.costs)
    planned = Plan(
        mechanism=mechanism,
        relation=asked.relation,
        guarantee=plan.guarantee,
        draw=solved,
        seconds=lp_seconds(plan, entries, lazy=False),
    )
    return planned.run(rows, budget=budget, seed=seed, padding=padding)


def _with_index(
    index: str,
    offsets: SealedOffsets,
    problem: ScalarProblem,
    plan: LpPlan,
    names: Any,
    budget: Budget | None,
    seed: int | None,
    padding: Padding,
) -> Released[LpSolution]:
    """Rows selected over an index of (A_i, b_i) with the queries (x, -1)."""
    if not problem.target.known or plan.check_multiplier is not None:
        raise ParameterError("index= is for a public opt and without measure; leave it out")
    if problem.simplex.bound is not None or not problem.rows.is_dense:
        raise ParameterError("index= needs a dense A and c > 0; leave it out")
    mechanism = IndexedExponential(plan.selection_epsilon)
    utility = offsets.utility
    if problem.mixed:
        utility = Utility(utility.relation, utility.one_sided, utility.one_sided)
    vectors = seal_offset_vectors(problem.rows.matrix.dense, offsets, index)

    def solved(_: SealedOffsets, key: Key) -> LpSolution:
        run = IndexedRounds(mechanism, vectors, utility, plan.rounds, key)
        selected = by_choices(
            lambda x: run.next(seal_query(np.append(x, -1.0), utility))[0], problem, plan
        )
        return _solution(problem.simplex, plan, names, selected)

    entries = problem.rows.size * problem.rows.width
    planned = Plan(
        mechanism=RepeatedSelection(mechanism, plan.rounds),
        relation=utility.relation,
        guarantee=plan.guarantee,
        draw=solved,
        seconds=lp_seconds(plan, entries, lazy=False),
    )
    return planned.run(offsets, budget=budget, seed=seed, padding=padding)


def _solution(simplex: Simplex, plan: LpPlan, names: Any, found: Found) -> LpSolution:
    x = np.asarray(found.x, np.float64)
    return LpSolution(
        x,
        float(simplex.costs @ x),
        found.opt,
        plan.violation,
        1 - float(plan.budget.beta),
        max(0, plan.setting.exceptions - 1),
        found.feasible,
        found.measured,
        plan.rounds,
        found.selected,
        names,
        found.unmet,
        None if found.unmet is None else plan.tolerance,
    )


def lp_seconds(plan: LpPlan, entries: int, *, lazy: bool) -> float:
    """The public time of a program with so many entries; lazy rounds look at few of them."""
    each = 1e-4 + 5e-10 * entries if lazy else 1e-3 + 1e-8 * entries
    return plan.budget.searches * (0.1 + 2e-8 * entries + plan.rounds * each)


def _entries(rows: Any) -> int:
    """How many numbers the rows hold, dense or sparse."""
    return int(rows.size if isinstance(rows, np.ndarray) else rows.nnz)


def _one_sense(senses: Any) -> str:
    kinds = set(senses)
    if len(kinds) != 1:
        raise DataError("rows of people have to be all <= or all >=; give one sense for all")
    return str(kinds.pop())
