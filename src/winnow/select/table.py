"""The mechanism of a method, built from public numbers, and the automatic choice for a top k."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from winnow.core.checks import Real, delta_range, exact, positive
from winnow.core.options import AUTO, Methods
from winnow.core.plan import Plan, plan_of
from winnow.core.relation import Relation
from winnow.core.unit import counted
from winnow.core.utility import Utility, declared
from winnow.errors import GuaranteeError, ParameterError
from winnow.select.about import AboutScores
from winnow.select.crossing.private_labels import UnknownDomain
from winnow.select.crossing.selection import Selection
from winnow.select.label_methods import OF_PRIVATE_LABELS, TruncatedLaplace
from winnow.select.mechanisms.lipschitz import LipschitzMechanism, NoisyTopWithLeads
from winnow.select.methods import (
    PRIVATE_LABELS,
    SCORES,
    SELECT_METHODS,
    PickMethod,
    Sizes,
    check_delta,
    check_kind,
)
from winnow.select.top_k_methods import (
    OF_LISTS,
    Canonical,
    Gamma,
    Gaussian,
    Joint,
    Laplace,
    LimitedDomain,
    Looked,
    Oneshot,
    PeelGumbel,
    PeelPermuteAndFlip,
    PrivateLabelsMethod,
    Stability,
    TopKMethod,
)

if TYPE_CHECKING:
    from winnow.select.choice import PlannedNoise
    from winnow.select.mechanisms.large_margin import LargeMargin as LargeMarginMechanism

ALL = (*OF_LISTS, *OF_PRIVATE_LABELS)
_FEW_ITEMS = 8
"""Gamma takes part up to so many items, or where half of the items are asked for. On 510 generated
lists of 5 to 60 items it lost up to 10 % there against the best of all, in the geometric mean of a
size, and 25 % at 60; elsewhere up to 80 %. Its formula is too good: rare large noise is missing."""


def selection_of(
    method: PickMethod, about: AboutScores, sizes: Sizes, with_leads: bool = False
) -> Selection:
    """The mechanism of a method for scores of a public list; what it cannot do is refused."""
    check_kind(method, PRIVATE_LABELS if about.private else SCORES, SELECT_METHODS)
    if with_leads and method.needs_delta:
        raise ParameterError(f"{method.word()} has no leads to release; use noisy-max")
    check_delta(method, sizes.delta, SELECT_METHODS)
    chosen = method.mechanism(about, sizes)
    check_built(method, chosen)
    if not with_leads:
        return chosen
    if not isinstance(chosen, LipschitzMechanism):
        raise ParameterError(f"{method.word()} has no leads to release; use noisy-max")
    return NoisyTopWithLeads(sizes.epsilon, chosen.noise, sizes.k)


def selection_named(
    word: str, *, epsilon: Real, delta: Real = 0.0, thresholds: str | None = None
) -> LipschitzMechanism | LargeMarginMechanism:
    """The mechanism that takes one candidate, by the word of its method."""
    said = {} if thresholds is None else {"thresholds": thresholds}
    method = Methods("", SELECT_METHODS, auto=False).build(word, said)
    assert isinstance(method, PickMethod)
    about = AboutScores(utility=declared(1, False, Relation.ADD_REMOVE))
    chosen: Any = selection_of(method, about, Sizes(epsilon=epsilon, delta=delta))
    named: LipschitzMechanism | LargeMarginMechanism = chosen
    return named


def check_built(method: PickMethod, mechanism: object) -> None:
    """Refuse what a method of somebody's own built, where it is no mechanism of ours."""
    private = isinstance(method, PrivateLabelsMethod)
    if not isinstance(mechanism, UnknownDomain if private else Selection):
        function = "among_private" if private else "mechanism"
        base = "private_labels.UnknownDomain" if private else "selection.Selection"
        raise ParameterError(
            f"{type(method).__name__}.{function}() returned a {type(mechanism).__name__}; return "
            f"a mechanism that derives from winnow.select.crossing.{base}"
        )


def check_promised(method: PickMethod, plan: Plan[Any, Any], epsilon: Real, delta: Real) -> None:
    """Refuse a mechanism of somebody's own that would spend more than it was given."""
    stated = plan.guarantee
    if stated.epsilon > float(epsilon) * (1 + 1e-9) or stated.delta > float(delta) * (1 + 1e-9):
        raise GuaranteeError(
            f"{type(method).__name__}.mechanism() promises {stated}, which is more than "
            f"epsilon={float(epsilon):g}, delta={float(delta):g}; build it from sizes.epsilon and "
            "sizes.delta"
        )


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


