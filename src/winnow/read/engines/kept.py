"""The questions about counts that stay in an engine, as SQL.

    f: key, count and bucket of every item; those of a public list that nobody has count 0
    sizes: how many items have each count
    spots: how many items of some counts lie in each bucket, where a class is large
    names: the keys of a small class, or of one bucket of a large one

The key of an item is its place in the public list, or its text. Its bucket is a stretch of the
list, or begins its MD5: so the items of a class have a fixed order, by bucket and key, and one of
10^8 is found without sorting them. What is asked for (which counts, which buckets) is private, and
comes as a table of values, not as text of the query, where an engine writes queries into its log.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from sqlglot import exp

from winnow.core.borders import Border
from winnow.core.noisy_top.count_classes import Place
from winnow.read.engine import refusing
from winnow.read.engines.query import CountQuery
from winnow.read.kept import KeptCounts, Snapshot, changed

SMALL_CLASS = Border(
    1 << 14,
    "a class named whole",
    decides="how many items have a count of which one is drawn",
    ways="all their names are asked for; those of one bucket are",
    same="value",
    because="names are in the order of bucket and key either way",
)
"""A class of so many items is asked for as a whole."""
_DIGITS = 4
"""Of MD5, in hexadecimal, for a bucket: 65,536 of them."""
_LEAST_STRETCH = 1 << 10

Wanted = tuple[int, str | int]
"""A count and a bucket, or the count and what stands for all its buckets."""


class Asking(ABC):
    """An engine that answers queries about one state of its source."""

    @abstractmethod
    def rows(self, query: exp.Select) -> list[tuple[Any, ...]]:
        """The answer."""

    def table(self, wanted: list[Wanted]) -> exp.Expression:
        """Values as a table w of the columns n and b."""
        return exp.values(wanted, alias="w", columns=["n", "b"])


class EngineKept(KeptCounts):
    """Counts that an engine can be asked about."""

    def __init__(self, query: CountQuery, check: str) -> None:
        self.query, self._check = query, check

    @abstractmethod
    def asking(self) -> AbstractContextManager[tuple[Asking, KeptQuery]]:
        """One state of the source."""

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Every question in the one state; errors of the engine show nothing."""
        with refusing("the counts cannot be read", self._check), self.asking() as (asking, query):
            yield _Snapshot(asking, query)


