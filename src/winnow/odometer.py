"""An odometer: a budget without a cap, which says what was spent so far."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from winnow.core.checks import Real
from winnow.core.drawing import drawn
from winnow.core.notebook import Card, pairs_card
from winnow.core.relation import Relation
from winnow.core.unit import PERSON, Unit, counted, together
from winnow.errors import GuaranteeError, RelationMismatch
from winnow.privacy.budget import Budget, Usage
from winnow.privacy.events import Event, check_event, describe
from winnow.privacy.grant import Grant, issue
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.limits import Amount
from winnow.privacy.refusals import NO_CAP, ODOMETER
from winnow.privacy.spent import SpentSoFar

_SHOWN = (1e-5, 1e-6, 1e-9)


class Odometer(Budget):
    """A budget without a cap: it refuses nothing, and ``spent_at`` says what was spent so far.

    ``odometer.spent_at(delta)`` is an epsilon for everything that was charged, at any delta. It is
    valid at any time: what you ask, and when you stop or look, may depend on everything that was
    released. If you can fix a cap beforehand, a ``Budget`` with that cap allows about 15 % more
    for the same statement.

    Pass it to any verb or session as ``budget=``. ``wn.Odometer.of(budget)`` reads the charges of
    another budget, also of one in a ledger. ``plot()`` draws delta against epsilon.

    Formal guarantee
        At whatever time it is read, for all neighbours P, Q and every set S of outcomes on all of
        which it reads at most epsilon at delta: P(S) <= e^epsilon Q(S) + delta
        [Whitehouse-Ramdas-Rogers-Wu 2023; Rogers-Roth-Ullman-Vadhan 2016; proved in
        ``winnow.privacy.spent``].
    """

    def __init__(
        self,
        relation: str | Relation = Relation.ADD_REMOVE,
        *,
        unit: str | Unit | None = None,
    ) -> None:
        super().__init__(1, 0, relation, unit=unit)  # its cap is never asked
        self._spent = SpentSoFar(Relation.parse(relation))

    @classmethod
    def of(cls, budget: Budget) -> Odometer:
        """What the charges of a budget come to; nothing is charged, and later ones do not count."""
        read = cls(budget.relation, unit=budget.unit)
        for event in budget.events:
            read.charge(event, unit=budget.unit or PERSON)
        return read

    def charge(
        self, event: Event, *, unit: Unit = PERSON, stated: Guarantee | None = None
    ) -> Grant:
        """Note an event about a unit before it happens; one under another relation is refused."""
        self._owner.check("this odometer", "processes share a budget through a ledger")
        check_event(event)
        if event.relation is not self.relation:
            raise RelationMismatch(
                f"{describe(event)} cannot be added to an odometer under {self.relation}; give "
                f"wn.Odometer({str(event.relation)!r})"
            )
        with self._lock:
            about = together(self._unit, unit)
            self._spent = self._spent.after(event)
            self._unit = about
            self._events.append(event)
        return issue(event)

    def spent_at(self, delta: Real) -> Guarantee:
        """What was spent so far, at a delta; deltas of the releases themselves are added to it."""
        with self._lock:
            spent, unit = self._spent, self._unit
        stated = spent.guarantee(delta)
        return stated if unit is None else stated.about(unit)

    def profile(self, deltas: Sequence[Real]) -> list[tuple[float, float]]:
        """(epsilon, delta) for each of these deltas."""
        read = [self.spent_at(delta) for delta in deltas]
        return [(each.epsilon, each.delta) for each in read]

    def plot(self, path: str | Path | None = None) -> Path | None:
        """Draw delta against epsilon: into a .png, .svg or .pdf file, a notebook, or a window."""
        return drawn(self._picture, path)

    def _picture(self, ending: str = ".png") -> bytes:
        from winnow.show.plots.profile import draw_profile

        return draw_profile(self, ending=ending)

    @property
    def accountant(self) -> str:
        """How it adds up: "odometer"."""
        return "odometer"

    @property
    def guarantee(self) -> Guarantee:
        """There is none beforehand."""
        raise GuaranteeError(NO_CAP)

    @property
    def spent(self) -> Usage:
        """There is none without a delta."""
        raise GuaranteeError(NO_CAP)

    @property
    def left(self) -> Usage:
        """Without a cap nothing is left or used up."""
        raise GuaranteeError(NO_CAP)

    def _fits(self, event: Event, stated: Guarantee | None = None) -> bool:
        return True

    def _counts_as_stated(self, event: Event, stated: Guarantee, part: object) -> bool:
        return True

    def _room(self) -> Amount:
        raise GuaranteeError(NO_CAP)

    def _card(self) -> Card:
        rows = [(f"at delta {delta:g}", str(self.spent_at(delta))) for delta in _SHOWN]
        rows.append(("charges", f"{len(self.events):,}"))
        card = pairs_card("Spent so far", rows).with_notes(("odometer", ODOMETER))
        return card

    def __repr__(self) -> str:
        return f"<Odometer: {counted(len(self.events), 'charge')}, {self.spent_at(1e-6)}>"
