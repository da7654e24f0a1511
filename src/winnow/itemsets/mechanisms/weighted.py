"""Weighted counts: every basket has the same limited weight, and all itemsets get noise at once.

Selections look at supports, of which one basket moves hundreds; so they pay for each itemset that
they release. Here a basket spreads a limited weight over its itemsets, and the noise depends on
that weight alone, however long the list is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.baskets import Baskets
from winnow.core.checks import Real, exact, positive, probability, set_counts
from winnow.core.noise import discrete_gaussian_array, discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.noisy_top.grid import largest
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.kernels.weights import (
    LONGEST,
    UNIT,
    item_counts,
    itemset_at,
    itemset_counts,
)
from winnow.itemsets.mechanisms.passing import least_threshold
from winnow.itemsets.mechanisms.support import (
    added_up,
    check_support,
    composed,
    noisy_support,
    support_promise,
)
from winnow.privacy import (
    Calibration,
    Compose,
    DiscreteGaussian,
    Event,
    Guarantee,
    Promise,
    Truncated,
    calibrate,
    guarantee_of,
    promise,
)
from winnow.privacy.rounding import at_most
from winnow.select.crossing.selection import Pick, check_known, check_size
from winnow.select.methods import LOOK_SHARE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

ITEM_SHARE, PRIVATE_ITEM_SHARE = Fraction(1, 8), Fraction(1, 5)
"""The part of the rest for the items; private ones have to pass a threshold."""
BLUR = 0.06
"""The noise that a larger weight of baskets may have, as a share of the support at the end of the
list: more weight bends the order less and is noisier."""
MOST_SHARES = 1024
"""Of the weight of a basket: the finest grid."""
MOST_ITEMSETS = 1 << 20
"""So many itemsets are counted; of more, those of the items that seem the most frequent."""


@lru_cache(maxsize=64)
def _calibrated(
    epsilon: Fraction, delta: Fraction, private: bool, relation: Relation, accountant: str
) -> Calibration:
    """The largest sum of squared distances over the variances."""

    def plan(ratio: float) -> Event:
        return gaussian_event(exact("ratio", ratio), delta, private, relation)

    return calibrate(plan, epsilon=epsilon, delta=delta, accountant=accountant)


def least_variance(ratio: Fraction) -> int:
    """No variance is below this: each is a whole number, and at least UNIT^2/ratio."""
    return max(1, math.floor(UNIT**2 / ratio))


def gaussian_event(ratio: Fraction, delta: Fraction, private: bool, relation: Relation) -> Event:
    """Items and itemsets together; up to half of delta where items have to pass a threshold."""
    noise = DiscreteGaussian(ratio, least_variance(ratio), relation)
    return Truncated(noise, delta / 2) if private else noise


@dataclass(frozen=True)
class WeightedCounts:
    """Items with noise, then all itemsets of the likely ones with noise: the k largest.

    A basket of n items adds 1/n to each of its items. Noisy, these say how likely an item is.
    Then it adds to each of its itemsets the share  min(1, t v/V),  v the product of what its
    items are likely, V the sum of v over its itemsets: t in all, or less. With a delta what
    is added are the square roots of these shares. t grows with the support at the end of the list,
    as it was released before, so that the noise stays below ``BLUR`` of it.

    Formal guarantees
        Of the released list, its order included, given the noisy support that sizes t. Let one
        person have at most m baskets (`one_sided`), c = 1 under add/remove and 2 under
        substitution; all weights are whole multiples of 1/UNIT, cut so that a basket never adds
        more than t (squares: t).
        Without a delta epsilon-DP: neighbours move the items by at most c m in the l1 norm, and
        the itemsets by c m t, since m baskets leave or come. Discrete Laplace noise of
        c m/(share epsilon) and of c m t/(rest epsilon) on them: c measurements each, of what
        comes and of what leaves, in other numbers once they are netted.
        [Canonne-Kamath-Steinke 2020]
        With a delta the event is discrete Gaussian noise: one person adds a vector without
        negative entries of l2 norm at most m (of the itemsets m sqrt(t)), and the difference of
        two such vectors a, b has |a - b|^2 <= |a|^2 + |b|^2, so neighbours move them by sqrt(c) m
        and sqrt(c t) m; each part's share of the squared ratio is fixed beforehand.
        Private items leave only where their noisy count reaches the threshold T, the least with
        n q(T - m w_n) + (m - 1) L q(T) <= d for every n up to L, the smaller one of LONGEST and
        ``max_items``; w_n is what a basket of n items adds to each, nothing from n = L + 1 on, q(x)
        >= Pr[Z >= x] for the noise Z (``tail``), and d = delta/2. L is public, and ``longest`` both
        sizes T and ends what is added: the proof needs no promise that baskets are that short.
        Items that only one of two neighbours has come from one person, with baskets of n_1 .. n_m
        items. Of those with n_j > L nothing is added, and an item without any weight stays inside,
        whatever its noise: let n_j <= L. An item that is in the baskets J weighs the sum of
        w_(n_j) over J: the mean over all m baskets of m w_(n_j) for j in J and of 0 for the
        others. q is convex, so it reaches T with a probability of at most the mean of
        q(T - m w_(n_j)), or q(T). Summed over the items, of which n_j are in basket j and at most
        (m - 1) L in others only, that is at most d.
        With P~ and Q~ as in ``StabilityThreshold`` the event holds up to d. Which items, how
        likely, and t are public then: the itemsets of those items are a public universe.
    """

    epsilon: Real
    delta: Real
    k: int
    private: bool = False
    accountant: str = "best"
    max_items: int | None = None
    """The most items of a basket, a public number; None: not bounded."""

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")
        if exact("delta", self.delta) != 0:
            probability(delta=self.delta)
            if self.accountant == "pure":
                raise ParameterError(
                    "weighted with a delta needs a budget that adds up more than epsilons; open "
                    "it with delta= and accountant='zcdp', or leave out delta"
                )
        elif self.private:
            raise ParameterError("private items need a delta; give one, such as 1e-6, or items=")

    @property
    def squares(self) -> bool:
        """Whether weights are bounded in the l2 norm, for Gaussian noise."""
        return exact("delta", self.delta) != 0

    @property
    def longest(self) -> int:
        """Baskets of more items add nothing to any item."""
        return LONGEST if self.max_items is None else min(LONGEST, self.max_items)

    def _parts(self) -> tuple[Fraction, Fraction]:
        items = PRIVATE_ITEM_SHARE if self.private else ITEM_SHARE
        return items, 1 - items

    def calibrated(self, relation: Relation) -> Calibration:
        """The squared ratio with a delta, and the accountant that allows it."""
        epsilon, delta = exact("epsilon", self.epsilon), exact("delta", self.delta)
        return _calibrated(epsilon, delta, self.private, relation, self.accountant)

    def squared_ratio(self, relation: Relation) -> Fraction:
        """What the squared distances over the variances add up to, at most."""
        return exact("ratio", self.calibrated(relation).parameter)

    def promise(self, relation: Relation) -> Promise:
        """What it is charged, and why."""
        if not self.squares:
            parts = [
                promise(
                    "discrete-laplace",
                    "additive",
                    relation,
                    noise_multiplier=1 / (part * exact("epsilon", self.epsilon)),
                    moved=relation.people,
                )
                for part in self._parts()
            ]
            whole = Compose(tuple(part.event for part in parts))
            return Promise(whole, parts[0].citation, parts[0].statement)
        ratio = self.squared_ratio(relation)
        noise = promise(
            "discrete-gaussian",
            "additive-joint",
            relation,
            squared_ratio=ratio,
            least_variance=least_variance(ratio),
        )
        event = gaussian_event(ratio, exact("delta", self.delta), self.private, relation)
        known = "; private items by a threshold: proved beside the mechanism" * self.private
        return Promise(event, noise.citation + known, noise.statement)

    def guarantee(self, relation: Relation) -> Guarantee:
        """(epsilon, delta) by the accountant that sized the noise."""
        if not self.squares:
            return guarantee_of(self.promise(relation).event)
        return self.calibrated(relation).guarantee

    def size_of_noise(self, part: int, shares: int, utility: Utility) -> Fraction:
        """Of items (part 0) or itemsets (part 1): the scale, or the variance with a delta."""
        people, m = utility.relation.people, utility.one_sided
        share = self._parts()[part]
        if not self.squares:
            return people * m * UNIT * shares / (share * exact("epsilon", self.epsilon))
        moved = people * (m * UNIT) ** 2 * shares
        return Fraction(math.ceil(moved / (share * self.squared_ratio(utility.relation))))

    def deviation(self, part: int, shares: int, utility: Utility) -> float:
        """About the standard deviation of the noise, in units of weights."""
        size = float(self.size_of_noise(part, shares, utility))
        return math.sqrt(size) if self.squares else math.sqrt(2) * size

    def shares_for(self, support: int, utility: Utility) -> int:
        """t: the weight that a basket has, by the noisy support at the end of the list."""
        times = BLUR * support * UNIT / self.deviation(1, 1, utility)
        wanted = times**2 if self.squares and times > 0 else times
        return int(min(MOST_SHARES, max(1.0, wanted)))

    def threshold(self, utility: Utility) -> int:
        """The least noisy count with which a private item leaves."""
        variance = int(self.size_of_noise(0, 1, utility))
        lost = at_most(exact("delta", self.delta) / 2)
        return least_threshold(variance, lost, math.ceil(utility.one_sided), self.longest)

    def check(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        if not self.private:
            check_known(WeightedItemsets.title, self.k, total)
        check_size(self.k, total)
        if self.k > MOST_ITEMSETS:
            raise ParameterError(f"k={self.k} is above {MOST_ITEMSETS}; ask for a shorter list")
        large = self.size_of_noise(1, MOST_SHARES, utility)
        most = 2**100 if self.squares else 2**50
        if not SMALLEST_SCALE < self.size_of_noise(0, 1, utility) <= large < most:
            raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")

    def drawn(self, universe: Universe, support: int, utility: Utility, tape: Tape) -> Drawn:
        """The list; ``support`` was released."""
        mined = in_memory(universe)
        baskets, size = mined.baskets, mined.size
        keep, likely = self.items(baskets, size, utility, tape.child("items"))
        if int(keep.sum()) < size:
            return Drawn([])
        shares = self.shares_for(support, utility)
        noisy = self.noisy_itemsets(baskets, keep, likely, size, shares, utility, tape)
        codes = np.flatnonzero(keep)
        found = []
        for place in largest(noisy, min(self.k, len(noisy))).tolist():
            itemset = tuple(int(codes[item]) for item in itemset_at(place, size))
            found.append((mined.support(itemset), itemset))
        return Drawn(found)

    def items(
        self, baskets: Baskets, size: int, utility: Utility, tape: Tape
    ) -> tuple[NDArray[np.bool_], Floats]:
        """The items that take part, and how likely these are."""
        counts = item_counts(baskets, squares=self.squares, longest=self.longest)
        noisy = counts + self._noise(0, 1, len(counts), utility, tape)
        keep = np.ones(len(counts), np.bool_)
        if self.private:
            keep = (counts > 0) & (noisy >= self.threshold(utility))
        most = _most_items(size)
        if int(keep.sum()) > most:
            best = np.flatnonzero(keep)[largest(noisy[keep], most)]
            keep = np.zeros(len(counts), np.bool_)
            keep[best] = True
        lowest = max(1.0, self.deviation(0, 1, utility))
        likely = np.maximum(noisy[keep].astype(np.float64), lowest)
        return keep, np.maximum(likely / likely.max(initial=1.0), 2.0**-20)

    def noisy_itemsets(
        self,
        baskets: Baskets,
        keep: NDArray[np.bool_],
        likely: Floats,
        size: int,
        shares: int,
        utility: Utility,
        tape: Tape,
    ) -> Integers:
        """The weighted counts of all itemsets with noise, by their places."""
        counts = itemset_counts(baskets, keep, likely, size, shares, self.squares)
        return counts + self._noise(1, shares, len(counts), utility, tape.child("itemsets"))

    def _noise(self, part: int, shares: int, many: int, utility: Utility, tape: Tape) -> Integers:
        draw = discrete_gaussian_array if self.squares else discrete_laplace_array
        return draw(tape, many, self.size_of_noise(part, shares, utility))


def in_memory(universe: Universe) -> ItemsetRanks:
    """The universe of itemsets with its baskets."""
    if not isinstance(universe, ItemsetRanks):
        raise TypeError("weighted counts are taken of baskets in memory")
    return universe


@lru_cache(maxsize=8)  # for single items it counts a million steps
def _most_items(size: int) -> int:
    """The most items that have no more than ``MOST_ITEMSETS`` itemsets."""
    most = size
    while math.comb(most + 1, size) <= MOST_ITEMSETS:
        most += 1
    return most


@dataclass(frozen=True)
class WeightedItemsets(Pick):
    """A noisy support sizes the weight of a basket, then weighted counts with noise.

    Formal guarantees
        ``LOOK_SHARE`` of epsilon for the support at rank k, with discrete Laplace noise, and
        (epsilon, delta) of the rest for the ``WeightedCounts``, by adaptive composition.
    """

    epsilon: Real
    k: int
    delta: Real = 0
    private: bool = False
    accountant: str = "best"
    max_items: int | None = None
    title: ClassVar[str] = "weighted"
    reads_baskets: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        set_counts(self, k="k")
        self.counts()

    def counts(self) -> WeightedCounts:
        """What the rest of epsilon is for."""
        rest = (1 - LOOK_SHARE) * exact("epsilon", self.epsilon)
        return WeightedCounts(
            rest, self.delta, self.k, self.private, self.accountant, self.max_items
        )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        noise = "Gaussian" if self.counts().squares else "Laplace"
        return f"{self.title}, k={self.k}, discrete {noise} noise"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return composed(support_promise(self.epsilon, relation), self.counts().promise(relation))

    def guarantee(self, promised: Promise) -> Guarantee:
        """The two guarantees added up."""
        relation = promised.event.relation
        return added_up(self.epsilon, self.counts().guarantee(relation))

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.counts().check(utility, total)
        check_support(self.epsilon, utility)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """The support, and the list."""
        support = noisy_support(universe, self.k, self.epsilon, utility, tape.child("support"))
        return self.counts().drawn(universe, support, utility, tape.child("counts"))
