"""Peeling: select the best item, take it out, and again, k times."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact, positive, probability, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.filter import Scores
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import (
    BoundedRange,
    Calibration,
    Event,
    Guarantee,
    Promise,
    Repeat,
    Truncated,
    calibrate,
    promise,
)
from winnow.select.crossing.selection import Selection, TopKList, check_known, check_scale
from winnow.select.mechanisms.lipschitz import ExponentialMechanism


@lru_cache(maxsize=256)
def calibrated_rounds(
    epsilon: Fraction,
    delta: Fraction,
    k: int,
    lost: Fraction,
    relation: Relation,
    accountant: str = "best",
) -> Calibration:
    """The largest e for which k rounds of e-bounded range, up to `lost`, meet (epsilon, delta).

    A pure function of public parameters, remembered because releases ask for it repeatedly.
    """

    def plan(e: float) -> Event:
        rounds = Repeat(BoundedRange(e, relation), k)
        return Truncated(rounds, lost) if lost else rounds

    return calibrate(plan, epsilon=epsilon, delta=delta, accountant=accountant)


@dataclass(frozen=True)
class PeelPermuteAndFlip(TopKList):
    """k rounds of permute-and-flip with epsilon/k each, every winner taken out.

    Formal guarantees
        epsilon-DP under the relation of the utility, order included, by composition of k
        rounds of (epsilon/k)-DP. The sensitivity is the utility's `half_width`.
        [Joint, Alg 2 and Lemma 4.1; Canonical, Thm A.5]
    """

    title: ClassVar[str] = "peel-permute-and-flip"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(
            Law.EXPONENTIAL, "peeled-sequence", relation, epsilon=self.epsilon, kappa=self.k
        )

    def scale(self, utility: Utility) -> Fraction:
        """The factor of the scores in every round: (epsilon/k)/(2 half_width)."""
        return exact("epsilon", self.epsilon) / (2 * self.k * utility.half_width)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_known(self.name, self.k, total)
        check_scale(self.scale(utility))

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        return Drawn(universe.peeled(self.scale(utility), self.k, tape))


@lru_cache(maxsize=256)
def _all_rounds(per_round: float, k: int) -> ExponentialMechanism:
    return ExponentialMechanism(exact("epsilon", per_round) * k, kappa=k)


@dataclass(frozen=True)
class PeelGumbel(Selection):
    """k rounds of the exponential mechanism, drawn at once with Gumbel noise (CDP-Peel).

    Formal guarantees
        (epsilon, delta)-DP under the relation of the utility, order included: k rounds of
        e-bounded range, the largest e for which the best of pure, zCDP (with the optimal
        conversion) and tight composition meets (epsilon, delta). One draw of Gumbel(1/e) noise
        equals peeling. [Joint, Alg 3 with Gumbel(1/e) as in the errata; Durfee-Rogers 2019;
        better than Joint's Lemma 4.2, which uses a looser conversion]
    """

    epsilon: Real
    delta: Real
    k: int
    accountant: str = "best"
    """What sizes the rounds: under a budget "pure" or "summed", as it adds up."""
    title: ClassVar[str] = "peel-gumbel"

    def __post_init__(self) -> None:
        positive(epsilon=self.epsilon)
        probability(delta=self.delta)
        set_counts(self, k="k")

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.title}, k={self.k}, epsilon per round {self.calibrated().parameter:.6g}"

    def calibrated(self, relation: Relation = Relation.ADD_REMOVE) -> Calibration:
        """The epsilon of each round, and the accountant that allows it."""
        lost = Fraction(0)
        epsilon, delta = exact("epsilon", self.epsilon), exact("delta", self.delta)
        return calibrated_rounds(epsilon, delta, self.k, lost, relation, self.accountant)

    def _mechanism(self) -> ExponentialMechanism:
        return _all_rounds(self.calibrated().parameter, self.k)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return self._mechanism().promise(relation)

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self._mechanism().check_public(utility, total)

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        return self._mechanism()._draw(universe, utility, tape)

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws on public or made-up scores, all at once: a row of positions each."""
        return self._mechanism().simulate(scores, utility, draws, seed)

    def guarantee(self, promised: Promise) -> Guarantee:
        """(epsilon, delta) by the accountant that sized the rounds."""
        return self.calibrated(promised.event.relation).guarantee
