"""A permission to draw noise once, for one event that has been charged."""

from __future__ import annotations

from threading import Lock
from typing import NoReturn, SupportsIndex, final

from winnow.core.process import Owner
from winnow.errors import GrantError
from winnow.privacy.events import Event, check_event, describe

_ISSUER = object()
"""Held by this module alone, so that no grant is built by accident."""


@final
class Grant:
    """What a mechanism must be handed before it may draw: no grant, no noise.

    It is redeemed once, for the very event that was charged, by the process that got it, and,
    where a key was written down for the draw (``written``), with a tape of that key only.
    It cannot be copied, pickled or made by hand: ask a budget, or ``single_use_grant``.
    """

    __slots__ = ("__weakref__", "_event", "_lock", "_owner", "_record", "_used", "_written")

    def __init__(
        self,
        event: Event,
        *,
        issuer: object = None,
        record: str = "unrecorded",
        written: str = "",
    ) -> None:
        if issuer is not _ISSUER:
            raise GrantError("a grant is not made by hand; get it from budget.charge(event)")
        self._event = event
        self._record = record
        self._written = written
        self._lock = Lock()
        self._owner = Owner()
        self._used = False

    @property
    def event(self) -> Event:
        """The event that was charged."""
        return self._event

    @property
    def record(self) -> str:
        """The head of the ledger that the charge made, or 'unrecorded'."""
        return self._record

    @property
    def written(self) -> str:
        """The mark of the key that its noise comes from; empty: of any tape."""
        return self._written

    @property
    def used(self) -> bool:
        """Whether noise was already drawn for it."""
        return self._used

    def redeem(self, event: Event) -> None:
        """Use the grant for this event; the mechanism calls it right before it draws."""
        if event != self._event:
            raise GrantError(
                f"this grant is for {describe(self._event)}, and {describe(event)} was asked for; "
                "charge the event that is drawn"
            )
        self._owner.check("this grant", "charge again here")
        with self._lock:
            if self._used:
                raise GrantError(
                    f"this grant for {describe(self._event)} was used before; charge again for "
                    "another draw"
                )
            self._used = True

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise GrantError("a grant is not copied or pickled: it stands for one draw")

    def __repr__(self) -> str:
        return f"<Grant for {describe(self._event)}, {'used' if self._used else 'unused'}>"


def issue(event: Event, *, record: str = "unrecorded", written: str = "") -> Grant:
    """A new grant. For budgets and ledgers, after they recorded the charge."""
    check_event(event)
    return Grant(event, issuer=_ISSUER, record=record, written=written)


def single_use_grant(event: Event) -> Grant:
    """A grant for one call that has no shared budget.

    It stands for a budget that is exactly this event and is spent at once; the guarantee
    of the call is ``guarantee_of(event)``. Nothing adds up several such calls: whoever
    makes more than one on the same people uses a ``Budget``.
    """
    return issue(event)
