"""What a private linear program is charged, how it is solved and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from winnow.core.checks import exact
from winnow.core.key import Key
from winnow.core.notebook import Listed
from winnow.core.options import takes
from winnow.core.plan import Plan
from winnow.core.utility import Utility
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded, shown
from winnow.inner_product.crossing import IndexedExponential
from winnow.inner_product.index.building import check_index
from winnow.inner_product.rounds import IndexedRounds, RepeatedSelection
from winnow.inner_product.vectors import checked_vectors, query_of
from winnow.lp.calibration import LpBudget, LpExpected, expect_lp
from winnow.lp.crossing.rows import as_upper_rows, check_sides, checked_matrix, seal_offset_vectors
from winnow.lp.kernels.lazy_columns import MOST_COLUMNS
from winnow.lp.mechanisms.constraint import ConstraintPrivateLp
from winnow.lp.mechanisms.scalar import ScalarPrivateLp
from winnow.lp.methods import LpMethod, PersonRows, ScalarSides
from winnow.lp.problem import OwnedProblem, ScalarProblem, Simplex
from winnow.lp.request import Lp
from winnow.lp.sealing import LpProblem
from winnow.lp.search import Found, by_choices, search, search_owned
from winnow.lp.solution import LpSolution
from winnow.privacy.sizing import as_all_there_is, sizing_accountant

_LAZY_FROM = 4096
_MOST_INDEXED = 1 << 27


@dataclass(frozen=True, kw_only=True, eq=False)
class LpPlan(Listed, Plan[LpProblem, LpSolution]):
    """What will be run, what it costs, and what it promises. All of it is public."""

    expected: LpExpected = field(repr=False)
    """Rounds, step, and the parts of the promise."""
    method: LpMethod
    heading: ClassVar[str] = "Plan of a linear program"

    @property
    def error(self) -> float:
        """The promised bound on A_i x - b_i, with probability 1 - beta, if a solution exists."""
        return self.expected.violation

    @property
    def compared(self) -> tuple[Any, ...]:
        """Nothing: the user says who is private."""
        return ()

    def lines(self) -> list[tuple[str, str]]:
        """The plan as rows of a table."""
        return self.expected.lines()

    def to_dict(self) -> dict[str, object]:
        """The plan as plain data."""
        return {"method": self.method.word(), **self.expected.to_dict()}


@as_all_there_is
def planned(asked: Lp, about: LpProblem) -> LpPlan:
    """The plan of what is asked, from what is public of the program."""
    match asked.method:
        case ScalarSides(index=None):
            return _scalar(asked, asked.method, about)
        case ScalarSides(index=str(index)):
            return _with_index(asked, asked.method, about, index)
        case PersonRows():
            return _owned(asked, asked.method, about)
    raise ParameterError(
        f"method={shown(asked.method)} does not say who is protected; give wn.ScalarSides(...) or "
        "wn.PersonRows(...)"
    )


def _scalar(asked: Lp, method: ScalarSides, about: LpProblem) -> LpPlan:
    """Right-hand sides are private: every round selects a row."""
    problem, utility, expected = _public_rows(asked, method, about)
    mixed = problem.mixed
    lazy = None if method.selection is None else method.selection == "lazy"
    mechanism = ScalarPrivateLp(
        expected.selection_epsilon,
        expected.rounds,
        expected.budget.searches,
        expected.check_multiplier,
        expected.measurement,
    )

    def check(private: LpProblem) -> None:
        about.check_like(program_in(private), rows=True)
        mechanism.check(private.offsets(utility), problem.largest, mixed=mixed)

    def solved(private: LpProblem, key: Key) -> LpSolution:
        offsets = private.offsets(utility)
        grid_step = 2.0 ** mechanism.grid(offsets, mixed=mixed).power
        run = mechanism.drawn(offsets, key, mixed=mixed)
        point = search(run, problem, expected, grid_step, lazy=lazy)
        solution = _solution(problem.simplex, expected, point)
        misses = problem.missed(expected.violation)
        return private.shown(replace(solution, objective_misses=misses))

    return LpPlan(
        mechanism=mechanism,
        relation=about.relation,
        guarantee=expected.guarantee,
        draw=solved,
        check=check,
        seconds=lp_seconds(expected, problem.entries, lazy=lazy is not False),
        expected=expected,
        method=method,
    )


def _with_index(asked: Lp, method: ScalarSides, about: LpProblem, index: str) -> LpPlan:
    """Rows selected over an index of (A_i, b_i) with the queries (x, -1)."""
    check_index(index)
    problem, utility, expected = _public_rows(asked, method, about)
    if not problem.target.known or expected.check_multiplier is not None:
        raise ParameterError("index= is for a public opt and without measure; leave it out")
    if problem.simplex.bound is not None or not problem.rows.is_dense:
        raise ParameterError("index= needs a dense A and c > 0; leave it out")
    selection = IndexedExponential(expected.selection_epsilon)
    moved = utility
    if problem.mixed:
        moved = Utility(utility.relation, utility.one_sided, utility.one_sided)
    dense = checked_vectors(problem.rows.matrix.dense)

    def check(private: LpProblem) -> None:
        about.check_like(program_in(private), rows=True)
        check_sides(private.offsets(utility))

    def solved(private: LpProblem, key: Key) -> LpSolution:
        vectors = seal_offset_vectors(dense, private.offsets(utility), index)
        run = IndexedRounds(selection, vectors, moved, expected.rounds, key)
        selected = by_choices(
            lambda x: run.next(query_of(np.append(x, -1.0), moved))[0], problem, expected
        )
        return private.shown(_solution(problem.simplex, expected, selected))

    return LpPlan(
        mechanism=RepeatedSelection(selection, expected.rounds),
        relation=about.relation,
        guarantee=expected.guarantee,
        draw=solved,
        check=check,
        seconds=lp_seconds(expected, problem.rows.size * problem.rows.width, lazy=False),
        expected=expected,
        method=method,
    )


def _owned(asked: Lp, method: PersonRows, about: LpProblem) -> LpPlan:
    """Every row is a person: every round selects a vertex of the simplex."""
    problem, expected = _people(asked, method, about)
    mechanism = ConstraintPrivateLp(
        expected.selection_epsilon,
        expected.rounds,
        problem.exceptions,
        problem.entries,
        problem.sides,
        expected.budget.searches,
        expected.check_multiplier,
        expected.measurement,
        _selection(method, sparse=about.sparse, columns=about.columns, rows=int(problem.rows)),
    )

    def solved(private: LpProblem, key: Key) -> LpSolution:
        run = mechanism.drawn(private.people(), key)
        return private.shown(
            _solution(problem.simplex, expected, search_owned(run, problem, expected))
        )

    return LpPlan(
        mechanism=mechanism,
        relation=about.relation,
        guarantee=expected.guarantee,
        draw=solved,
        check=lambda private: about.check_like(program_in(private), rows=False),
        seconds=lp_seconds(expected, int(problem.rows) * about.columns, lazy=False),
        expected=expected,
        method=method,
    )


def _public_rows(
    asked: Lp, method: ScalarSides, about: LpProblem
) -> tuple[ScalarProblem, Utility, LpExpected]:
    """The public side of a program with private right-hand sides, and what it promises."""
    utility = Utility.declare(method.sensitivity, monotone=method.monotone, relation=about.relation)
    upper, mixed = about.public_rows()
    problem = ScalarProblem.of(upper, about.simplex, about.target, mixed=mixed)
    return problem, utility, expect_lp(problem.setting(utility), _budget(asked, method, about))


def _people(asked: Lp, method: PersonRows, about: LpProblem) -> tuple[OwnedProblem, LpExpected]:
    """The public side of a program whose rows are people, and what it promises."""
    entries, sides = (
        (exact(name, low), exact(name, high))
        for name, (low, high) in (("entries", method.entries), ("sides", method.sides))
    )
    if about.one_sense() == ">=":
        entries, sides = (-entries[1], -entries[0]), (-sides[1], -sides[0])
    rows, wanted = int(method.rows), _budget(asked, method, about)

    def of(exceptions: int) -> OwnedProblem:
        return OwnedProblem(about.simplex, about.target, entries, sides, rows, exceptions)

    exceptions = method.exceptions
    if exceptions is None:
        exceptions = _fewest(of, rows, wanted)
    problem = of(exceptions)
    return problem, expect_lp(problem.setting(), wanted)


def _fewest(of: Callable[[int], OwnedProblem], most: int, wanted: LpBudget) -> int:
    """The fewest exceptions with which alpha is promised, to a hundredth; more do, too."""
    if wanted.alpha is None:
        raise ParameterError(
            "exceptions is missing; give it, or give alpha= to find the smallest number that "
            "keeps it"
        )
    quick = replace(wanted, accountant="zcdp" if wanted.delta else "pure")  # nearly as good

    def enough(exceptions: int) -> bool:
        return bool(expect_lp(of(exceptions).setting(), quick).meets_alpha)

    if not enough(most):
        raise ParameterError(
            f"alpha={wanted.alpha:g} cannot be promised, however many of the {most:,} rows may "
            "stay unmet; give a larger alpha, epsilon, or more rows"
        )
    low, high = 0, most
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _budget(asked: Lp, method: LpMethod, about: LpProblem) -> LpBudget:
    """What is asked for, with the accountant of the budget that pays."""
    accountant: str = asked.accountant
    if asked.budget is not None:
        sizing = sizing_accountant(asked.budget, asked.delta)
        if accountant not in ("best", sizing):
            raise ParameterError(
                f"accountant={accountant} is not that of the budget, {sizing}; leave it out"
            )
        accountant = sizing
    alpha = None if asked.alpha is None else float(asked.alpha)
    wanted = LpBudget(
        asked.epsilon,
        asked.delta,
        about.relation,
        alpha,
        method.rounds,
        beta=float(asked.beta),
        accountant=accountant,
    )
    if about.target.known:
        if method.searches is not None:
            raise ParameterError("searches are for opt=(low, high); leave it out")
        return replace(wanted, checked=method.measure)
    if isinstance(method, PersonRows) and alpha is None:
        raise ParameterError(
            "alpha is missing; a search over rows of people counts those that are violated by "
            "more than alpha"
        )
    return replace(wanted, searches=method.searches or 8, checked=True)


def _selection(method: LpMethod, *, sparse: bool, columns: int, rows: int) -> str:
    """How vertices are selected: by public numbers, unless it is said."""
    if method.index is not None:
        check_index(method.index)
        if rows * columns > _MOST_INDEXED:
            raise ParameterError(
                f"an index over {columns} columns of up to {rows} rows is too large; leave index= "
                "out, or give selection='lazy'"
            )
        return method.index
    if method.selection == "lazy" and columns > MOST_COLUMNS:
        raise ParameterError(f"{columns} columns are too many to be lazy; give selection='dense'")
    if method.selection is not None:
        return method.selection
    return "lazy" if sparse and _LAZY_FROM <= columns <= MOST_COLUMNS else "dense"


def _solution(simplex: Simplex, expected: LpExpected, solved: Found) -> LpSolution:
    x = np.asarray(solved.x, np.float64)
    return LpSolution(
        x,
        float(simplex.costs @ x),
        solved.opt,
        expected.violation,
        1 - float(expected.budget.beta),
        max(0, expected.setting.exceptions - 1),
        solved.feasible,
        solved.measured,
        expected.rounds,
        solved.selected,
        None,
        solved.unmet,
        None if solved.unmet is None else expected.tolerance,
    )


def lp_seconds(expected: LpExpected, entries: int, *, lazy: bool) -> float:
    """The public time of a program with so many entries; lazy rounds look at few of them."""
    each = 1e-4 + 5e-10 * entries if lazy else 1e-3 + 1e-8 * entries
    return expected.budget.searches * (0.1 + 2e-8 * entries + expected.rounds * each)


def program_in(problem: Any) -> LpProblem:
    """A sealed linear program."""
    if not isinstance(problem, LpProblem):
        raise ParameterError(
            "this is not a sealed linear program; make one with wn.lp_problem(A, b, c, opt=...) "
            "or wn.read_lp(file, opt=...)"
        )
    return problem


@takes(Lp)
def lp(problem: LpProblem, asked: Lp) -> LpPlan:
    """What ``wn.lp`` runs: its event, guarantee and promise. Nothing is spent.

    b is not looked at, and may be None in ``wn.lp_problem``; with rows of people A, too.
    ``plan.error`` is the promised violation, ``plan.expected.hopeless`` says that it is no better
    than what any point of the simplex has. For ``PersonRows`` with ``alpha`` and without
    ``exceptions`` the plan is for the fewest exceptions (to a hundredth) with which that is
    promised. [FastMWEM, App H]
    """
    return asked.plan(program_in(problem))


@guarded
def lp_optimum(A: Any, b: Any, c: Any, *, senses: Any = "<=", maximise: bool = True) -> float:
    """The optimum without any privacy: for public or made-up examples, to plan with.

    It looks at b as it is; never show what it says about private numbers. An infeasible or
    unbounded program is refused with that answer.
    """
    from scipy.optimize import linprog

    upper, sides, _ = as_upper_rows(checked_matrix(A), b, senses)
    sign = -1.0 if maximise else 1.0
    solved = linprog(sign * np.asarray(c, np.float64), A_ub=upper, b_ub=sides, method="highs")
    if solved.status == 2:
        raise DataError("the program is infeasible: no x >= 0 meets all rows")
    if solved.status == 3:
        raise DataError("the program is unbounded: the objective grows without limit")
    if solved.status != 0:
        raise DataError(f"the solver gave up: {solved.message}")
    return float(sign * solved.fun)
