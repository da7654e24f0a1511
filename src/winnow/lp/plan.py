"""What to expect of a private linear program, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from winnow.core.checks import Real
from winnow.core.relation import Relation
from winnow.errors import DataError, ParameterError
from winnow.foreign import guarded
from winnow.lp.arguments import lp_setting, searched
from winnow.lp.calibration import LpBudget, LpPlan, plan_lp


@guarded
def lp(
    A: Any,
    c: Any,
    *,
    private: str,
    opt: Any,
    epsilon: Real,
    delta: Real = 0.0,
    alpha: float | None = None,
    rounds: int | None = None,
    searches: int | None = None,
    measure: bool = False,
    beta: float = 0.05,
    relation: str | Relation = Relation.ADD_REMOVE,
    accountant: str = "best",
    **options: Any,
) -> LpPlan:
    """The promised violation of ``wn.solve_lp`` with the same options; b is not asked for.

    ``violation`` is the promise, ``hopeless`` says that it is no better than what any point of
    the simplex has. For ``private="constraint"`` A is private too: give None for it; with
    ``alpha`` and without ``exceptions`` the plan is for the fewest exceptions (to a hundredth) with
    which that is promised. [FastMWEM, App H]
    """
    kind = Relation.parse(relation)
    owned = private == "constraint"

    def planned(wanted: LpBudget, more: dict[str, Any]) -> LpPlan:
        setting, target = lp_setting(A, c, private=private, opt=opt, relation=kind, **more)
        return plan_lp(setting, searched(wanted, target, searches, measure=measure, owned=owned))

    wanted = LpBudget(epsilon, delta, kind, alpha, rounds, beta=beta, accountant=accountant)
    if owned and alpha is not None and options.get("exceptions") is None and options.get("rows"):
        summed = "zcdp" if delta else "pure"  # quick, and nearly as good
        quick = LpBudget(epsilon, delta, kind, alpha, rounds, beta=beta, accountant=summed)
        options["exceptions"] = _fewest(
            lambda s: bool(planned(quick, options | {"exceptions": s}).meets_alpha),
            int(options["rows"]),
            alpha,
        )
    return planned(wanted, options)


def _fewest(enough: Callable[[int], bool], most: int, alpha: float) -> int:
    """The least number up to `most` that is enough, to a hundredth; more are enough, too."""
    if not enough(most):
        raise ParameterError(
            f"alpha={alpha:g} is not to be promised however many of the {most:,} rows may stay "
            "unmet; give a larger alpha, epsilon, or more rows"
        )
    low, high = 0, most
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@guarded
def lp_optimum(A: Any, b: Any, c: Any, *, senses: Any = "<=", maximise: bool = True) -> float:
    """The optimum without any privacy: for public or made-up examples, to plan with.

    It looks at b as it is; never show what it says about private numbers. An infeasible or
    unbounded program is refused with that answer.
    """
    from scipy.optimize import linprog

    from winnow.lp.crossing.rows import as_upper_rows, checked_matrix

    upper, sides, _ = as_upper_rows(checked_matrix(A), b, senses)
    sign = -1.0 if maximise else 1.0
    found = linprog(sign * np.asarray(c, np.float64), A_ub=upper, b_ub=sides, method="highs")
    if found.status == 2:
        raise DataError("the program is infeasible: no x >= 0 meets all rows")
    if found.status == 3:
        raise DataError("the program is unbounded: the objective grows without limit")
    if found.status != 0:
        raise DataError(f"the solver gave up: {found.message}")
    return float(sign * found.fun)
