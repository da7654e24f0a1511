"""Candidates in classes of equal count, in blocks of consecutive counts, listed lazily."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from functools import partial

import numpy as np

from winnow.core.borders import Border
from winnow.core.laws import Law
from winnow.core.noisy_top.best_class import best_class
from winnow.core.noisy_top.log_counts import log_of
from winnow.core.noisy_top.ranked import CountListing
from winnow.core.tape import BitStream, Tape

Block = tuple[int, int]
"""All candidates with low <= count <= high."""

NEAR_ZERO = Border(
    5.0,
    "scores near zero",
    decides="the largest count that is not listed yet, in units of the noise",
    ways="candidates are drawn one by one, in the order of their noise; more counts are listed",
    same="law",
    because="the first member of a block is a uniform one, and clocks of the others are later",
)
"""A candidate of score 0 with the largest noise of all passes the bound of such a block once in e^5
times at least. So many candidates are drawn in a few milliseconds."""


class SupportClasses:
    """A universe of known size, for ``best_class``.

    A block that is not listed yet is bounded by its highest possible count. It is listed
    further only when it could still win, so the depth of the listing follows the draw.
    """

    def __init__(self, ranked: CountListing, scale: Fraction, reach: int) -> None:
        self._ranked, self._scale = ranked, scale
        self._rough_scale = float(scale)
        if ranked.total is None:
            raise ValueError("an endless universe has no largest noisy score")
        self._total = ranked.total
        self._top = ranked.top(reach)
        self._revealed: set[Hashable] = set()
        self._read()

    def _read(self) -> None:
        counts, sizes = self._ranked.classes()
        self._ascending = counts[::-1].copy()
        behind = 0
        self._above: list[int] = []  # how many candidates have each listed count or more
        for size in sizes:
            behind += size
            self._above.append(behind)
        self._above.reverse()

    def _at_least(self, count: int) -> int:
        if count <= 0:
            return self._total
        place = int(np.searchsorted(self._ascending, count))
        return self._above[place] if place < len(self._above) else 0

    def best(self, law: Law, tape: Tape) -> int:
        """The count of the candidate with the largest noisy score."""
        reveal = partial(self._reveal, tape.child("revealed").stream())
        return best_class(self, law, tape, reveal)[0]

    def roots(self) -> list[Block]:
        """Everything."""
        return [(0, self._top)]

    def is_class(self, block: Block) -> bool:
        """Whether the block is a single count."""
        return block[0] == block[1]

    def split(self, block: Block) -> list[Block]:
        """What is listed and what is not; or halves of what is listed."""
        low, high = block
        floor = self._ranked.floor
        if high < floor:
            self._ranked.lower(max(low, 1, min(floor // 2, high)))
            self._read()
            floor = self._ranked.floor
        if low < floor <= high:
            middle = floor
        else:
            first = int(np.searchsorted(self._ascending, low))
            last = int(np.searchsorted(self._ascending, high, side="right"))
            middle = int(self._ascending[(first + last) // 2]) if last > first else high
            middle = max(middle, low + 1)
        halves = [self._tight(low, middle - 1), self._tight(middle, high)]
        return [half for half in halves if half is not None]

    def _reveal(self, stream: BitStream, block: Block) -> Block | None:
        """The class of a uniform candidate of a block that was not revealed before.

        Where nobody has most of the candidates, one of those wins often, and to list all others
        only to know how many these are takes longest. None: the block is listed, or its counts
        are so large that listing more of them is faster; such a block was never revealed before,
        as no more is listed once one is.
        """
        low, high = block
        if low > 0 or not 0 < high < self._ranked.floor:
            return None
        if self._rough_scale * high > NEAR_ZERO.at:
            return None
        while True:
            sampled = self._ranked.sample(stream)
            if sampled is None:
                return None
            count, member = sampled
            if count <= high and member not in self._revealed:
                self._revealed.add(member)
                return count, count

    def _tight(self, low: int, high: int) -> Block | None:
        """The block between counts that exist, where these are listed; None if it is empty."""
        if low > high or self._at_least(low) == self._at_least(high + 1):
            return None
        if low >= self._ranked.floor:
            first = int(np.searchsorted(self._ascending, low))
            last = int(np.searchsorted(self._ascending, high, side="right")) - 1
            return int(self._ascending[first]), int(self._ascending[last])
        return low, high

    def score(self, block: Block) -> Fraction:
        """The highest count that the block can have, scaled."""
        return self._scale * block[1]

    def rough_score(self, block: Block) -> float:
        """A score to a relative 2^-51: three roundings."""
        return self._rough_scale * block[1]

    def log_count(self, block: Block) -> tuple[float, float]:
        """Bounds on the logarithm of the number of candidates."""
        return log_of(self.count(block))

    def count(self, block: Block) -> int:
        """The number of candidates."""
        return self._at_least(block[0]) - self._at_least(block[1] + 1)
