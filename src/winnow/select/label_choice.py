"""Which way to find private labels: by how many it is expected to find in generated logs.

No private number takes part: thresholds and noise follow from public ones, and what a log would
hold is a formula. Noise for a delta is sized by zero-concentrated DP here, which is quick, and by
the accountant of the release when it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from winnow.core.checks import exact
from winnow.core.spread import GRID, weight
from winnow.errors import ParameterError
from winnow.privacy import zcdp_rho
from winnow.select.about import AboutScores
from winnow.select.generated_logs import Log, generated_logs
from winnow.select.label_methods import (
    OF_LABELS,
    OptimalRule,
    TruncatedLaplace,
    WeightedGaussian,
)
from winnow.select.mechanisms.optimal_rule import chances
from winnow.select.mechanisms.truncated_laplace import least_edge
from winnow.select.mechanisms.weighted_gaussian import FIRST_ROUND, STAYING, least_passing
from winnow.select.methods import Sizes
from winnow.select.top_k_methods import PrivateLabelsMethod

Floats = NDArray[np.float64]
_LEAST_RHO = 1e-90
"""Noise for less is beyond what can be drawn, and is refused when it is sized."""
ENOUGH = 1.0
"""Logs in which the best way is expected to find less than a label say nothing about ways."""


@dataclass(frozen=True)
class WeightNoise:
    """Noise and threshold of weights, in people of one label."""

    deviation: float
    threshold: float
    most: int
    spread: bool
    staying: float = -math.inf
    """From here on a label is in the next round."""

    @classmethod
    def sized(
        cls,
        about: AboutScores,
        sizes: Sizes,
        most: int,
        share: float,
        lost: float,
        spread: bool,
        staying: float | None = None,
    ) -> WeightNoise:
        """With a share of the privacy loss, and so much of delta for the threshold.

        ``staying`` is in deviations.
        """
        people = about.relation.people
        rho = max(
            _LEAST_RHO, share * float(zcdp_rho(sizes.epsilon, exact("delta", sizes.delta) / 2))
        )
        variance = math.ceil(people * GRID**2 / (2 * rho))
        least = None if staying is None else math.ceil(staying * math.sqrt(variance))
        threshold = least_passing(variance, lost, most, spread=spread, staying=least)
        stays = -math.inf if least is None else least / GRID
        return cls(math.sqrt(variance) / GRID, threshold / GRID, most, spread, stays)

    def weights(self, log: Log, left: Floats | None = None) -> Floats:
        """What labels weigh."""
        if self.spread:
            return log.weights(self.most, left)
        return log.counts(self.most) * weight(self.most) / GRID

    def above(self, weights: Floats, level: float = -math.inf) -> Floats:
        """The chance of each weight to be at a level or above, and to pass the threshold."""
        beyond = weights - max(level, self.threshold)
        return np.asarray(ndtr(beyond / self.deviation), np.float64)

    def passing(self, log: Log, left: Floats | None = None) -> Floats:
        """The chance of each label to pass the threshold."""
        return self.above(self.weights(log, left))

    def chances(self, log: Log) -> tuple[Floats, Floats]:
        """The chance of each label to pass the threshold, and to be in the next round alone."""
        weights = self.weights(log)
        passing = self.above(weights)
        stays = np.asarray(ndtr((weights - self.staying) / self.deviation), np.float64)
        return passing, stays - passing


def in_rounds(
    about: AboutScores,
    sizes: Sizes,
    most: int,
    rounds: int,
    share: float = 1.0,
    *,
    first: float = float(FIRST_ROUND),
    staying: float | None = float(STAYING),
) -> list[WeightNoise]:
    """The noise of every round, which have a share of the privacy loss together."""
    lost = float(exact("delta", sizes.delta)) / 2
    if rounds == 1:
        return [WeightNoise.sized(about, sizes, most, share, lost, about.weighed)]
    return [
        WeightNoise.sized(about, sizes, most, share * first, first * lost, True, staying),
        WeightNoise.sized(about, sizes, most, share * (1 - first), (1 - first) * lost, True),
    ]


def found_by_gaussian(made: Sequence[WeightNoise]) -> Callable[[Log], float]:
    """How many labels weighted Gaussian noise is expected to find, in one round or two."""

    def found(log: Log) -> float:
        if len(made) == 1:
            return float(made[0].passing(log) @ log.sizes)
        passing, left = made[0].chances(log)
        return float((passing + left * made[1].passing(log, left)) @ log.sizes)

    return found


def found_by_laplace(about: AboutScores, sizes: Sizes, most: int) -> Callable[[Log], float]:
    """How many labels truncated Laplace noise is expected to find."""
    moved = about.relation.people * most
    scale = moved / float(sizes.epsilon)
    edge = least_edge(scale, float(exact("delta", sizes.delta)) / moved)
    return lambda log: float(truncated_above(log.counts(most), edge, scale) @ log.sizes)


def found_by_rule(about: AboutScores, sizes: Sizes) -> Callable[[Log], float]:
    """How many labels the optimal rule is expected to find, of people with one each."""
    people = about.relation.people
    epsilon, delta = exact("epsilon", sizes.epsilon), exact("delta", sizes.delta)
    rule, bits = chances(epsilon / people, delta / people)
    by_people = np.array([Fraction(each, 1 << bits) for each in rule], np.float64)
    return lambda log: float(
        np.interp(log.counts(1), np.arange(len(by_people)), by_people) @ log.sizes
    )


def laplace_above(lead: Floats, scale: float) -> Floats:
    """The chance that Laplace noise does not take away a lead."""
    tail = 0.5 * np.exp(-np.abs(lead) / scale)
    return np.asarray(np.where(lead >= 0, 1 - tail, tail), np.float64)


def truncated_above(counts: Floats, edge: int, scale: float) -> Floats:
    """The chance that counts with noise of at most ``edge`` are above it."""
    lost = laplace_above(np.array([-float(edge)]), scale)[0]
    above = np.maximum(0.0, laplace_above(counts - edge, scale) - lost)
    return np.asarray(above / (1 - 2 * lost), np.float64)


def mean_losses(ways: Mapping[str, Callable[[Log], float]], least: float) -> dict[str, float]:
    """What each way loses against the best of a log, in the mean over those with enough to find."""
    recalls = np.array([[way(log) for way in ways.values()] for log in generated_logs()])
    best = recalls.max(axis=1)
    some = best >= least
    if not some.any():  # nothing is found anywhere: what comes nearest
        some = best > 0
    if not some.any():
        return dict.fromkeys(ways, 0.0)
    losses = 1 - recalls[some] / best[some, None]
    return dict(zip(ways, losses.mean(axis=0).tolist(), strict=True))


def best_rounds(about: AboutScores, sizes: Sizes, most: int) -> int:
    """One round or two, by the labels that they are expected to find."""
    if not about.weighed or not about.names_travel:
        return 1
    ways = {
        str(rounds): found_by_gaussian(in_rounds(about, sizes, most, rounds)) for rounds in (1, 2)
    }
    losses = mean_losses(ways, ENOUGH)
    return 2 if losses["2"] < losses["1"] else 1


def chosen_for_labels(about: AboutScores, sizes: Sizes) -> tuple[PrivateLabelsMethod, str]:
    """The method that is expected to find the most labels, and why."""
    if about.max_items == 1:
        return OptimalRule(), "people have one label each: no rule finds more"
    losses = losses_of_methods(about, sizes)
    if not losses:
        raise ParameterError(
            "ready counts of people with any number of labels cannot be released; count the log "
            "with wn.counts(log, item=, person=), or seal them with max_items="
        )
    word = min(losses, key=lambda each: losses[each])
    method = next(each for each in OF_LABELS if each.word() == word)
    return method(), "the most labels to expect, in the mean over generated logs"


def losses_of_methods(about: AboutScores, sizes: Sizes) -> dict[str, float]:
    """What every method that may run loses on the generated logs."""
    most, ways = about.max_items, dict[str, Callable[[Log], float]]()
    if sizes.accountant != "pure" and (about.weighed or most is not None):
        cap = WeightedGaussian().most(about)
        rounds = best_rounds(about, sizes, cap)
        way = found_by_gaussian(in_rounds(about, sizes, cap, rounds))
        ways[WeightedGaussian.word()] = way
    if most is not None:
        ways[TruncatedLaplace.word()] = found_by_laplace(about, sizes, most)
    if most == 1:
        ways[OptimalRule.word()] = found_by_rule(about, sizes)
    return mean_losses(ways, ENOUGH) if ways else {}
