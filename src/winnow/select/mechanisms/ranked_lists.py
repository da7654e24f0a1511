"""Top-k mechanisms over a universe that is listed lazily: whole lists, whole sets, a domain."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.best_class import best_class
from winnow.core.noisy_top.classes import CanonicalBlock as Block
from winnow.core.noisy_top.classes import CanonicalClasses, JointClasses
from winnow.core.noisy_top.ranked import Ranked, Without, at_rank, ensure_listed
from winnow.core.noisy_top.ranking import Ranking
from winnow.core.relation import Relation
from winnow.core.tape import BitStream, Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Guarantee, Promise, guarantee_of
from winnow.select.crossing.selection import check_scale
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.ranked import (
    Found,
    RankedSelection,
    refuse_endless,
    refuse_more_than_all,
)
from winnow.select.mechanisms.unknown_domain import LimitedDomain

Integers = NDArray[np.int64]


class LazyRanking(Ranking):
    """Counts by rank, listed from the top and only as deep as a question goes."""

    def __init__(self, ranked: Ranked, k: int) -> None:
        """At least the k largest are wanted, of a universe of known size."""
        if ranked.total is None:
            raise ValueError("an endless universe has no sorted counts")
        self._ranked = ranked
        self.size, self.lowest = ranked.total, 0
        ensure_listed(ranked, k)
        self._read()

    def _read(self) -> None:
        counts, sizes = self._ranked.classes()
        self._ascending = counts[::-1].copy()
        self._above = np.concatenate([np.cumsum(np.array(sizes, np.int64))[::-1], [0]])
        self._ends = np.cumsum(np.array(sizes, np.int64)).tolist()
        self._counts = counts.tolist()

    @property
    def listed(self) -> int:
        """How many candidates are listed; all that have a count once the floor is 1."""
        return self._ends[-1] if self._ends else 0

    @property
    def complete(self) -> bool:
        """Whether all that is not listed has count 0."""
        return self._ranked.floor == 1

    def deepen(self) -> None:
        """List further."""
        floor = self._ranked.floor
        self._ranked.lower(max(1, min(floor - 1, floor // 2)))
        self._read()

    def count_at(self, rank: int) -> int:
        """The count at a rank from 0; beyond what is listed, the most that it can be."""
        if rank >= self.listed:
            return 0 if self.complete else self._ranked.floor - 1
        return int(self._counts[bisect_right(self._ends, rank)])

    def leaders(self, k: int) -> Integers:
        """The k largest, largest first."""
        return np.array([self.count_at(rank) for rank in range(k)], np.int64)

    def at_least(self, thresholds: Integers) -> Integers:
        """How many counts reach each of some thresholds."""
        asked = [t for t in thresholds.tolist() if t > 0]
        if asked and min(asked) < self._ranked.floor:
            self._ranked.lower(min(asked))
            self._read()
        reached = self._above[np.searchsorted(self._ascending, thresholds)]
        return np.where(thresholds > 0, reached, np.int64(self.size))


class LazyCanonicalClasses(CanonicalClasses):
    """The k-subsets of a lazily listed universe.

    A block whose tails are not listed is bounded by the highest count that these can have,
    and is listed further only when it could still win.
    """

    def __init__(self, ranking: LazyRanking, k: int, gamma: Fraction, scale: Fraction) -> None:
        super().__init__(ranking.leaders(k), k, gamma, scale)
        self._ranking, self.d = ranking, ranking.size

    def _loss(self, h: int, t: int) -> int:
        missing, last = self._ranking.count_at(h), self._ranking.count_at(t - 1)
        if t == self.k:
            missing = last  # the top k itself: its loss is the reference
        return self._head * (missing - self._reference) + self._tail * (self._reference - last)

    def is_class(self, block: Block) -> bool:
        """Whether all subsets of the block have one loss, as far as that is known."""
        known = block[3] <= self._ranking.listed or self._ranking.complete
        return known and super().is_class(block)

    def split(self, block: Block) -> list[Block]:
        """What is listed and what is not, or halves of what is listed."""
        h0, h1, t0, t1 = block
        ranking = self._ranking
        while t0 > ranking.listed and not ranking.complete:
            ranking.deepen()
        if t1 > ranking.listed >= t0:
            return [(h0, h1, t0, ranking.listed), (h0, h1, ranking.listed + 1, t1)]
        if super().is_class(block):  # it is one class now that more is listed
            return [block]
        return super().split(block)


LARGEST_UNIVERSE = 2**50
"""Logarithms of binomials are bounded up to here."""


class _AsExplicit(RankedSelection):
    """Called and charged as the mechanism over candidates that are all there."""

    @abstractmethod
    def _explicit(self) -> Joint | Canonical | LimitedDomain:
        """That mechanism."""

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self._explicit().name

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self._explicit().promise(relation)


class _RankedLists(_AsExplicit):
    """A whole list or set of k in one draw."""

    k: int

    @abstractmethod
    def _explicit(self) -> Joint | Canonical:
        """The mechanism over explicit scores."""

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_lists(self.title, self.k, total)
        check_scale(self._explicit().scale(utility))


@dataclass(frozen=True)
class RankedJoint(_RankedLists):
    """``Joint`` over all candidates: a whole list of k in one draw. [Joint, Section 3]

    Formal guarantees
        Those of ``Joint``: epsilon-bounded range, with the utility's `width`.
    """

    epsilon: Real
    k: int
    title: ClassVar[str] = "joint"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")

    def _explicit(self) -> Joint:
        return Joint(self.epsilon, self.k)

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """The best class of lists, one list of it, and the candidates at its ranks."""
        ranking = LazyRanking(ranked, self.k)
        classes = JointClasses(ranking, self.k, self._explicit().scale(utility))
        winner = best_class(classes, Law.GUMBEL, tape.child("class"))
        stream = tape.child("member").stream()
        return _candidates(ranked, classes.sample(winner[1], stream), stream)


@dataclass(frozen=True)
class RankedCanonical(_RankedLists):
    """``Canonical`` over all candidates: a whole set of k in one draw. [Canonical, Thm 3.5]

    Formal guarantees
        Those of ``Canonical``: epsilon-DP, with the utility's `half_width`.
    """

    epsilon: Real
    k: int
    noise: Law = Law.EXPONENTIAL
    gamma: Real = Fraction(1, 2)
    title: ClassVar[str] = "canonical"

    def __post_init__(self) -> None:
        self._explicit()
        set_counts(self, k="k")
        object.__setattr__(self, "noise", Law.parse(self.noise))

    def _explicit(self) -> Canonical:
        return Canonical(self.epsilon, self.k, self.gamma, self.noise)

    @property
    def ordered(self) -> bool:
        """A set: no order is released."""
        return False

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """The best class of sets, one set of it, and the candidates at its ranks."""
        ranking = LazyRanking(ranked, self.k)
        scale = self._explicit().scale(utility)
        classes = LazyCanonicalClasses(ranking, self.k, exact("gamma", self.gamma), scale)
        winner = best_class(classes, self.noise, tape.child("class"))
        stream = tape.child("member").stream()
        return _candidates(ranked, classes.sample(winner, stream), stream)


@dataclass(frozen=True)
class RankedLimitedDomain(_AsExplicit):
    """``LimitedDomain`` over the most frequent candidates: up to k of them, in order.

    Formal guarantees
        Those of ``LimitedDomain``; `moved` bounds the candidates that one person has (None: no
        bound). It needs no list of items. [Durfee-Rogers 2019]
    """

    epsilon: Real
    delta: Real
    k: int
    moved: int | None = None
    reach: int | None = None
    accountant: str = "best"
    title: ClassVar[str] = "limited-domain"
    endless: ClassVar[bool] = True
    counts_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._explicit()

    def _explicit(self) -> LimitedDomain:
        return LimitedDomain(
            self.epsilon, self.delta, self.k, self.moved, False, self.reach, self.accountant
        )

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self._explicit().check_scales(utility)

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event, self.delta)

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """The domain, its noisy order, and the candidates before the threshold item."""
        mechanism = self._explicit()
        most = (mechanism.reach or 0) + 1
        ensure_listed(ranked, most)
        counts, sizes = ranked.classes()
        largest = np.repeat(counts, [min(size, most) for size in sizes])[:most]
        chosen, _ = mechanism._draw(largest, utility, tape.child("order"))
        universe, stream = Without(ranked), tape.child("member").stream()
        return [(int(c), universe.take(int(c), stream)) for c in largest[chosen]]


def _candidates(ranked: Ranked, ranks: list[int], stream: BitStream) -> list[Found]:
    """The candidates at some ranks: equal counts are in random order, so any member will do.

    A rank may lie beyond what the draw had to list: a row that takes anything asks for no count.
    """
    universe = Without(ranked)
    counts = [at_rank(ranked, rank)[0] for rank in ranks]
    return [(count, universe.take(count, stream)) for count in counts]


def check_lists(name: str, k: int, total: int | None) -> None:
    """Refuse universes that are endless, or too small or too large for lists and sets."""
    refuse_endless(name, total)
    refuse_more_than_all(k, total)
    if total is not None and total > LARGEST_UNIVERSE:
        raise ParameterError(
            f"{name} takes up to 2^50 candidates, and there are {total}; use large-margin, or a "
            "smaller universe"
        )


def items_moved(max_items: int | None, size: int, rows: int) -> int | None:
    """How many itemsets one person can be counted for, at least 1; None: no bound."""
    return None if max_items is None else rows * max(1, comb(max_items, size))
