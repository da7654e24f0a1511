"""Candidates in decreasing order of their counts, listed only as far as somebody asks.

A universe of 10^12 itemsets cannot be sorted. What selection needs of it is less: how many
candidates have each count, from the top down to some floor; and one member of a class of equal
counts when a draw ends there. ``Ranked`` is that, for itemsets (``winnow.itemsets.kernels.mine``)
and for explicit counts (below, for audits and small lists).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Sequence
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.tape import BitStream

Integers = NDArray[np.int64]
Member = Any
"""A candidate: a tuple of item codes, or a position. Hashable."""


class CountListing(Protocol):
    """How many candidates have each count; private, it stays inside mechanisms."""

    total: int | None
    """How many candidates there are; None: countably many, all but finitely many of count 0."""

    @property
    def floor(self) -> int:
        """Every candidate of this count or more is listed; 1: all that have any."""
        ...

    def top(self, reach: int = 0) -> int:
        """The largest count; `reach` says how far below it the caller will look anyway."""
        ...

    def lower(self, floor: int, most: int | None = None) -> None:
        """List all candidates of count `floor` or more (at least 1).

        With `most`: not if there are more of them. Then the floor stays above the one asked for,
        and finding this out takes no longer than listing about so many.
        """
        ...

    def classes(self) -> tuple[Integers, list[int]]:
        """The counts that are listed, decreasing, and how many candidates have each."""
        ...

    def sample(self, stream: BitStream) -> tuple[int, Member] | None:
        """A uniform candidate of all, with its count; None: there is no way but to list them."""
        ...


class Ranked(CountListing, Protocol):
    """A universe of candidates by decreasing count, with their names."""

    def member(self, count: int, index: int) -> Member:
        """The candidate at a place of its class, in a fixed order."""
        ...

    def unseen(self, stream: BitStream) -> Member | None:
        """A uniform candidate of count 0; None where these have no names."""
        ...


def listed(ranked: CountListing) -> int:
    """How many candidates are listed."""
    return sum(ranked.classes()[1])


def ensure_listed(ranked: Ranked, size: int) -> None:
    """List at least so many candidates, or all that have a count."""
    ranked.top()
    while ranked.floor > 1 and listed(ranked) < size:
        ranked.lower(max(1, min(ranked.floor - 1, ranked.floor * 3 // 4)))


def count_at(ranked: CountListing, rank: int) -> int:
    """The count at a rank from 0, where about four times as many candidates are listed at most.

    At least one candidate more than `rank` has a count of `low`; at most `rank` have one of the
    floor. Every step moves one of the two until the rank is listed, or they are neighbours: then
    its count is `low`, however many candidates have it.
    """
    low, most = 0, 4 * (rank + 1)
    while True:
        counts, sizes = ranked.classes()
        left = rank
        for count, size in zip(counts.tolist(), sizes, strict=True):
            if left < size:
                return int(count)
            left -= size
        if ranked.floor <= low + 1:
            return low
        middle = min(max(isqrt(low * ranked.floor), low + 1), ranked.floor - 1)
        ranked.lower(middle, most)
        if ranked.floor > middle:
            low = middle


def at_rank(ranked: Ranked, rank: int) -> tuple[int, int]:
    """The count at a rank from 0, and the place inside its class; lists as far as needed."""
    ensure_listed(ranked, rank + 1)
    counts, sizes = ranked.classes()
    for count, size in zip(counts.tolist(), sizes, strict=True):
        if rank < size:
            return count, rank
        rank -= size
    return 0, rank


class ExplicitRanks:
    """Counts that are all known: what audits and tests compare the lazy universe with.

    ``endless`` adds countably many candidates of count 0 without names, and then positions of
    count 0 are not candidates: ties prefer those without names.
    """

    def __init__(self, counts: Sequence[int] | Integers, *, endless: bool = False) -> None:
        values = np.asarray(counts, np.int64)
        self.total: int | None = None if endless else len(values)
        self._by_count: dict[int, list[int]] = {}
        for position, value in enumerate(values.tolist()):
            self._by_count.setdefault(value, []).append(position)
        self.floor = 1

    def top(self, reach: int = 0) -> int:
        """The largest count."""
        return max(self._by_count, default=0)

    def lower(self, floor: int, most: int | None = None) -> None:
        """Everything is listed."""

    def classes(self) -> tuple[Integers, list[int]]:
        """Positive counts, decreasing, and their classes' sizes."""
        counts = sorted((c for c in self._by_count if c > 0), reverse=True)
        return np.array(counts, np.int64), [len(self._by_count[c]) for c in counts]

    def member(self, count: int, index: int) -> Member:
        """A position of this count."""
        return self._by_count[count][index]

    def sample(self, stream: BitStream) -> tuple[int, Member] | None:
        """Everything is listed."""
        return None

    def unseen(self, stream: BitStream) -> Member | None:
        """A uniform position of count 0."""
        if self.total is None:
            return None
        zeros = self._by_count[0]
        return zeros[stream.below(len(zeros))]


