"""The sentence a user may rely on: epsilon, delta, and who counts as a neighbour."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from winnow.core.checks import Real, delta_range, exact, nonnegative, one_of
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.core.unit import PERSON, Unit
from winnow.errors import GuaranteeError, ParameterError, RelationMismatch
from winnow.privacy.accountants import delta_for_substitution, pure_cost, zcdp_cost, zcdp_epsilon
from winnow.privacy.events import CappedRounds, Event, check_event, describe
from winnow.privacy.rounding import stated_at_least, text_up, written_up
from winnow.privacy.tight import MOST_WORK, QUICK_WORK, WORTH, tight_epsilon

ACCOUNTANTS = ("pure", "zcdp")
"""What a budget may use: their sums hold for charges that are chosen adaptively."""

CLOSED_ACCOUNTANTS = (*ACCOUNTANTS, "tight")
"""What a plan that was fixed beforehand may use."""


@dataclass(frozen=True)
class Guarantee(InNotebook):
    """(epsilon, delta)-differential privacy under one relation, and rho where it is zCDP."""

    epsilon: float
    delta: float
    relation: Relation
    rho: float | None = None
    unit: Unit = PERSON
    """Whose presence is protected."""

    def __post_init__(self) -> None:
        nonnegative(epsilon=self.epsilon)
        delta_range(delta=self.delta)
        if self.rho is not None:
            nonnegative(rho=self.rho)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        if isinstance(self.unit, str):  # as ``to_dict`` writes it
            object.__setattr__(self, "unit", Unit(self.unit))

    def __str__(self) -> str:
        epsilon = text_up(exact("epsilon", self.epsilon))
        delta = text_up(exact("delta", self.delta))
        bound = f"({epsilon}, {delta})" if self.delta else epsilon
        return f"{bound}-DP, {self.unit.sentence(self.relation)}"

    def _card(self) -> Card:
        return text_card(str(self))

    def about(self, unit: Unit) -> Guarantee:
        """This statement in the words of the data's privacy unit."""
        return self if unit is self.unit else replace(self, unit=unit)

    def to_dict(self) -> dict[str, object]:
        """The guarantee as JSON-ready data: 1.0, where a calibration came to 0.9999999999999999."""
        return {
            "epsilon": written_up(self.epsilon),
            "delta": written_up(self.delta),
            "relation": str(self.relation),
            "rho": None if self.rho is None else written_up(self.rho),
            "unit": str(self.unit),
        }

    def to_substitution(self) -> Guarantee:
        """The weaker guarantee for replacing a record: a removal and an addition.

        epsilon doubles, delta grows by 1 + e^epsilon, rho is four times as large. Sums of
        events are better converted event by event (``as_substitution``).
        """
        if self.relation is not Relation.ADD_REMOVE:
            raise RelationMismatch(f"'{self}' already is under substitution; leave it as it is")
        epsilon, delta = exact("epsilon", self.epsilon), exact("delta", self.delta)
        rho = None if self.rho is None else stated_at_least(4 * exact("rho", self.rho))
        return Guarantee(
            epsilon=stated_at_least(2 * epsilon),
            delta=delta_for_substitution(epsilon, delta) if delta else 0.0,
            relation=Relation.SUBSTITUTION,
            rho=rho,
            unit=self.unit,
        )


def guarantee_of(event: Event, delta: Real = 0.0, accountant: str | None = None) -> Guarantee:
    """What one event, or one closed plan of events, guarantees.

    With ``delta=0`` costs are summed and nothing is added to the deltas that the events
    have themselves. With ``delta > 0`` the total delta is at most that, and the smallest
    epsilon of the accountants is stated, unless one is named. The tight accountant works on
    a coarser grid, or not at all for long plans, unless it is named: it takes up to some
    seconds then.

    The statement is about a plan that was fixed beforehand. What adaptive analysts spend
    is governed by a ``Budget``, whose guarantee is its cap.
    """
    delta_range(delta=delta)
    if accountant is not None:
        one_of(CLOSED_ACCOUNTANTS, accountant=accountant)
    check_event(event)
    return _guarantee_of(event, exact("delta", delta), accountant)


@lru_cache(maxsize=256)  # a pure function that every release of a loop asks again
def _guarantee_of(event: Event, allowed: Fraction, accountant: str | None) -> Guarantee:
    if allowed == 0:
        if accountant not in (None, "pure"):
            raise ParameterError(
                f"the {accountant} accountant states no epsilon at delta=0; give a delta > 0"
            )
        return _pure(event, Fraction(1))
    if accountant == "tight":
        return _tight(event, allowed, MOST_WORK)
    stated: list[Guarantee] = []
    refusals: list[GuaranteeError] = []
    for name in ACCOUNTANTS if accountant is None else (accountant,):
        try:
            stated.append(_pure(event, allowed) if name == "pure" else _zcdp(event, allowed))
        except GuaranteeError as refusal:
            refusals.append(refusal)
    if not stated:
        if accountant is None and isinstance(event, CappedRounds):
            with suppress(GuaranteeError):  # its lost mass is not part of what this one states
                return _tight(event, allowed, QUICK_WORK)
        raise refusals[-1]
    best = min(stated, key=lambda guarantee: guarantee.epsilon)
    if accountant is None:
        with suppress(GuaranteeError):  # there are plans that it has no theorem or time for
            tight = _tight(event, allowed, QUICK_WORK)
            if tight.epsilon < best.epsilon * (1 - (0 if best.delta else WORTH)):
                return tight
    return best


def _pure(event: Event, delta: Fraction) -> Guarantee:
    cost = pure_cost(event)
    if cost.delta > delta or cost.delta >= 1:
        raise _no_room(event, cost.delta)
    return Guarantee(
        stated_at_least(cost.epsilon), stated_at_least(cost.delta), event.relation, _rho(event)
    )


def _zcdp(event: Event, delta: Fraction) -> Guarantee:
    cost = zcdp_cost(event)
    if cost.delta >= delta:
        raise _no_room(event, cost.delta)
    epsilon = zcdp_epsilon(cost.rho, delta - cost.delta)
    return Guarantee(epsilon, stated_at_least(delta), event.relation, _rho(event))


def _tight(event: Event, delta: Fraction, work: float) -> Guarantee:
    epsilon = stated_at_least(Fraction(tight_epsilon(event, delta, work=work)))
    return Guarantee(epsilon, stated_at_least(delta), event.relation, _rho(event))


def _no_room(event: Event, own: Fraction) -> GuaranteeError:
    return GuaranteeError(
        f"{describe(event)} has a delta of its own of {text_up(own)}, which leaves no room; "
        "ask for a larger delta, or lower the delta of the events"
    )


def _rho(event: Event) -> float | None:
    """rho, where the event is rho-zCDP without truncation."""
    cost = zcdp_cost(event)
    return stated_at_least(cost.rho) if cost.delta == 0 else None
