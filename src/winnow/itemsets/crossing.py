"""The crossing for itemsets: sealed baskets in, labels of itemsets out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from winnow.core.checks import Real, exact, positive, set_counts
from winnow.core.frames import CountedItems
from winnow.core.mechanism import spend
from winnow.core.noise import discrete_laplace_array
from winnow.core.noisy_top.draw import SMALLEST_SCALE
from winnow.core.opening import open_sealed
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.sealed import Sealed
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.rules import ItemsetSupports, subsets_of
from winnow.privacy import Compose, Grant, Guarantee, Promise, guarantee_of, promise
from winnow.privacy.rounding import stated_at_least
from winnow.read.baskets import SealedBaskets
from winnow.select.ranked import RankedSelection

MOST_ITEMS = 4
"""The largest size of an itemset."""


def universe(baskets: SealedBaskets, size: int) -> int | None:
    """How many itemsets of this size the public items have; None: the items are private."""
    if isinstance(baskets.labels, Sealed):
        return None
    total = comb(len(baskets.labels), size)
    if total == 0:
        raise ParameterError(f"{len(baskets.labels)} items have no itemsets of {size}; lower size")
    return total


@dataclass(frozen=True)
class FrequentItemsets:
    """A selection over all itemsets of a size, and noisy supports of the winners if asked.

    Formal guarantees
        Those of the selection. With `counts_epsilon` also one discrete Laplace event on the
        winners' supports: one person moves each by at most one_sided and has at most
        max_baskets_per_user C(max_items, size) itemsets, so the l1 sensitivity is the smaller
        of k one_sided and of that (twice that under substitution); `k` is the most that can be
        released. [Canonne-Kamath-Steinke 2020]
        With `subsets` the supports of all subsets of the winners are measured by the same
        event, the number of baskets among them (the empty set). Which these are follows from
        what is released, so their number t is public when the noise is scaled: the l1
        sensitivity is the smaller of t one_sided and of max_baskets_per_user times the sum of
        C(max_items, j) over j = 0 .. size, twice that under substitution.
    """

    selection: RankedSelection
    size: int
    k: int = 1
    counts_epsilon: Real | None = None
    subsets: bool = False

    def __post_init__(self) -> None:
        set_counts(self, size="size", k="k")
        if self.size > MOST_ITEMS:
            raise ParameterError(f"size={self.size} is above {MOST_ITEMS}; give 1 to {MOST_ITEMS}")
        if self.counts_epsilon is not None:
            positive(epsilon=self.counts_epsilon)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        whose = "the winners and their subsets" if self.subsets else "the winners"
        counts = f"; supports of {whose} with discrete Laplace noise"
        return f"{self.selection.name}; itemsets of {self.size}" + (
            counts if self.counts_epsilon is not None else ""
        )

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        first = self.selection.promise(relation)
        if self.counts_epsilon is None:
            return first
        multiplier = 1 / exact("epsilon", self.counts_epsilon)
        second = promise("discrete-laplace", "additive", relation, noise_multiplier=multiplier)
        return Promise(
            Compose((first.event, second.event)),
            f"{first.citation}; counts: {second.citation}",
            f"{first.statement} {second.statement}",
        )

    def guarantee(self, relation: Relation) -> Guarantee:
        """What the release states about itself."""
        first = self.selection.guarantee(self.selection.promise(relation))
        if self.counts_epsilon is None:
            return first
        together = guarantee_of(self.promise(relation).event, first.delta)
        total = exact("epsilon", first.epsilon) + exact("epsilon", self.counts_epsilon)
        if total >= exact("epsilon", together.epsilon):
            return together
        return Guarantee(stated_at_least(total), first.delta, relation, together.rho)

    def check(self, baskets: SealedBaskets) -> None:
        """Refuse what cannot be released, before anything is charged."""
        total = universe(baskets, self.size)
        if baskets.max_items is not None and baskets.max_items < self.size:
            raise ParameterError(
                f"baskets of at most {baskets.max_items} items hold no itemset of {self.size}; "
                "raise max_items or lower size"
            )
        self.selection.check(baskets.utility, total)
        if self.counts_epsilon is not None and not (
            self.noise_scale(baskets, 1) > SMALLEST_SCALE
            and self.noise_scale(baskets, self._most_numbers()) < 2**50
        ):
            raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")

    def _most_numbers(self) -> int:
        """The most supports that are measured."""
        return self.k * (2**self.size - 1) + 1 if self.subsets else self.k

    def noise_scale(self, baskets: SealedBaskets, numbers: int) -> Fraction:
        """The scale of the noise on so many supports: l1 sensitivity/epsilon."""
        utility = baskets.utility
        moved: Fraction = numbers * utility.one_sided
        if baskets.max_items is not None:
            sizes = range(self.size + 1) if self.subsets else (self.size,)
            own = baskets.max_baskets_per_user * sum(comb(baskets.max_items, j) for j in sizes)
            moved = min(moved, Fraction(max(1, utility.relation.people * own)))
        if self.counts_epsilon is None:
            raise ValueError("no counts are released")
        return moved / exact("epsilon", self.counts_epsilon)

    @guarded
    def release(self, baskets: SealedBaskets, grant: Grant, tape: Tape) -> Released[Any]:
        """Spend the grant on one draw; the value lists itemsets as tuples of labels.

        With `subsets` it is an ``ItemsetSupports``.
        """
        self.check(baskets)
        relation = baskets.utility.relation
        promised = self.promise(relation)
        guarantee = self.guarantee(relation)
        receipt = spend(self.name, promised, grant, tape)
        with np.errstate(all="ignore"):  # a warning about a rounded product would be a leak
            value = self._value(baskets, baskets.utility, tape)
        return Released(value, guarantee, receipt)

    def _value(self, baskets: SealedBaskets, utility: Utility, tape: Tape) -> Any:
        known = not isinstance(baskets.labels, Sealed)
        ranked = ItemsetRanks(open_sealed(baskets.data), self.size, known_items=known)
        found = self.selection.draw(ranked, utility, tape.child("selection"))
        if not self.selection.ordered:
            found.sort(key=lambda pair: tuple(pair[1]))  # the order of the items
        labels = baskets.labels
        names = open_sealed(labels) if isinstance(labels, Sealed) else labels
        value: list[Any] = [tuple(names[code] for code in itemset) for _, itemset in found]
        if self.counts_epsilon is None:
            return value
        if not self.subsets:
            supports = [support for support, _ in found]
            noisy = self._noisy(supports, self.noise_scale(baskets, self.k), tape)
            return CountedItems(zip(value, noisy, strict=True))
        asked = subsets_of([itemset for _, itemset in found])
        scale = self.noise_scale(baskets, len(asked))
        noisy = self._noisy([ranked.support(itemset) for itemset in asked], scale, tape)
        named = [tuple(names[code] for code in itemset) for itemset in asked]
        return ItemsetSupports(tuple(value), dict(zip(named, noisy, strict=True)), float(scale))

    def _noisy(self, supports: list[int], scale: Fraction, tape: Tape) -> list[int]:
        noise = discrete_laplace_array(tape.child("counts"), len(supports), scale)
        return [support + int(z) for support, z in zip(supports, noise, strict=True)]
