"""The gate in front of the noise: a budget grants what still fits its cap, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, NoReturn, Protocol, SupportsIndex

from winnow.core.checks import Real, exact
from winnow.core.notebook import Card, InNotebook, pairs_card
from winnow.core.process import Owner
from winnow.core.relation import Relation
from winnow.core.unit import PERSON, Unit, named, together
from winnow.errors import GrantError
from winnow.privacy.cap import Amount, Cap
from winnow.privacy.events import Event
from winnow.privacy.grant import Grant, issue, single_use_grant
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.refusals import COMPOSING
from winnow.privacy.rounding import stated_at_least, stated_at_most, text_down

if TYPE_CHECKING:
    from winnow.core.tape import WrittenKey

__all__ = ["Budget", "Grant", "Usage", "single_use_grant"]

_LEAST = Fraction(1, 10**6)
"""The part of a cap below which the largest epsilon is not searched for."""


class Planned(Protocol):
    """A plan that says what it would be charged."""

    @property
    def event(self) -> Event:
        """What it would be charged."""

    @property
    def guarantee(self) -> Guarantee:
        """What it states."""


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


class Budget(InNotebook):
    """A cap of (epsilon, delta) on everything that is released about any person.

    The cap holds whatever is asked, and in whatever order. ``accountant`` says how charges are
    added up. "pure" adds epsilons, and is the default without a delta. "combined" is the default
    with one: a charge fits if either the sums of epsilon and delta or a Gaussian budget allow it,
    and delta is split for you. For a long series of small releases choose "gaussian". Experts may
    choose "zcdp" (sums of rho). With these two, mechanisms with a delta of their own (such as
    large margin) need a part of delta, ``delta_for_events``.

    ``unit`` is the privacy unit: 'row', 'basket', the name of a column of people, or 'person' for
    people whatever columns call them. Without it, the first release about data with a unit
    decides. A release about another unit is refused before it is charged.

    Threads can share a budget. Processes cannot: a copy in another process refuses to charge. Use
    a ledger for several processes.
    """

    def __init__(
        self,
        epsilon: Real,
        delta: Real = 0.0,
        relation: str | Relation = Relation.ADD_REMOVE,
        accountant: str | None = None,
        *,
        delta_for_events: Real = 0.0,
        unit: str | Unit | None = None,
    ) -> None:
        self._cap = Cap.declare(epsilon, delta, relation, accountant, delta_for_events)
        self._lock = Lock()
        self._owner = Owner()
        self._sum = Amount()
        self._events: list[Event] = []
        self._unit = None if unit is None else named(unit)

    @property
    def written(self) -> WrittenKey | None:
        """The key from which the one release of this budget is drawn; None: from fresh noise."""
        return None

    def charge(
        self, event: Event, *, unit: Unit = PERSON, stated: Guarantee | None = None
    ) -> Grant:
        """Pay for an event about a unit before it happens; a refused charge costs nothing.

        ``stated`` is the guarantee of its plan, which says what was asked for.
        """
        self._owner.check("this budget", "processes share a budget through a ledger")
        with self._lock:
            about = together(self._unit, unit)
            cost = self._cap.cost(event, self._sum, stated)
            self._sum = self._cap.after(self._sum, event, cost, stated)
            self._unit = about
            self._events.append(event)
        return issue(event)

    def _used(self) -> Amount:
        """What was used."""
        with self._lock:
            return self._sum

    def _room(self) -> Amount:
        """What can still be charged."""
        return self._cap.room(self._used())

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
        """How charges are added up: "pure", "zcdp" or "combined"."""
        return self._cap.accountant

    @property
    def unit(self) -> Unit | None:
        """Whom it is about: what one of these can be told from; None: nothing has said it yet."""
        with self._lock:
            return self._unit

    @property
    def guarantee(self) -> Guarantee:
        """What holds from the first charge to the last: the cap, about its unit."""
        return self._cap.about(self.unit)

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event charged so far, in order."""
        return self._charged()

    @property
    def spent(self) -> Usage:
        """How much of the cap is used, in the unit of the accountant; rounded up."""
        used = self._used()
        spent = self._cap.spent(used)
        return self._usage(used, stated_at_least(spent.size), stated_at_least(spent.delta))

    @property
    def left(self) -> Usage:
        """How much of the cap can still be charged, in the unit of the accountant; rounded down."""
        used, room = self._used(), self._room()
        return self._usage(used, stated_at_most(room.size), stated_at_most(room.delta))

    def largest(self, ask: Callable[[float], Event | Planned]) -> float:
        """The largest epsilon, to three digits, for which what is asked would still be charged.

        ``ask`` takes an epsilon and gives a plan of ``wn.plan``, or an event:
        ``budget.largest(lambda e: wn.plan.select(about, epsilon=e, budget=budget))``. Nothing is
        charged. It is 0 where nothing would be. Whoever asks for so much gets it, if nobody
        else charges meanwhile.
        """

        def fits(epsilon: float) -> bool:
            found = ask(epsilon)
            if isinstance(found, Event):
                return self._fits(found)
            return self._fits(found.event, found.guarantee)

        low, high = Fraction(0), exact("epsilon", self.guarantee.epsilon)
        if fits(float(high)):
            return float(high)
        least = _LEAST * high
        while high - low > max(low / 1000, least):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(float(middle)) else (low, middle)
        return float(text_down(low, 4))

    def _fits(self, event: Event, stated: Guarantee | None = None) -> bool:
        """Whether an event could be charged now."""
        return self._cap.fits(event, self._used(), stated)

    def _counts_as_stated(self, event: Event, stated: Guarantee, part: Fraction) -> bool:
        """Whether an event could be charged now as its plan states, with so much of delta."""
        return self._fits(event, stated) and self._cap.as_stated(event, self._used(), stated, part)

    def _delta_of_part(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """At how much of a delta to size a release that leaves room for others."""
        return self._cap.delta_of_part(self._used(), epsilon, delta)

    def _usage(self, used: Amount, amount: float, delta: float) -> Usage:
        limit = self._cap.limit_after(used)
        caps = stated_at_most(limit.size), stated_at_most(limit.delta)
        return Usage(self._cap.unit, amount, caps[0], delta, caps[1])

    def _card(self) -> Card:
        rows = [("used", str(self.spent)), ("left", str(self.left))]
        rows.append(("charges", f"{len(self.events):,}"))
        notes = (("guarantee", str(self.guarantee)), ("used and left", COMPOSING))
        return pairs_card("Budget", rows).with_notes(*notes)

    def __repr__(self) -> str:
        return f"<Budget {self.guarantee}; used {self.spent}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise GrantError("a budget is not copied or pickled: each copy could be spent in full")
