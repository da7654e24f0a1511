"""Tables of data whose bound on the rows, or items, of a person is chosen by a look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from winnow.errors import ParameterError
from winnow.read.about import AboutTable, about_table
from winnow.select.about import AboutScores
from winnow.select.auto_bound import AutoBoundPlan, plan_with_auto_bound, share_for
from winnow.select.compared_bounds import NoiseUnderBounds
from winnow.select.plan.auto_bound import people_needed

if TYPE_CHECKING:
    from winnow.release.tables.plan import TabulatePlan
    from winnow.release.tables.request import Tabulate

Public = AboutTable | AboutScores


def tables_with_auto_bound(
    asked: Tabulate, public: Public, planned: Callable[[Tabulate, Public], TabulatePlan]
) -> AutoBoundPlan:
    """The plan of a look and of the tables under every bound."""
    assert public.choice is not None
    if asked.with_cut:
        raise ParameterError(
            "with_cut= and a bound that is chosen both say what is left out; leave out with_cut="
        )
    first, grid = planned(asked, public.bounded(1)), public.choice.grid
    answers = None if first.answers is None else float(first.answers)

    def under(epsilon: Fraction, bound: int) -> TabulatePlan:
        return planned(replace(asked, epsilon=epsilon), public.bounded(bound))

    def noise(plans: list[TabulatePlan]) -> NoiseUnderBounds:
        each = tuple(_error(plan, bound) for plan, bound in zip(plans, grid, strict=True))
        tables = 1 if first.settings is None else len(first.settings.parts)
        return NoiseUnderBounds(grid, each, answers, tables)

    def accepts(data: Any) -> None:
        if isinstance(public, AboutScores):
            public.check(data)
        else:
            public.check(about_table(data, choosing=True))

    share = share_for(answers)
    return plan_with_auto_bound(
        public.choice, asked.epsilon, under, noise, accepts=accepts, share=share
    )


def _error(plan: TabulatePlan, bound: int) -> float:
    """The mean error of an answer; where the keys are private, what they need to be released."""
    if plan.settings is not None:
        return plan.settings.strategy.errors.mean
    if plan.compared:
        return plan.compared[0].mean
    assert isinstance(plan.about, AboutScores)
    return people_needed(plan.mechanism, plan.about.utility, bound)
