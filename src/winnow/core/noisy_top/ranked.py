"""Candidates in decreasing order of their counts, listed only as far as somebody asks.

A universe of 10^12 itemsets cannot be sorted. What selection needs of it is less: how many
candidates have each count, from the top down to some floor; and one member of a class of equal
counts when a draw ends there (``universe.InClasses``). Here is the first of the two.
"""

from __future__ import annotations

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


def listed(ranked: CountListing) -> int:
    """How many candidates are listed."""
    return sum(ranked.classes()[1])


def ensure_listed(ranked: CountListing, size: int) -> None:
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
