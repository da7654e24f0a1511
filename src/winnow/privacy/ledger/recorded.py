"""A budget whose charges are kept in a ledger."""

from __future__ import annotations

from winnow.privacy.budget import Budget
from winnow.privacy.cap import Amount
from winnow.privacy.events import Event
from winnow.privacy.grant import Grant, issue
from winnow.privacy.ledger.labels import check_analyst
from winnow.privacy.ledger.ledger import Ledger


class RecordedBudget(Budget):
    """What is left of a dataset in a ledger, shared by every process that opens it.

    With an ``analyst`` what is left is at most what is left of the analyst's share.
    """

    def __init__(self, ledger: Ledger, dataset: str, *, analyst: str = "") -> None:
        if analyst:
            check_analyst(analyst)
        self._ledger, self._dataset, self._analyst = ledger, dataset, analyst
        self._cap = ledger.cap(dataset)

    @property
    def ledger(self) -> Ledger:
        """Where charges are recorded."""
        return self._ledger

    @property
    def dataset(self) -> str:
        """The label under which they are recorded."""
        return self._dataset

    def charge(self, event: Event, *, session: str = "") -> Grant:
        """Record the charge first; the grant carries the head that it made."""
        head = self._ledger.charge(self._dataset, event, analyst=self._analyst, session=session)
        return issue(event, record=head)

    def _used(self) -> Amount:
        return self._ledger.used(self._dataset)

    def _room(self) -> Amount:
        room = self._cap.room(self._used())
        if not self._analyst:
            return room
        share = self._ledger.share(self._dataset, self._analyst)
        own = share.cap.room(share.used)
        return Amount(min(room.size, own.size), min(room.delta, own.delta))

    def _charged(self) -> tuple[Event, ...]:
        return self._ledger.events(self._dataset)
