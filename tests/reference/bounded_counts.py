"""People per item with a bound per person, in plain Python: the slow, obvious twin."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Sequence

PRIME = 10_000_000_019
PERSON_PRIME = 99_999_989


def digits(text: str, length: int) -> int:
    hashed = hashlib.md5(text.encode()).hexdigest()[:length]
    return int(hashed.translate(str.maketrans("abcdef", "012345"))) + 1


def person_hash(user: str | int, key: str) -> int:
    if isinstance(user, str):
        return digits(key + "u" + user, 8)
    digest = hashlib.blake2b((key + "n").encode()).digest()
    factor = int.from_bytes(digest[:8], "big") % (PERSON_PRIME - 1) + 1
    shift = int.from_bytes(digest[8:16], "big") % PERSON_PRIME
    return (user * factor + shift) ** 2 % PERSON_PRIME + 1


def bounded_counts(
    rows: Sequence[tuple[str | int | None, str | int | None]], bound: int | None, salt: str
) -> dict[str, int]:
    """The counts that every engine has to give for this salt."""
    totals: Counter[str] = Counter()
    for _, kept in _kept(rows, bound, salt):
        totals.update(kept)
    return dict(totals)


def weighed_counts(
    rows: Sequence[tuple[str | int | None, str | int | None]],
    most: int,
    salt: str,
    within: Sequence[str] | None = None,
) -> dict[str, int]:
    """The weights that every engine has to give: 1024/sqrt(d) for each of d items, rounded down.

    The d items are those of the first ``most`` of a person that are ``within``.
    """
    totals: Counter[str] = Counter()
    for _, kept in _kept(rows, most, salt):
        left = [item for item in kept if within is None or item in within]
        if left:
            totals.update(dict.fromkeys(left, math.isqrt(2**20 // len(left))))
    return dict(totals)


def _kept(
    rows: Sequence[tuple[str | int | None, str | int | None]], bound: int | None, salt: str
) -> Iterator[tuple[set[str], list[str]]]:
    """The items of each person, and those that stay."""
    key = hashlib.blake2b(salt.encode()).hexdigest()
    items: dict[str | int, set[str]] = {}
    for user, item in rows:
        if user is not None and item is not None:
            items.setdefault(user, set()).add(str(item))
    for user, own in items.items():
        a = person_hash(user, key)
        ranks = {item: ((a * digits(key + "i" + item, 10)) % PRIME, item.encode()) for item in own}
        yield own, sorted(own, key=ranks.__getitem__)[:bound]
