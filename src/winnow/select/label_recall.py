"""Which way to find the k most common private labels: by how many of them, in generated logs.

For every way the chance of a label to be released is a formula of its count or weight and of a
level: that of the last place of the list, or the threshold of the way where that is higher. The
level is the one at which k labels are expected above it. No private number takes part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from winnow.core.checks import exact
from winnow.privacy import zcdp_rho
from winnow.select.about import AboutScores
from winnow.select.generated_logs import Log, generated_logs
from winnow.select.label_choice import WeightNoise, in_rounds, laplace_above
from winnow.select.label_methods import TruncatedLaplace, WeightedGaussian
from winnow.select.mechanisms.truncated_laplace import least_edge
from winnow.select.methods import Sizes
from winnow.select.top_k_methods import LimitedDomain, PrivateLabelsMethod

Floats = NDArray[np.float64]
Chances = Callable[[Log], Callable[[float], Floats]]
"""Of a log: the chance of each label to be released where the list ends at a level."""

Way = TypeVar("Way")
_STEPS = 30
"""Steps of a bisection."""
PEELS = (Fraction(0), Fraction(1, 5), Fraction(1, 2))
"""Shares of the privacy loss for peeling. Of shares from 0 to .85 either none or .2 to .3 finds the
most on the generated logs, for k of 1 to 1,000 and epsilon of .3, 1 and 3."""


def recall(log: Log, chance: Callable[[float], Floats], k: int) -> float:
    """The share of the k most common labels that is expected in a list of k."""
    low, high = -1.0, float(log.people) * 2
    if float(chance(low) @ log.sizes) <= k:
        high = low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(chance(middle) @ log.sizes) > k else (low, middle)
    first = np.clip(k - (np.cumsum(log.sizes) - log.sizes), 0.0, log.sizes)
    return float(chance(high) @ first) / k


def by_weights(
    about: AboutScores, sizes: Sizes, most: int, peel: float, rounds: int = 1
) -> Chances:
    """Weighted Gaussian noise, then peeling with a share of the privacy loss, if there is one."""
    made = in_rounds(about, sizes, most, rounds, 1 - peel)
    if not peel:
        return lambda log: _of_weights(made, log)
    rho = peel * float(zcdp_rho(sizes.epsilon, exact("delta", sizes.delta) / 2))
    per_round = math.sqrt(8 * rho / sizes.k) / float(about.utility.width)

    def chance(log: Log) -> Callable[[float], Floats]:
        passing, counts = _of_weights(made, log)(-math.inf), log.counts(about.max_items)
        return lambda level: np.asarray(passing * expit(per_round * (counts - level)), np.float64)

    return chance


def _of_weights(made: Sequence[WeightNoise], log: Log) -> Callable[[float], Floats]:
    """Labels of the first round stand above all of the second one, ``log.people`` higher."""
    if len(made) == 1:
        weights = made[0].weights(log)
        return lambda level: made[0].above(weights, level)
    first, second = made[0].weights(log), made[1]
    passing, left = made[0].chances(log)
    weights = second.weights(log, left)

    def chance(level: float) -> Floats:
        if level > log.people:
            return made[0].above(first, level - log.people)
        return np.asarray(passing + left * second.above(weights, level), np.float64)

    return chance


def by_laplace(about: AboutScores, sizes: Sizes, most: int) -> Chances:
    """Bounded Laplace noise on every count, and a threshold."""
    moved, delta = about.relation.people * most, float(exact("delta", sizes.delta))
    scale = moved / float(sizes.epsilon)
    threshold = 1 + least_edge(scale, delta / moved)

    def chance(log: Log) -> Callable[[float], Floats]:
        counts = log.counts(most)
        return lambda level: laplace_above(counts - max(level, threshold), scale)

    return chance


def by_limited_domain(about: AboutScores, sizes: Sizes) -> Chances:
    """Peeling of the largest counts, until the threshold item comes up."""
    k, delta = sizes.k, float(exact("delta", sizes.delta))
    epsilon, width = float(sizes.epsilon), float(about.utility.width)
    rho = float(zcdp_rho(sizes.epsilon, exact("delta", sizes.delta) / 2))
    per_round = (
        epsilon / k if sizes.accountant == "pure" else max(epsilon / k, math.sqrt(8 * rho / k))
    )
    reach = 100 * k + 1000
    moved = reach if about.max_items is None else about.relation.people * about.max_items
    lead = width * (1 + math.log(min(reach, moved) * 2 * (k + 1) / delta) / per_round)

    def chance(log: Log) -> Callable[[float], Floats]:
        counts = log.counts(about.max_items)
        rank = int(np.searchsorted(np.cumsum(log.sizes), reach + 1))
        floor = float(counts[rank]) if rank < len(counts) else 0.0
        threshold = floor + lead
        return lambda level: np.asarray(
            expit(per_round / width * (counts - max(level, threshold))), np.float64
        )

    return chance


def recall_losses(ways: Mapping[Way, Chances], k: int) -> dict[Way, float]:
    """By how much each way's recall lies below that of the best of a log, in the mean."""
    recalls = np.array(
        [[recall(log, way(log), k) for way in ways.values()] for log in generated_logs()]
    )
    losses = (recalls.max(axis=1, keepdims=True) - recalls).mean(axis=0)
    return dict(zip(ways, losses.tolist(), strict=True))