def choose(
    method: PickMethod | str, about: AboutScores, sizes: Sizes, ordered: bool | None
) -> Choice:
    """The method that was named, or the one that public numbers choose, with its mechanism."""
    reason = ""
    if isinstance(method, str):
        assert method == AUTO
        looking = None if about.private else _looking(about, sizes, ordered)
        if looking is not None:
            return looking
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
        found = Choice(method, private_mechanism(method, about, sizes), reason)
        if type(method) not in OF_PRIVATE_LABELS:
            check_promised(method, found.plan(about.relation), sizes.epsilon, sizes.delta)
        return found
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
    from winnow.select.mechanisms.noisy_counts import WithCounts

    if isinstance(mechanism, WithCounts):
        return replace(mechanism, selection=in_order(mechanism.selection))
    if isinstance(mechanism, LipschitzMechanism):
        return replace(mechanism, in_order=True)
    return mechanism


def mechanism_of(method: TopKMethod, about: AboutScores, sizes: Sizes) -> Selection:
    """The mechanism of a method on a public list of items, with counts where they are wanted."""
    from winnow.select.mechanisms.noisy_counts import WithCounts

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
    mechanism = method.among_private(about, sizes)
    check_built(method, mechanism)
    return mechanism


def noises(
    about: AboutScores, sizes: Sizes, ordered: bool | None
) -> dict[TopKMethod, PlannedNoise]:
    """The noise of every method that may run, in people, and the preferred ones first.

    Where counts are wanted, too, they are free with noise on every count; the others have half of
    epsilon left. Gaussian noise is sized as it will be; rounds of peeling are as good as normal
    here (within 1 % from 30 rounds on, 7 % at three), and are sized exactly when they run.
    """
    from winnow.select.choice import PlannedNoise
    from winnow.select.mechanisms import canonical

    utility, most, k, epsilon = about.utility, about.max_items, sizes.k, sizes.epsilon
    person, half_width = float(utility.one_sided), float(utility.half_width)
    share = exact("epsilon", epsilon) / (2 if sizes.with_counts else 1)
    each = float(share) * person
    people = utility.relation.people
    noises_of: dict[TopKMethod, PlannedNoise] = {}
    if most is not None:
        noises_of[Laplace()] = PlannedNoise("laplace", people * most / float(epsilon))
    if ordered is False:
        made = Canonical().mechanism(about, Sizes(epsilon=share, k=k))
        assert isinstance(made, canonical.Canonical)
        gamma = float(exact("gamma", made.gamma))
        scale = 1 / float(made.scale(utility)) / person
        noises_of[Canonical()] = PlannedNoise("canonical", scale, gamma)
    noises_of[Joint()] = PlannedNoise("joint", 2 * float(utility.width) / each)
    one = PeelPermuteAndFlip() if k == 1 else Oneshot()
    noises_of[one] = PlannedNoise("exponential", 2 * k * half_width / each)
    if about.candidates is not None and about.candidates <= max(_FEW_ITEMS, 2 * k):
        noises_of[Gamma()] = PlannedNoise("uniform", (about.candidates + 1) * half_width / each)
    if exact("delta", sizes.delta) > 0 and sizes.accountant != "pure":
        mu = _normal(share, sizes, utility.relation)
        each_round = max(float(share) / k, 2 * mu / math.sqrt(k))
        scale = 2 * half_width / (each_round * person)
        noises_of[PeelGumbel()] = PlannedNoise("gumbel", scale, spends_delta=True)
        if most is not None:
            spread = math.sqrt(people * most) / _normal(epsilon, sizes, utility.relation)
            noises_of[Gaussian()] = PlannedNoise("gaussian", spread, spends_delta=True)
    return noises_of


def _normal(epsilon: Real, sizes: Sizes, relation: Relation) -> float:
    """One over the deviation of Gaussian noise at a sensitivity of 1, by the release's accountant.

    k rounds of e-bounded range compose to noise with k e^2/4 in the place of its square, nearly.
    """
    from winnow.select.mechanisms.gaussian_counts import calibrated_noise

    both = exact("epsilon", epsilon), exact("delta", sizes.delta)
    return float(calibrated_noise(*both, relation, sizes.accountant).parameter)


def unit_of(epsilon: Real) -> float:
    """An error that matters to nobody, in people."""
    return max(1.0, 1.0 / float(epsilon))


