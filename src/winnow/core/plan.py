"""The one record between what a user asks for and noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from winnow.core import run as running
from winnow.core.key import Key
from winnow.core.padding import Padding
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.unit import Unit
from winnow.foreign import guarded
from winnow.privacy import Budget, Event, Guarantee, Promise

R = TypeVar("R", covariant=True)
S = TypeVar("S")
D = TypeVar("D", bound="Private")
DrawnFrom = TypeVar("DrawnFrom", bound="Private", contravariant=True)


class Private(Protocol):
    """Sealed data: which datasets are their neighbours, and whom a guarantee protects."""

    @property
    def relation(self) -> Relation:
        """Which datasets are neighbours."""

    @property
    def unit(self) -> Unit:
        """Whose presence is protected."""


class Mechanism(Protocol):
    """Frozen public parameters, and what follows from them."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""


def _nothing_to_check(data: Any) -> None:
    """Every dataset that the plan's types admit can be released."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Generic[D, R]):
    """All of a release that is fixed before data are looked at.

    It says what will be charged (``event``), what is promised (``guarantee``), which mechanism
    draws and why. ``run`` charges it and releases what it draws. Whoever needs a price asks
    ``event``; nothing else works one out.
    """

    mechanism: Mechanism
    relation: Relation
    guarantee: Guarantee
    draw: Callable[[D, Key], R] = field(repr=False)
    """Opens private data with the key of a spent grant; what it returns may be published."""
    check: Callable[[D], None] = field(default=_nothing_to_check, repr=False)
    """Refuses data that cannot be released, before anything is charged."""
    title: str = ""
    """What the receipt calls it, where that is not the mechanism's own name."""
    reason: str = ""
    """Why this mechanism runs, where Winnow chose it."""
    seconds: float = 0.0
    """About how long the draw takes, from public numbers."""

    @cached_property
    def promised(self) -> Promise:
        """What the release is charged, with its citation and statement."""
        return self.mechanism.promise(self.relation)

    @property
    def event(self) -> Event:
        """What the release is charged."""
        return self.promised.event

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self.title or self.mechanism.name

    def fixed(self) -> dict[str, Any]:
        """All that is fixed of it, for a plan of the same release that says more."""
        return {each.name: getattr(self, each.name) for each in fields(Plan)}

    def __str__(self) -> str:
        lines = [f"{self.name}, {self.guarantee}"]
        return "\n".join(lines + [f"why: {self.reason}"] * bool(self.reason))

    def map(self, change: Callable[[R], S]) -> Plan[D, S]:
        """The plan of another view of what is drawn, under the same charge."""
        itself: Any = self
        viewed: Plan[D, S] = replace(itself, draw=lambda data, key: change(itself.draw(data, key)))
        return viewed

    def ready(self, data: Any) -> D:
        """The data as the draw takes them, sealed; those of another plan are refused."""
        itself: D = data
        return itself

    def _drawing(self, data: Any) -> Plan[D, R]:
        """The plan by which such data are drawn, under the same charge."""
        return self

    def _clock(self) -> Padding:
        """The clock of a run, where the request says until when its result is held back."""
        return Padding(None)

    @guarded
    def run(
        self,
        data: D,
        *,
        budget: Budget | None = None,
        seed: int | None = None,
        padding: Padding | None = None,
    ) -> Released[R]:
        """Charge the budget, draw once, and release the result with its receipt."""
        plan, ready = self._drawing(data), self.ready(data)
        clock = padding or self._clock()
        return running.run(plan, ready, budget=budget, seed=seed, padding=clock)


class Drawing(Mechanism, Protocol[DrawnFrom, R]):
    """A mechanism that needs nothing but its data to check and to draw."""

    def check(self, data: DrawnFrom, /) -> None:
        """Refuse what cannot be released, before anything is charged."""

    def drawn(self, data: DrawnFrom, key: Key, /) -> R:
        """What may be published."""

    def guarantee(self, promised: Promise, /) -> Guarantee:
        """What the release states about itself."""


def plan_of(mechanism: Drawing[D, R], relation: Relation, *, reason: str = "") -> Plan[D, R]:
    """The plan of one draw by a mechanism, for data under a relation."""
    return Plan(
        mechanism=mechanism,
        relation=relation,
        guarantee=mechanism.guarantee(mechanism.promise(relation)),
        draw=mechanism.drawn,
        check=mechanism.check,
        reason=reason,
    )
