"""One call, one charge: to a shared budget, or to a budget of its own."""

from __future__ import annotations

from winnow.core.checks import Real, exact
from winnow.privacy import Budget, Event, Grant, single_use_grant


def grant_for(event: Event, budget: Budget | None) -> Grant:
    """The grant for an event, charged to the budget where there is one."""
    return single_use_grant(event) if budget is None else budget.charge(event)


def sizing_accountant(budget: Budget, delta: Real) -> str:
    """What sizes the noise under a budget: its own accountant, or pure sums without a delta."""
    return budget.accountant if exact("delta", delta) else "pure"


def rounds_accountant(budget: Budget | None) -> str:
    """What sizes rounds that could be composed better: not better than a pure budget adds up."""
    return "pure" if budget is not None and budget.accountant == "pure" else "best"
