"""The decision of a privacy filter: how much in all, what an event costs, whether it fits.

A cap is public and fixed beforehand. Where the running sum is kept is another matter: in
memory (``budget``) or in a file that survives (``ledger``); both ask here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from winnow.domain.checks import Real, delta_range, exact, one_of, positive
from winnow.domain.neighbours import Relation
from winnow.errors import BudgetExceeded, InputError, RelationMismatch
from winnow.privacy.accountants import ZERO, pure_cost, zcdp_cost
from winnow.privacy.conversion import zcdp_rho
from winnow.privacy.events import Event, check_event, describe
from winnow.privacy.guarantee import ACCOUNTANTS, Guarantee
from winnow.privacy.rounding import stated_at_least, text_down, text_up


@dataclass(frozen=True)
class Amount:
    """An exact sum in the unit of an accountant (epsilon or rho), and the deltas of events."""

    size: Fraction = ZERO
    delta: Fraction = ZERO

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.size + other.size, self.delta + other.delta)

    def within(self, cap: Amount) -> bool:
        """Whether neither part passes the cap's."""
        return self.size <= cap.size and self.delta <= cap.delta


@dataclass(frozen=True)
class Cap:
    """At most (epsilon, delta) under one relation, counted by one accountant."""

    relation: Relation
    accountant: str
    limit: Amount
    guarantee: Guarantee

    @classmethod
    def declare(
        cls,
        epsilon: Real,
        delta: Real = 0.0,
        relation: str | Relation = Relation.ADD_REMOVE,
        accountant: str | None = None,
        delta_for_events: Real = 0.0,
    ) -> Cap:
        """The cap for a total of (epsilon, delta); see ``Budget`` for the parameters."""
        positive(epsilon=epsilon)
        delta_range(delta=delta, delta_for_events=delta_for_events)
        total, reserved = exact("delta", delta), exact("delta_for_events", delta_for_events)
        if accountant is None:
            accountant = "zcdp" if total else "pure"
        one_of(ACCOUNTANTS, accountant=accountant)
        related = Relation.parse(relation)
        rho = None
        if accountant == "pure":
            if reserved:
                raise InputError(
                    "the pure accountant keeps all of delta for events; leave delta_for_events out"
                )
            limit = Amount(exact("epsilon", epsilon), total)
        else:
            if not reserved < total:
                raise InputError(
                    f"the zcdp accountant needs a delta above delta_for_events={delta_for_events}, "
                    f"and delta={delta} was given; raise delta, or use accountant='pure'"
                )
            limit = Amount(exact("rho", zcdp_rho(epsilon, total - reserved)), reserved)
            rho = None if reserved else stated_at_least(limit.size)
        stated = Guarantee(
            stated_at_least(exact("epsilon", epsilon)), stated_at_least(total), related, rho
        )
        return cls(related, accountant, limit, stated)

    @property
    def unit(self) -> str:
        """What is summed: "epsilon" or "rho"."""
        return "epsilon" if self.accountant == "pure" else "rho"

    def cost(self, event: Event) -> Amount:
        """What the event costs here; an event under another relation is refused."""
        check_event(event)
        if event.relation is not self.relation:
            raise RelationMismatch(
                f"{describe(event)} cannot be charged to a budget under {self.relation}; compute "
                "the sensitivity for the budget's relation, or convert an add-remove event with "
                "as_substitution"
            )
        if self.accountant == "pure":
            pure = pure_cost(event)
            return Amount(pure.epsilon, pure.delta)
        zcdp = zcdp_cost(event)
        return Amount(zcdp.rho, zcdp.delta)

    def after(self, used: Amount, event: Event, cost: Amount) -> Amount:
        """What is used once the event is paid for, or a refusal that costs nothing."""
        total = used + cost
        if not total.within(self.limit):
            raise BudgetExceeded(self._refusal(used, event, cost))
        return total

    def _refusal(self, used: Amount, event: Event, cost: Amount) -> str:
        left, delta_left = self.limit.size - used.size, self.limit.delta - used.delta
        asked = f"{self.unit} {text_up(cost.size)}"
        rest = f"{self.unit} {text_down(left)} of {text_down(self.limit.size)} is left"
        if cost.delta > delta_left:
            asked += f" and delta {text_up(cost.delta)}"
            rest += f", delta {text_down(delta_left)} of {text_down(self.limit.delta)}"
        if self.accountant == "pure":
            mend = "ask for less, or open a larger budget"
        elif cost.delta > delta_left:
            mend = "set a part of delta aside with delta_for_events when opening the budget"
        else:
            mend = "ask for less; for a few large charges open the budget with accountant='pure'"
        return f"{describe(event)} asks for {asked}, and {rest}; {mend}"
