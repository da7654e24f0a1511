"""Noisy counts with Gaussian noise, which grows with the square root of a person's items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from winnow.core.checks import Real, exact, probability
from winnow.core.noisy_top.integer_noise import GaussianNoise
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import Calibration, Event, Gaussian, Guarantee, Promise, calibrate, promise
from winnow.select.crossing.private_labels import check_noise
from winnow.select.crossing.selection import check_known
from winnow.select.mechanisms.noisy_counts import CountsWithNoise


@lru_cache(maxsize=256)
def calibrated_noise(
    epsilon: Fraction, delta: Fraction, relation: Relation, accountant: str = "best"
) -> Calibration:
    """The inverse of the least standard deviation for a sensitivity of 1 in the l2 norm."""

    def noise(inverse: float) -> Event:
        return Gaussian(1 / exact("noise", inverse), relation)

    return calibrate(noise, epsilon=epsilon, delta=delta, accountant=accountant)


@dataclass(frozen=True)
class GaussianCounts(CountsWithNoise):
    """Add discrete Gaussian noise to every count and list the k largest.

    For counts to which one person contributes at most `max_items` ones, where a delta
    is allowed. The noise grows with sqrt(L), whatever k is; that of Laplace grows with L, that of
    peeling with sqrt(k). The noisy counts of the winners may be released at no further cost.

    Formal guarantees
        (epsilon, delta)-DP under the relation of the utility, order and noisy counts included:
        adding a person moves at most L counts by at most one_sided each, so the l2 sensitivity
        is sqrt(L) one_sided; replacing a person moves up to 2 L counts, so it is sqrt(2 L)
        one_sided there. Counts move by whole numbers. The variance is a whole number, and no
        smaller than the calibrated one. [Canonne-Kamath-Steinke 2020; (epsilon, delta) by the
        best accountant: Dong-Roth-Su 2022, proved beside it]
        Equal noisy counts are listed in random order, wherever the counts are: post-processing.
    """

    delta: Real = 1e-6
    accountant: str = "best"
    """What sizes the noise: under a budget "summed", as it adds up."""
    title: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        probability(delta=self.delta)
        if self.accountant == "pure":
            raise ParameterError(
                "gaussian needs a budget that adds up more than epsilons; open it with delta= and "
                "accountant='zcdp', or use laplace"
            )

    def calibrated(self, relation: Relation = Relation.ADD_REMOVE) -> Calibration:
        """The inverse noise, and the accountant that allows it."""
        epsilon, delta = exact("epsilon", self.epsilon), exact("delta", self.delta)
        return calibrated_noise(epsilon, delta, relation, self.accountant)

    def _multiplier(self, relation: Relation) -> Fraction:
        return 1 / exact("noise", self.calibrated(relation).parameter)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        multiplier = self._multiplier(relation)
        return promise("discrete-gaussian", "additive", relation, noise_multiplier=multiplier)

    def guarantee(self, promised: Promise) -> Guarantee:
        """(epsilon, delta) by the accountant that sized the noise."""
        return self.calibrated(promised.event.relation).guarantee

    def variance(self, utility: Utility) -> int:
        """Of the noise: the squared l2 sensitivity by the squared multiplier, rounded up.

        Whole counts move by 1 or not at all, so that a smaller sensitivity counts as 1.
        """
        moved = utility.relation.people * self.max_items * utility.one_sided**2
        return math.ceil(max(Fraction(1), moved) * self._multiplier(utility.relation) ** 2)

    def deviation(self, utility: Utility) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(self.variance(utility))

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_known(self.name, self.k, total)
        check_noise(Fraction(math.isqrt(self.variance(utility)) + 1))

    def noise(self, utility: Utility) -> GaussianNoise:
        """Discrete Gaussian noise."""
        return GaussianNoise(Fraction(self.variance(utility)))
