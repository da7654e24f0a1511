"""Top-k mechanisms by the words that users write, and the automatic choice among them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from winnow.core.checks import Real, exact, kept
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.mechanisms import TOP_K, MechanismRow, row_named, words
from winnow.privacy import Guarantee, Promise
from winnow.select.crossing import Selection
from winnow.select.mechanism import LipschitzMechanism
from winnow.topk.crossing import UnknownDomain

AUTO = "auto"
PUBLIC = words(TOP_K, private_labels=False)
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
    """The least m with Pr[|noise of a count| <= m] >= confidence; None: it releases no counts.

    Discrete Laplace noise of scale b has Pr[|Z| > m] = 2 q^(m+1)/(1+q), q = e^(-1/b).
    """
    from winnow.topk.mechanisms.noisy_counts import NoisyCounts, WithCounts
    from winnow.topk.mechanisms.unknown_domain import StabilityThreshold

    if not isinstance(mechanism, NoisyCounts | WithCounts | StabilityThreshold):
        return None
    b = float(mechanism.scale(utility))
    q = math.exp(-1 / b)
    return max(0, math.ceil(b * math.log(2 / ((1 - confidence) * (1 + q)))) - 1)


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
        mechanism, reason = _automatic(k, delta, ordered, options) if public else _private(options)
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


def _automatic(k: int, delta: Real, ordered: bool | None, options: TopKOptions) -> tuple[str, str]:
    """A mechanism chosen by public facts only, and the reason for the receipt.

    Noisy counts pay for the items of a person, the others for k: with few items per person
    they win. One draw over whole lists (joint) or sets (canonical) is best while k is small;
    peeling with Gumbel noise grows like sqrt(k) and passes them where delta > 0 [Joint, Section
    4.3: around k = 30]. Up to how many items noisy counts win was simulated
    (``benchmarks/items.py``): against joint about k/5, against peeling about 1.2 sqrt(k), and
    against canonical, which has half the noise where a person has one item, none.
    """
    most = options.max_items_per_user
    if most == 1 and (ordered is not False or options.with_counts):
        return "laplace", "at most 1 item per person"
    composed = exact("delta", delta) > 0 and k > 30
    few = most is not None and (2 * most**2 <= 3 * k if composed else 5 * most <= k)
    if few and most is not None and ordered is not False:
        return "laplace", f"at most {counted(most, 'item')} per person, far fewer than k={k}"
    if composed:
        return "peel-gumbel", f"delta > 0 and k={k} is above 30: composition over k rounds wins"
    if ordered is False:
        return "canonical", "a set is enough: one draw over all subsets"
    return "joint", f"a list in order with k={k}: one draw over all sequences"


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
