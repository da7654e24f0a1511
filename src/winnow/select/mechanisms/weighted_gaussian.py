"""Labels found in the data, by Gaussian noise on counts in which every person weighs the same."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact, set_counts
from winnow.core.laws import Law
from winnow.core.noisy_top.draw import SMALLEST_SCALE, noisy_top
from winnow.core.noisy_top.integer_noise import GaussianNoise
from winnow.core.noisy_top.universe import Drawn, Universe
from winnow.core.relation import Relation
from winnow.core.spread import GRID, weight
from winnow.core.tape import Tape
from winnow.core.unit import counted
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.privacy import (
    BoundedRange,
    Calibration,
    Compose,
    DiscreteGaussian,
    Event,
    Guarantee,
    Promise,
    Repeat,
    Truncated,
    calibrate,
    promise,
)
from winnow.select.crossing.private_labels import EVERY
from winnow.select.crossing.weighed_labels import ByWeights

Integers = NDArray[np.int64]

FIRST_ROUND = Fraction(1, 3)
"""The part of two rounds that the first one has, of the squared ratio and of the lost mass."""
STAYING = Fraction(3, 2)
"""So many deviations of its noise a label has to weigh in the first round to be in the second. Both
numbers were taken on the logs of ``winnow.select.generated_logs`` (``benchmarks/rounds.py``): two
rounds find 1.3 to 1.5 times as many labels there as one in the mean, and nowhere more than 2 %
fewer. With one deviation they would find 3 % more still, and bring 2.4 times as many names here."""


def _rounds_event(
    ratio: Fraction, peeled: tuple[Fraction, int], lost: Fraction, relation: Relation
) -> Event:
    """Noise on weights, and then rounds of peeling where there are some, up to a lost mass."""
    share, k = peeled
    noise: Event = DiscreteGaussian((1 - share) * ratio, _least_variance(ratio), relation)
    if share:
        noise = Compose((noise, Repeat(BoundedRange(_per_round(ratio, peeled), relation), k)))
    return Truncated(noise, lost)


def _least_variance(ratio: Fraction) -> int:
    """No variance is below this: each is a whole number, and at least GRID^2/ratio."""
    return max(1, math.floor(GRID**2 / ratio))


def _per_round(ratio: Fraction, peeled: tuple[Fraction, int]) -> Fraction:
    """The epsilon of a round of peeling: k e^2/8 is the share of ratio/2, the noise's zCDP."""
    share, k = peeled
    return exact("epsilon", math.sqrt(4 * float(share * ratio) / k))


@lru_cache(maxsize=256)
def _calibrated(
    epsilon: Fraction,
    delta: Fraction,
    peeled: tuple[Fraction, int],
    relation: Relation,
    accountant: str,
) -> Calibration:
    """The largest squared distance over the variances; half of delta is for the threshold."""

    def plan(ratio: float) -> Event:
        return _rounds_event(exact("ratio", ratio), peeled, delta / 2, relation)

    return calibrate(plan, epsilon=epsilon, delta=delta, accountant=accountant)


def tail(least: int, variance: int) -> float:
    """At least Pr[Z >= least] of a discrete Gaussian Z, for ``least`` from 1 on."""
    return 0.5 * math.erfc((least - 1) / math.sqrt(2 * variance)) * (1 + 2.0**-30)


def tail_from_below(least: int, variance: int) -> float:
    """At most Pr[Z >= least] of a discrete Gaussian Z."""
    if least <= 0:
        return 0.5
    within = 0.5 * math.erfc(least / math.sqrt(2 * variance)) * (1 - 2.0**-30)
    return within / (1 + 1 / math.sqrt(2 * math.pi * variance))


@lru_cache(maxsize=256)
def least_passing(
    variance: int, lost: float, most: int, *, spread: bool, staying: int | None = None
) -> int:
    """The least T with t Pr[Z >= T - w_t] <= lost for every number t of new labels of a person.

    Where labels stay from a noisy weight on, the chance is that of one that stays: for every t,
    t Pr[Z >= T - w_t] <= lost Pr[Z >= staying - w_t].
    """
    least = 0
    for labels in range(1, most + 1) if spread else (most,):
        each = weight(labels)
        allowed = lost / labels
        if staying is not None:
            allowed *= tail_from_below(staying - each, variance)
        if least > each and tail(least - each, variance) <= allowed:
            continue
        low, high = each, each + 2 + math.ceil(40 * math.sqrt(variance))
        while high - low > 1:
            middle = (low + high) // 2
            enough = tail(middle - each, variance) <= allowed
            low, high = (low, middle) if enough else (middle, high)
        least = high
    return least


