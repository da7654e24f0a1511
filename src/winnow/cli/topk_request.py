"""What a user asks of a top-k release, checked before anything is read or counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from winnow.domain.checks import count, delta_range, positive
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.errors import InputError
from winnow.mechanisms.noisy_counts import NoisyCounts, WithCounts
from winnow.mechanisms.selection import Selection
from winnow.mechanisms.topk_naming import (
    KNOWN_DOMAIN,
    UNKNOWN_DOMAIN,
    WITH_DELTA,
    TopKOptions,
    automatic,
    automatic_unknown,
    top_k_named,
    unknown_domain_named,
)
from winnow.mechanisms.unknown_domain import LimitedDomain, StabilityThreshold

AUTO = "auto"
Chosen = Selection | LimitedDomain | StabilityThreshold


@dataclass(frozen=True)
class TopKRequest:
    """The parameters of one release; None: not said."""

    k: int
    epsilon: float
    delta: float = 0.0
    mechanism: str = AUTO
    ordered: bool | None = None
    noise: str | None = None
    gamma: float | None = None
    rounded: bool = False
    reach: int | None = None
    with_counts: bool = False
    max_items_per_user: int | None = None
    relation: Relation = Relation.ADD_REMOVE

    def arguments(self) -> dict[str, Any]:
        """The arguments of ``winnow.top_k``, except the bound that counting has used."""
        return {name: value for name, value in vars(self).items() if name != "max_items_per_user"}

    def chosen(self, *, public: bool) -> Chosen:
        """The mechanism that will run; a request that cannot be met is refused here."""
        count(k=self.k)
        positive(epsilon=self.epsilon)
        delta_range(delta=self.delta)
        if self.max_items_per_user is not None:
            count(max_items_per_user=self.max_items_per_user)
        if self.ordered is False and (self.mechanism != AUTO or not public):
            raise InputError(
                "--any-order is for the automatic choice among mechanisms for a public list; "
                "leave it out"
            )
        return self._public() if public else self._private()

    def _options(self) -> TopKOptions:
        return TopKOptions(
            self.noise,
            self.gamma,
            self.rounded,
            self.reach,
            self.max_items_per_user,
            self.with_counts,
        )

    def _public(self) -> Selection:
        name, delta = self.mechanism, self.delta
        if name in UNKNOWN_DOMAIN:
            raise InputError(
                f"{name} is for items that are found in an event log, and this list of items is "
                f"public; choose auto or one of: {', '.join(KNOWN_DOMAIN)}"
            )
        if name == AUTO:
            name, _ = automatic(
                k=self.k,
                epsilon=self.epsilon,
                delta=delta,
                ordered=self.ordered,
                max_items_per_user=self.max_items_per_user,
            )
            delta = delta if name in WITH_DELTA else 0.0
        chosen = top_k_named(
            name, epsilon=self.epsilon, delta=delta, k=self.k, options=self._options()
        )
        if self.ordered and not chosen.ordered:
            raise InputError(f"{name} releases a set without an order; leave out --ordered")
        return chosen

    def _private(self) -> LimitedDomain | StabilityThreshold:
        name = self.mechanism
        if name in KNOWN_DOMAIN:
            raise InputError(
                f"{name} needs a public list of items, and these are found in the event log; give "
                f"the list with --items, or choose auto or one of: {', '.join(UNKNOWN_DOMAIN)}"
            )
        if self.delta == 0:
            raise InputError(
                "the items are found in the event log, so they are private too: that an item "
                "occurs can be due to one person; give --delta, for example 1e-6, or a public "
                "list of the items with --items"
            )
        if self.with_counts and self.max_items_per_user is None:
            raise InputError(
                "--counts of private items need a bound on the items of one person; give "
                "--max-items-per-user"
            )
        if name == AUTO:
            name, _ = automatic_unknown(self.max_items_per_user, self.with_counts)
        return unknown_domain_named(
            name, epsilon=self.epsilon, delta=self.delta, k=self.k, options=self._options()
        )

    def margin(self, chosen: Chosen, confidence: float = 0.95) -> int | None:
        """The least m with Pr[|noise of a count| <= m] >= confidence, if counts are released.

        Discrete Laplace noise of scale b has Pr[|Z| > m] = 2 q^(m+1)/(1+q), q = e^(-1/b).
        """
        if not self.with_counts or not isinstance(
            chosen, NoisyCounts | WithCounts | StabilityThreshold
        ):
            return None
        utility = Utility.declare(1, monotone=True, relation=self.relation)
        b = float(chosen.scale(utility))
        q = math.exp(-1 / b)
        return max(0, math.ceil(b * math.log(2 / ((1 - confidence) * (1 + q)))) - 1)
