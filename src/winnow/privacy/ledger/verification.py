"""The check of a whole chain: tags, links, sums, and the head of a receipt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from winnow.privacy.budget import Amount, Cap
from winnow.privacy.ledger.accounts import amount_of, cap_of, used_of
from winnow.privacy.ledger.entry import START, Entry, parse_head


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


def verify_chain(entries: Iterable[Entry], key: bytes, head: str | None) -> Verification:
    """Check every tag, every link and every sum, and that a receipt's head is still there."""
    expected = None if head is None else parse_head(head)
    previous, count, seen = START, 0, False
    used: dict[str, Amount] = {}
    caps: dict[str, Cap] = {}
    for entry in entries:
        count += 1
        problem = _problem(entry, key, count, previous, used, caps)
        if problem:
            return Verification(count, f"{entry.sequence}:{entry.tag}", problem)
        previous = entry.tag
        seen = seen or (entry.sequence, entry.tag) == expected
    found = f"{count}:{previous}"
    if expected is not None and expected != (0, START) and not seen:
        which = "ends before" if expected[0] > count else "differs at"
        return Verification(
            count,
            found,
            f"the ledger {which} entry {expected[0]} of the given head: it was cut, rolled "
            "back to an older copy, or rewritten",
        )
    return Verification(count, found)


def _problem(
    entry: Entry,
    key: bytes,
    place: int,
    previous: str,
    used: dict[str, Amount],
    caps: dict[str, Cap],
) -> str:
    where = f"entry {entry.sequence}"
    if entry.sequence != place:
        return f"{where} stands where entry {place} should: entries are missing"
    if entry.previous != previous:
        return f"{where} does not follow from the entry before it"
    if not entry.genuine(key):
        return f"{where} was changed after it was written"
    if entry.kind == "open":
        if entry.dataset in caps:
            return f"{where} opens the dataset {entry.dataset!r} a second time"
        caps[entry.dataset], used[entry.dataset] = cap_of(entry), Amount()
    if entry.dataset not in caps:
        return f"{where} speaks of the dataset {entry.dataset!r}, which was not opened"
    if entry.kind == "charge":
        cap = caps[entry.dataset]
        used[entry.dataset] += amount_of(entry.body["cost"])
        if not used[entry.dataset].within(cap.limit):
            return f"{where} passes the cap of {entry.dataset!r}"
    if used_of(entry) != used[entry.dataset]:
        return f"{where} states a sum that is not the sum of the charges"
    return ""
