"""The mechanism of a top-k method, built from public numbers, and the automatic choice."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from winnow.core.checks import Real, delta_range, exact, positive
from winnow.core.cut import laplace_margin
from winnow.core.options import AUTO
from winnow.core.plan import Plan, plan_of
from winnow.core.relation import Relation
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import zcdp_rho
from winnow.select.about import AboutScores
from winnow.select.crossing import Selection
from winnow.select.mechanism import LipschitzMechanism
from winnow.select.methods import (
    PRIVATE_LABELS,
    SCORES,
    PickMethod,
    Sizes,
    check_delta,
    check_kind,
)
from winnow.select.table import check_built, check_promised
from winnow.topk.crossing import UnknownDomain
from winnow.topk.methods import (
    OF_LISTS,
    OF_PRIVATE_LABELS,
    Canonical,
    Gamma,
    Gaussian,
    Joint,
    Laplace,
    LimitedDomain,
    Oneshot,
    PeelGumbel,
    PeelPermuteAndFlip,
    PrivateLabelsMethod,
    Stability,
    TopKMethod,
)

if TYPE_CHECKING:
    from winnow.topk.choice import PlannedNoise

ALL = (*OF_LISTS, *OF_PRIVATE_LABELS)


@dataclass(frozen=True)
class Choice:
    """The mechanism that will run, and why, where it was chosen automatically."""

    method: TopKMethod
    """What a user writes as ``method`` to get the same."""
    mechanism: Selection | UnknownDomain
    reason: str = ""

    def plan(self, relation: Relation) -> Plan[Any, list[Any]]:
        """The plan of one release, for scores or for counts with private labels."""
        mechanism: Any = self.mechanism
        return plan_of(mechanism, relation, reason=self.reason)


def counts_margin(mechanism: object, utility: Utility, confidence: float = 0.95) -> int | None:
    """The least m with Pr[|noise of a count| <= m] >= confidence; None: it releases no counts."""
    from winnow.topk.mechanisms.gaussian_counts import GaussianCounts
    from winnow.topk.mechanisms.noisy_counts import NoisyCounts, WithCounts
    from winnow.topk.mechanisms.unknown_domain import StabilityThreshold

    if not getattr(mechanism, "with_counts", True):
        return None  # its noisy counts stay inside
    if isinstance(mechanism, GaussianCounts):
        # the discrete law is no wider than the normal one, up to the rounding of m
        return math.ceil(NormalDist().inv_cdf((1 + confidence) / 2) * mechanism.deviation(utility))
    if not isinstance(mechanism, NoisyCounts | WithCounts | StabilityThreshold):
        return None
    return laplace_margin(mechanism.scale(utility), confidence)


def choose(
    method: PickMethod | str, about: AboutScores, sizes: Sizes, ordered: bool | None
) -> Choice:
    """The method that was named, or the one that public numbers choose, with its mechanism."""
    reason = ""
    if isinstance(method, str):
        assert method == AUTO
        method, reason = _private(about, sizes) if about.private else _best(about, sizes, ordered)
        ordered = True if ordered is None else ordered
        if not method.needs_delta:
            sizes = replace(sizes, delta=0.0)  # allowed, and not needed
    check_kind(method, PRIVATE_LABELS if about.private else SCORES, ALL)
    if not isinstance(method, TopKMethod):
        raise ParameterError(
            f"{method.word()} takes one candidate of classes after another in winnow.top_k; choose "
            f"one of: {', '.join(each.word() for each in OF_LISTS)}"
        )
    if about.private:
        return Choice(method, private_mechanism(method, about, sizes), reason)
    mechanism = mechanism_of(method, about, sizes)
    if ordered:
        mechanism = in_order(mechanism)
    if ordered and not mechanism.ordered:
        raise ParameterError(
            f"{method.word()} releases a set without an order; ask for no order, or use joint"
        )
    choice = Choice(method, mechanism, reason)
    if type(method) not in OF_LISTS:
        check_promised(method, choice.plan(about.relation), sizes.epsilon, sizes.delta)
    return choice


def in_order(mechanism: Selection) -> Selection:
    """The mechanism with its order released, where it can release one; else as it is."""
    from winnow.topk.mechanisms.noisy_counts import WithCounts

    if isinstance(mechanism, WithCounts):
        return replace(mechanism, selection=in_order(mechanism.selection))
    if isinstance(mechanism, LipschitzMechanism):
        return replace(mechanism, in_order=True)
    return mechanism


def mechanism_of(method: TopKMethod, about: AboutScores, sizes: Sizes) -> Selection:
    """The mechanism of a method on a public list of items, with counts where they are wanted."""
    from winnow.topk.mechanisms.noisy_counts import WithCounts

    check_delta(method, sizes.delta, ALL)
    total = exact("epsilon", sizes.epsilon)
    if method.counts_are_free or not sizes.with_counts:
        mechanism = method.mechanism(about, replace(sizes, epsilon=total))
        check_built(method, mechanism)
        return mechanism
    rest = replace(sizes, epsilon=total / 2, with_counts=False)
    mechanism = method.mechanism(about, rest)
    check_built(method, mechanism)
    return WithCounts(mechanism, total / 2, sizes.k, about.max_items)


def private_mechanism(method: TopKMethod, about: AboutScores, sizes: Sizes) -> UnknownDomain:
    """The mechanism of a method where the labels themselves are private."""
    check_delta(method, sizes.delta, ALL)
    assert isinstance(method, PrivateLabelsMethod)
    return method.among_private(about, sizes)


def noises(
    about: AboutScores, sizes: Sizes, ordered: bool | None
) -> dict[TopKMethod, PlannedNoise]:
    """The noise of every method that may run, in people, and the preferred ones first.

    Where counts are wanted, too, they are free with noise on every count; the others have half of
    epsilon left. Noise for a delta is sized by zero-concentrated DP here, which is quick, and by
    the accountant of the release when it runs.
    """
    from winnow.topk.choice import PlannedNoise
    from winnow.topk.mechanisms import canonical

    utility, most, k, epsilon = about.utility, about.max_items, sizes.k, sizes.epsilon
    person, half_width = float(utility.one_sided), float(utility.half_width)
    share = exact("epsilon", epsilon) / (2 if sizes.with_counts else 1)
    each = float(share) * person
    people = utility.relation.people
    found: dict[TopKMethod, PlannedNoise] = {}
    if most is not None:
        found[Laplace()] = PlannedNoise("laplace", people * most / float(epsilon))
    if ordered is False:
        made = Canonical().mechanism(about, Sizes(epsilon=share, k=k))
        assert isinstance(made, canonical.Canonical)
        gamma = float(exact("gamma", made.gamma))
        scale = 1 / float(made.scale(utility)) / person
        found[Canonical()] = PlannedNoise("canonical", scale, gamma)
    found[Joint()] = PlannedNoise("joint", 2 * float(utility.width) / each)
    one = PeelPermuteAndFlip() if k == 1 else Oneshot()
    found[one] = PlannedNoise("exponential", 2 * k * half_width / each)
    if about.candidates is not None:
        found[Gamma()] = PlannedNoise("uniform", (about.candidates + 1) * half_width / each)
    if exact("delta", sizes.delta) > 0 and sizes.accountant != "pure":
        rho = float(zcdp_rho(share, sizes.delta))
        round_epsilon = max(float(share) / k, math.sqrt(8 * rho / k))
        scale = 2 * half_width / (round_epsilon * person)
        found[PeelGumbel()] = PlannedNoise("gumbel", scale, spends_delta=True)
        if most is not None:
            spread = math.sqrt(people * most / (2 * float(zcdp_rho(epsilon, sizes.delta))))
            found[Gaussian()] = PlannedNoise("gaussian", spread, spends_delta=True)
    return found


def unit_of(epsilon: Real) -> float:
    """An error that matters to nobody, in people."""
    return max(1.0, 1.0 / float(epsilon))


def _best(about: AboutScores, sizes: Sizes, ordered: bool | None) -> tuple[TopKMethod, str]:
    """The method with the least error to expect, by public numbers, and why.

    ``winnow.topk.choice`` says how: dominance, then predicted errors on a public library.
    """
    from winnow.topk.choice import least

    k, epsilon = sizes.k, sizes.epsilon
    positive(epsilon=epsilon)
    delta_range(delta=sizes.delta)
    may_run = noises(about, sizes, ordered)
    methods = {each.word(): each for each in may_run}
    planned = {each.word(): noise for each, noise in may_run.items()}
    word = least(planned, about.candidates, k, unit_of(epsilon), ordered=ordered is not False)
    items = counted(about.max_items or 0, "item")
    if k == 1 and word == "peel-permute-and-flip":
        reason = "one item: permute-and-flip is never worse than the exponential mechanism"
        return methods[word], reason
    way = {
        "laplace": f"noise on every count, for at most {items} per person",
        "gaussian": f"Gaussian noise on every count, for at most {items} per person and a delta",
        "peel-gumbel": f"k={k} rounds, composed with a delta",
        "canonical": "one draw over all sets",
        "joint": f"one draw over all lists of k={k}",
        "oneshot": f"noise for k={k} on every count",
        "gamma": "noise in the largest error, for few items",
    }[word]
    return methods[word], f"{way}: the least error on public profiles of counts"


def _private(about: AboutScores, sizes: Sizes) -> tuple[TopKMethod, str]:
    """The choice where labels are private."""
    most = about.max_items
    if most is not None:
        return Stability(), f"labels are private; at most {counted(most, 'item')} per person"
    if sizes.with_counts:
        raise ParameterError(
            "noisy counts of private labels need a bound on the items of a person; count with "
            "max_items="
        )
    return LimitedDomain(), "labels are private and the items of a person are not bounded"
