"""People per item with a bound per person, in plain Python: the slow, obvious twin."""

from __future__ import annotations

import hashlib
from collections import Counter

PRIME = 100_000_000_003


def digits(text: str, length: int) -> int:
    hashed = hashlib.md5(text.encode()).hexdigest()[:length]
    return int(hashed.translate(str.maketrans("abcdef", "012345"))) + 1


def bounded_counts(
    rows: list[tuple[str | None, str | None]], bound: int | None, salt: str
) -> dict[str, int]:
    """The counts that every engine has to give for this salt."""
    key = hashlib.blake2b(salt.encode()).hexdigest()
    items: dict[str, set[str]] = {}
    for user, item in rows:
        if user is not None and item is not None:
            items.setdefault(user, set()).add(item)
    totals: Counter[str] = Counter()
    for user, own in items.items():
        a = digits(key + "u" + user, 7)
        ranks = {item: ((a * digits(key + "i" + item, 11)) % PRIME, item) for item in own}
        totals.update(sorted(own, key=ranks.__getitem__)[:bound])
    return dict(totals)
