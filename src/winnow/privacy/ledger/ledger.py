"""A record of every charge that outlives the process: who may still learn how much.

reserve -> on the disk -> draw -> release. A charge is one transaction; a process that is
killed afterwards has spent what it reserved, and nothing is ever refunded. Several
processes may charge at once: each transaction reads what is used and adds to it while
no other can write.

What it proves. A charge reads the last entry and the latest ones about its dataset and its
analyst, and checks that they are: whoever edits, hides, moves or cuts entries without the key
is refused then, not only by ``verify``, which checks every entry. With a head from a receipt
``verify`` also finds a ledger that was replaced by an older copy of itself. It does
not protect from whoever holds both the file and the key: keep the key where analysts
cannot read it, and keep heads (every receipt has one) where the steward cannot lose them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from winnow._version import __version__
from winnow.core.checks import Real, exact
from winnow.core.relation import Relation
from winnow.core.unit import PERSON, Unit, named, together
from winnow.errors import DataError, LedgerError, RelationMismatch
from winnow.foreign import guarded_methods
from winnow.privacy.cap import Amount, Cap
from winnow.privacy.events import Event, from_json, short_number, to_json
from winnow.privacy.guarantee import Guarantee
from winnow.privacy.ledger.accounts import Dataset, Share, counted, texts_of, unit_texts
from winnow.privacy.ledger.chain import RESTORE, Chain, Seen, changed_after, now
from winnow.privacy.ledger.entry import Entry, check_same
from winnow.privacy.ledger.labels import check_analyst, check_label, check_request
from winnow.privacy.ledger.locks import Hold
from winnow.privacy.ledger.opening import open_ledger
from winnow.privacy.ledger.store import Appending, Store
from winnow.privacy.ledger.verification import Verification, verify_chain

T = TypeVar("T")


class RecordedCharge(NamedTuple):
    """A charge in a ledger."""

    head: str
    """Of the ledger, right after it."""
    again: bool
    """Whether it was there before."""
    written: str
    """The mark of the key that its release is drawn from; empty: nothing was written down."""


ACCOUNTING = "1"
"""Of the rules by which events are turned into costs."""


@guarded_methods
class Ledger:
    """One ledger: an SQLite file or a Postgres database, and its key.

    ``Ledger.open`` opens it, and makes it where there is none and ``create`` allows it.
    """

    def __init__(self, store: Store, key: bytes, identity: str, key_file: Path) -> None:
        self._store, self._key = store, key
        self.identity = identity
        self.key_file = key_file
        self._seen: Seen | None = None

    @classmethod
    def open(
        cls, place: str | Path, *, key_file: str | Path | None = None, create: bool = False
    ) -> Ledger:
        """The ledger at a path, at a Postgres URL, or at the URL in a file (``file:PATH``)."""
        return cls(*open_ledger(place, key_file, create=create))

    @property
    def name(self) -> str:
        """What receipts call it."""
        return self._store.name

    @property
    def path(self) -> Path | None:
        """Where the file lies; None for a database, whose address is a secret."""
        return self._store.path

    def open_dataset(
        self,
        label: str,
        *,
        epsilon: Real,
        delta: Real = 0.0,
        relation: str | Relation = Relation.ADD_REMOVE,
        accountant: str | None = None,
        delta_for_events: Real = 0.0,
        unit: str | Unit | None = None,
    ) -> Cap:
        """Fix the cap of a dataset, once and for all; the same declaration again is fine.

        ``unit`` says whom it is about, as for a ``Budget``.
        """
        check_label(label)
        about = None if unit is None else named(unit)
        cap = Cap.declare(epsilon, delta, relation, accountant, delta_for_events)
        numbers = {"epsilon": epsilon, "delta": delta, "delta_for_events": delta_for_events}
        declared: dict[str, Any] = {n: short_number(n, exact(n, v)) for n, v in numbers.items()}
        declared |= {"relation": str(cap.relation), "accountant": cap.accountant}
        declared |= counted(cap)

        def opened(chain: Chain, end: Appending) -> Cap:
            known = chain.dataset(label)
            if known is not None:
                together(known.unit, PERSON if about is None else about)
                return known.cap
            first = chain.seen[0] + 1
            chain.add(end, "open", Dataset.declare(label, declared, now(), first, about), {})
            return cap

        recorded = self._append(opened)
        if recorded.relation is not cap.relation:
            raise RelationMismatch(
                f"the dataset {label!r} is recorded under {recorded.relation} and {cap.relation} "
                "was asked for; one dataset has one relation in a ledger"
            )
        if accountant is None:  # whichever was the default when it was opened
            how = recorded.accountant
            set_aside = delta_for_events if how == "zcdp" else 0
            cap = Cap.declare(epsilon, delta, relation, how, set_aside, earlier=recorded.earlier)
        if recorded != cap:
            raise DataError(
                f"the dataset {label!r} is recorded with the cap '{recorded.guarantee}' "
                f"({recorded.accountant}), and another one was asked for; a cap is fixed once"
            )
        return recorded

    def dataset(self, label: str) -> Dataset:
        """What the ledger says about one dataset."""
        return self._read(lambda chain: self._account(chain, label))

    def cap(self, label: str) -> Cap:
        """The cap of a dataset."""
        return self.dataset(label).cap

    def set_share(self, label: str, analyst: str, part: Real) -> Share:
        """Let an analyst use at most this part of a dataset's cap, from 0 to 1.

        What the analyst has used before counts. Shares may add up to more than the cap, which
        binds in any case; an analyst without a share is bound by the cap alone.
        """
        check_analyst(analyst)
        share_of_cap = exact("part", part)
        if not 0 <= share_of_cap <= 1:
            raise DataError(f"part={part} is not a part of the cap; give a number from 0 to 1")

        def shared(chain: Chain, end: Appending) -> Share:
            account = self._account(chain, label)
            share = chain.share(account, analyst).set_to(share_of_cap, account.cap)
            chain.add(end, "share", account, share.to_body())
            return share

        return self._append(shared)

    def share(self, label: str, analyst: str) -> Share:
        """What an analyst has used of a dataset, and may use at most."""
        return self._read(lambda chain: chain.share(self._account(chain, label), analyst))

    def shares(self, label: str) -> list[Share]:
        """All analysts who have a share in a dataset or have charged to it, by name."""

        def found(chain: Chain) -> list[Share]:
            account = self._account(chain, label)
            analysts = {
                entry.body["analyst"]
                for entry in chain.latest()
                if entry.dataset == label and "share" in entry.body
            }
            return [chain.share(account, analyst) for analyst in sorted(analysts)]

        return self._read(found)

    def charge(
        self,
        label: str,
        event: Event,
        *,
        unit: Unit = PERSON,
        analyst: str = "",
        session: str = "",
        request: str = "",
    ) -> str:
        """Record a charge, or refuse it; the head of the ledger when it is on the disk."""
        return self.record(
            label, event, unit=unit, analyst=analyst, session=session, request=request
        ).head

    def record(
        self,
        label: str,
        event: Event,
        *,
        unit: Unit = PERSON,
        stated: Guarantee | None = None,
        analyst: str = "",
        session: str = "",
        request: str = "",
        written: str = "",
    ) -> RecordedCharge:
        """Record a charge, or refuse it; or find the one that was made for a request.

        ``unit`` is whom it is about; a unit that is not the dataset's is refused. ``stated`` is the
        guarantee of its plan, which says what was asked for.

        ``session`` names the interactive session that it is for, which can then find it again.
        ``request`` is a key that the analyst chooses: the same key with the same content is the
        same charge, which is returned and not made again; with another content it is refused.
        One charge stands for one release: whoever gets a charge that was made before may show
        the release that it was made for, and must not draw new noise. ``written`` is the mark of
        the key from which that release is drawn, so that only the same draw can be made again.
        """
        if analyst:
            check_analyst(analyst)
        if request:
            check_request(request)
        document = to_json(event)
        text = json.dumps(document, sort_keys=True).encode()
        content: dict[str, Any] = {
            "event": document,
            "plan": hashlib.sha256(text).hexdigest(),
            "unit": unit_texts(unit),
            "analyst": analyst,
            "accounting": ACCOUNTING,
            "library": __version__,
        }
        content |= {"session": session} if session else {}
        content |= {"request": request, "written": written} if request else {}

        def charged(chain: Chain, end: Appending) -> tuple[Entry, bool]:
            if request and (before := self._requested(chain, analyst, request)) is not None:
                check_same(before, label, content)
                return before, True
            account = self._account(chain, label)
            cost = (cap := account.cap).cost(event, account.used, stated)
            after = account.charged(cap.after(account.used, event, cost, stated), unit)
            body = {**content, "cost": texts_of(cost), "accountant": cap.accountant}
            if analyst:
                share = chain.share(account, analyst)
                body |= share.charged(event, cost).to_body()
            noted = self._mark("request", analyst, request) if request else ""
            return chain.add(end, "charge", after, body, noted=noted), False

        entry, again = self._append(charged)
        # An entry from before keys were marked: whoever wrote a key down may draw from it.
        return RecordedCharge(
            f"{self.name}#{entry.head}", again, entry.body.get("written", written)
        )

    def requested(self, request: str, analyst: str = "") -> Entry | None:
        """The charge that an analyst made under the key of a request; None: there is none."""
        return self._read(lambda chain: self._requested(chain, analyst, request))

    def used(self, label: str) -> Amount:
        """What was used of a dataset's cap."""
        return self.dataset(label).used

    def events(self, label: str) -> tuple[Event, ...]:
        """Every event that was charged to a dataset, in order; reads all of its entries."""
        account, charged = self.dataset(label), []
        for entry in self._store.entries(label):
            self.check_genuine(entry)
            if entry.kind == "charge":
                charged.append(from_json(entry.body["event"]))
        if len(charged) < account.charges:  # more may have come meanwhile
            raise LedgerError(f"charges of {label!r} are missing from the ledger; {RESTORE}")
        return tuple(charged)

    def datasets(self) -> list[Dataset]:
        """All datasets, in the order in which they were opened."""

        def found(chain: Chain) -> list[Dataset]:
            labels = {entry.dataset for entry in chain.latest()}
            return [self._account(chain, label) for label in labels]

        return sorted(self._read(found), key=lambda account: account.first)

    def entries(self, label: str | None = None) -> list[Entry]:
        """Every entry in order, or those of one dataset, as stored."""
        return list(self._store.entries(label))

    def hold(self, label: str) -> Hold:
        """Hold a dataset for one interactive session: a second one is refused meanwhile."""
        lock = self._store.hold(label)
        if lock is None:
            raise LedgerError(
                f"another interactive session on the dataset {label!r} is open, and a dataset has "
                "one at a time; close it first"
            )
        return lock

    def session_entry(self, kind: str, label: str, session: str) -> Entry | None:
        """The charge of an interactive session, or the latest mark (kind ``session``) of it."""
        return self._read(lambda chain: chain.about(kind, label, session))

    def note_session(self, label: str, session: str, content: Mapping[str, Any], seen: int) -> int:
        """Append what an interactive session tells; the number of the entry, on the disk.

        ``seen`` is the last of its entries that the session knows of. A later one was written by
        somebody else who goes on with the same session, and this one ends.
        """

        def noted(chain: Chain, end: Appending) -> int:
            latest = chain.about("session", label, session)
            if latest is not None and latest.sequence > seen:
                raise LedgerError(
                    "this session was continued elsewhere in the meantime, from a copy of its "
                    "state; nothing was shown. Close it here"
                )
            account = self._account(chain, label)
            return chain.add(end, "session", account, {"session": session, **content}).sequence

        return self._append(noted)

    def note_data(self, label: str, digest: bytes) -> list[str]:
        """Remember a keyed fingerprint of the data; other labels under which they came before.

        The fingerprint is an HMAC of a digest under the ledger's key: without the key it
        says nothing about the data. There is one entry for each call, known or not: the number
        of entries shows in published receipts and must not depend on the data.
        """
        mark = hmac.new(self._key, b"data:" + digest, hashlib.sha256).hexdigest()

        def noted(chain: Chain, end: Appending) -> list[str]:
            labels = list(dict.fromkeys(entry.dataset for entry in chain.named(f"data:{mark}")))
            account = chain.dataset(label)
            if account is not None:
                name = "" if label in labels else f"data:{mark}"
                chain.add(end, "data", account, {"fingerprint": mark}, noted=name)
            return [other for other in labels if other != label]

        return self._append(noted)

    def derived(self, use: str) -> bytes:
        """A secret for one use beside the ledger; the ledger's own key is not found from it."""
        return hmac.new(self._key, b"winnow-use:" + use.encode(), hashlib.sha256).digest()

    def verify(self, head: str | None = None) -> Verification:
        """Check every tag, every link and every sum, and that a receipt's head is still there."""
        try:
            end = self._store.read(lambda view: Chain(view, self._key)).seen
        except LedgerError as error:
            verification = verify_chain(self._store.entries(), self._key, (0, ""), head)
            return (
                verification
                if not verification.ok
                else Verification(verification.entries, verification.head, str(error))
            )
        return verify_chain(self._store.entries(), self._key, end, head)

    def check_genuine(self, entry: Entry) -> None:
        """Refuse an entry that was changed after it was written."""
        if not entry.genuine(self._key):
            raise changed_after(entry)

    def _read(self, work: Callable[[Chain], T]) -> T:
        return self._store.read(lambda view: work(Chain(view, self._key, self._seen)))

    def _append(self, work: Callable[[Chain, Appending], T]) -> T:
        def transaction(end: Appending) -> tuple[Chain, T]:
            chain = Chain(end, self._key, self._seen)
            return chain, work(chain, end)

        chain, result = self._store.append(transaction)
        self._seen = chain.seen  # it is on the disk; what was only read need not be yet
        return result

    def _account(self, chain: Chain, label: str) -> Dataset:
        account = chain.dataset(label)
        if account is None:
            raise DataError(
                f"the ledger {self.name} knows no dataset {label!r}; give its epsilon (and delta) "
                "to open it"
            )
        return account

    def _requested(self, chain: Chain, analyst: str, request: str) -> Entry | None:
        for entry in chain.named(self._mark("request", analyst, request)):
            if (entry.body.get("analyst"), entry.body.get("request")) == (analyst, request):
                return entry
        return None

    def _mark(self, *parts: str) -> str:
        text = json.dumps(parts).encode()
        return f"{parts[0]}:{hmac.new(self._key, text, hashlib.sha256).hexdigest()}"

    def __repr__(self) -> str:
        return f"<Ledger {self.name}>"
