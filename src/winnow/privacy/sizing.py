"""Which accountant sizes the noise of a release that a budget will be charged for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from winnow.core.checks import Real, exact
from winnow.errors import ParameterError
from winnow.privacy.budget import Budget, Planned
from winnow.privacy.rounding import stated_at_most

P = TypeVar("P", bound=Planned)
R = TypeVar("R", bound="Budgeted")
A = ParamSpec("A")

_EXACT = ("combined", "gaussian", "odometer")
"""Accountants that count an event at what its plan states, or as the laws that it has."""


def checked_budget(budget: Budget) -> Budget:
    """The budget; what is none is refused."""
    if not isinstance(budget, Budget):
        raise ParameterError(f"budget is a {type(budget).__name__}; give wn.Budget(epsilon=...)")
    return budget


def sizing_accountant(budget: Budget, delta: Real) -> str:
    """What sizes the noise under a budget: pure sums without a delta, else what composes."""
    pure = checked_budget(budget).accountant == "pure" or not exact("delta", delta)
    return "pure" if pure else "zcdp"


class Budgeted(Protocol):
    """What is asked, and the budget that is to pay for it."""

    @property
    def budget(self) -> Budget | None:
        """None: it is all there is."""


def as_all_there_is(plan: Callable[Concatenate[R, A], P]) -> Callable[Concatenate[R, A], P]:
    """Plan a release as if it were all there is, where the budget counts that at what was asked.

    Else it is planned as the budget adds up. So whoever asks for all of a budget has no more noise
    than without one, and whoever asks for a part hardly more. What a budget takes follows from what
    was released before, and so may the plan.
    """

    @wraps(plan)
    def planned(asked: R, /, *given: A.args, **options: A.kwargs) -> P:
        budget = asked.budget
        if budget is None or checked_budget(budget).accountant not in _EXACT:
            return plan(asked, *given, **options)
        if getattr(asked, "accountant", "best") != "best":  # they say how
            return plan(asked, *given, **options)
        free: Any = replace(asked, budget=None)  # type: ignore[type-var]
        delta = exact("delta", getattr(free, "delta", 0))
        part = budget._delta_of_part(exact("epsilon", free.epsilon), delta)
        tries = [free]
        if part < delta:
            tries.append(replace(free, delta=stated_at_most(part)))
        for each in tries:
            result = plan(each, *given, **options)
            if budget._counts_as_stated(result.event, result.guarantee, part):
                return result
        return plan(asked, *given, **options)

    return planned


def table_sizings(budget: Budget | None, delta: Real, asked: str = "best") -> tuple[str, ...]:
    """What may size a release of tables under a budget, in the order in which to try them.

    A combined budget keeps sums of epsilon and sums of rho, so that noise of either law may be
    taken ("summed"), whichever errs less at the stated epsilon. Of one rho Gaussian noise errs
    less. So it is the second try, where the epsilons that are left are too few for the first one.
    """
    if budget is None:
        return (asked,)
    sizing = sizing_accountant(budget, delta)
    if asked not in ("best", sizing):
        raise ParameterError(
            f"accountant={asked!r} cannot size a release with delta={delta} for a budget with the "
            f"accountant {budget.accountant!r}; leave it out"
        )
    both = sizing == "zcdp" and asked == "best" and budget.accountant == "combined"
    return ("summed", sizing) if both else (sizing,)


def first_that_fits(
    plans: Callable[[str], P], sizings: tuple[str, ...], budget: Budget | None
) -> P:
    """The first plan that the budget could be charged for now; else the first one."""
    first = plan = plans(sizings[0])
    for sizing in sizings[1:]:
        assert budget is not None
        if budget._fits(plan.event, plan.guarantee):
            return plan
        plan = plans(sizing)
    return (
        plan
        if budget is None or plan is first or budget._fits(plan.event, plan.guarantee)
        else first
    )


def rounds_accountant(budget: Budget | None) -> str:
    """What sizes rounds that could be composed better: not better than a budget adds up."""
    if budget is None:
        return "best"
    return "pure" if checked_budget(budget).accountant == "pure" else "summed"
