"""An estimate of what a bound left out, charged and drawn together with a release."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from winnow.core.checks import Real, exact
from winnow.core.padding import Padding
from winnow.core.plan import Plan, Private
from winnow.core.released import Released
from winnow.errors import ParameterError
from winnow.privacy import Budget
from winnow.read.people import BoundedPeople, PersonBound
from winnow.select.crossing.private_labels import people_now
from winnow.select.mechanisms.cut_away import MeasureCut, WithCut

T = TypeVar("T")
D = TypeVar("D", bound=Private)


def rest_of(with_cut: Real, epsilon: Real) -> Fraction | None:
    """What a release gets of epsilon beside an estimate; None: no estimate is asked for."""
    share = exact("with_cut", with_cut)
    return (1 - share) * exact("epsilon", epsilon) if share else None


def cut_of(
    with_cut: Real, epsilon: Real, bound: PersonBound | None
) -> tuple[MeasureCut | None, Real]:
    """The estimate that ``with_cut`` asks for, and what of epsilon the release itself gets."""
    rest = rest_of(with_cut, epsilon)
    if rest is None:
        return None, epsilon
    if bound is None:
        raise ParameterError(_NO_BOUND)
    return MeasureCut(exact("epsilon", epsilon) - rest, bound), rest


def charged_with(cut: MeasureCut | None, plan: Plan[D, T]) -> Plan[D, T]:
    """A plan whose charge is that of both; ``run_beside`` runs the two."""
    if cut is None:
        return plan
    both = WithCut(plan.mechanism, cut)
    itself: Any = plan
    charged: Plan[D, T] = replace(
        itself,
        mechanism=both,
        guarantee=both.guarantee(plan.guarantee),
        title=f"{plan.name}; {both.name}",
    )
    return charged


def run_beside(
    cut: MeasureCut,
    plan: Plan[D, T],
    data: D,
    people: BoundedPeople | None,
    *,
    budget: Budget | None,
    seed: int | None,
    padding: Padding | None = None,
) -> Released[T]:
    """Run a plan together with the estimate: one charge for both.

    People are counted before the charge, so that a source that is gone costs nothing.
    """
    if people is None:
        raise ParameterError(_NO_BOUND)
    if people.bound != cut.bound:
        raise ParameterError("the plan is for another bound on a person; plan again for these")
    both = WithCut(plan.mechanism, cut).plan(plan, people_now(people.people))
    released = both.run(data, budget=budget, seed=seed, padding=padding)
    value, estimate = released.value
    return replace(released.map(lambda _: value), cut=estimate)


_NO_BOUND = (
    "with_cut= estimates what a bound on the rows or items of a person left out, and here is none: "
    "read with person= and max_rows=, or count with person= and max_items="
)
