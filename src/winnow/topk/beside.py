"""An estimate of what a bound left out, charged and drawn together with a release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from winnow.core.checks import Real, exact, positive
from winnow.core.plan import Plan, Private
from winnow.core.released import Released
from winnow.core.sealed import Sealed
from winnow.errors import ParameterError
from winnow.privacy import Budget
from winnow.read.people import BoundedPeople, People
from winnow.topk.crossing import people_now
from winnow.topk.mechanisms.cut_away import MeasureCut, WithCut

T = TypeVar("T")
D = TypeVar("D", bound=Private)


@dataclass(frozen=True)
class Beside:
    """What is estimated beside a release, with its part of epsilon."""

    mechanism: MeasureCut
    rest: Fraction
    """What the release itself gets."""
    people: Sealed[People]


def rest_of(with_cut: Real, epsilon: Real) -> Fraction | None:
    """What a release gets of epsilon beside an estimate; None: no estimate is asked for."""
    positive(epsilon=epsilon)
    share = exact("with_cut", with_cut)
    if share == 0:
        return None
    if not 0 < share < 1:
        raise ParameterError(
            f"with_cut={with_cut} is no share of epsilon; give 0 for no estimate of what the bound "
            "left out, or a small share such as 0.05"
        )
    return (1 - share) * exact("epsilon", epsilon)


def cut_beside(with_cut: Real, epsilon: Real, bounded: BoundedPeople | None) -> Beside | None:
    """The estimate that ``with_cut`` asks for, a share of epsilon; None: none is asked for."""
    rest = rest_of(with_cut, epsilon)
    if rest is None:
        return None
    if bounded is None:
        raise ParameterError(
            "with_cut= estimates what a bound on the rows or items of a person left out, and here "
            "is none: read with person= and max_rows=, or count with person= and "
            "max_items="
        )
    return Beside(MeasureCut(exact("epsilon", epsilon) - rest, bounded.bound), rest, bounded.people)


def run_beside(
    beside: Beside | None,
    plan: Plan[D, T],
    data: D,
    *,
    budget: Budget | None,
    seed: int | None,
) -> Released[T]:
    """Run a plan, together with the estimate where there is one: one charge for both.

    People are counted before the charge, so that a source that is gone costs nothing.
    """
    if beside is None:
        return plan.run(data, budget=budget, seed=seed)
    both = WithCut(plan.mechanism, beside.mechanism).plan(plan, people_now(beside.people))
    released = both.run(data, budget=budget, seed=seed)
    value, cut = released.value
    return replace(released.map(lambda _: value), cut=cut)
