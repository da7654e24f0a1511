"""Top-k mechanisms over a universe that is listed lazily: whole lists, whole sets, a domain."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import ClassVar

import numpy as np

from winnow.domain.checks import Real, positive, set_counts
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.errors import InputError
from winnow.kernels.best_class import best_class
from winnow.kernels.joint_classes import JointClasses
from winnow.kernels.lazy_ranking import LazyCanonicalClasses, LazyRanking
from winnow.kernels.ranked import Ranked, Without, at_rank, ensure_listed
from winnow.mechanisms.canonical import Canonical
from winnow.mechanisms.joint import Joint
from winnow.mechanisms.ranked_selection import (
    Found,
    RankedSelection,
    refuse_endless,
    refuse_more_than_all,
)
from winnow.mechanisms.selection import check_scale
from winnow.mechanisms.unknown_domain import LimitedDomain
from winnow.privacy import Guarantee, Promise, guarantee_of
from winnow.random.laws import Law
from winnow.random.tape import BitStream, Tape

_LARGEST = 2**50
"""Logarithms of binomials are bounded up to here."""


@dataclass(frozen=True)
class RankedJoint(RankedSelection):
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

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self._explicit().name

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self._explicit().promise(relation)

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        _check_lists(self.title, self.k, total)
        check_scale(self._explicit().scale(utility))

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """The best class of lists, one list of it, and the candidates at its ranks."""
        ranking = LazyRanking(ranked, self.k)
        classes = JointClasses(ranking, self.k, self._explicit().scale(utility))
        winner = best_class(classes, Law.GUMBEL, tape.child("class"))
        stream = tape.child("member").stream()
        return _candidates(ranked, classes.sample(winner[1], stream), stream)


@dataclass(frozen=True)
class RankedCanonical(RankedSelection):
    """``Canonical`` over all candidates: a whole set of k in one draw. [Canonical, Thm 3.5]

    Formal guarantees
        Those of ``Canonical`` at gamma = 1/2: epsilon-DP, with the utility's `half_width`.
    """

    epsilon: Real
    k: int
    noise: Law = Law.EXPONENTIAL
    title: ClassVar[str] = "canonical"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")

    def _explicit(self) -> Canonical:
        return Canonical(self.epsilon, self.k, noise=self.noise)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self._explicit().name

    @property
    def ordered(self) -> bool:
        """A set: no order is released."""
        return False

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self._explicit().promise(relation)

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        _check_lists(self.title, self.k, total)
        check_scale(self._explicit().scale(utility))

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """The best class of sets, one set of it, and the candidates at its ranks."""
        ranking = LazyRanking(ranked, self.k)
        scale = self._explicit().scale(utility)
        classes = LazyCanonicalClasses(ranking, self.k, Fraction(1, 2), scale)
        winner = best_class(classes, self.noise, tape.child("class"))
        stream = tape.child("member").stream()
        return _candidates(ranked, classes.sample(winner, stream), stream)


@dataclass(frozen=True)
class RankedLimitedDomain(RankedSelection):
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

    def __post_init__(self) -> None:
        self._explicit()

    def _explicit(self) -> LimitedDomain:
        return LimitedDomain(
            self.epsilon, self.delta, self.k, self.moved, False, self.reach, self.accountant
        )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return self._explicit().name

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self._explicit().promise(relation)

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self._explicit().check(utility)

    def guarantee(self, promised: Promise) -> Guarantee:
        """What the release states about itself."""
        return guarantee_of(promised.event, self.delta)

    def draw(self, ranked: Ranked, utility: Utility, tape: Tape) -> list[Found]:
        """The domain, its noisy order, and the candidates before the threshold item."""
        mechanism = self._explicit()
        most = (mechanism.reach or 0) + 1
        ensure_listed(ranked, most)
        counts, sizes = ranked.classes()
        largest = np.repeat(counts, np.minimum(np.array(sizes, np.int64), most))[:most]
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


def _check_lists(name: str, k: int, total: int | None) -> None:
    refuse_endless(name, total)
    refuse_more_than_all(k, total)
    if total is not None and total > _LARGEST:
        raise InputError(
            f"{name} takes up to 2^50 itemsets, and these items have {total}; use large-margin, "
            "or a shorter list of items"
        )


def items_moved(max_items: int | None, size: int, rows: int) -> int | None:
    """How many itemsets one person can be counted for, at least 1; None: no bound."""
    return None if max_items is None else rows * max(1, comb(max_items, size))