class Without:
    """A universe from which candidates are drawn and taken out, one after another."""

    def __init__(self, ranked: Ranked) -> None:
        self._ranked = ranked
        self._places: dict[int, list[int]] = {}
        self._unseen: set[Hashable] = set()
        self.total = ranked.total

    def take(self, count: int, stream: BitStream) -> Member | None:
        """A uniform candidate of this count, which is then gone.

        Those of count 0 are drawn by rejection against what is seen or gone. One without a
        name is one of infinitely many: None, and nothing is gone.
        """
        if count == 0:
            while True:
                member = self._ranked.unseen(stream)
                if member is None or member not in self._unseen:
                    break
            if member is None:
                return None
            self._unseen.add(member)
        else:
            self.lower(count)
            counts, sizes = self.classes()
            size = sizes[int(np.searchsorted(-counts, -count))]
            places = self._places.setdefault(count, [])
            place = free_rank(places, stream.below(size))
            insort(places, place)
            member = self._ranked.member(count, place)
        if self.total is not None:
            self.total -= 1
        return member

    @property
    def floor(self) -> int:
        """The floor of the whole universe."""
        return self._ranked.floor

    def top(self, reach: int = 0) -> int:
        """The largest count that is left."""
        self._ranked.top(reach)
        while True:
            counts, _ = self.classes()
            if len(counts):
                return int(counts[0])
            if self.floor == 1:
                return 0
            self.lower(max(1, self.floor // 2))

    def lower(self, floor: int, most: int | None = None) -> None:
        """Lower the floor of the whole universe, which has those that are gone as well."""
        if most is not None:
            most += sum(len(gone) for count, gone in self._places.items() if count >= floor)
        self._ranked.lower(floor, most)

    def classes(self) -> tuple[Integers, list[int]]:
        """Counts and class sizes of what is left; empty classes are dropped."""
        counts, sizes = self._ranked.classes()
        if not self._places:
            return counts, sizes
        left = [
            size - len(self._places.get(count, ()))
            for count, size in zip(counts.tolist(), sizes, strict=True)
        ]
        keep = [place for place, size in enumerate(left) if size > 0]
        return counts[keep], [left[place] for place in keep]

    def member(self, count: int, index: int) -> Member:
        """The candidate at a place among those of its class that are left."""
        return self._ranked.member(count, free_rank(self._places.get(count, []), index))

    def sample(self, stream: BitStream) -> tuple[int, Member] | None:
        """A uniform candidate of those that are left or listed, with its count.

        What is gone and has a count was listed before it went, so those below the floor are left.
        """
        while True:
            sampled = self._ranked.sample(stream)
            if sampled is None or sampled[1] not in self._unseen:
                return sampled

    def unseen(self, stream: BitStream) -> Member | None:
        """A uniform candidate of count 0 that is left."""
        while True:
            member = self._ranked.unseen(stream)
            if member is None or member not in self._unseen:
                return member


class First:
    """The first candidates of a universe, so many of them, for ``SupportClasses``.

    The last of them may share its count with some that do not belong: those of one count are
    alike, so only their number matters.
    """

    def __init__(self, ranked: CountListing, size: int) -> None:
        self._ranked, self._size = ranked, size
        self.total: int | None = size
        self._last: int | None = None  # the count of the last one, where its class is not listed

    @property
    def floor(self) -> int:
        """1 once all of them are known."""
        whole = self._last is not None or listed(self._ranked) >= self._size
        return 1 if whole else self._ranked.floor

    def top(self, reach: int = 0) -> int:
        """The largest count."""
        return self._ranked.top()

    def lower(self, floor: int, most: int | None = None) -> None:
        """List those of count `floor` or more, and few that do not belong."""
        self._ranked.lower(floor, 4 * self._size)
        if self.floor > floor:
            self._last = count_at(self._ranked, self._size - 1)

    def classes(self) -> tuple[Integers, list[int]]:
        """The counts that are listed, decreasing, and how many candidates have each."""
        counts, sizes = self._ranked.classes()
        left, taken = self._size, list[int]()
        for size in sizes:
            if not left:
                break
            taken.append(min(size, left))
            left -= taken[-1]
        counts = counts[: len(taken)]
        if left and self._last is not None:
            return np.append(counts, self._last), [*taken, left]
        return counts, taken

    def sample(self, stream: BitStream) -> tuple[int, Member] | None:
        """A uniform candidate, with its count, where these are all that there are."""
        return self._ranked.sample(stream) if self._size == self._ranked.total else None


def free_rank(taken: list[int], index: int) -> int:
    """The rank that has `index` free ranks before it: index + #{taken ranks below it}."""
    low, high = 0, len(taken)
    while low < high:
        middle = (low + high) // 2
        if taken[middle] - middle <= index:
            low = middle + 1
        else:
            high = middle
    return index + low