def _best(about: AboutScores, sizes: Sizes, ordered: bool | None) -> tuple[TopKMethod, str]:
    """The method with the least error to expect, by public numbers, and why.

    ``winnow.select.choice`` says how: dominance, then predicted errors on a public library.
    """
    from winnow.select.choice import least

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


def _looking(about: AboutScores, sizes: Sizes, ordered: bool | None) -> Choice | None:
    """A look at three counts and what follows from it; None: it would not pay for itself.

    What a budget adds up would leave the mechanisms less; there nothing is looked at.
    """
    from winnow.select.choice import undominated
    from winnow.select.looking import LookRule, library_counts
    from winnow.select.mechanisms.looked import LookedAt

    positive(epsilon=sizes.epsilon)
    delta_range(delta=sizes.delta)
    items = about.candidates
    if items is None or items <= sizes.k or sizes.with_counts or sizes.accountant != "best":
        return None
    rest = replace(sizes, epsilon=LookedAt.rest(sizes.epsilon))
    may_run = noises(about, rest, ordered)
    methods = {each.word(): each for each in may_run}
    left = undominated({each.word(): noise for each, noise in may_run.items()})
    utility = about.utility
    scale = float(LookedAt.noise_scale(sizes.epsilon, utility) / utility.one_sided)
    listed = ordered is not False
    whole = LookRule(tuple(left.items()), items, sizes.k, unit_of(sizes.epsilon), listed, scale)
    if not whole.pays():
        return None
    used = {whole.usual, *(whole.place(seen) for seen in library_counts(whole))}
    rule = replace(whole, noises=tuple(whole.noises[place] for place in sorted(used)))
    ways = []
    for word in rule.words:
        own = rest if methods[word].needs_delta else replace(rest, delta=0.0)
        made = methods[word].mechanism(about, own)
        ways.append(in_order(made) if listed else made)
    seen = ", ".join(map(str, rule.ranks))
    reason = (
        f"a fortieth of epsilon tells the counts at ranks {seen}, and these which of "
        f"{', '.join(rule.words)} errs least: on public profiles of counts that is worth it"
    )
    return Choice(Looked(), LookedAt(sizes.epsilon, tuple(ways), rule), reason)


def _private(about: AboutScores, sizes: Sizes) -> tuple[TopKMethod, str]:
    """The choice where labels are private, by predicted errors on a public library."""
    from winnow.select.choice import least
    from winnow.select.label_recall import chosen_among_private

    most = about.max_items
    if about.weighed and not sizes.with_counts and exact("delta", sizes.delta) > 0:
        return chosen_among_private(about, sizes)
    if sizes.with_counts:
        if most is None:
            raise ParameterError(
                "noisy counts of private labels need a bound on the items of a person; count with "
                "max_items="
            )
        return noisy_labels(about.utility), "labels are private, and their counts are wanted"
    if most is None:
        return LimitedDomain(), "labels are private and the items of a person are not bounded"
    planned = private_noises(about, sizes)
    word = least(planned, about.candidates, sizes.k, unit_of(sizes.epsilon), ordered=True)
    noisy = noisy_labels(about.utility)
    method = noisy if word == noisy.word() else LimitedDomain()
    items = f"labels are private; at most {counted(most, 'item')} per person"
    return method, f"{items}: the least error on public profiles of counts"


def noisy_labels(utility: Utility) -> PrivateLabelsMethod:
    """Noise on every count of private labels: bounded where counts move by 1, as it finds more."""
    return TruncatedLaplace() if utility.one_sided == 1 else Stability()


def private_noises(about: AboutScores, sizes: Sizes) -> dict[str, PlannedNoise]:
    """The noise and the threshold of both methods for private labels, in people."""
    from winnow.select.choice import PlannedNoise
    from winnow.select.mechanisms import truncated_laplace, unknown_domain

    positive(epsilon=sizes.epsilon)
    utility, person = about.utility, float(about.utility.one_sided)
    method = noisy_labels(utility)
    noisy, listed = (private_mechanism(each, about, sizes) for each in (method, LimitedDomain()))
    assert isinstance(noisy, unknown_domain.StabilityThreshold | truncated_laplace.TruncatedLaplace)
    assert isinstance(listed, unknown_domain.LimitedDomain)
    scale, level = float(noisy.scale(utility)) / person, noisy.threshold(utility) / person
    width = float(utility.width / listed.epsilon_per_round) / person
    lead = listed.lead(utility) / person
    return {
        method.word(): PlannedNoise("laplace", scale, level=level),
        LimitedDomain.word(): PlannedNoise("gumbel", width, level=lead, reach=listed.reach),
    }
