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

from winnow.domain.checks import Real, delta_range, exact, one_of, positive
from winnow.domain.neighbours import Relation
from winnow.errors import BudgetError, BudgetExceeded, InputError, RelationMismatch
from winnow.privacy.accountants import ZERO, pure_cost, zcdp_cost
from winnow.privacy.conversion import zcdp_rho
from winnow.privacy.events import Event, check_event, describe
from winnow.privacy.grant import Grant, issue, single_use_grant
from winnow.privacy.guarantee import ACCOUNTANTS, Guarantee
from winnow.privacy.rounding import stated_at_least, stated_at_most, text_down, text_up

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
    ``delta_for_events``. Safe to share between threads, not between processes.
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
        positive(epsilon=epsilon)
        delta_range(delta=delta, delta_for_events=delta_for_events)
        total, reserved = exact("delta", delta), exact("delta_for_events", delta_for_events)
        if accountant is None:
            accountant = "zcdp" if total else "pure"
        one_of(ACCOUNTANTS, accountant=accountant)
        self._relation = Relation.parse(relation)
        self._accountant = accountant
        rho = None
        if accountant == "pure":
            if reserved:
                raise InputError(
                    "the pure accountant keeps all of delta for events; leave delta_for_events out"
                )
            self._cap, self._delta_cap = exact("epsilon", epsilon), total
        else:
            if not reserved < total:
                raise InputError(
                    f"the zcdp accountant needs a delta above delta_for_events={delta_for_events}, "
                    f"and delta={delta} was given; raise delta, or use accountant='pure'"
                )
            self._cap = exact("rho", zcdp_rho(epsilon, total - reserved))
            self._delta_cap = reserved
            rho = None if reserved else stated_at_least(self._cap)
        self._guarantee = Guarantee(
            stated_at_least(exact("epsilon", epsilon)), stated_at_least(total), self._relation, rho
        )
        self._lock = Lock()
        self._used = self._delta_used = ZERO
        self._events: list[Event] = []

    def charge(self, event: Event) -> Grant:
        """Pay for an event before it happens; a refused charge costs nothing."""
        check_event(event)
        if event.relation is not self._relation:
            raise RelationMismatch(
                f"{describe(event)} cannot be charged to a budget under {self._relation}; compute "
                "the sensitivity for the budget's relation, or convert an add-remove event with "
                "as_substitution"
            )
        amount, delta = self._cost(event)
        with self._lock:
            if self._used + amount > self._cap or self._delta_used + delta > self._delta_cap:
                raise BudgetExceeded(self._refusal(event, amount, delta))
            self._used += amount
            self._delta_used += delta
            self._events.append(event)
        return issue(event)

    def _cost(self, event: Event) -> tuple[Fraction, Fraction]:
        if self._accountant == "pure":
            pure = pure_cost(event)
            return pure.epsilon, pure.delta
        zcdp = zcdp_cost(event)
        return zcdp.rho, zcdp.delta

    def _refusal(self, event: Event, amount: Fraction, delta: Fraction) -> str:
        left, delta_left = self._cap - self._used, self._delta_cap - self._delta_used
        asked = f"{self._unit} {text_up(amount)}"
        rest = f"{self._unit} {text_down(left)} of {text_down(self._cap)} is left"
        if delta > delta_left:
            asked += f" and delta {text_up(delta)}"
            rest += f", delta {text_down(delta_left)} of {text_down(self._delta_cap)}"
        if self._accountant == "pure":
            mend = "ask for less, or open a larger budget"
        elif delta > delta_left:
            mend = "set a part of delta aside with delta_for_events when opening the budget"
        else:
            mend = "ask for less; for a few large charges open the budget with accountant='pure'"
        return f"{describe(event)} asks for {asked}, and {rest}; {mend}"

    @property
    def _unit(self) -> str:
        return "epsilon" if self._accountant == "pure" else "rho"

    @property
    def relation(self) -> Relation:
        """The one neighbour relation of everything charged here."""
        return self._relation

    @property
    def accountant(self) -> str:
        """How charges are added up: "pure" or "zcdp"."""
        return self._accountant

    @property
    def guarantee(self) -> Guarantee:
        """What holds from the first charge to the last: the cap."""
        return self._guarantee

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event charged so far, in order."""
        with self._lock:
            return tuple(self._events)

    @property
    def spent(self) -> Usage:
        """How much of the cap is used, in the unit of the accountant; rounded up."""
        with self._lock:
            used, delta = self._used, self._delta_used
        return self._usage(stated_at_least(used), stated_at_least(delta))

    @property
    def left(self) -> Usage:
        """How much of the cap can still be charged, in the unit of the accountant; rounded down."""
        with self._lock:
            left, delta = self._cap - self._used, self._delta_cap - self._delta_used
        return self._usage(stated_at_most(left), stated_at_most(delta))

    def _usage(self, amount: float, delta: float) -> Usage:
        caps = stated_at_most(self._cap), stated_at_most(self._delta_cap)
        return Usage(self._unit, amount, caps[0], delta, caps[1])

    def __repr__(self) -> str:
        return f"<Budget {self._guarantee}; used {self.spent}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise BudgetError("a budget is not copied or pickled: each copy could be spent in full")
