"""The crossing for itemsets: sealed baskets in, labels of itemsets out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from winnow.core.checks import Real, exact, positive, set_counts
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
from winnow.privacy import Compose, Grant, Guarantee, Promise, guarantee_of, promise
from winnow.privacy.rounding import stated_at_least
from winnow.read.baskets import SealedBaskets
from winnow.select.ranked import RankedSelection

MOST_ITEMS = 4
"""The largest size of an itemset."""


@dataclass(frozen=True)
class FrequentItemsets:
    """A selection over all itemsets of a size, and noisy supports of the winners if asked.

    Formal guarantees
        Those of the selection. With `counts_epsilon` also one discrete Laplace event on the
        winners' supports: one person moves each by at most one_sided and has at most
        max_baskets_per_user C(max_items, size) itemsets, so the l1 sensitivity is the smaller
        of k one_sided and of that (twice that under substitution); `k` is the most that can be
        released. [Canonne-Kamath-Steinke 2020]
    """

    selection: RankedSelection
    size: int
    k: int = 1
    counts_epsilon: Real | None = None

    def __post_init__(self) -> None:
        set_counts(self, size="size", k="k")
        if self.size > MOST_ITEMS:
            raise ParameterError(f"size={self.size} is above {MOST_ITEMS}; give 1 to {MOST_ITEMS}")
        if self.counts_epsilon is not None:
            positive(epsilon=self.counts_epsilon)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        counts = "; supports of the winners with discrete Laplace noise"
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
        total = None
        if not isinstance(baskets.labels, Sealed):
            total = comb(len(baskets.labels), self.size)
            if total == 0:
                raise ParameterError(
                    f"{len(baskets.labels)} items have no itemsets of {self.size}; lower size"
                )
        if baskets.max_items is not None and baskets.max_items < self.size:
            raise ParameterError(
                f"baskets of at most {baskets.max_items} items hold no itemset of {self.size}; "
                "raise max_items or lower size"
            )
        self.selection.check(baskets.utility, total)
        if self.counts_epsilon is not None and not (
            SMALLEST_SCALE < self.noise_scale(baskets) < 2**50
        ):
            raise ParameterError("epsilon is too small or too large for noisy counts of 64 bits")

    def noise_scale(self, baskets: SealedBaskets) -> Fraction:
        """The scale of the noise on supports: l1 sensitivity/epsilon."""
        utility = baskets.utility
        moved: Fraction = self.k * utility.one_sided
        if baskets.max_items is not None:
            own = baskets.max_baskets_per_user * comb(baskets.max_items, self.size)
            moved = min(moved, Fraction(max(1, utility.relation.people * own)))
        if self.counts_epsilon is None:
            raise ValueError("no counts are released")
        return moved / exact("epsilon", self.counts_epsilon)

    @guarded
    def release(self, baskets: SealedBaskets, grant: Grant, tape: Tape) -> Released[list[Any]]:
        """Spend the grant on one draw; the value lists itemsets as tuples of labels."""
        self.check(baskets)
        relation = baskets.utility.relation
        promised = self.promise(relation)
        guarantee = self.guarantee(relation)
        receipt = spend(self.name, promised, grant, tape)
        with np.errstate(all="ignore"):  # a warning about a rounded product would be a leak
            value = self._value(baskets, baskets.utility, tape)
        return Released(value, guarantee, receipt)

    def _value(self, baskets: SealedBaskets, utility: Utility, tape: Tape) -> list[Any]:
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
        scale = self.noise_scale(baskets)
        noise = discrete_laplace_array(tape.child("counts"), len(found), scale)
        noisy = [support + int(z) for (support, _), z in zip(found, noise, strict=True)]
        return list(zip(value, noisy, strict=True))
