"""One call, one charge: to a shared budget, or to a budget of its own."""

from __future__ import annotations

from winnow.privacy import Budget, Event, Grant, single_use_grant


def grant_for(event: Event, budget: Budget | None) -> Grant:
    """The grant for an event, charged to the budget where there is one."""
    return single_use_grant(event) if budget is None else budget.charge(event)