@dataclass(frozen=True)
class KeptQuery:
    """The counts (columns i and n) and the public list (i and p, from 0), as queries."""

    query: CountQuery
    counts: exp.Select
    numbered: exp.Select | None = None
    others: tuple[exp.Select, ...] = ()
    """The counts of other items, where the items are counted in parts one after another."""

    def parts(self) -> Iterator[KeptQuery]:
        """The questions about each part of the items."""
        for counts in (self.counts, *self.others):
            yield replace(self, counts=counts, others=())

    @property
    def listed(self) -> exp.Select | None:
        """The public list, where those that nobody has are counted, too."""
        return self.numbered if self.query.listed_all else None

    @property
    def everything(self) -> str | int:
        """What stands for all buckets."""
        return "" if self.listed is None else -1

    @property
    def stretch(self) -> int:
        """How many places of the public list are one bucket."""
        size = len(self.query.items or ())
        return max(_LEAST_STRETCH, -(-size // (1 << 4 * _DIGITS)))

    def full(self) -> exp.Select:
        """The key k, the count n and the bucket b of every item."""
        if self.listed is None:
            text = exp.column("i", "c")
            bucket = exp.Substring(
                this=self.query.md5(exp.cast(text.copy(), "TEXT")),
                start=exp.Literal.number(1),
                length=exp.Literal.number(_DIGITS),
            )
            columns = (exp.alias_(text, "k"), exp.column("n", "c"), exp.alias_(bucket, "b"))
            return exp.select(*columns).from_(self.counts.subquery("c"))
        place = exp.column("p", "l")
        rest = exp.Mod(this=place.copy(), expression=exp.Literal.number(self.stretch))
        first = exp.Sub(this=place.copy(), expression=exp.Paren(this=rest))
        count = exp.Coalesce(this=exp.column("n", "c"), expressions=[exp.Literal.number(0)])
        same = exp.EQ(this=self.query.text(exp.column("i", "l")), expression=exp.column("i", "c"))
        return (
            exp.select(exp.alias_(place, "k"), exp.alias_(count, "n"), exp.alias_(first, "b"))
            .from_(self.listed.subquery("l"))
            .join(self.counts.subquery("c"), on=same, join_type="left")
        )

    def sizes(self) -> exp.Select:
        """How many items have each count."""
        number = exp.alias_(exp.Count(this=exp.Star()), "m")
        return exp.select("n", number).from_(self.full().subquery("f")).group_by("n")

    def spots(self, wanted: exp.Expression) -> exp.Select:
        """How many items of the wanted counts each bucket has."""
        number = exp.alias_(exp.Count(this=exp.Star()), "m")
        query = exp.select("f.n", "f.b", number).from_(self.full().subquery("f"))
        return query.join(wanted, on="f.n = w.n").group_by("f.n", "f.b")

    def names(self, wanted: exp.Expression, *, whole: bool) -> exp.Select:
        """The keys of the wanted counts, or of the wanted buckets of theirs."""
        query = exp.select("f.n", "f.b", "f.k").from_(self.full().subquery("f"))
        return query.join(wanted, on="f.n = w.n" if whole else "f.n = w.n AND f.b = w.b")

    def counts_of(self, wanted: exp.Expression) -> exp.Select:
        """The counts of the wanted keys, which stand for buckets there."""
        query = exp.select("f.k", "f.n").from_(self.full().subquery("f"))
        return query.join(wanted, on="f.k = w.b")

    def bucket(self, key: Any) -> str | int:
        """The bucket of a key."""
        if self.listed is None:
            digest = hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()
            return digest[:_DIGITS]
        return int(key) - int(key) % self.stretch


class _Snapshot(Snapshot):
    """The sizes are asked for once; all names of a draw in one question, or two."""

    def __init__(self, asking: Asking, query: KeptQuery) -> None:
        self._asking, self._query = asking, query
        self._sizes: dict[int, int] = {}

    def sizes(self) -> dict[int, int]:
        """How many items have each count, with those of a public list that nobody has."""
        sizes: Counter[int] = Counter()
        for part in self._query.parts():
            numbers = self._asking.rows(part.sizes())
            sizes.update({int(count): int(size) for count, size in numbers})
        self._sizes = dict(sizes)
        listed = self._query.query.items
        every = self._query.listed is not None and listed is not None
        if every and sum(self._sizes.values()) != len(listed or ()):
            raise changed()
        return self._sizes

    def members(self, places: Sequence[Place]) -> list[Any]:
        """By bucket and key; classes and buckets must be as large as before."""
        if not places:
            return []
        spots = self._spots({count for count, _ in places if self._sizes[count] > SMALL_CLASS.at})
        ends = {
            count: list(accumulate(size for _, size in buckets)) for count, buckets in spots.items()
        }
        inside: dict[Place, tuple[Wanted, int]] = {}
        expected: dict[Wanted, int] = {}
        for place in places:
            count, index = place
            wanted: Wanted = (count, self._query.everything)
            size = self._sizes[count]
            if count in spots:
                at = bisect_right(ends[count], index)
                bucket, size = spots[count][at]
                wanted, index = (count, bucket), index - ends[count][at] + size
            inside[place], expected[wanted] = (wanted, index), size
        keys = self._keys(expected)
        return [keys[wanted][index] for wanted, index in (inside[place] for place in places)]

    def counts_of(self, items: Sequence[Any]) -> list[int]:
        """By their keys; what nobody has is not found."""
        if not items:
            return []
        table = self._asking.table([(0, item) for item in dict.fromkeys(items)])
        number_of: Counter[Any] = Counter()
        for part in self._query.parts():
            number_of.update({key: int(n) for key, n in self._asking.rows(part.counts_of(table))})
        return [number_of[item] for item in items]

    def _spots(self, counts: set[int]) -> dict[int, list[tuple[str | int, int]]]:
        """The buckets of large classes in order, with their sizes."""
        if not counts:
            return {}
        table = self._asking.table([(count, self._query.everything) for count in sorted(counts)])
        members: dict[int, Counter[str | int]] = {count: Counter() for count in counts}
        for part in self._query.parts():
            for count, bucket, size in self._asking.rows(part.spots(table)):
                members[int(count)][bucket] += int(size)
        for count, buckets in members.items():
            if buckets.total() != self._sizes[count]:
                raise changed()
        return {count: sorted(buckets.items()) for count, buckets in members.items()}

    def _keys(self, expected: dict[Wanted, int]) -> dict[Wanted, list[Any]]:
        """The keys of each wanted class or bucket, in order."""
        every, bucket_of = self._query.everything, self._query.bucket
        keys: dict[Wanted, list[Any]] = {wanted: [] for wanted in expected}
        for whole in (True, False):  # each is a join of equal columns, however many are wanted
            some = sorted(wanted for wanted in expected if (wanted[1] == every) is whole)
            if not some:
                continue
            table = self._asking.table(some)
            for part in self._query.parts():
                for count, bucket, key in self._asking.rows(part.names(table, whole=whole)):
                    keys[int(count), every if whole else bucket].append(key)
        for wanted, keys_there in keys.items():
            if len(keys_there) != expected[wanted]:
                raise changed()
            keys_there.sort(key=lambda key: (bucket_of(key), key))
        return keys
