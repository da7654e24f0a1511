"""Top-k mechanisms by the words that users write, and the automatic choice among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from winnow.core.checks import Real, delta_range, exact, kept, positive
from winnow.core.cut import laplace_margin
from winnow.core.laws import Law
from winnow.core.plan import Plan, plan_of
from winnow.core.relation import Relation
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.mechanisms import TOP_K, MechanismRow, row_named, words
from winnow.privacy import zcdp_rho
from winnow.select.crossing import Selection
from winnow.select.mechanism import LipschitzMechanism
from winnow.topk.crossing import UnknownDomain

if TYPE_CHECKING:
    from winnow.topk.choice import PlannedNoise

AUTO = "auto"
PUBLIC = words(TOP_K, private_labels=False)
NOISY_COUNTS = ("laplace", "gaussian")
"""Mechanisms that put noise on every count, for the items of a person."""
PRIVATE = words(TOP_K, private_labels=True)
GAMMA = Fraction(3, 5)
"""Canonical's gamma where nobody says one, for the loss that is not rounded.

On 30 of the 32 profiles of ``benchmarks/gamma.py`` the true top k comes out with chance 0.9 for
less epsilon than at the paper's 1/2, by an eighth in the median; on two, whose k-th and next
scores are nearly equal, for up to 17 % more. It is a public number: the guarantee is the same
for every gamma. A plan finds the best one for a profile (``winnow.plan.top_k``).
"""


@dataclass(frozen=True)
class TopKOptions:
    """What a user may say about a top-k mechanism besides its name; None: not said."""

    noise: str | Law | None = None
    gamma: Real | None = None
    rounded: bool = False
    reach: int | None = None
    max_items: int | None = None
    with_counts: bool = False
    accountant: str = "best"

    def said(self) -> dict[str, Any]:
        """The options that only some mechanisms take."""
        return {
            "noise": self.noise,
            "gamma": self.gamma,
            "rounded": self.rounded,
            "reach": self.reach,
        }

    def asked(self, epsilon: Real, delta: Real, k: int) -> dict[str, Any]:
        """All that a mechanism may be built from."""
        one_item = self.max_items == 1 and not self.rounded
        usual = Fraction(1, 2) if self.rounded or one_item else GAMMA
        return {
            **vars(self),
            "epsilon": epsilon,
            "delta": delta,
            "k": k,
            "noise": Law.parse(self.noise or Law.EXPONENTIAL),
            "gamma": usual if self.gamma is None else self.gamma,
            "one_item": one_item,
        }


@dataclass(frozen=True)
class Facts:
    """What is public of the counts and helps to choose."""

    utility: Utility
    items: int | None = None
    """How many there are on the public list; None: not known yet."""


@dataclass(frozen=True)
class Choice:
    """The mechanism that will run, and why, where it was chosen automatically."""

    mechanism: Selection | UnknownDomain
    reason: str = ""
    word: str = ""
    """What a user writes as ``mechanism`` to get the same."""
    _plans: dict[Relation, Plan[Any, list[Any]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def plan(self, relation: Relation) -> Plan[Any, list[Any]]:
        """The plan of one release, for scores or for counts with private labels; made once."""
        if relation not in self._plans:
            mechanism: Any = self.mechanism
            self._plans[relation] = plan_of(mechanism, relation, reason=self.reason)
        return self._plans[relation]


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


@kept(Law, Utility)
def chosen(
    mechanism: str,
    epsilon: Real,
    delta: Real,
    k: int,
    ordered: bool | None,
    public: bool,
    noise: str | Law | None,
    gamma: Real | None,
    rounded: bool,
    reach: int | None,
    max_items: int | None,
    with_counts: bool,
    accountant: str,
    utility: Utility,
    items: int | None,
) -> Choice:
    """``choose`` by its parameters, all of them public."""
    options = TopKOptions(noise, gamma, rounded, reach, max_items, with_counts, accountant)
    return choose(
        mechanism, epsilon=epsilon, delta=delta, k=k, ordered=ordered, options=options,
        public=public, facts=Facts(utility, items),
    )  # fmt: skip


def choose(
    mechanism: str,
    *,
    epsilon: Real,
    delta: Real,
    k: int,
    ordered: bool | None,
    options: TopKOptions,
    public: bool,
    facts: Facts,
) -> Choice:
    """The mechanism for a public list of items, or for labels that are private themselves."""
    reason = ""
    if mechanism == AUTO:
        mechanism, reason = (
            _automatic(k, epsilon, delta, ordered, options, facts) if public else _private(options)
        )
        ordered = True if ordered is None else ordered
        if not row_named(TOP_K, mechanism).needs_delta:
            delta = 0.0  # allowed, and not needed
    if not public:
        return Choice(private_named(mechanism, epsilon, delta, k, options), reason, mechanism)
    chosen = top_k_named(mechanism, epsilon=epsilon, delta=delta, k=k, options=options)
    if ordered:
        chosen = in_order(chosen)
    if ordered and not chosen.ordered:
        raise ParameterError(
            f"{mechanism} releases a set without an order; ask for no order, or use joint"
        )
    return Choice(chosen, reason, mechanism)


def in_order(mechanism: Selection) -> Selection:
    """The mechanism with its order released, where it can release one; else as it is."""
    from winnow.topk.mechanisms.noisy_counts import WithCounts

    if isinstance(mechanism, WithCounts):
        return replace(mechanism, selection=in_order(mechanism.selection))
    if isinstance(mechanism, LipschitzMechanism):
        return replace(mechanism, in_order=True)
    return mechanism


def top_k_named(
    mechanism: str, *, epsilon: Real, delta: Real, k: int, options: TopKOptions
) -> Selection:
    """The mechanism of this name on a public list of items; options it lacks are refused."""
    from winnow.topk.mechanisms.noisy_counts import WithCounts

    row = _row(mechanism, delta, options, private=False)
    total = exact("epsilon", epsilon)
    chosen: Selection
    if "with_counts" in row.takes:  # it has noisy counts at hand
        if options.max_items is None:
            raise ParameterError(
                f"{mechanism} adds noise for all items of a person at once and needs "
                "max_items=; count with that bound, or use joint"
            )
        chosen = row.build(options.asked(total, delta, k))
        return chosen
    share = total / 2 if options.with_counts else total
    chosen = row.build(options.asked(share, delta, k))
    if options.with_counts:
        return WithCounts(chosen, total / 2, k, options.max_items)
    return chosen


def private_named(
    mechanism: str, epsilon: Real, delta: Real, k: int, options: TopKOptions
) -> UnknownDomain:
    """The mechanism of this name where the labels themselves are private."""
    row = _row(mechanism, delta, options, private=True)
    chosen: UnknownDomain = row.build(options.asked(epsilon, delta, k))
    return chosen


def _row(mechanism: str, delta: Real, options: TopKOptions, *, private: bool) -> MechanismRow:
    row = row_named(TOP_K, mechanism, private_labels=private)
    row.refuse_unused(exact("delta", delta), options.said())
    return row


def _fitting(words: Sequence[str], options: TopKOptions) -> list[str]:
    """The mechanisms that take what the user said; all of them where none does."""
    said = {name for name, value in options.said().items() if value not in (None, False)}
    fit = [word for word in words if said <= set(row_named(TOP_K, word).options)]
    return fit or list(words)


def _noises(
    k: int,
    epsilon: Real,
    delta: Real,
    ordered: bool | None,
    options: TopKOptions,
    facts: Facts,
) -> dict[str, PlannedNoise]:
    """The noise of every mechanism that may run, in people, and the preferred ones first.

    Where counts are wanted, too, they are free with noise on every count; the others have half of
    epsilon left. Noise for a delta is sized by zero-concentrated DP here, which is quick, and by
    the accountant of the release when it runs.
    """
    from winnow.topk.choice import PlannedNoise
    from winnow.topk.mechanisms.canonical import Canonical

    utility, most = facts.utility, options.max_items
    person, half_width = float(utility.one_sided), float(utility.half_width)
    share = exact("epsilon", epsilon) / (2 if options.with_counts else 1)
    each = float(share) * person
    people, found = utility.relation.people, {}
    if most is not None:
        found["laplace"] = PlannedNoise("laplace", people * most / float(epsilon))
    if ordered is False:
        bare = replace(options, with_counts=False)
        canonical = top_k_named("canonical", epsilon=share, delta=0, k=k, options=bare)
        assert isinstance(canonical, Canonical)
        gamma = float(exact("gamma", canonical.gamma))
        found["canonical"] = PlannedNoise(
            "canonical", 1 / float(canonical.scale(utility)) / person, gamma
        )
    found["joint"] = PlannedNoise("joint", 2 * float(utility.width) / each)
    one = "peel-permute-and-flip" if k == 1 and options.noise is None else "oneshot"
    found[one] = PlannedNoise("exponential", 2 * k * half_width / each)
    if facts.items is not None:
        found["gamma"] = PlannedNoise("uniform", (facts.items + 1) * half_width / each)
    if exact("delta", delta) > 0 and options.accountant != "pure":
        round_epsilon = max(float(share) / k, math.sqrt(8 * float(zcdp_rho(share, delta)) / k))
        scale = 2 * half_width / (round_epsilon * person)
        found["peel-gumbel"] = PlannedNoise("gumbel", scale, spends_delta=True)
        if most is not None:
            spread = math.sqrt(people * most / (2 * float(zcdp_rho(epsilon, delta))))
            found["gaussian"] = PlannedNoise("gaussian", spread, spends_delta=True)
    return {word: found[word] for word in _fitting(list(found), options)}


def _automatic(
    k: int,
    epsilon: Real,
    delta: Real,
    ordered: bool | None,
    options: TopKOptions,
    facts: Facts,
) -> tuple[str, str]:
    """The mechanism with the least error to expect, by public numbers, and why.

    ``winnow.topk.choice`` says how: dominance, then predicted errors on a public library.
    """
    from winnow.topk.choice import least

    positive(epsilon=epsilon)
    delta_range(delta=delta)
    noises = _noises(k, epsilon, delta, ordered, options, facts)
    unit = max(1.0, 1.0 / float(epsilon))
    word = least(noises, facts.items, k, unit, ordered=ordered is not False)
    items = counted(options.max_items or 0, "item")
    if k == 1 and word == "peel-permute-and-flip":
        return word, "one item: permute-and-flip is never worse than the exponential mechanism"
    way = {
        "laplace": f"noise on every count, for at most {items} per person",
        "gaussian": f"Gaussian noise on every count, for at most {items} per person and a delta",
        "peel-gumbel": f"k={k} rounds, composed with a delta",
        "canonical": "one draw over all sets",
        "joint": f"one draw over all lists of k={k}",
        "oneshot": f"noise for k={k} on every count",
        "gamma": "noise in the largest error, for few items",
    }[word]
    return word, f"{way}: the least error on public profiles of counts"


def _private(options: TopKOptions) -> tuple[str, str]:
    """The choice where labels are private."""
    most = options.max_items
    if most is not None:
        return "stability", f"labels are private; at most {counted(most, 'item')} per person"
    if options.with_counts:
        raise ParameterError(
            "noisy counts of private labels need a bound on the items of a person; count with "
            "max_items="
        )
    return "limited-domain", "labels are private and the items of a person are not bounded"
