"""Top lists of counts whose bound on the items of a person is chosen by a look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from winnow.core.options import AUTO
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.select.about import AboutScores
from winnow.select.auto_bound import AutoBoundPlan, plan_with_auto_bound
from winnow.select.compared_bounds import NoiseUnderBounds
from winnow.select.counts_margin import counts_margin
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace
from winnow.select.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold
from winnow.select.mechanisms.weighted_gaussian import WeightedGaussian

if TYPE_CHECKING:
    from winnow.select.plan.labels import LabelsPlan
    from winnow.select.plan.top_k.verb import TopKPlan
    from winnow.select.request import FindLabels, TopK

_BOUNDED = ("laplace", "gaussian", "stability", "truncated-laplace")
"""Methods whose noise goes by the bound on the items of a person."""


def needs_bound(asked: TopK, public: AboutScores) -> bool:
    """Whether a bound helps: weights of a log that people spread need none, nor do many lists."""
    if asked.method == AUTO:
        return not public.private or asked.with_counts
    assert not isinstance(asked.method, str)
    return asked.method.word() in _BOUNDED


def top_k_with_auto_bound(
    asked: TopK, public: AboutScores, planned: Callable[[TopK, Any], Any]
) -> AutoBoundPlan:
    """The plan of a look and of the list under every bound."""
    assert public.choice is not None
    if asked.with_cut:
        raise ParameterError(
            "with_cut= and max_items='auto' both say what a bound leaves out; leave out with_cut="
        )

    def under(epsilon: Fraction, bound: int) -> TopKPlan:
        plan: TopKPlan = planned(replace(asked, epsilon=epsilon), public.bounded(bound))
        return plan

    def noise(plans: list[TopKPlan]) -> NoiseUnderBounds:
        grid = public.choice.grid if public.choice is not None else ()
        each = zip(plans, grid, strict=True)
        noise = tuple(people_of(plan, bound) for plan, bound in each)
        return NoiseUnderBounds(grid, noise, None, k=asked.k)

    return plan_with_auto_bound(public.choice, asked.epsilon, under, noise, accepts=public.check)


def labels_with_auto_bound(
    asked: FindLabels, public: AboutScores, planned: Callable[[FindLabels, Any], Any]
) -> AutoBoundPlan:
    """The plan of a look and of the labels that are found under every bound."""
    assert public.choice is not None
    grid = public.choice.grid

    def under(epsilon: Fraction, bound: int) -> LabelsPlan:
        plan: LabelsPlan = planned(replace(asked, epsilon=epsilon), public.bounded(bound))
        return plan

    def noise(plans: list[LabelsPlan]) -> NoiseUnderBounds:
        each = zip(plans, grid, strict=True)
        needed = (people_needed(plan.mechanism, public.utility, bound) for plan, bound in each)
        return NoiseUnderBounds(grid, tuple(needed), None)

    return plan_with_auto_bound(public.choice, asked.epsilon, under, noise, accepts=public.check)


def people_of(plan: TopKPlan, bound: int) -> float:
    """How far apart items have to lie, or how many people they need, in people."""
    if plan.error is not None:
        return plan.error
    mechanism: Any = plan.release.mechanism
    assert isinstance(plan.about, AboutScores)
    return people_needed(getattr(mechanism, "inner", mechanism), plan.about.utility, bound)


def people_needed(mechanism: Any, utility: Utility, bound: int) -> float:
    """Of how many people an item is found as often as not, each with as many as the bound."""
    relation: Relation = utility.relation
    match mechanism:
        case WeightedGaussian():
            return float(mechanism.people_needed(bound, relation) or 1.0)
        case TruncatedLaplace() | StabilityThreshold():
            return float(mechanism.threshold(utility))
        case LimitedDomain():
            return float(mechanism.lead(utility))
    return float(counts_margin(mechanism, utility) or 1.0)
