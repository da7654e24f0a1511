"""Which way to find private labels: by how many it is expected to find in generated logs.

No private number takes part: thresholds and noise follow from public ones, and what a log would
hold is a formula. Noise for a delta is sized by zero-concentrated DP here, which is quick, and by
the accountant of the release when it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
from winnow.select.mechanisms.weighted_gaussian import FIRST_ROUND, least_passing
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

    @classmethod
    def sized(
        cls, about: AboutScores, sizes: Sizes, most: int, share: float, lost: float, spread: bool
    ) -> WeightNoise:
        """With a share of the privacy loss, and so much of delta for the threshold."""
        people = about.relation.people
        rho = max(
            _LEAST_RHO, share * float(zcdp_rho(sizes.epsilon, exact("delta", sizes.delta) / 2))
        )
        variance = math.ceil(people * GRID**2 / (2 * rho))
        threshold = least_passing(variance, lost, most, spread=spread)
        return cls(math.sqrt(variance) / GRID, threshold / GRID, most, spread)

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


def found_by_gaussian(
    about: AboutScores, sizes: Sizes, most: int, rounds: int, *, spread: bool
) -> Callable[[Log], float]:
    """How many labels weighted WeightNoise noise is expected to find."""
    lost = float(exact("delta", sizes.delta)) / 2
    parts = [1.0] if rounds == 1 else [float(FIRST_ROUND), 1 - float(FIRST_ROUND)]
    made = [WeightNoise.sized(about, sizes, most, part, part * lost, spread) for part in parts]

    def found(log: Log) -> float:
        left = np.ones(len(log.sizes))
        for each in made:
            left = left * (1 - each.passing(log, left=None if each is made[0] else left))
        return float((1 - left) @ log.sizes)

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
    ways = {
        str(rounds): found_by_gaussian(about, sizes, most, rounds, spread=True) for rounds in (1, 2)
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
        rounds = best_rounds(about, sizes, cap) if about.weighed else 1
        way = found_by_gaussian(about, sizes, cap, rounds, spread=about.weighed)
        ways[WeightedGaussian.word()] = way
    if most is not None:
        ways[TruncatedLaplace.word()] = found_by_laplace(about, sizes, most)
    if most == 1:
        ways[OptimalRule.word()] = found_by_rule(about, sizes)
    return mean_losses(ways, ENOUGH) if ways else {}
