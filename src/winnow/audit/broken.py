"""Mechanisms that are wrong on purpose, in ways that real implementations were wrong.

They are reachable from the audits only, and release nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.audit.probabilities import Model, Scores, model_of
from winnow.core.checks import exact
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.privacy import Compose, Event, Promise, Repeat, ZcdpCost, zcdp_cost
from winnow.select.audit.model import LargeMarginModel
from winnow.select.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.margin_search import needed_margin, stopping_margin
from winnow.select.mechanisms.sparse_vector import SparseVector
from winnow.select.mechanisms.unknown_domain import LimitedDomain

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class _FloatNoise:
    """Ordinary float64 noise from a seeded tape: good enough for twins that are wrong anyway."""

    def __init__(self, seed: int) -> None:
        self._tape = Tape.seeded(seed)
        self._used = 0

    def _uniform(self, size: tuple[int, int]) -> Floats:
        count = size[0] * size[1]
        words = self._tape.words(self._used, count)
        self._used += count
        return np.asarray((words + 0.5) * 2.0**-32, np.float64).reshape(size)

    def laplace(self, size: tuple[int, int]) -> Floats:
        return Law.LAPLACE.formulas.inv_log_sf(np.log(self._uniform(size)))

    def gumbel(self, size: tuple[int, int]) -> Floats:
        return Law.GUMBEL.formulas.inv_log_sf(np.log(self._uniform(size)))

    def choice(self, levels: Floats, size: tuple[int, int]) -> Floats:
        return levels[(self._uniform(size) * len(levels)).astype(np.int64)]


def with_epsilon(mechanism: Any, factor: Fraction) -> Any:
    """A mechanism with so many times its epsilon, also where another one is inside."""
    if hasattr(mechanism, "inner"):
        return replace(mechanism, inner=with_epsilon(mechanism.inner, factor))
    return replace(mechanism, epsilon=factor * exact("epsilon", mechanism.epsilon))


@dataclass(frozen=True)
class BrokenUnderpaid:
    """BROKEN: promises a part of the epsilon that its noise is for."""

    inner: Any
    part: Fraction = Fraction(1, 2)

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return str(self.inner.name)

    def promise(self, relation: Relation) -> Promise:
        """Less than one release costs."""
        promised: Promise = with_epsilon(self.inner, self.part).promise(relation)
        return promised

    def simulate(self, scores: Scores, utility: Utility, draws: int, seed: int) -> Integers:
        """Draws with the noise of all of the epsilon."""
        return np.asarray(self.inner.simulate(scores, utility, draws, seed), np.int64)

    def model(self, utility: Utility) -> Model:
        """Their exact distribution."""
        return model_of(self.inner, utility)


class BrokenLittleNoise(ApproximateOneshot):
    """BROKEN: has a fortieth of the noise, about what it were without its constant and root."""

    def scale(self, utility: Utility, d: int) -> Fraction:
        """Forty times the scale that the theorem allows."""
        return 40 * super().scale(utility, d)


class BrokenNoFactorTwo(LipschitzMechanism):
    """BROKEN: scales scores by epsilon/(kappa Delta), without the 2."""

    def scale(self, utility: Utility) -> Fraction:
        """Twice the scale that the theorem allows."""
        return 2 * super().scale(utility)


class BrokenHalvedAlways(LipschitzMechanism):
    """BROKEN: halves the sensitivity of counts under substitution too."""

    def scale(self, utility: Utility) -> Fraction:
        """The scale of add/remove, whatever the relation."""
        return exact("epsilon", self.epsilon) / (self.kappa * utility.one_sided)


class BrokenOneshotForOne(LipschitzMechanism):
    """BROKEN: releases kappa winners with the noise for one."""

    def scale(self, utility: Utility) -> Fraction:
        """Without the division by kappa."""
        return self.kappa * super().scale(utility)


@dataclass(frozen=True)
class BrokenTruncatedNoise(LipschitzMechanism):
    """BROKEN: Gumbel noise from uniform numbers of three bits, as floats have 53.

    Its noise ends at both sides, so a candidate far enough behind is impossible, and
    possible for a neighbour: an infinite loss of privacy.
    """

    def _levels(self) -> Floats:
        return -np.log(-np.log((np.arange(8) + 0.5) / 8))

    def model(self, utility: Utility) -> Model:
        """Exact, by listing all noises."""
        return TruncatedModel(float(self.scale(utility)), tuple(self._levels()))

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Draws in float64."""
        generator = _FloatNoise(seed)
        noise = generator.choice(self._levels(), (draws, len(scores)))
        winners = np.argmax(float(self.scale(utility)) * scores + noise, axis=1)
        return np.asarray(winners[:, None], np.int64)


