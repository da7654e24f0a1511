"""What is asked of a private linear program, checked: shared by solving and planning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from winnow.core.checks import Real, exact, one_of
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import instead, shown
from winnow.inner_product.index.building import check_index
from winnow.lp.bounds import LpSetting
from winnow.lp.calibration import LpBudget
from winnow.lp.crossing.rows import as_upper_rows, checked_matrix
from winnow.lp.kernels.lazy_columns import MOST_COLUMNS
from winnow.lp.problem import OwnedProblem, ScalarProblem, Simplex, Target, check_model
from winnow.privacy import Budget
from winnow.privacy.sizing import sizing_accountant

_LAZY_FROM = 4096
_MOST_INDEXED = 1 << 27


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
        refuse("constraint", sensitivity=sensitivity, monotone=monotone or None)
        given = owned_numbers(entries, sides, rows, exceptions, senses)
        simplex = Simplex(costs_of(c), maximise, bound)
        return OwnedProblem(simplex, target, **given).setting(), target
    refuse("scalar", entries=entries, sides=sides, rows=rows, exceptions=exceptions)
    if sensitivity is None:
        raise ParameterError("sensitivity is missing; give the most that one person moves any b_i")
    matrix = checked_matrix(A)
    upper, _, mixed = as_upper_rows(matrix, np.zeros(matrix.shape[0]), senses)
    simplex = Simplex(costs_of(c, matrix.shape[1]), maximise, bound)
    utility = Utility.declare(sensitivity, monotone=monotone, relation=relation)
    return ScalarProblem.of(upper, simplex, target, mixed=mixed).setting(utility), target


def searched(
    asked: LpBudget, target: Target, searches: int | None, *, measure: bool, owned: bool
) -> LpBudget:
    """How often is solved, and whether there is a noisy look at the outcome."""
    if not isinstance(measure, bool):
        raise ParameterError(f"measure={shown(measure)} is not True or False")
    if target.known:
        if searches is not None:
            raise ParameterError("searches are for opt=(low, high); leave it out")
        return replace(asked, checked=measure)
    if owned and asked.alpha is None:
        raise ParameterError(
            "alpha is missing; a search over rows of people counts those that are violated by "
            "more than alpha"
        )
    return replace(asked, searches=8 if searches is None else searches, checked=True)


def budget_of(
    epsilon: Real,
    delta: Real,
    relation: Relation,
    alpha: float | None,
    rounds: int | None,
    beta: float,
    accountant: str,
    budget: Budget | None,
) -> LpBudget:
    """What is asked for, with the accountant of the budget that pays."""
    if budget is not None:
        sizing = sizing_accountant(budget, delta)
        one_of(("best", sizing), accountant=accountant)
        accountant = sizing
    return LpBudget(epsilon, delta, relation, alpha, rounds, beta=beta, accountant=accountant)


def selection_for(selection: Any, index: Any, *, sparse: bool, columns: int, rows: int) -> str:
    """How vertices are selected: by public numbers, unless it is said."""
    wants_lazy(selection, index)
    if index is not None:
        if rows * columns > _MOST_INDEXED:
            raise ParameterError(
                f"an index over {columns} columns of up to {rows} rows is too large; leave index= "
                "out, or give selection='lazy'"
            )
        return str(index)
    if selection == "lazy" and columns > MOST_COLUMNS:
        raise ParameterError(f"{columns} columns are too many to be lazy; give selection='dense'")
    if selection is not None:
        return str(selection)
    return "lazy" if sparse and _LAZY_FROM <= columns <= MOST_COLUMNS else "dense"


def wants_lazy(selection: Any, index: Any) -> bool | None:
    """Whether selection is lazy; None where nothing is said."""
    if selection is not None and index is not None:
        raise ParameterError("selection= and index= exclude each other; give one")
    if index is not None:
        check_index(index)
    if selection is None:
        return None
    one_of(("dense", "lazy"), selection=selection)
    return bool(selection == "lazy")


def costs_of(c: Any, columns: int | None = None) -> Any:
    """c as a vector, with one entry for each column where their number is known."""
    with instead(
        ParameterError("c is not a vector of numbers; give one for each variable"),
        TypeError,
        ValueError,
    ):
        costs = np.array(c, np.float64)
    if columns is not None and costs.shape != (columns,):
        raise ParameterError(
            f"c has the shape {costs.shape} and A has {columns} columns; give one for each"
        )
    return costs


def number(name: str, value: Any) -> float | None:
    """A number, or None as it is."""
    return None if value is None else float(exact(name, value))


def names_of(names: Any, columns: int) -> list[str] | None:
    """Public names, one for each variable."""
    if names is None:
        return None
    listed = [str(name) for name in names]
    if len(listed) != columns:
        raise ParameterError(
            f"there are {len(listed)} names for {columns} variables; give one each"
        )
    return listed


def refuse(private: str, **options: Any) -> None:
    """Refuse options of the other neighbour model."""
    for name, value in options.items():
        if value is not None:
            raise ParameterError(f"{name} does nothing for private={shown(private)}; leave it out")


def owned_numbers(
    entries: Any, sides: Any, rows: Any, exceptions: Any, senses: Any
) -> dict[str, Any]:
    """The public numbers that rows of people need, for rows in the form A_i x <= b_i."""
    given = {"entries": entries, "sides": sides, "rows": rows, "exceptions": exceptions}
    for name, value in given.items():
        if value is None:
            raise ParameterError(
                f"{name} is missing; private='constraint' needs the public ranges entries= and "
                "sides=, a bound rows= on their number, and exceptions="
            )
    for name in ("entries", "sides"):
        if not isinstance(given[name], tuple | list) or len(given[name]) != 2:
            raise ParameterError(f"{name} is not a pair; give (low, high)")
    for name in ("entries", "sides"):
        low, high = (exact(name, end) for end in given[name])
        given[name] = (-high, -low) if senses == ">=" else (low, high)
    return given
