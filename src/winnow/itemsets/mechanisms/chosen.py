"""Weighted counts or another selection: what was released before decides between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import noisy_top
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.itemsets.kernels.weights import UNIT
from winnow.itemsets.mechanisms.support import (
    added_up,
    check_support,
    composed,
    noisy_support,
    support_promise,
)
from winnow.itemsets.mechanisms.weighted import WeightedCounts, in_memory
from winnow.privacy import AnyOf, Guarantee, Promise, promise
from winnow.select.crossing.selection import Pick, check_scale
from winnow.select.mechanisms.canonical_adaptive import CanonicalAdaptive
from winnow.select.methods import LOOK_SHARE

Integers = NDArray[np.int64]

LONG_SHARE = Fraction(1, 50)
"""The part of epsilon for how long baskets are."""
_LONG, _OF = 17, 20
"""Of the baskets that hold an itemset 17 of 20 are no longer than a long one."""
LENGTHS = (1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
"""What is asked for is one of these lengths: the fewer there are, the less noise wins."""
_FEWEST = 5
"""Where the support is so many times too low, no set that stands out is looked for."""
_SURE = 2
"""From so many times the support that is needed on a canonical set is drawn unseen. Nearer to it
the noise of the support decides too much: on one of 46 generated lists 7 of 30 itemsets were found,
and 27 by weighted counts."""
_BEST, _HALF = 0.9, 1.5
"""The part of a list that weighted counts find is about 0.9 z^2/(1.5 + z^2)."""


def either(*ways: Promise) -> Promise:
    """One of several promises; which one follows from what was released before."""
    return Promise(
        AnyOf(tuple(way.event for way in ways)),
        "; or ".join(dict.fromkeys(way.citation for way in ways)),
        " Or: ".join(dict.fromkeys(way.statement for way in ways)),
    )


@dataclass(frozen=True)
class WeightedOrSelected(Pick):
    """A selection where the noisy support at rank k is at least what it needs, else weighted.

    Formal guarantees
        ``LOOK_SHARE`` of epsilon for the support at rank k, with discrete Laplace noise, then
        one of two mechanisms, each of which has the rest of epsilon, and delta. Which one follows
        from the noisy support and a public number: adaptive composition.
    """

    epsilon: Real
    selection: Pick
    """With the rest of epsilon, and delta."""
    counts: WeightedCounts
    """With the rest of epsilon, and delta."""
    needed: int
    """A public number: the selection runs from this support on."""
    title: ClassVar[str] = "weighted or"
    reads_baskets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)

    @staticmethod
    def rest(epsilon: Real) -> Fraction:
        """The epsilon of the two mechanisms."""
        return (1 - LOOK_SHARE) * exact("epsilon", epsilon)

    @property
    def k(self) -> int:
        """The length of the list."""
        return self.counts.k

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        known = f"where the noisy support is {self.needed} or more"
        return f"weighted, k={self.k}; {known}: {self.selection.name}"

    @property
    def ordered(self) -> bool:
        """Whether the selection releases a list in order."""
        return self.selection.ordered

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        ways = either(self.selection.promise(relation), self.counts.promise(relation))
        return composed(support_promise(self.epsilon, relation), ways)

    def guarantee(self, promised: Promise) -> Guarantee:
        """The support, and the dearer of the two, added up."""
        relation = promised.event.relation
        selected = self.selection.guarantee(self.selection.promise(relation))
        return added_up(self.epsilon, selected, self.counts.guarantee(relation))

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.selection.check_public(utility, total)
        self.counts.check(utility, total)
        check_support(self.epsilon, utility)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """The support, and one of the two."""
        support = noisy_support(universe, self.k, self.epsilon, utility, tape.child("support"))
        if support >= self.needed:
            return self.selection._draw(universe, utility, tape.child("selection"))
        return self.counts.drawn(universe, support, utility, tape.child("counts"))


@dataclass(frozen=True)
class WeightedOrCanonical(Pick):
    """A canonical set of as many as stand out, or weighted counts if these should find more.

    Without a delta. From twice the support `needed` at rank k on a canonical set finds nearly all,
    and below a fifth of it nearly nothing. In between it is drawn how many stand out, as
    ``CanonicalAdaptive`` does; how many of k weighted counts find follows from z, the
    support at rank k over the noise in it: that of one basket, times the itemsets of a long one,
    which share its weight.

    Formal guarantees
        epsilon-DP under the relation of the utility, by adaptive composition. ``LOOK_SHARE``
        is for the noisy support at rank k. The rest is for one of three, and which one follows
        from the noisy support and a public number: a ``CanonicalAdaptive``; or
        ``WeightedCounts``; or ``LONG_SHARE`` for the length of a long basket and what is left for
        a ``CanonicalAdaptive``, in which ``WeightedCounts`` with the same epsilon may take
        the place of the set.
        Proof for a long basket. Length n has the score -|20 a - 17 b|, b the number of baskets
        that hold an itemset and a of those that are no longer than n. A basket that comes or
        leaves moves 20 a - 17 b by at most 17, one that is replaced by at most 20; with m baskets
        of a person (`one_sided`) a score moves by at most 20 m. With that as sensitivity
        permute-and-flip is epsilon-DP. [Canonical, Thm A.5]
    """

    epsilon: Real
    k: int
    needed: int
    """A public number."""
    title: ClassVar[str] = "weighted or canonical-adaptive"
    reads_baskets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")

    @property
    def _rest(self) -> Fraction:
        return WeightedOrSelected.rest(self.epsilon)

    @property
    def _for_long(self) -> Fraction:
        return LONG_SHARE * exact("epsilon", self.epsilon)

    def sets(self, *, looked: bool = False) -> CanonicalAdaptive:
        """What draws how many stand out and a set of them; after a look at how long baskets are."""
        return CanonicalAdaptive(self._rest - (self._for_long if looked else 0), self.k)

    def counts(self, *, looked: bool = False) -> WeightedCounts:
        """What may take the place of the whole; of the set alone, after a look."""
        epsilon = self.sets(looked=True).set_of(1).epsilon if looked else self._rest
        return WeightedCounts(epsilon, 0, self.k)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, at most k={self.k}"

    @property
    def ordered(self) -> bool:
        """A set: no order is released."""
        return False

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        sets = self.sets(looked=True)
        looks = (
            promise(Law.EXPONENTIAL, "argmax", relation, epsilon=share)
            for share in (self._for_long, sets._for_length)
        )
        last = either(sets.set_of(1).promise(relation), self.counts(looked=True).promise(relation))
        ways = either(
            self.sets().promise(relation), self.counts().promise(relation), composed(*looks, last)
        )
        return composed(support_promise(self.epsilon, relation), ways)

    def long_scale(self, utility: Utility) -> Fraction:
        """The factor of the scores of lengths of baskets before noise of scale 1."""
        return self._for_long / (2 * _OF * utility.one_sided)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        for looked in (True, False):  # what is not refused here has to be drawn, whichever way
            self.sets(looked=looked).check_public(utility, total)
            self.counts(looked=looked).check(utility, total)
        check_scale(self.long_scale(utility))
        check_support(self.epsilon, utility)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """What decides, and the one that should find more."""
        support = noisy_support(universe, self.k, self.epsilon, utility, tape.child("support"))
        if support >= _SURE * self.needed:
            return self.sets()._draw(universe, utility, tape.child("sets"))
        if _FEWEST * support < self.needed:
            return self.counts().drawn(universe, support, utility, tape.child("counts"))
        mined = in_memory(universe)
        long = self._long(mined.baskets.lengths(), mined.size, utility, tape.child("long"))
        sets = self.sets(looked=True)
        length = sets.length_of(universe, utility, tape.child("length"))
        if self.expected(support, long, mined.size, utility) > length:
            counts = self.counts(looked=True)
            return counts.drawn(universe, support, utility, tape.child("counts"))
        return sets.set_of(length)._draw(universe, utility, tape.child("set"))

    def _long(self, lengths: Integers, size: int, utility: Utility, tape: Tape) -> int:
        scores = long_scores(lengths, size)
        (place,) = noisy_top(scores, tape, Law.EXPONENTIAL, self.long_scale(utility), 1)
        return [length for length in LENGTHS if length >= size][place]

    def expected(self, support: int, long: int, size: int, utility: Utility) -> float:
        """About how many itemsets weighted counts find, by released numbers."""
        noise = self.counts(looked=True).size_of_noise(1, 1, utility) / UNIT
        z = support / (float(noise) * math.comb(long, size))
        return self.k * _BEST * z * z / (_HALF + z * z)


def long_scores(lengths: Integers, size: int) -> Integers:
    """-|20 a - 17 b| for each of the lengths that hold an itemset."""
    holding = np.sort(lengths[lengths >= size])
    asked = [length for length in LENGTHS if length >= size]
    up_to = np.searchsorted(holding, asked, side="right")
    return -np.abs(_OF * up_to - _LONG * len(holding)).astype(np.int64)