@dataclass(frozen=True)
class TruncatedModel(Model):
    """The exact law of argmax with noise on a few equally likely levels, ties by position."""

    scale: float
    levels: tuple[float, ...]

    def outcomes(self, d: int) -> Integers:
        """One candidate."""
        return np.arange(d, dtype=np.int64)[:, None]

    def log_probabilities(self, scores: Scores) -> Floats:
        """By listing all combinations of levels."""
        d = scores.shape[1]
        noises = np.stack(np.meshgrid(*[self.levels] * d, indexing="ij"), axis=-1).reshape(-1, d)
        rows = []
        for x in self.scale * scores:
            won = np.bincount(np.argmax(x + noises, axis=1), minlength=d)
            with np.errstate(divide="ignore"):
                rows.append(np.log(won / len(noises)))
        return np.array(rows)


class _BrokenSparseVector(SparseVector):
    """A sparse vector with other scales, drawn in float64."""

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """Reports of all draws at once: 1, 0, or -1 where the cutoff was reached before."""
        generator = _FloatNoise(seed)
        b1, b2 = map(float, self.scales(utility))
        values = scores + b2 * generator.laplace(size=(draws, len(scores)))
        above = values > float(self.threshold) + b1 * generator.laplace(size=(draws, 1))
        before: Integers = np.cumsum(above, axis=1) - above
        return np.where(before >= self.cutoff, -1, above.astype(np.int64))


class BrokenCutoffForgotten(_BrokenSparseVector):
    """BROKEN: the noise of the values lacks the factor cutoff."""

    def scales(self, utility: Utility) -> tuple[Fraction, Fraction]:
        """Scales for one report above."""
        for_threshold, for_values = super().scales(utility)
        return for_threshold, for_values / self.cutoff


class BrokenBareThreshold(_BrokenSparseVector):
    """BROKEN: no noise on the threshold, so reports below are not free."""

    def scales(self, utility: Utility) -> tuple[Fraction, Fraction]:
        """All of epsilon for the values."""
        return Fraction(0), self.cutoff * utility.width / exact("epsilon", self.epsilon)


@dataclass(frozen=True)
class _BrokenMargin(LargeMargin):
    """A large margin mechanism with other numbers, drawn in float64."""

    def _scales(self) -> tuple[float, float, float]:
        epsilon = float(self.epsilon)
        return 3 / epsilon, 6 / epsilon, 12 / epsilon

    def _margins(self, ranks: Integers) -> Floats:
        return stopping_margin(ranks, float(self.epsilon), float(self.delta), self.thresholds)

    def model(self, utility: Utility) -> Model:
        """Exact, with the broken numbers."""
        return LargeMarginModel(
            float(utility.half_width), self._scales(), self._margins, float(self.epsilon) / 6
        )

    def simulate(
        self, scores: Scores, utility: Utility, draws: int, seed: int
    ) -> NDArray[np.int64]:
        """The search and the choice, all draws at once."""
        generator = _FloatNoise(seed)
        x = np.asarray(scores, np.float64) / float(utility.half_width)
        d = len(x)
        order = np.argsort(-x, kind="stable")
        z, g, own = (b * generator.laplace(size=(draws, 1)) for b in self._scales())
        own = self._scales()[2] * generator.laplace(size=(draws, d - 1))
        needed = self._margins(np.arange(1, d)) - (x[order[0]] - x[order[1:]])
        passed = np.hstack([z > own + g + needed, np.ones((draws, 1), bool)])
        stopped = np.argmax(passed, axis=1)
        noisy = float(self.epsilon) / 6 * x[order] + generator.gumbel(size=(draws, d))
        noisy[np.arange(d) > stopped[:, None]] = -np.inf
        return np.asarray(order[np.argmax(noisy, axis=1)][:, None], np.int64)


class BrokenSmallThresholds(_BrokenMargin):
    """BROKEN: stops as soon as a noisy margin is positive."""

    def _margins(self, ranks: Integers) -> Floats:
        return np.zeros(len(ranks))


class BrokenInvertedScales(_BrokenMargin):
    """BROKEN: every noise scale inverted, as Lemma 3 of the paper prints it.

    The thresholds fit that small noise: t(l), and a bound on its tail.
    """

    def _scales(self) -> tuple[float, float, float]:
        epsilon = float(self.epsilon)
        return epsilon / 3, epsilon / 6, epsilon / 12

    def _margins(self, ranks: Integers) -> Floats:
        needed = needed_margin(ranks, float(self.epsilon), float(self.delta), "tight")
        tail = np.log(3.0 * ranks * (ranks + 1.0) / float(self.delta))
        return needed + sum(self._scales()) * tail


class BrokenNoLead(LimitedDomain):
    """BROKEN: the threshold item stands no higher than the labels that did not take part."""

    def lead(self, utility: Utility) -> int:
        """Nothing, so a label that one person brought leaves at once."""
        return 0


def cost_repeat_once(event: Event) -> ZcdpCost:
    """BROKEN: charges a loop as if its body ran once."""
    match event:
        case Repeat(inner, _):
            return cost_repeat_once(inner)
        case Compose(events):
            costs = [cost_repeat_once(part) for part in events]
            nothing = Fraction(0)
            return ZcdpCost(
                sum((c.rho for c in costs), nothing), sum((c.delta for c in costs), nothing)
            )
        case _:
            return zcdp_cost(event)
