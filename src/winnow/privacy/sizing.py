"""Which accountant sizes the noise of a release that a budget will be charged for."""

from __future__ import annotations

from winnow.core.checks import Real, exact
from winnow.errors import ParameterError
from winnow.privacy.budget import Budget


def checked_budget(budget: Budget) -> Budget:
    """The budget; what is none is refused."""
    if not isinstance(budget, Budget):
        raise ParameterError(f"budget is a {type(budget).__name__}; give wn.Budget(epsilon=...)")
    return budget


def sizing_accountant(budget: Budget, delta: Real) -> str:
    """What sizes the noise under a budget: pure sums without a delta, else what composes."""
    pure = checked_budget(budget).accountant == "pure" or not exact("delta", delta)
    return "pure" if pure else "zcdp"


def rounds_accountant(budget: Budget | None) -> str:
    """What sizes rounds that could be composed better: not better than a budget adds up."""
    if budget is None:
        return "best"
    return "pure" if checked_budget(budget).accountant == "pure" else "summed"
