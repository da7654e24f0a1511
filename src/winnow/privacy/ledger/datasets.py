"""What a ledger's entries say about each dataset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from winnow.privacy.budget import Amount, Cap
from winnow.privacy.ledger.accounts import cap_of, used_of
from winnow.privacy.ledger.entry import Entry


@dataclass(frozen=True)
class Dataset:
    """What a ledger says about one dataset."""

    label: str
    cap: Cap
    used: Amount
    charges: int
    opened: str


def datasets_of(entries: Iterable[Entry]) -> list[Dataset]:
    """All datasets, in the order in which they were opened."""
    found: dict[str, Dataset] = {}
    for entry in entries:
        label = entry.dataset
        if entry.kind == "open":
            found[label] = Dataset(label, cap_of(entry), Amount(), 0, entry.time)
        elif entry.kind == "charge":
            before = found[label]
            found[label] = replace(before, used=used_of(entry), charges=before.charges + 1)
    return list(found.values())
