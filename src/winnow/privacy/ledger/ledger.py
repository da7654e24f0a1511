"""A record of every charge that outlives the process: who may still learn how much.

reserve -> on the disk -> draw -> release. A charge is one transaction; a process that is
killed afterwards has spent what it reserved, and nothing is ever refunded. Several
processes may charge at once: each transaction reads what is used and adds to it while
no other can write.

What it proves. With the key, ``verify`` finds every edit, insertion and gap. With a head
from a receipt it also finds a ledger that was cut or replaced by an older copy. It does
not protect from whoever holds both the file and the key: keep the key where analysts
cannot read it, and keep heads (every receipt has one) where the steward cannot lose them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from winnow._version import __version__
from winnow.core.checks import Real, exact
from winnow.core.relation import Relation
from winnow.errors import InputError, LedgerError, RelationMismatch
from winnow.privacy.budget import Amount, Cap
from winnow.privacy.events import Event, from_json, short_number, to_json
from winnow.privacy.ledger.accounts import cap_of, in_units, texts_of, used_of
from winnow.privacy.ledger.datasets import Dataset, datasets_of
from winnow.privacy.ledger.entry import START, Entry
from winnow.privacy.ledger.keys import chain_key, key_check, make_key, read_key
from winnow.privacy.ledger.labels import check_label
from winnow.privacy.ledger.locks import Hold
from winnow.privacy.ledger.store import Appending, Store, store_at
from winnow.privacy.ledger.verification import Verification, verify_chain

VERSION = "1"
"""Of the layout and of the meaning of entries; a ledger of a later version is refused."""

ACCOUNTING = "1"
"""Of the rules by which events are turned into costs."""


class Ledger:
    """One ledger: an SQLite file or a Postgres database, and its key.

    ``Ledger.open`` opens it, and makes it where there is none and ``create`` allows it.
    """

    def __init__(self, store: Store, key: bytes, identity: str, key_file: Path) -> None:
        self._store, self._key = store, key
        self.identity = identity
        self.key_file = key_file

    @classmethod
    def open(
        cls, place: str | Path, *, key_file: str | Path | None = None, create: bool = False
    ) -> Ledger:
        """The ledger at a path, or at a Postgres URL."""
        store = store_at(place)
        path = Path(key_file) if key_file is not None else store.default_key_file()
        if not store.exists():
            if not create:
                raise InputError(
                    f"there is no ledger at {place}; make one with: winnow ledger init {place}"
                )
            if key_file is None and path.exists():
                raise LedgerError(
                    f"the ledger {store.name} is gone and its key {path} is still there; restore "
                    "the ledger from a copy, or remove the key to start anew"
                )
            key = make_key(path)
            identity = secrets.token_hex(16)
            store.create(
                {
                    "version": VERSION,
                    "library": __version__,
                    "identity": identity,
                    "key": key_check(key, identity),
                }
            )
        key = read_key(path)
        meta = store.meta()
        if meta.get("version") != VERSION:
            raise LedgerError(
                f"the ledger {store.name} has the version {meta.get('version')!r} and this library "
                f"knows {VERSION!r}; use the library that wrote it, or a later one"
            )
        identity = meta.get("identity", "")
        if not hmac.compare_digest(meta.get("key", ""), key_check(key, identity)):
            raise LedgerError(
                f"the key {path} is not the key of the ledger {store.name}; name the right one"
            )
        return cls(store, chain_key(key, identity), identity, path)

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
    ) -> Cap:
        """Fix the cap of a dataset, once and for all; the same declaration again is fine."""
        check_label(label)
        cap = Cap.declare(epsilon, delta, relation, accountant, delta_for_events)
        body: dict[str, Any] = {
            "epsilon": short_number("epsilon", exact("epsilon", epsilon)),
            "delta": short_number("delta", exact("delta", delta)),
            "delta_for_events": short_number(
                "delta_for_events", exact("delta_for_events", delta_for_events)
            ),
            "relation": str(cap.relation),
            "accountant": cap.accountant,
        }
        with self._store.appending() as chain:
            found = chain.first(label)
            if found is None:
                self._add(chain, "open", label, body | {"used": texts_of(Amount())}, Amount(), cap)
                return cap
        self.check_genuine(found)
        declared = cap_of(found)
        if declared.relation is not cap.relation:
            raise RelationMismatch(
                f"the dataset {label!r} is recorded under {declared.relation} and {cap.relation} "
                "was asked for; one dataset has one relation in a ledger"
            )
        if declared != cap:
            raise InputError(
                f"the dataset {label!r} is recorded with the cap '{declared.guarantee}' "
                f"({declared.accountant}), and another one was asked for; a cap is fixed once"
            )
        return declared

    def cap(self, label: str) -> Cap:
        """The cap of a dataset."""
        found = next(iter(self._store.entries(label)), None)
        if found is None:
            raise InputError(
                f"the ledger {self.name} knows no dataset {label!r}; give its epsilon (and delta) "
                "to open it"
            )
        self.check_genuine(found)
        return cap_of(found)

    def charge(self, label: str, event: Event, *, analyst: str = "", session: str = "") -> str:
        """Record a charge, or refuse it; the head of the ledger when it is on the disk.

        ``session`` names the interactive session that it is for, which can then find it again.
        """
        cap = self.cap(label)
        cost = cap.cost(event)
        document = to_json(event)
        plan = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
        with self._store.appending() as chain:
            before = chain.last(label)
            if before is None:
                raise LedgerError(f"the dataset {label!r} has disappeared from the ledger")
            self.check_genuine(before)
            used = cap.after(used_of(before), event, cost)
            body: dict[str, Any] = {
                "event": document,
                "cost": texts_of(cost),
                "used": texts_of(used),
                "plan": plan,
                "analyst": analyst,
                "accountant": cap.accountant,
                "accounting": ACCOUNTING,
                "library": __version__,
            }
            if session:
                body["session"] = session
            entry = self._add(chain, "charge", label, body, used, cap)
        return f"{self.name}#{entry.head}"

    def state(self, label: str) -> tuple[Amount, tuple[Event, ...]]:
        """What was used of a dataset's cap, and for which events."""
        used, events = Amount(), []
        for entry in self._store.entries(label):
            self.check_genuine(entry)
            used = used_of(entry)
            if entry.kind == "charge":
                events.append(from_json(entry.body["event"]))
        return used, tuple(events)

    def datasets(self) -> list[Dataset]:
        """All datasets, in the order in which they were opened."""
        entries = self.entries()
        for entry in entries:
            self.check_genuine(entry)
        return datasets_of(entries)

    def entries(self, label: str | None = None) -> list[Entry]:
        """Every entry in order, or those of one dataset, as stored."""
        return list(self._store.entries(label))

    def hold(self, label: str) -> Hold:
        """Hold a dataset for one interactive session: a second one is refused meanwhile."""
        held = self._store.hold(label)
        if held is None:
            raise LedgerError(
                f"another interactive session on the dataset {label!r} is open; sessions on one "
                "dataset are had one at a time. Close it first"
            )
        return held

    def note_session(self, label: str, session: str, content: Mapping[str, Any], seen: int) -> int:
        """Append what an interactive session tells; the number of the entry, on the disk.

        ``seen`` is the last of its entries that the session knows of. A later one was written by
        somebody else who goes on with the same session, and this one ends.
        """
        with self._store.appending() as chain:
            for entry in chain.since(label, seen):
                if entry.kind == "session" and entry.body.get("session") == session:
                    raise LedgerError(
                        "somebody else went on with this session meanwhile, from a copy of its "
                        "state; nothing was shown. Close it here"
                    )
            return self._carry(chain, label, "session", {"session": session, **content}).sequence

    def _carry(self, chain: Appending, label: str, kind: str, content: Mapping[str, Any]) -> Entry:
        before, first = chain.last(label), chain.first(label)
        if before is None or first is None:
            raise LedgerError(f"the dataset {label!r} has disappeared from the ledger")
        self.check_genuine(before)
        self.check_genuine(first)
        used = used_of(before)
        body = {**content, "used": texts_of(used)}
        return self._add(chain, kind, label, body, used, cap_of(first))

    def note_data(self, label: str, digest: bytes) -> list[str]:
        """Remember a keyed fingerprint of the data; other labels under which they came before.

        The fingerprint is an HMAC of a digest under the ledger's key: without the key it
        says nothing about the data. There is one entry for each call, known or not: the number
        of entries shows in published receipts and must not depend on the data.
        """
        mark = hmac.new(self._key, b"data:" + digest, hashlib.sha256).hexdigest()
        others: list[str] = []
        with self._store.appending() as chain:
            for entry in self._store.entries():
                same = entry.kind == "data" and entry.body.get("fingerprint") == mark
                if same and entry.dataset != label and entry.dataset not in others:
                    others.append(entry.dataset)
            if chain.first(label) is not None:
                self._carry(chain, label, "data", {"fingerprint": mark})
        return others

    def verify(self, head: str | None = None) -> Verification:
        """Check every tag, every link and every sum, and that a receipt's head is still there."""
        return verify_chain(self._store.entries(), self._key, head)

    def _add(
        self,
        chain: Appending,
        kind: str,
        label: str,
        body: Mapping[str, Any],
        used: Amount,
        cap: Cap,
    ) -> Entry:
        last = chain.last()
        if last is not None:
            self.check_genuine(last)
        if chain.count() != (0 if last is None else last.sequence):
            raise LedgerError(
                f"entries are missing from the ledger {self.name}; restore it from a copy that "
                "verifies"
            )
        entry = Entry(
            1 if last is None else last.sequence + 1,
            datetime.now(UTC).isoformat(timespec="seconds"),
            kind,
            label,
            body,
            START if last is None else last.tag,
        ).sealed(self._key)
        chain.add(entry, in_units(used.size), in_units(cap.limit.size))
        return entry

    def check_genuine(self, entry: Entry) -> None:
        """Refuse an entry that was changed after it was written."""
        if not entry.genuine(self._key):
            raise LedgerError(
                f"entry {entry.sequence} of the ledger {self.name} was changed after it was "
                "written; restore the ledger from a copy that verifies"
            )

    def __repr__(self) -> str:
        return f"<Ledger {self.name}>"