@dataclass(frozen=True)
class WeightedGaussian(ByWeights):
    """Spread each person's weight over their labels, add noise, and release what stands out.

    Of each person at most L labels stay, chosen by a keyed hash of the person's own. Someone with d
    of them adds w_d = floor(GRID/sqrt(d)) to each (where only counts bounded by L are at hand, w_L
    for everybody). Every label there is gets discrete Gaussian noise; those that reach a threshold
    are released, largest noisy weight first. [weighted Gaussian: Gopi et al. 2020]
    With ``rounds=2`` a part of the squared ratio is for a first look at all labels. Those that
    reach its threshold T are released. Of the others only those stay whose noisy weight is C or
    more; everybody spreads their weight over those of their L that stay, for the rest. [the second
    round of MAD2R, Chen et al. 2025, with weights of 0 and 1; DP-SIPS 2023 drops what was released
    alone]
    With ``peel`` a share of it selects k among the released labels, by Gumbel noise on the plain
    counts of people, which no bound cuts. [arXiv 2603.14016]

    Formal guarantees
        The event is discrete Gaussian noise of squared ratio r (with k rounds of bounded range,
        where there is peeling), up to ``delta``/2.

        Proof. d w_d^2 <= GRID^2, so adding a person moves the weights by at most GRID in the l2
        norm; replacing one adds a vector without negative entries and takes another away, so
        |a - b|^2 <= 2 GRID^2. The variance is at least that over r. Labels that only one of two
        neighbours has come from one person: t <= L of them, and each weighs w_d with d >= t, so at
        most w_t. One of them reaches T with probability at most t Pr[Z >= T - w_t] <= delta/2,
        and T is the least for which that holds for every t. Pr[Z >= m] <= Q((m - 1)/s), Q the
        normal tail: the sum of e^(-z^2/2s^2) over z >= m is below its integral from m - 1, and the
        sum over all z is at least s sqrt(2 pi) (Poisson summation). Let P~ and Q~ be the laws on
        the labels that both neighbours have, times the least chance that none of the others
        leaves: they are below P and Q, and differ by the Gaussian mechanism alone.
        In both rounds a person has the same L labels, chosen among all of theirs; to have a label
        means here that it is among these. (Were they chosen anew among what stays, then a label
        that stays because one person chose it would weigh what all others have of it, too.)
        Two rounds: let U be the labels of both neighbours, and let every label of U have noise in
        the first round, around 0 where nobody has it; what nobody has is never released. Let M
        tell which labels of U are released, of those that both neighbours have, and which stay;
        a label that only one of them has stays also where it reaches T. Under M, what stays is
        public in the second round, whose weights are bounded alike: M and then noise on the
        weights of the second round are two Gaussian mechanisms, and what the neighbour without
        the person releases follows from them. What the one with the person releases is the same,
        unless one of the t labels that they alone have reaches a threshold. In the first round
        such a label stays in M, and given that it reaches T with probability Pr[Z >= T - w]
        over Pr[Z >= C - w], w <= w_t its weight: at most lost_1/t by the choice of T, as the
        quotient rises with w (the law of Z is log-concave, so its tails are). Given M, this is
        independent of the labels of both; so is the second round's threshold, given what stays,
        which is passed with probability lost_2 at most. So the law of M and of the second round,
        times (1 - lost_1)(1 - lost_2), is below that of the release; lost_1 + lost_2 = delta/2.
        Peeling: the labels that left are a public universe, in which one person moves every count
        by at most 1 and none down: k rounds of bounded range, composed. [Durfee-Rogers 2019]
        Equal noisy weights are listed in random order: post-processing.
    """

    spread: bool = False
    """Whether the log is at hand, so that a person's weight goes by how many labels they have."""
    rounds: int = 1
    peel: Fraction = Fraction(0)
    """The share of the squared ratio that peeling has."""
    accountant: str = "best"
    title: ClassVar[str] = "weighted-gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        set_counts(self, rounds="rounds")
        if self.max_items is None:
            raise ParameterError("weights need a bound on the labels of a person; give one")
        if self.with_counts:
            raise ParameterError(
                "weighted-gaussian releases no counts of people; use method='truncated-laplace'"
            )
        if self.rounds > 2 or (self.rounds == 2 and not self.spread):
            raise ParameterError(
                "two rounds at most, and only where the log is at hand (wn.counts with person=)"
            )
        if self.accountant == "pure":
            raise ParameterError(
                "weighted-gaussian needs a budget that adds up more than epsilons; open it with "
                "delta= and accountant='zcdp', or use truncated-laplace"
            )

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        most = "all" if self.k == EVERY else f"at most {self.k}"
        items = counted(self.max_items or 0, "label")
        more = ", two rounds" * (self.rounds == 2)
        if self.peel:
            more += f", then peeling with {float(self.peel):g} of the privacy loss"
        kind = "spread weights" if self.spread else "counts"
        return f"{self.title} on {kind}, {most}, {items} per person{more}"

    @property
    def _peeled(self) -> tuple[Fraction, int]:
        return self.peel, self.k if self.peel else 0

    def calibrated(self, relation: Relation) -> Calibration:
        """The squared ratio in all, and the accountant that allows it."""
        epsilon, delta = exact("epsilon", self.epsilon), exact("delta", self.delta)
        return _calibrated(epsilon, delta, self._peeled, relation, self.accountant)

    def _ratio(self, relation: Relation) -> Fraction:
        return exact("ratio", self.calibrated(relation).parameter)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        ratio, lost = self._ratio(relation), exact("delta", self.delta) / 2
        event = _rounds_event(ratio, self._peeled, lost, relation)
        noise = promise(
            "discrete-gaussian",
            "additive-joint",
            relation,
            squared_ratio=ratio,
            least_variance=_least_variance(ratio),
        )
        return Promise(
            event,
            f"weighted Gaussian: Gopi et al. 2020; {noise.citation}; the threshold is proved "
            "beside the mechanism",
            "labels whose weight of people, with noise, reaches the threshold",
        )

    def guarantee(self, promised: Promise) -> Guarantee:
        """(epsilon, delta) by the accountant that sized the noise."""
        return self.calibrated(promised.event.relation).guarantee

    def _part(self, number: int) -> Fraction:
        """What a round, from 0, has of the squared ratio."""
        return (1 - self.peel) * self._share(number)

    def _share(self, number: int) -> Fraction:
        """The part of a round, of all rounds."""
        if self.rounds == 1:
            return Fraction(1)
        return FIRST_ROUND if number == 0 else 1 - FIRST_ROUND

    def variance(self, relation: Relation, number: int = 0) -> int:
        """Of the noise of a round, in steps of weights."""
        moved = relation.people * GRID**2
        return math.ceil(moved / (self._part(number) * self._ratio(relation)))

    def threshold(self, relation: Relation, number: int = 0) -> int:
        """The least noisy weight that is released in a round."""
        lost = exact("delta", self.delta) / 2 * self._share(number)
        below = math.nextafter(float(lost), 0.0)
        variance, most = self.variance(relation, number), self.max_items or 1
        staying = None if self._last(number) else self.staying(relation)
        return least_passing(variance, below, most, spread=self.spread, staying=staying)

    def _last(self, number: int) -> bool:
        return number == self.rounds - 1

    def staying(self, relation: Relation) -> int:
        """The least noisy weight in the first of two rounds that is in the second."""
        return math.isqrt(math.floor(STAYING**2 * self.variance(relation))) + 1

    def level(self, relation: Relation, number: int) -> int:
        """The least noisy weight that a round tells of: released, or in the next one."""
        return self.threshold(relation, number) if self._last(number) else self.staying(relation)

    def people_needed(self, labels: int, relation: Relation) -> float:
        """So many people with so many labels each, of whom a label is found as often as not."""
        most = self.max_items or 1
        each = weight(min(labels, most)) if self.spread else weight(most)
        return min(self.threshold(relation, each_round) / each for each_round in range(self.rounds))

    def check_public(self, utility: Utility, total: int | None) -> None:
        """Refuse what cannot be released, before anything is charged."""
        if utility.one_sided > 1:
            raise ParameterError("weights are for counts of people, which one person moves by 1")
        for number in range(self.rounds):
            scale = Fraction(math.isqrt(self.variance(utility.relation, number)) + 1)
            if not SMALLEST_SCALE < scale < 2**50:
                raise ParameterError("epsilon is too small or too large for weights of 64 bits")

    def among(self, universe: Universe, utility: Utility, tape: Tape, number: int, k: int) -> Drawn:
        """Discrete Gaussian noise on every value, and the level."""
        noise = GaussianNoise(Fraction(self.variance(utility.relation, number)))
        level = self.level(utility.relation, number)
        return universe.noisy_counts(noise, k, tape, level, self._factor)

    @property
    def _factor(self) -> int:
        """Of values that are counts: what every person adds to a label."""
        return 1 if self.spread else weight(self.max_items or 1)

    def epsilon_of_round(self, relation: Relation) -> Fraction:
        """The bounded range of a round of peeling."""
        return _per_round(self._ratio(relation), self._peeled)

    def peeled(self, people: Integers, utility: Utility, tape: Tape) -> list[int]:
        """By Gumbel noise, k rounds of the exponential mechanism at once."""
        if not len(people):
            return []
        scale = self.epsilon_of_round(utility.relation) / utility.width
        return noisy_top(people, tape, Law.GUMBEL, scale, min(self.k, len(people)))

    def _draw(self, universe: Universe, utility: Utility, tape: Tape) -> Drawn:
        """Of one round, for audits: of weights, or of counts where nothing is spread."""
        return Drawn(self.among(universe, utility, tape, 0, self.k).found)
