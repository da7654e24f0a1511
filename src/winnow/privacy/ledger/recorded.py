"""A budget whose charges are kept in a ledger."""

from __future__ import annotations

from winnow.privacy.budget import Amount, Budget
from winnow.privacy.events import Event
from winnow.privacy.grant import Grant, issue
from winnow.privacy.ledger.ledger import Ledger


class RecordedBudget(Budget):
    """What is left of a dataset in a ledger, shared by every process that opens it."""

    def __init__(self, ledger: Ledger, dataset: str, *, analyst: str = "") -> None:
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

    def _state(self) -> tuple[Amount, tuple[Event, ...]]:
        return self._ledger.state(self._dataset)
