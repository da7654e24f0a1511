"""A cap on what may ever be learned, and the gate that keeps to it.

A budget is a *privacy filter*: each charge, and the decision to stop, may depend on
everything released before. The check comes before the noise. What holds is the cap,
fixed when the budget is made; the sum that happened to be used at a moment somebody
chose to stop is bookkeeping, not a guarantee, and is shown as such.

Why the cap holds. Fix neighbours and the output laws P, Q of the whole interaction.

- pure: at every step there is P~ <= P of mass >= 1 - delta_i with P~ <= e^epsilon_i Q.
  Multiply along a path: P~ <= e^(sum epsilon_i) Q <= e^epsilon Q on every path, because
  the filter stops every path in time; the mass lost is at most the largest sum of
  delta_i on a path, so at most delta [Rogers-Roth-Ullman-Vadhan 2016].
- zcdp: by induction from the last step back, the integral of P~^a Q~^(1-a) over what can
  follow is at most e^(a (a-1) (cap - rho used so far)), for every a > 1; at the start,
  e^(a (a-1) cap) [Whitehouse-Ramdas-Rogers-Wu 2023]. The lost mass is bounded as above.
  So (epsilon, delta_for_events + zcdp_delta(cap, epsilon))-DP holds.

Both caps are fixed beforehand on purpose. Trading rho against delta as one goes, one sum
below delta at every moment, would use another order a on every path, and the induction
is about one a: that rule is not known to be a filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import NoReturn, SupportsIndex

from winnow.core.checks import Real, delta_range, exact, one_of, positive
from winnow.core.process import Owner
from winnow.core.relation import Relation
from winnow.errors import BudgetExceeded, GrantError, ParameterError, RelationMismatch
from winnow.privacy.accountants import ZERO, pure_cost, zcdp_cost, zcdp_rho
from winnow.privacy.events import Event, check_event, describe
from winnow.privacy.grant import Grant, issue, single_use_grant
from winnow.privacy.guarantee import ACCOUNTANTS, Guarantee
from winnow.privacy.rounding import stated_at_least, stated_at_most, text_down, text_up


@dataclass(frozen=True)
class Amount:
    """An exact sum in the unit of an accountant (epsilon or rho), and the deltas of events."""

    size: Fraction = ZERO
    delta: Fraction = ZERO

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.size + other.size, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.size - other.size, self.delta - other.delta)

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
                raise ParameterError(
                    "the pure accountant keeps all of delta for events; leave delta_for_events out"
                )
            limit = Amount(exact("epsilon", epsilon), total)
        else:
            if not reserved < total:
                raise ParameterError(
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


__all__ = ["Budget", "Grant", "Usage", "single_use_grant"]


@dataclass(frozen=True)
class Usage:
    """An amount of a budget in its own unit; bookkeeping, not a guarantee."""

    unit: str
    amount: float
    cap: float
    delta: float
    delta_cap: float

    def __str__(self) -> str:
        text = f"{self.unit} {self.amount:.6g} of {self.cap:.6g}"
        if self.delta_cap:
            text += f", delta of events {self.delta:.6g} of {self.delta_cap:.6g}"
        return text


class Budget:
    """At most (epsilon, delta) about any person, whatever is asked and in whatever order.

    ``accountant`` is "pure" (sums of epsilon) or "zcdp" (sums of rho; the default when
    delta > 0, and better for many small charges). Under zcdp, events with a delta of
    their own (the large margin mechanism) need a part of delta set aside for them with
    ``delta_for_events``. Safe to share between threads, not between processes, where a copy
    refuses to charge: for those there is a ledger.
    """

    def __init__(
        self,
        epsilon: Real,
        delta: Real = 0.0,
        relation: str | Relation = Relation.ADD_REMOVE,
        accountant: str | None = None,
        *,
        delta_for_events: Real = 0.0,
    ) -> None:
        self._cap = Cap.declare(epsilon, delta, relation, accountant, delta_for_events)
        self._lock = Lock()
        self._owner = Owner()
        self._sum = Amount()
        self._events: list[Event] = []

    def charge(self, event: Event) -> Grant:
        """Pay for an event before it happens; a refused charge costs nothing."""
        self._owner.check("this budget", "processes share a budget through a ledger")
        cost = self._cap.cost(event)
        with self._lock:
            self._sum = self._cap.after(self._sum, event, cost)
            self._events.append(event)
        return issue(event)

    def _used(self) -> Amount:
        """What was used."""
        with self._lock:
            return self._sum

    def _room(self) -> Amount:
        """What can still be charged."""
        return self._cap.limit - self._used()

    def _charged(self) -> tuple[Event, ...]:
        """For which events it was used."""
        with self._lock:
            return tuple(self._events)

    @property
    def relation(self) -> Relation:
        """The one neighbour relation of everything charged here."""
        return self._cap.relation

    @property
    def accountant(self) -> str:
        """How charges are added up: "pure" or "zcdp"."""
        return self._cap.accountant

    @property
    def guarantee(self) -> Guarantee:
        """What holds from the first charge to the last: the cap."""
        return self._cap.guarantee

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event charged so far, in order."""
        return self._charged()

    @property
    def spent(self) -> Usage:
        """How much of the cap is used, in the unit of the accountant; rounded up."""
        used = self._used()
        return self._usage(stated_at_least(used.size), stated_at_least(used.delta))

    @property
    def left(self) -> Usage:
        """How much of the cap can still be charged, in the unit of the accountant; rounded down."""
        room = self._room()
        return self._usage(stated_at_most(room.size), stated_at_most(room.delta))

    def _usage(self, amount: float, delta: float) -> Usage:
        limit = self._cap.limit
        caps = stated_at_most(limit.size), stated_at_most(limit.delta)
        return Usage(self._cap.unit, amount, caps[0], delta, caps[1])

    def __repr__(self) -> str:
        return f"<Budget {self.guarantee}; used {self.spent}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise GrantError("a budget is not copied or pickled: each copy could be spent in full")
