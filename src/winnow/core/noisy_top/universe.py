"""What a mechanism of a pick draws from: a universe of candidates, by their scores.

A universe says its classes, which are the scores that there are and how many candidates have each,
and how to name a member of a class. A mechanism has one draw, which asks a ``Universe`` for no more
than its methods, and so it draws from scores in memory, from counts that stay in an engine, from
classes that a user gives, and from itemsets.

Two kernels stand behind these methods, with one law. ``InMemory`` draws a noise for each candidate
from a word of the tape of its own, in one pass over an array, whatever the scores are (100,000
different ones: 0.3 ms). ``InClasses`` draws the largest noise of a whole class and names its member
at the end: it takes as long for 10^12 itemsets as for a thousand. Neither can stand for the other.
Different scores are classes of one candidate each: to make these 100,000 takes 60 ms, and a draw
from them 3 ms. And candidates that nobody can list, or that stay in an engine, have no words of the
tape: a pass would bring them all here first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.laws import Law
from winnow.core.noisy_top.best_class import LargestNoise, Winner, best_members
from winnow.core.noisy_top.class_counts import Trial, largest_by_class, passing_by_class
from winnow.core.noisy_top.class_noise import CubeNoise
from winnow.core.noisy_top.integer_noise import IntegerNoise
from winnow.core.noisy_top.lazy_ranking import LazyRanking
from winnow.core.noisy_top.ranked import Member, ensure_listed, free_rank
from winnow.core.noisy_top.ranking import Ranking
from winnow.core.noisy_top.support_classes import Block, SupportClasses
from winnow.core.tape import BitStream, Tape
from winnow.core.utility import Utility

Integers = NDArray[np.int64]
Found = tuple[Any, Member]
"""A candidate with its true score, which stays inside."""


@dataclass(repr=False, slots=True)
class Drawn:
    """What was drawn, in order, and the noisy numbers that are released beside it. Private."""

    found: list[Found]
    noisy: list[Any] | None = None

    @property
    def members(self) -> list[Member]:
        """The candidates without their scores."""
        return [member for _, member in self.found]


@dataclass(repr=False, slots=True)
class ByRank:
    """A universe in descending order of its scores, in whole steps. Private."""

    ranking: Ranking
    utility: Utility
    """In those steps."""
    cell: int
    """A public number of steps, as ``Grid.cell``."""
    named: Callable[[list[int], BitStream], list[Found]]
    """The candidates at some ranks, none twice."""


class Universe(ABC):
    """Candidates by their scores. Private; it stays inside mechanisms."""

    total: int | None
    """How many candidates there are; None: countably many, all but finitely many of count 0."""

    @abstractmethod
    def noisiest(self, law: Law, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """The k candidates with the largest ``scale`` score + noise, largest first, exactly."""

    @abstractmethod
    def noisiest_in_cube(self, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """The k largest noisy scores, all noises uniform in one cube of size Gamma(total + 1)."""

    @abstractmethod
    def noisy_counts(
        self, noise: IntegerNoise, k: int, tape: Tape, least: int | None = None, factor: int = 1
    ) -> Drawn:
        """The k largest of ``factor`` times a count plus noise, with these; equal ones by lot.

        With ``least`` only candidates that somebody has, where that number is reached.
        """

    @abstractmethod
    def passing(self, trial: Trial, tape: Tape) -> list[Found]:
        """Every candidate for which a trial of its own succeeds, which goes by its count."""

    @abstractmethod
    def by_rank(self, utility: Utility, k: int, *, whole: bool = False) -> ByRank:
        """The order of the scores, of which at least the k largest are wanted.

        ``whole``: in whole numbers, whatever the sensitivity is.
        """

    @abstractmethod
    def scores_at(self, ranks: Sequence[int]) -> NDArray[Any]:
        """The scores at some ranks, from 0."""

    @abstractmethod
    def front(self, most: int) -> Integers:
        """The largest positive counts, at most so many of them, largest first."""

    @abstractmethod
    def take(self, counts: Iterable[int], stream: BitStream) -> list[Found]:
        """A uniform candidate for each of some counts, none twice."""

    @abstractmethod
    def rounds(self) -> Universe:
        """All candidates again, for draws that each take their winner out."""

    def peeled(self, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """The winners of k rounds of permute-and-flip, each taken out."""
        left, found = self.rounds(), list[Found]()
        for number in range(k):
            found += left.noisiest(Law.EXPONENTIAL, scale, 1, tape.child(f"round-{number}"))
        return found


class InClasses(Universe):
    """Candidates by decreasing count, listed from the top and only as far as a draw asks.

    A subclass lists classes of equal counts (``CountListing``) and names their members.
    """

    @property
    @abstractmethod
    def floor(self) -> int:
        """Every candidate of this count or more is listed; 1: all that have any."""

    @abstractmethod
    def top(self, reach: int = 0) -> int:
        """The largest count; `reach` says how far below it the caller will look anyway."""

    @abstractmethod
    def lower(self, floor: int, most: int | None = None) -> None:
        """List all candidates of count `floor` or more, unless there are more than `most`."""

    @abstractmethod
    def classes(self) -> tuple[Integers, list[int]]:
        """The counts that are listed, decreasing, and how many candidates have each."""

    @abstractmethod
    def member(self, count: int, index: int) -> Member:
        """The candidate at a place of its class, in a fixed order."""

    @abstractmethod
    def unseen(self, stream: BitStream) -> Member | None:
        """A uniform candidate of count 0; None where these have no names."""

    def sample(self, stream: BitStream) -> tuple[int, Member] | None:
        """A uniform candidate of all, with its count; None: there is no way but to list them."""
        return None

    def rounds(self) -> Left:
        """A universe that remembers who is gone."""
        return Left(self)

    def take(self, counts: Iterable[int], stream: BitStream) -> list[Found]:
        """One without a name, of infinitely many, is not among them."""
        left = self.rounds()
        found = [(count, left.taken(count, stream)) for count in counts]
        return [(count, member) for count, member in found if member is not None]

    def noisiest(self, law: Law, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """The best classes, then a member of each."""
        if k == 1:  # then members may be looked at before their classes are listed
            counts = [self._by_class(scale).best(law, tape.child("class"))]
            return self.take(counts, tape.child("member").stream())
        return self._noisiest(law.formulas, scale, k, tape)

    def noisiest_in_cube(self, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        """The noise of a class is that of the largest of its members."""
        if self.total is None:
            raise ValueError("an endless universe has no noise in a cube")
        return self._noisiest(CubeNoise(tape.child("radius"), self.total), scale, k, tape)

    def _noisiest(self, noise: LargestNoise, scale: Fraction, k: int, tape: Tape) -> list[Found]:
        winners = islice(self.noisy_members(noise, scale, tape.child("class")), k)
        counts = [winner.block[0] for winner in winners]
        return self.take(counts, tape.child("member").stream())

    def _by_class(self, scale: Fraction) -> SupportClasses:
        return SupportClasses(self, scale, int(min(Fraction(2**62), 40 / scale)))

    def noisy_members(
        self, noise: LargestNoise, scale: Fraction, tape: Tape
    ) -> Iterator[Winner[Block]]:
        """All candidates by decreasing ``scale`` count + noise, each by its class."""
        if self.total == 0:  # where nobody is, nothing is drawn, as from counts in memory
            return iter(())
        return best_members(self._by_class(scale), noise, tape)

    def noisy_counts(
        self, noise: IntegerNoise, k: int, tape: Tape, least: int | None = None, factor: int = 1
    ) -> Drawn:
        """By the largest noise of a class where its law is known, else for each of its members."""
        pairs = largest_by_class(self, noise, k, tape, least, factor)
        found = self.take([count for _, count in pairs], tape.child("member").stream())
        return Drawn(found, [noisy for noisy, _ in pairs])

    def passing(self, trial: Trial, tape: Tape) -> list[Found]:
        """How many of each class pass, and so many of its members."""
        return self.take(passing_by_class(self, trial, tape), tape.child("member").stream())

    def by_rank(self, utility: Utility, k: int, *, whole: bool = False) -> ByRank:
        """Counts are whole steps as they are, and any member of a count may have its rank."""
        ranking = LazyRanking(self, k)

        def named(ranks: list[int], stream: BitStream) -> list[Found]:
            return self.take(self.scores_at(ranks).tolist(), stream)

        return ByRank(ranking, utility, 1, named)

    def scores_at(self, ranks: Sequence[int]) -> Integers:
        """Listed as far as needed; whoever is not listed then has count 0."""
        ensure_listed(self, max(ranks) + 1)
        counts, sizes = self.classes()
        ends = list(accumulate(sizes))
        listed = [*counts.tolist(), 0]
        return np.array([listed[bisect_right(ends, rank)] for rank in ranks], np.int64)

    def front(self, most: int) -> Integers:
        """Classes as far as so many candidates have a count."""
        ensure_listed(self, most)
        counts, sizes = self.classes()
        return np.repeat(counts, [min(size, most) for size in sizes])[:most]


def in_classes(universe: Universe) -> InClasses:
    """The classes of a universe that is known by them, for mechanisms of such alone."""
    if not isinstance(universe, InClasses):
        raise TypeError("this mechanism looks at classes of equal counts")
    return universe


class Left(InClasses):
    """A universe from which candidates are drawn and taken out, one after another."""

    def __init__(self, whole: InClasses) -> None:
        self._whole = whole
        self._places: dict[int, list[int]] = {}
        self._unseen: set[Hashable] = set()
        self.total = whole.total

    def rounds(self) -> Left:
        """Itself."""
        return self

    def taken(self, count: int, stream: BitStream) -> Member | None:
        """A uniform candidate of this count, which is then gone.

        Those of count 0 are drawn by rejection against what is seen or gone. One without a
        name is one of infinitely many: None, and nothing is gone.
        """
        if count == 0:
            member = self.unseen(stream)
            if member is None:
                return None
            self._unseen.add(member)
        else:
            self.lower(count)
            counts, sizes = self._whole.classes()
            places = self._places.setdefault(count, [])
            size = sizes[int(np.searchsorted(-counts, -count))] - len(places)
            place = free_rank(places, stream.below(size))
            insort(places, place)
            member = self._whole.member(count, place)
        if self.total is not None:
            self.total -= 1
        return member

    @property
    def floor(self) -> int:
        """The floor of the whole universe."""
        return self._whole.floor

    def top(self, reach: int = 0) -> int:
        """The largest count that is left."""
        self._whole.top(reach)
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
        self._whole.lower(floor, most)

    def classes(self) -> tuple[Integers, list[int]]:
        """Counts and class sizes of what is left; empty classes are dropped."""
        counts, sizes = self._whole.classes()
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
        return self._whole.member(count, free_rank(self._places.get(count, []), index))

    def sample(self, stream: BitStream) -> tuple[int, Member] | None:
        """A uniform candidate of those that are left or listed, with its count.

        What is gone and has a count was listed before it went, so those below the floor are left.
        """
        while True:
            sampled = self._whole.sample(stream)
            if sampled is None or sampled[1] not in self._unseen:
                return sampled

    def unseen(self, stream: BitStream) -> Member | None:
        """A uniform candidate of count 0 that is left."""
        while True:
            member = self._whole.unseen(stream)
            if member is None or member not in self._unseen:
                return member


class ExplicitRanks(InClasses):
    """Counts that are all known: what audits and tests compare the lazy universe with.

    ``endless`` adds countably many candidates of count 0 without names, and then positions of
    count 0 are not candidates: ties prefer those without names.
    """

    floor = 1

    def __init__(self, counts: Sequence[int] | Integers, *, endless: bool = False) -> None:
        values = np.asarray(counts, np.int64)
        self.total = None if endless else len(values)
        self._by_count: dict[int, list[int]] = {}
        for position, value in enumerate(values.tolist()):
            self._by_count.setdefault(value, []).append(position)

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

    def unseen(self, stream: BitStream) -> Member | None:
        """A uniform position of count 0."""
        if self.total is None:
            return None
        zeros = self._by_count[0]
        return zeros[stream.below(len(zeros))]
