"""What was spent so far of every dataset, from the entries of a ledger."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable

from winnow.core.relation import Relation
from winnow.privacy.events import Repeat, from_json
from winnow.privacy.ledger.entry import Entry
from winnow.privacy.spent import SpentSoFar

SHOWN_DELTA = 1e-6
"""At which what was spent so far is shown; the library says it at any."""


def spent_of(entries: Iterable[Entry]) -> dict[str, SpentSoFar]:
    """By the label of the dataset; one that was not charged has spent nothing."""
    charged: dict[str, Counter[str]] = defaultdict(Counter)
    spent: dict[str, SpentSoFar] = {}
    for entry in entries:
        if entry.kind == "charge":
            charged[entry.dataset][json.dumps(entry.body["event"], sort_keys=True)] += 1
        elif entry.kind == "open":
            account = entry.body.get("account", {"cap": entry.body})  # as version 1 opened it
            relation = Relation.parse(account["cap"]["relation"])
            spent[entry.dataset] = SpentSoFar(relation)
    for label, events in charged.items():
        for text, times in events.items():  # equal events together: sums do not ask for an order
            event = from_json(json.loads(text))
            before = spent.get(label) or SpentSoFar(event.relation)
            spent[label] = before.after(event if times == 1 else Repeat(event, times))
    return spent
