"""What a ledger keeps of others: the charges of a budget, and how far a session has come.

A session's state file can be lost, copied, or replaced by an older copy of itself; the ledger
cannot, without being found out. So the ledger is told the session's name with the charge
(whoever was killed right after it finds the charge again instead of paying twice), and then,
whenever the session releases something that was charged for, how many releases there were and
the head of the state file at that moment. A state file that does not contain that head is an
older copy, or was edited.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from threading import Lock

from winnow.core.tape import WrittenKey
from winnow.core.unit import PERSON, Unit
from winnow.errors import GrantError, LedgerError, ParameterError
from winnow.foreign import guarded_methods
from winnow.privacy.budget import Budget
from winnow.privacy.cap import Amount
from winnow.privacy.events import Event, from_json
from winnow.privacy.grant import Grant, issue
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.ledger.accounts import amount_of
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.ledger.labels import check_analyst, check_request
from winnow.privacy.ledger.ledger import Ledger


@guarded_methods
class RecordedBudget(Budget):
    """What is left of a dataset in a ledger, shared by every process that opens it.

    With an ``analyst`` what is left is at most what is left of the analyst's share. With a
    ``request`` it is for one release: charged again under the same key, it is the same charge.
    A charge stands for one draw, so it is granted again only where the noise comes from a
    ``written`` key (``core.tape.WrittenKey``) that was given with the first charge: then the
    release is drawn from that key, and on the same data it is the same release.
    """

    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        *,
        analyst: str = "",
        request: str = "",
        written: WrittenKey | None = None,
    ) -> None:
        if analyst:
            check_analyst(analyst)
        if request:
            check_request(request)
        elif written is not None:
            raise ParameterError("a written key is for one release; name it with request=")
        self._key, self._written = written, "" if written is None else written.mark
        self._granted, self._once = False, Lock()
        self._ledger, self._dataset, self._analyst = ledger, dataset, analyst
        self._request = request
        self._cap = ledger.cap(dataset)

    @property
    def ledger(self) -> Ledger:
        """Where charges are recorded."""
        return self._ledger

    @property
    def written(self) -> WrittenKey | None:
        """The key from which the one release of this budget is drawn; None: from fresh noise."""
        return self._key

    @property
    def dataset(self) -> str:
        """The label under which they are recorded."""
        return self._dataset

    def charge(
        self,
        event: Event,
        *,
        unit: Unit = PERSON,
        stated: Guarantee | None = None,
        session: str = "",
    ) -> Grant:
        """Record the charge first; the grant carries the head that it made."""
        with self._once:
            if self._granted:  # two draws from one key would subtract their noise
                raise GrantError(
                    f"the request {self._request!r} is for one release, which was drawn; make a "
                    "budget with another request= for another one"
                )
            grant = self._grant(event, unit, stated, session)
            self._granted = self._key is not None
            return grant

    def _grant(self, event: Event, unit: Unit, stated: Guarantee | None, session: str) -> Grant:
        charge = self._ledger.record(
            self._dataset,
            event,
            unit=unit,
            stated=stated,
            analyst=self._analyst,
            session=session,
            request=self._request,
            written=self._written,
        )
        if charge.again and not (charge.written and charge.written == self._written):
            raise GrantError(
                f"the request {self._request!r} was charged before, and one charge stands for one "
                "draw: show the release that it was made for, or choose another request= for "
                "another one. To draw the same again after a crash, give the written= key that "
                "the first charge was made with"
            )
        return issue(event, record=charge.head, written=self._written)

    @property
    def unit(self) -> Unit | None:
        """Whom the dataset is about; None: nothing has said it yet."""
        return self._ledger.dataset(self._dataset).unit

    def _used(self) -> Amount:
        return self._ledger.used(self._dataset)

    def _room(self) -> Amount:
        room = self._cap.room(self._used())
        if not self._analyst:
            return room
        share = self._ledger.share(self._dataset, self._analyst)
        own = share.cap.room(share.used)
        return Amount(min(room.size, own.size), min(room.delta, own.delta))

    def _before(self) -> Entry | None:
        """The charge that was made under the key of this request; None: there is none."""
        return self._ledger.requested(self._request, self._analyst) if self._request else None

    def _fits(self, event: Event, stated: Guarantee | None = None) -> bool:
        if (before := self._before()) is not None:  # planned again, it has to be the same
            return from_json(before.body["event"]) == event
        if not super()._fits(event, stated):
            return False
        if not self._analyst:
            return True
        share = self._ledger.share(self._dataset, self._analyst)
        cost = self._cap.cost(event, self._used(), stated)
        return share.part is None or share.cap.follows(share.used, share.used + cost)

    def _counts_as_stated(self, event: Event, stated: Guarantee, part: Fraction) -> bool:
        if self._before() is not None:
            return self._fits(event, stated)
        return super()._counts_as_stated(event, stated, part)

    def _delta_of_part(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        before = self._before()
        if before is None:
            return super()._delta_of_part(epsilon, delta)
        used = amount_of(before.body["used"]).without(amount_of(before.body["cost"]))
        return self._cap.delta_of_part(used, epsilon, delta)

    def _charged(self) -> tuple[Event, ...]:
        return self._ledger.events(self._dataset)


@dataclass(frozen=True)
class SessionMark:
    """The latest that a ledger was told of a session."""

    released: int
    """How many of its releases are used up."""
    lines: int
    """How many lines its state file had, at least."""
    journal: str
    """The head of the state file after that many lines."""


@guarded_methods
class RecordedSession:
    """One session in a ledger, by the name that it was charged under."""

    def __init__(self, ledger: Ledger, dataset: str, identity: str) -> None:
        self._ledger, self._dataset, self._identity = ledger, dataset, identity
        self._hold = ledger.hold(dataset)
        self._seen = 0
        """The last entry of this session that it wrote or read itself."""

    def charged(self, event: Event) -> str | None:
        """The head of the ledger that the session's charge made; None: it was not charged."""
        entry = self._ledger.session_entry("charge", self._dataset, self._identity)
        if entry is None:
            return None
        if from_json(entry.body["event"]) != event:
            raise LedgerError(
                f"the charge of this session in the ledger {self._ledger.name} is for "
                "something else than the session; open a new one"
            )
        return f"{self._ledger.name}#{entry.head}"

    def check_charge(self, record: str, event: Event) -> None:
        """Refuse a ledger that no longer has the charge that the state file speaks of."""
        entry = self.charged(event)
        # The file may have been renamed: what counts is the entry and its tag.
        if entry is None or entry.rpartition("#")[2] != record.rpartition("#")[2]:
            raise LedgerError(
                f"the ledger {self._ledger.name} does not have the charge {record} of this "
                "session: it was cut, rolled back to an older copy, or is another one"
            )

    def latest(self) -> SessionMark | None:
        """The latest mark; None: there is none."""
        entry = self._ledger.session_entry("session", self._dataset, self._identity)
        if entry is None:
            return None
        self._seen, body = entry.sequence, entry.body
        return SessionMark(int(body["released"]), int(body["lines"]), str(body["journal"]))

    def mark(self, mark: SessionMark) -> None:
        """Write down how far the session has come; durable when it returns."""
        self._hold.check()
        self._seen = self._ledger.note_session(
            self._dataset, self._identity, vars(mark), self._seen
        )

    def release(self) -> None:
        """Let others open a session on the dataset."""
        self._hold.release()
