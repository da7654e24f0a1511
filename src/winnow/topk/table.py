"""Top-k mechanisms by the words that users write, and the automatic choice among them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from winnow.core.checks import Real, delta_range, exact, kept, positive
from winnow.core.cut import laplace_margin
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.mechanisms import TOP_K, MechanismRow, row_named, words
from winnow.privacy import Guarantee, Promise, zcdp_rho
from winnow.select.crossing import Selection
from winnow.select.mechanism import LipschitzMechanism
from winnow.topk.crossing import UnknownDomain

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
    max_items_per_user: int | None = None
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
        one_item = self.max_items_per_user == 1 and not self.rounded
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
class Choice:
    """The mechanism that will run, and why, where it was chosen automatically."""

    mechanism: Selection | UnknownDomain
    reason: str = ""
    _promised: dict[Relation, tuple[Promise, Guarantee]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def promised(self, relation: Relation) -> tuple[Promise, Guarantee]:
        """What a mechanism on a public list promises; worked out once."""
        found = self._promised.get(relation)
        if found is None:
            assert isinstance(self.mechanism, Selection)
            promised = self.mechanism.promise(relation)
            found = self._promised[relation] = promised, self.mechanism.guarantee(promised)
        return found


def counts_margin(mechanism: object, utility: Utility, confidence: float = 0.95) -> int | None:
    """The least m with Pr[|noise of a count| <= m] >= confidence; None: it releases no counts."""
    from winnow.topk.mechanisms.gaussian_counts import GaussianCounts
    from winnow.topk.mechanisms.noisy_counts import NoisyCounts, WithCounts
    from winnow.topk.mechanisms.unknown_domain import StabilityThreshold

    if isinstance(mechanism, GaussianCounts):
        # the discrete law is no wider than the normal one, up to the rounding of m
        return math.ceil(NormalDist().inv_cdf((1 + confidence) / 2) * mechanism.deviation(utility))
    if not isinstance(mechanism, NoisyCounts | WithCounts | StabilityThreshold):
        return None
    return laplace_margin(mechanism.scale(utility), confidence)


@kept(Law)
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
    max_items_per_user: int | None,
    with_counts: bool,
    accountant: str,
) -> Choice:
    """``choose`` by its parameters, all of them public."""
    options = TopKOptions(noise, gamma, rounded, reach, max_items_per_user, with_counts, accountant)
    return choose(
        mechanism, epsilon=epsilon, delta=delta, k=k, ordered=ordered, options=options,
        public=public,
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
) -> Choice:
    """The mechanism for a public list of items, or for labels that are private themselves."""
    reason = ""
    if mechanism == AUTO:
        mechanism, reason = (
            _automatic(k, epsilon, delta, ordered, options) if public else _private(options)
        )
        if not row_named(TOP_K, mechanism).needs_delta:
            delta = 0.0  # allowed, and not needed
    if not public:
        return Choice(private_named(mechanism, epsilon, delta, k, options), reason)
    chosen = top_k_named(mechanism, epsilon=epsilon, delta=delta, k=k, options=options)
    if ordered and isinstance(chosen, LipschitzMechanism):
        chosen = replace(chosen, in_order=True)
    if ordered and not chosen.ordered:
        raise ParameterError(
            f"{mechanism} releases a set without an order; ask for no order, or use joint"
        )
    return Choice(chosen, reason)


def top_k_named(
    mechanism: str, *, epsilon: Real, delta: Real, k: int, options: TopKOptions
) -> Selection:
    """The mechanism of this name on a public list of items; options it lacks are refused."""
    from winnow.topk.mechanisms.noisy_counts import WithCounts

    row = _row(mechanism, delta, options, private=False)
    total = exact("epsilon", epsilon)
    chosen: Selection
    if "with_counts" in row.takes:  # it has noisy counts at hand
        if options.max_items_per_user is None:
            raise ParameterError(
                f"{mechanism} adds noise for all items of a person at once and needs "
                "max_items_per_user=; count with that bound, or use joint"
            )
        chosen = row.build(options.asked(total, delta, k))
        return chosen
    share = total / 2 if options.with_counts else total
    chosen = row.build(options.asked(share, delta, k))
    if options.with_counts:
        return WithCounts(chosen, total / 2, k, options.max_items_per_user)
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


@dataclass(frozen=True)
class _Weights:
    """What a unit of planned noise means for the largest error, mechanism by mechanism."""

    one_draw: float
    """Of k people, for one draw over all lists or sets; that of laplace counts in full."""
    gaussian: float
    peeling: float


_LISTS, _SETS = _Weights(0.25, 0.5, 0.8), _Weights(0.12, 0.7, 0.8)
"""Found on made-up counts, and compared on real ones (``benchmarks/items.py``). That of lists by
one draw is .25 because .3 did worse on the real ones: for lists they are no blind validation."""


def _planned(
    k: int, epsilon: Real, delta: Real, ordered: bool | None, options: TopKOptions
) -> dict[str, float]:
    """The noise of each mechanism in units of 1/epsilon people, as it shows in the error.

    One draw over all lists or sets pays for k, peeling for sqrt(k), noise on every count for the
    items L of a person, and Gaussian noise for sqrt(L). Where counts are wanted, too, they are
    free with noise on every count; the others have half of epsilon left.
    """
    weights, one = (_SETS, "canonical") if ordered is False else (_LISTS, "joint")
    most, halved = options.max_items_per_user, 2.0 if options.with_counts else 1.0
    found = {} if most is None else {"laplace": float(most)}
    found[one] = halved * weights.one_draw * k
    if exact("delta", delta) > 0 and options.accountant != "pure":
        normal = float(epsilon) / math.sqrt(2 * float(zcdp_rho(epsilon, delta)))
        found["peel-gumbel"] = halved * weights.peeling * normal * math.sqrt(k) / 2
        if most is not None:
            found["gaussian"] = weights.gaussian * normal * math.sqrt(most)
    return found


def _automatic(
    k: int, epsilon: Real, delta: Real, ordered: bool | None, options: TopKOptions
) -> tuple[str, str]:
    """The mechanism with the least planned noise, and the reason for the receipt.

    Public numbers only: which mechanism is best depends on the counts, too, and no rule that does
    not see them is right everywhere. A person with one item is a case of its own: canonical then
    has half the noise for sets, and laplace beats everything for lists.
    """
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    most = options.max_items_per_user
    if most == 1 and (ordered is not False or options.with_counts):
        return "laplace", "at most 1 item per person"
    planned = _planned(k, epsilon, delta, ordered, options)
    if most == 1:
        planned = {"canonical": planned["canonical"]}
    word = min(planned, key=lambda each: planned[each])
    items = counted(most or 0, "item")
    return word, {
        "laplace": f"at most {items} per person, few for k={k}: noise on every count",
        "gaussian": f"at most {items} per person, and delta > 0: Gaussian noise on every count",
        "peel-gumbel": f"delta > 0 and k={k} is large: composition over k rounds wins",
        "canonical": "a set is enough: one draw over all subsets",
        "joint": f"a list in order with k={k}: one draw over all sequences",
    }[word]


def _private(options: TopKOptions) -> tuple[str, str]:
    """The choice where labels are private."""
    most = options.max_items_per_user
    if most is not None:
        return "stability", f"labels are private; at most {counted(most, 'item')} per person"
    if options.with_counts:
        raise ParameterError(
            "noisy counts of private labels need a bound on the items of a person; count with "
            "max_items_per_user="
        )
    return "limited-domain", "labels are private and the items of a person are not bounded"
