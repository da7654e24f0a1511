"""How a list for each group is drawn: over all pairs at once, or in each group by itself.

Noise on every count, and weights that people spread, are drawn over the pairs of a group and an
item: a person counts for as many pairs as for items, so nothing is paid for the number of their
groups. Mechanisms that select run in each group, and are composed over the groups of one person.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from winnow.core.checks import Real, exact
from winnow.core.options import AUTO
from winnow.core.unit import counted
from winnow.errors import GuaranteeError, ParameterError
from winnow.privacy import Event, Repeat, guarantee_of
from winnow.read.groups import Groups
from winnow.select.about import AboutScores
from winnow.select.choice import PlannedNoise, least
from winnow.select.counts_margin import counts_margin
from winnow.select.crossing.groups import EachGroup, Listing, OverPairs
from winnow.select.crossing.private_labels import EVERY
from winnow.select.label_choice import best_rounds
from winnow.select.label_methods import TruncatedLaplace, WeightedGaussian
from winnow.select.label_recall import by_laplace, by_limited_domain, by_weights, recall_losses
from winnow.select.methods import PRIVATE_LABELS, SCORES, PickMethod, Sizes, check_kind
from winnow.select.table import (
    ALL,
    in_order,
    mechanism_of,
    noises,
    noisy_labels,
    private_mechanism,
    unit_of,
)
from winnow.select.top_k_methods import (
    Gaussian,
    Laplace,
    LimitedDomain,
    Stability,
    TopKMethod,
)

OF_PAIRS = (Laplace, Gaussian, Stability, TruncatedLaplace, WeightedGaussian)
"""Their noise is on every count."""
_STEPS = 7
"""Steps of a bisection."""


def lists_by_group(
    method: PickMethod | str, about: AboutScores, sizes: Sizes, ordered: bool | None
) -> tuple[TopKMethod, OverPairs | EachGroup, str]:
    """The method, the mechanism for all groups, and why, where Winnow chose."""
    reason = ""
    if isinstance(method, str):
        assert method == AUTO
        choose = _private if about.private else _public
        method, reason = choose(about, sizes, ordered)
    check_kind(method, PRIVATE_LABELS if about.private else SCORES, ALL)
    if not isinstance(method, TopKMethod):
        raise ParameterError(
            f"{method.word()} does not make lists for groups; choose another method"
        )
    if not method.needs_delta:
        sizes = replace(sizes, delta=0.0)
    made = _over_pairs if isinstance(method, OF_PAIRS) else _each_group
    mechanism = made(method, about, sizes, ordered)
    if ordered and isinstance(mechanism, EachGroup) and not mechanism.ordered:
        raise ParameterError(
            f"{method.word()} releases a set without an order; ask for no order, or use joint"
        )
    return method, mechanism, reason


def _groups(about: AboutScores) -> Groups:
    assert about.groups is not None
    return about.groups


def _in_one(about: AboutScores) -> AboutScores:
    """What is public of the counts of one group."""
    names = _groups(about).names
    each = None
    if about.candidates is not None and names:
        each = about.candidates // len(names)
    return replace(about, groups=None, candidates=each, bound=None)


def _over_pairs(
    method: TopKMethod, about: AboutScores, sizes: Sizes, ordered: bool | None
) -> OverPairs:
    """One draw over all pairs."""
    groups, alone = _groups(about), replace(about, groups=None)
    if about.private:
        if isinstance(method, WeightedGaussian):
            if method.peel:
                raise ParameterError("peel= is for one list; leave it out for lists of groups")
            method = replace(method, peel=0)
        inner: Listing = private_mechanism(method, alone, replace(sizes, k=EVERY))
    else:
        inner = in_order(mechanism_of(method, alone, replace(sizes, k=about.candidates or 1)))
    margin = counts_margin(inner, about.utility) if sizes.with_counts else None
    return OverPairs(inner, sizes.k, groups, margin)


def _each_group(
    method: TopKMethod, about: AboutScores, sizes: Sizes, ordered: bool | None
) -> EachGroup:
    """The mechanism in each group, its draws composed over the groups of one person."""
    one, draws = _in_one(about), _draws(about)

    def built(epsilon: Real, delta: Real) -> Listing:
        inside = replace(sizes, epsilon=epsilon, delta=delta)
        if about.private:
            return private_mechanism(method, one, inside)
        made = mechanism_of(method, one, inside)
        return in_order(made) if ordered else made

    share, lost = inner_share(built, about, sizes, draws)
    inner = built(share * exact("epsilon", sizes.epsilon), lost)
    margin = counts_margin(inner, about.utility) if sizes.with_counts else None
    touched = draws // about.relation.people
    groups, delta = _groups(about), exact("delta", sizes.delta)
    return EachGroup(inner, sizes.k, groups, touched, delta, sizes.with_counts, margin)


def _draws(about: AboutScores) -> int:
    """So many draws see a person, or one of two."""
    touched = _groups(about).touched(about.max_items)
    if touched is None:
        by = _groups(about).by
        raise ParameterError(
            f"a person may be in any number of groups, and a list of each is paid for; bound them: "
            f"by=wn.Groups({by!r}, most=1), or count with max_items="
        )
    return about.relation.people * touched


def inner_share(
    built: Callable[[Real, Real], Listing], about: AboutScores, sizes: Sizes, draws: int
) -> tuple[Fraction, Real]:
    """What of epsilon a draw in one group has, and its delta: so many of them compose to the whole.

    Equal parts always do. With a delta the accountants may allow more: half of it then pays for
    the draws, and the largest share that they allow is looked for.
    """
    delta = exact("delta", sizes.delta)
    if draws == 1:
        return Fraction(1), sizes.delta
    equal = Fraction(1, draws)
    if not delta:
        return equal, sizes.delta
    if sizes.accountant == "pure":
        return equal, delta / draws
    lost, epsilon = delta / (2 * draws), exact("epsilon", sizes.epsilon)

    def allowed(share: Fraction) -> bool:
        event: Event = built(share * epsilon, lost).promise(about.relation).event
        try:
            stated = guarantee_of(Repeat(event, draws), delta)
        except GuaranteeError:
            return False
        return stated.epsilon <= float(epsilon) and stated.delta <= float(delta)

    if not allowed(equal):
        return equal, delta / draws
    low, high = equal, Fraction(1)
    for _ in range(_STEPS):
        middle = exact("share", math.sqrt(low * high))
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low, lost


def _inside(about: AboutScores, sizes: Sizes) -> Sizes | None:
    """What a draw in one group has, roughly: for the choice; None: groups are not bounded."""
    touched = _groups(about).touched(about.max_items)
    if touched is None:
        return None
    draws = about.relation.people * touched
    epsilon, delta = exact("epsilon", sizes.epsilon), exact("delta", sizes.delta)
    share = Fraction(1, draws)
    if delta and sizes.accountant != "pure":
        share = exact("share", 1 / math.sqrt(draws))
    return replace(sizes, epsilon=share * epsilon, delta=delta / draws)


def _private(about: AboutScores, sizes: Sizes, ordered: bool | None) -> tuple[TopKMethod, str]:
    """Among private labels, by the recall to expect in generated logs."""
    most = about.max_items
    if sizes.with_counts:
        if most is None:
            raise ParameterError(
                "noisy counts of private labels need a bound on the items of a person; count with "
                "max_items="
            )
        return noisy_labels(about.utility), "labels are private, and their counts are wanted"
    inside = _inside(about, sizes)
    weighs = sizes.accountant != "pure" and (about.weighed or most is not None)
    word = _word_of_private(replace(about, groups=None, bound=None), sizes, inside, weighs)
    methods: dict[str, TopKMethod] = {
        WeightedGaussian.word(): WeightedGaussian(),
        TruncatedLaplace.word(): TruncatedLaplace(),
        LimitedDomain.word(): LimitedDomain(),
    }
    return methods[word], "labels are private: the most of each top k on generated logs"


@lru_cache(maxsize=256)
def _word_of_private(about: AboutScores, sizes: Sizes, inside: Sizes | None, weighs: bool) -> str:
    ways = {}
    if weighs:
        cap = WeightedGaussian().most(about)
        ways[WeightedGaussian.word()] = by_weights(
            about, sizes, cap, 0.0, best_rounds(about, sizes, cap)
        )
    if about.max_items is not None:
        ways[TruncatedLaplace.word()] = by_laplace(about, sizes, about.max_items)
    if inside is not None:
        ways[LimitedDomain.word()] = by_limited_domain(about, inside)
    if not ways:
        raise ParameterError(
            "under a budget that adds up epsilons lists of groups need a bound on the groups or "
            "the items of a person; give wn.Groups(most=), or count with max_items="
        )
    losses = recall_losses(ways, sizes.k)
    return min(losses, key=lambda word: losses[word])


def _public(about: AboutScores, sizes: Sizes, ordered: bool | None) -> tuple[TopKMethod, str]:
    """Of public items, by predicted errors on public profiles of counts."""
    one, inside = _in_one(about), _inside(about, sizes)
    if inside is None:
        _draws(about)  # says what to bound
    assert inside is not None
    planned: dict[str, PlannedNoise] = {}
    methods: dict[str, TopKMethod] = {}
    for asked, wanted in ((sizes, True), (inside, False)):
        for method, noise in noises(one, asked, ordered).items():
            if isinstance(method, OF_PAIRS) is wanted:
                methods[method.word()], planned[method.word()] = method, noise
    keep = ordered is not False
    word = least(planned, one.candidates, sizes.k, unit_of(sizes.epsilon), ordered=keep)
    within = "noise on every count" if isinstance(methods[word], OF_PAIRS) else "a draw in each"
    touched = counted(_groups(about).touched(about.max_items) or 0, "group")
    return methods[word], f"{within}, people in at most {touched}: the least error on profiles"
