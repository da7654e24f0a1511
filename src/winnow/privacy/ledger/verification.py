"""The check of a whole chain: tags, links, sums, shares, the tree, and the head of a receipt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from winnow.core.unit import PERSON
from winnow.errors import LedgerError, RelationMismatch
from winnow.privacy.cap import Amount
from winnow.privacy.ledger.accounts import Dataset, Share, amount_of, declared_in, unit_of
from winnow.privacy.ledger.chain import Seen, name_of, names_in, session_of
from winnow.privacy.ledger.entry import START, Entry, parse_head
from winnow.privacy.ledger.tree import HERE, Node, Pointer, changed, node_in, pointer_to


@dataclass(frozen=True)
class Verification:
    """What a check of the whole chain found; ``problem`` is empty when all is well."""

    entries: int
    head: str
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problem


def verify_chain(entries: Iterable[Entry], key: bytes, end: Seen, head: str | None) -> Verification:
    """Check every tag, link, sum and tree, and that the end and a receipt's head are there."""
    expected = None if head is None else parse_head(head)
    replay, seen, ended = ChainCheck(key), False, not end[0]
    try:
        for count, entry in enumerate(entries, 1):
            problem = replay.step(entry)
            if problem:
                return Verification(count, entry.head, problem)
            seen = seen or (entry.sequence, entry.tag) == expected
            ended = ended or (entry.sequence, entry.tag) == end
    except LedgerError as error:
        return Verification(replay.count, replay.head, str(error))
    problem = ""
    if not ended:
        problem = "entries are missing at the end of the ledger"
    elif expected is not None and expected != (0, START) and not seen:
        which = "ends before" if expected[0] > replay.count else "differs at"
        problem = (
            f"the ledger {which} entry {expected[0]} of the given head: it was cut, rolled "
            "back to an older copy, or rewritten"
        )
    return Verification(replay.count, replay.head, problem)


class ChainCheck:
    """Entries of a chain checked one after the other, and what follows from them."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.count, self.previous, self.has_tree = 0, START, False
        self.datasets: dict[str, Dataset] = {}
        self.shares: dict[tuple[str, str], Share] = {}
        self.sessions: dict[str, dict[str, Pointer]] = {}
        """For each dataset, what its interactive sessions wrote: names in the tree."""
        self.fingerprints: dict[tuple[str, str], int] = {}
        """The first entry with a fingerprint of data under a label."""
        self._nodes: dict[str, Node] = {"": {}}

    @property
    def head(self) -> str:
        """The state of the ledger after the entries so far."""
        return f"{self.count}:{self.previous}"

    def step(self, entry: Entry) -> str:
        """Take the next entry; what is wrong with it, if something is."""
        where = f"entry {entry.sequence}"
        if entry.sequence != self.count + 1:
            return f"{where} stands where entry {self.count + 1} should: entries are missing"
        if entry.previous != self.previous:
            return f"{where} does not follow from the entry before it"
        if not entry.genuine(self._key):
            return f"{where} was changed after it was written"
        problem = self._account(entry) or self._proof(entry)
        self.count, self.previous = entry.sequence, entry.tag
        return f"{where} {problem}" if problem else ""

    def _account(self, entry: Entry) -> str:
        label, body = entry.dataset, entry.body
        if entry.kind == "open":
            if label in self.datasets:
                return f"opens the dataset {label!r} a second time"
            declared = body["account"]["cap"] if "account" in body else declared_in(body)
            unit = unit_of(body.get("account", {}).get("unit"))
            self.datasets[label] = Dataset.declare(
                label, declared, entry.time, entry.sequence, unit
            )
        account = self.datasets.get(label)
        if account is None:
            return f"speaks of the dataset {label!r}, which was not opened"
        problem = ""
        if entry.kind == "charge":
            cost = amount_of(body["cost"])
            before = account.used
            unit = unit_of(body.get("unit")) or PERSON
            try:
                account = self.datasets[label] = account.charged(before + cost, unit)
            except RelationMismatch:
                return f"is about another unit than {label!r}"
            if not account.cap.follows(before, account.used):
                problem = f"passes the cap of {label!r}"
            problem = problem or self._share(account, entry, cost)
        elif entry.kind == "share":
            share = self._share_of(account, body["analyst"])
            part = Share.of(account, share.analyst, body).part
            self.shares[label, share.analyst] = share.set_to(part, account.cap)
        elif entry.kind == "data":
            self.fingerprints.setdefault((body["fingerprint"], label), entry.sequence)
        if amount_of(body["used"]) != account.used:
            problem = problem or "states a sum that is not the sum of the charges"
        return problem

    def _share(self, account: Dataset, entry: Entry, cost: Amount) -> str:
        analyst = entry.body["analyst"]
        if not analyst:
            return ""
        share = self._share_of(account, analyst)
        used = share.used + cost
        self.shares[account.label, analyst] = replace(share, used=used)
        limited = "tree" in entry.body and share.part is not None
        bound = limited and not share.cap.follows(share.used, used)
        return f"passes the share of {analyst!r}" if bound else ""

    def _share_of(self, account: Dataset, analyst: str) -> Share:
        share = self.shares.get((account.label, analyst))
        return Share.of(account, analyst, None) if share is None else share

    def _proof(self, entry: Entry) -> str:
        """Check what an entry carries beyond version 1: the account, a share, and the tree."""
        label, body = entry.dataset, entry.body
        known = self.sessions.setdefault(label, {})
        before = dict(known)
        for session in session_of(entry.kind, body):
            known[name_of(self._key, entry.kind, label, session)] = pointer_to(entry)
        if "tree" not in body:
            return "lacks what entries before it carry" if self.has_tree else ""
        self.has_tree = True
        if "unit" not in body["account"]:  # by a version that did not write units
            untold = replace(self.datasets[label], unit=None)
            self.datasets[label] = replace(untold, unstated=untold.charges)
        expected: dict[str, Any] = self.datasets[label].to_body()
        if "unit" not in body["account"]:
            del expected["account"]["unit"], expected["account"]["unstated"]
        if "share" in body:
            expected |= self._share_of(self.datasets[label], body["analyst"]).to_body()
        if any(body[name] != value for name, value in expected.items()):
            return "carries an account that does not follow from the entries before it"
        names: dict[str, Pointer] = dict(body.get("carried", {}))
        if entry.kind == "upgrade" and "share" not in body and names != before:
            return "does not carry over what sessions wrote"
        names |= dict.fromkeys(names_in(self._key, entry.kind, label, body), HERE)
        nodes = changed(self._nodes[""], names, lambda prefix, _: self._nodes[prefix])
        if nodes != body["tree"]:
            return "carries a tree that does not follow from the entries before it"
        self._nodes |= {prefix: node_in(entry, prefix) for prefix in nodes}
        return ""
