"""Itemset selections that are wrong on purpose. Reachable from audits only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.audit.basket_model import HELD, PAIRS, BasketsModel, OnBaskets
from winnow.audit.neighbours import Declared, counts
from winnow.audit.probabilities import Model
from winnow.domain.checks import exact
from winnow.domain.neighbours import Relation
from winnow.domain.utility import Utility
from winnow.kernels.ranked import ExplicitRanks
from winnow.mechanisms.ranked_selection import RankedNoisyMax
from winnow.privacy import Promise
from winnow.random.laws import Law
from winnow.random.tape import Tape

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True)
class BrokenBasketTwin:
    """What is broken, the broken selection, the honest one, and how often it is drawn."""

    fault: str
    broken: OnBaskets
    honest: OnBaskets
    declared: Declared
    draws: int


@dataclass(frozen=True)
class BrokenOneBasket(OnBaskets):
    """BROKEN: claims half of its epsilon, as if nobody had a second basket."""

    def promise(self, relation: Relation) -> Promise:
        """The promise of twice the noise."""
        assert isinstance(self.inner, RankedNoisyMax)
        half = replace(self.inner, epsilon=exact("epsilon", self.inner.epsilon) / 2)
        return half.promise(relation)


@dataclass(frozen=True)
class BrokenOnlySeen(OnBaskets):
    """BROKEN: draws among the pairs that some basket holds, as if these were public."""

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """The zero block is left out, unless there is nothing else."""
        supports = np.asarray(scores, np.int64) @ HELD
        there = np.flatnonzero(supports > 0) if supports.any() else np.arange(len(PAIRS))
        root, rows = Tape.seeded(seed), np.empty((draws, 1), np.int64)
        for draw in range(draws):
            ranked = ExplicitRanks(supports[there])
            ((_, place),) = self.inner.draw(ranked, utility, root.child(f"draw-{draw}"))
            rows[draw] = there[place]
        return rows

    def model(self, utility: Utility) -> Model:
        """Exact, with the same fault."""
        return _OnlySeenModel(self._of_supports(utility), False)


@dataclass(frozen=True)
class _OnlySeenModel(BasketsModel):
    def log_probabilities(self, scores: Scores) -> Floats:
        supports = np.asarray(scores, np.int64) @ HELD
        logs = super().log_probabilities(scores)
        logs[(supports == 0) & supports.any(axis=1, keepdims=True)] = -np.inf
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True), np.float64)


def broken_on_baskets() -> list[BrokenBasketTwin]:
    """One twin for each way in which baskets are more than counts."""
    one = counts(Relation.ADD_REMOVE)
    two = Declared("people with up to two baskets", Relation.ADD_REMOVE, 2, monotone=True)
    exponential = RankedNoisyMax(1.0, Law.GUMBEL)
    return [
        BrokenBasketTwin(
            "only itemsets that occur are candidates",
            BrokenOnlySeen(exponential),
            OnBaskets(exponential),
            one,
            400,
        ),
        BrokenBasketTwin(
            "the second basket of a person is forgotten",
            BrokenOneBasket(RankedNoisyMax(Fraction(8), Law.GUMBEL)),
            OnBaskets(RankedNoisyMax(Fraction(4), Law.GUMBEL)),
            two,
            0,
        ),
    ]
