"""The end of a chain, checked: what the last entry proves about every name, and one entry more."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from winnow.errors import LedgerError
from winnow.privacy.ledger.accounts import Dataset, Share, in_units
from winnow.privacy.ledger.entry import START, Entry, same_text
from winnow.privacy.ledger.store import Appending, End, Entries
from winnow.privacy.ledger.tree import (
    HERE,
    SHORT,
    Node,
    Pointer,
    changed,
    find,
    leaves,
    node_in,
)

RESTORE = "restore the ledger from a copy that verifies"

Seen = tuple[int, str]
"""The end of a chain as it was seen before: number and tag of its last entry."""


def now() -> str:
    """The time that an entry bears."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def name_of(key: bytes, *parts: str) -> str:
    """The name of a thing in the tree: a keyed digest."""
    text = json.dumps(["name", *parts], ensure_ascii=True).encode()
    return hmac.new(key, text, hashlib.sha256).hexdigest()[:SHORT]


def names_in(key: bytes, kind: str, label: str, body: Mapping[str, Any]) -> list[str]:
    """The names that an entry is the latest about."""
    things: list[tuple[str, ...]] = [("dataset", label)]
    if "share" in body:
        things.append(("analyst", label, body["analyst"]))
    things += [(kind, label, session) for session in session_of(kind, body)]
    return [name_of(key, *parts) for parts in things]


def session_of(kind: str, body: Mapping[str, Any]) -> list[str]:
    """The interactive session whose charge or mark an entry is, if it is one."""
    return [body["session"]] if kind in ("charge", "session") and "session" in body else []


def end_of(key: bytes, sequence: int = 0, tag: str = START) -> End:
    """The sealed mark of a chain that ends with this entry."""
    text = f"end:{sequence}:{tag}".encode()
    return End(sequence, tag, hmac.new(key, text, hashlib.sha256).hexdigest())


class Chain:
    """The last entry of a ledger, and through it the latest one about every name.

    Each reading checks that the last entry is genuine, that the sealed mark of the end names it,
    and that the chain goes on from where this process saw it before.
    """

    def __init__(self, view: Entries, key: bytes, seen: Seen | None = None) -> None:
        self._view, self._key = view, key
        self.last, end, known = view.newest(0 if seen is None else seen[0])
        if self.last is not None:
            self._check(self.last)
        expected = end_of(key) if self.last is None else end_of(key, *_place(self.last))
        if end is None or not same_text(repr(tuple(end)), repr(tuple(expected))):
            raise LedgerError(
                "the end of the ledger is not where its sealed mark says: entries are missing, "
                f"or were put back; {RESTORE}"
            )
        if seen is not None and seen[0] and known != seen[1]:
            raise LedgerError(
                f"the ledger no longer has the entry {seen[0]} that it had a moment ago: it was "
                "cut, or an older copy was put back; nothing was charged"
            )

    @property
    def seen(self) -> Seen:
        """The end of the chain, to be compared with later."""
        return (0, START) if self.last is None else _place(self.last)

    def share(self, account: Dataset, analyst: str) -> Share:
        """What an analyst has used of a dataset, and may use at most."""
        entry = self.about("analyst", account.label, analyst)
        return Share.of(account, analyst, None if entry is None else entry.body)

    def about(self, *parts: str) -> Entry | None:
        """The latest entry about a thing; None: there is provably none."""
        pointer = find(self._root, name_of(self._key, *parts), self._load)
        return None if pointer is None else self._at(pointer)

    def latest(self) -> Iterator[Entry]:
        """The latest entry about each thing; an entry may be the latest about several."""
        for pointer in leaves(self._root, self._load):
            yield self._at(pointer)

    def dataset(self, label: str) -> Dataset | None:
        """The account of a dataset; None: it was not opened."""
        entry = self.about("dataset", label)
        return None if entry is None else Dataset.after(entry)

    def named(self, name: str) -> list[Entry]:
        """Entries that were noted under a name: an index, which proves what it finds only."""
        return [self._at([sequence, ""]) for sequence in self._view.named(name)]

    def add(
        self,
        chain: Appending,
        kind: str,
        account: Dataset,
        content: Mapping[str, Any],
        *,
        noted: str = "",
    ) -> Entry:
        """Add an entry that carries the account of its dataset, and the tree."""
        body = {**content, **account.to_body()}
        names: dict[str, Pointer] = dict(body.get("carried", {}))
        names |= dict.fromkeys(names_in(self._key, kind, account.label, body), HERE)
        body["tree"] = changed(self._root, names, self._load)
        sequence, tag = self.seen
        time = account.opened if account.first == sequence + 1 else now()
        entry = Entry(sequence + 1, time, kind, account.label, body, tag).sealed(self._key)
        used, cap = in_units(account)
        chain.add(entry, used, cap, end_of(self._key, *_place(entry)), noted)
        self.last = entry
        return entry

    @property
    def _root(self) -> Node:
        if self.last is None or "tree" not in self.last.body:  # none yet, or about to be upgraded
            return {}
        return node_in(self.last, "")

    def _load(self, prefix: str, pointer: Pointer) -> Node:
        return node_in(self._at(pointer), prefix)

    def _at(self, pointer: Pointer) -> Entry:
        sequence, tag = pointer[:2]
        entry = self.last
        if entry is None or entry.sequence != sequence:
            entry = self._view.at(sequence)
            if entry is None:
                raise LedgerError(f"entry {sequence} is missing from the ledger; {RESTORE}")
            self._check(entry)
        if not entry.tag.startswith(tag):
            raise LedgerError(f"entry {sequence} of the ledger was replaced by another; {RESTORE}")
        return entry

    def _check(self, entry: Entry) -> None:
        if not entry.genuine(self._key):
            raise changed_after(entry)


def changed_after(entry: Entry) -> LedgerError:
    """What is said of an entry whose tag is not that of its content."""
    return LedgerError(
        f"entry {entry.sequence} of the ledger was changed after it was written; {RESTORE}"
    )


def _place(entry: Entry) -> Seen:
    return entry.sequence, entry.tag