def _every_recall(about: AboutScores, sizes: Sizes) -> dict[tuple[str, int, Fraction], Chances]:
    """The ways that may run, by the word of their method, rounds, and the share that peels."""
    ways: dict[tuple[str, int, Fraction], Chances] = {}
    none, most = Fraction(0), about.max_items
    ways[LimitedDomain.word(), 1, none] = by_limited_domain(about, sizes)
    if most is not None:
        ways[TruncatedLaplace.word(), 1, none] = by_laplace(about, sizes, most)
    if sizes.accountant != "pure" and (about.weighed or most is not None):
        cap = WeightedGaussian().most(about)
        for rounds, peel in _shapes(about, None, None):
            way = by_weights(about, sizes, cap, float(peel), rounds)
            ways[WeightedGaussian.word(), rounds, peel] = way
    return ways


def _shapes(
    about: AboutScores, rounds: int | None, peel: Fraction | None
) -> list[tuple[int, Fraction]]:
    """Rounds of weights, and what peels after them; what is given is kept."""
    several = (1, 2) if about.weighed and about.names_travel else (1,)
    return list(
        product(several if rounds is None else (rounds,), PEELS if peel is None else (peel,))
    )


@lru_cache(maxsize=256)
def best_rounds_and_peel(
    about: AboutScores, sizes: Sizes, most: int, rounds: int | None, peel: Fraction | None
) -> tuple[int, Fraction]:
    """The rounds and the share that peels by which most of the top k is expected to be found."""
    ways = {
        shape: by_weights(about, sizes, most, float(shape[1]), shape[0])
        for shape in _shapes(about, rounds, peel)
    }
    losses = recall_losses(ways, sizes.k)
    return min(ways, key=lambda shape: losses[shape])


@lru_cache(maxsize=256)
def chosen_among_private(about: AboutScores, sizes: Sizes) -> tuple[PrivateLabelsMethod, str]:
    """The method for the k most common labels of a log, and why."""
    ways = _every_recall(about, sizes)
    losses = recall_losses(ways, sizes.k)
    word, rounds, peel = min(losses, key=lambda way: losses[way])
    methods: dict[str, PrivateLabelsMethod] = {
        LimitedDomain.word(): LimitedDomain(),
        TruncatedLaplace.word(): TruncatedLaplace(),
        WeightedGaussian.word(): WeightedGaussian(rounds=rounds, peel=peel),
    }
    return methods[word], "labels are private: the most of the top k on generated logs"
