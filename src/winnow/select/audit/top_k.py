"""Exact probabilities of top-k when the list of labels is itself private.

A score vector holds counts; a label with count 0 is not in the data. An outcome lists up
to k labels, filled up with -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes, within
from winnow.audit.numerics import rule_between, unit_interval, upper_tail
from winnow.audit.probabilities import Exchangeable, Model, OfLabels, model_for, model_of
from winnow.core.checks import exact
from winnow.core.laws import Law
from winnow.core.utility import Utility
from winnow.select.audit.model import log_peeling, log_permute_and_flip, log_sets_by_quadrature
from winnow.select.crossing.selection import Selection
from winnow.select.mechanisms.approximate_oneshot import ApproximateOneshot
from winnow.select.mechanisms.canonical import Canonical
from winnow.select.mechanisms.gamma import GammaMechanism
from winnow.select.mechanisms.joint import Joint
from winnow.select.mechanisms.peeling import PeelGumbel, PeelPermuteAndFlip

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True)
class _Lists(Exchangeable):
    """Lists of k candidates."""

    scale: float
    k: int
    ordered: bool = True

    def outcomes(self, d: int) -> Integers:
        """Sequences of k candidates."""
        return np.array(list(permutations(range(d), self.k)), np.int64)


class PeeledModel(_Lists):
    """k rounds of permute-and-flip, each over what the rounds before left."""

    def log_probabilities(self, scores: Scores) -> Floats:
        """The product of the rounds."""
        x = self.scale * np.asarray(scores, np.float64)
        sequences = self.outcomes(x.shape[1])
        total = np.zeros((len(x), len(sequences)))
        for column, sequence in enumerate(sequences):
            left = list(range(x.shape[1]))
            for chosen in sequence:
                total[:, column] += log_permute_and_flip(x[:, left])[:, left.index(chosen)]
                left.remove(chosen)
        return total


class JointModel(_Lists):
    """A sequence S with probability ~ exp(-scale * max_i (c_i - c_{S_i})) [Joint, Section 3]."""

    def log_probabilities(self, scores: Scores) -> Floats:
        """Softmax over all sequences."""
        c = np.asarray(scores, np.float64)
        ranked = -np.sort(-c, axis=1)[:, : self.k]
        short = ranked[:, None, :] - c[:, self.outcomes(c.shape[1])]
        x = -self.scale * short.max(axis=2)
        return np.asarray(x - np.logaddexp.reduce(x, axis=1)[:, None], np.float64)


@dataclass(frozen=True)
class CanonicalModel(Exchangeable):
    """The k-subset with the largest -scale * loss + noise [Canonical, Thm 3.5].

    The loss of a subset with its worst item at y, the best missing one at z (y if that is
    less): (1 - gamma) z - gamma y. With `person` it is (z - y)/2 in whole numbers of it.
    """

    law: Law
    scale: float
    k: int
    gamma: float
    person: float | None = None
    ordered: bool = False

    def outcomes(self, d: int) -> Integers:
        """All k-subsets, each listed in order."""
        return np.array(list(combinations(range(d), self.k)), np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """Noise on each subset: softmax, permute-and-flip's polynomial, or quadrature."""
        x = -self.scale * self.losses(scores)
        each = np.arange(x.shape[1])[:, None]
        if self.law is Law.GUMBEL:
            return log_peeling(x, each)
        if self.law is Law.EXPONENTIAL:
            return log_permute_and_flip(x)
        return log_sets_by_quadrature(self.law, x - x.max(axis=1, keepdims=True), each)

    def losses(self, scores: Scores) -> Floats:
        """The loss of every subset."""
        c = np.asarray(scores, np.float64)
        subsets = self.outcomes(c.shape[1])
        worst = c[:, subsets].min(axis=2)
        missing = np.empty_like(worst)
        for column, subset in enumerate(subsets):
            others = np.delete(c, subset, axis=1)
            missing[:, column] = others.max(axis=1, initial=-np.inf)
        missing = np.maximum(missing, worst)
        if self.person is not None:
            return np.asarray(self.person * np.ceil((missing - worst) / (2 * self.person)))
        return np.asarray((1 - self.gamma) * missing - self.gamma * worst, np.float64)


@dataclass(frozen=True)
class OneItemCanonicalModel(CanonicalModel):
    """Canonical where one person has one item."""

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """The vectors of all, and the moves of such a person."""
        for bases, steps in super().instances(boxes, quick=quick):
            yield bases, within(1, steps)


@dataclass(frozen=True)
class SizedSetModel(Exchangeable):
    """The k-set with the largest scores + Laplace noise whose scale depends on d."""

    scale_for: Callable[[int], float]
    scale: float
    """That of four candidates."""
    k: int
    ordered: bool = False

    def outcomes(self, d: int) -> Integers:
        """All k-subsets, each listed in order."""
        return np.array(list(combinations(range(d), self.k)), np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """By quadrature over the best loser."""
        x = self.scale_for(scores.shape[1]) * (scores - scores.max(axis=1, keepdims=True))
        return log_sets_by_quadrature(Law.LAPLACE, x, self.outcomes(scores.shape[1]))


class CubeModel(_Lists):
    """The k = 1 or 2 largest of scale * score + R U, with U uniform in the cube [-1, 1]^d
    and R ~ Gamma(d + 1): noise of density ~ exp(-|z|_max) [Steinke-Ullman 2015]."""

    most: ClassVar[int] = 4

    def log_probabilities(self, scores: Scores) -> Floats:
        """Given R, an integral of piecewise polynomials; then over R."""
        if self.k > 2:
            raise ValueError("lists of more than two are not integrated")
        return np.array([self._one(self.scale * row) for row in np.asarray(scores, np.float64)])

    def _one(self, x: Floats) -> Floats:
        from scipy.special import gammaln

        d = len(x)
        differences = np.abs(x[:, None] - x).ravel() / 2
        radii, weights = rule_between(np.append(differences, d))
        inside = radii > 0
        radii, weights = radii[inside, None], weights[inside, None]
        weights = weights * np.exp(d * np.log(radii) - radii - gammaln(d + 1))
        edges = np.sort(np.hstack([x - radii, x + radii]), axis=1)
        nodes, shares = unit_interval(d)
        length = np.diff(edges, axis=1)[:, :, None]
        v = (edges[:, :-1, None] + length * nodes).reshape(len(radii), -1)
        weights = weights * (length * shares).reshape(len(radii), -1)
        offsets = v - x[:, None, None]
        below = np.clip((offsets / radii + 1) / 2, 0.0, 1.0)
        density = weights * (np.abs(offsets) < radii) / (2 * radii)
        above = 1.0 - below
        sequences = self.outcomes(d)
        result = np.empty(len(sequences))
        for column, sequence in enumerate(sequences.tolist()):
            integrand = density[sequence[-1]]
            for first in sequence[:-1]:
                integrand = integrand * above[first]
            for other in set(range(d)).difference(sequence):
                integrand = integrand * below[other]
            result[column] = np.log(np.sum(integrand))
        return result


_REACH = 30
"""Noise beyond so many scales above the largest count is lumped together: e^-30."""


def _lists(d: int, k: int) -> Integers:
    """All sequences of at most k of d labels, filled up with -1."""
    rows = [(*s, *(-1,) * (k - n)) for n in range(k + 1) for s in permutations(range(d), n)]
    return np.array(rows, np.int64)


@dataclass(frozen=True)
class LimitedDomainModel(OfLabels):
    """Peeling of the largest counts and of a threshold item [Durfee-Rogers 2019].

    `items` bounds the labels of one person (None: no bound).
    """

    scale: float
    lead: float
    reach: int
    k: int
    items: int | None

    def outcomes(self, d: int) -> Integers:
        """Lists of at most k labels."""
        return _lists(d, self.k)

    def log_probabilities(self, scores: Scores) -> Floats:
        """A product of softmaxes over what is left, the threshold item included."""
        n, d = scores.shape
        rank = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
        there = (scores > 0) & (rank < self.reach)
        floor = -np.sort(-scores, axis=1)[:, self.reach] if self.reach < d else np.zeros(n)
        threshold = self.scale * (np.maximum(floor, 0) + self.lead)
        logits = np.where(there, self.scale * scores, -np.inf)
        lists = self.outcomes(d)
        result = np.zeros((n, len(lists)))
        for column, row in enumerate(lists.tolist()):
            left = np.hstack([logits, threshold[:, None]])  # the threshold item stands last
            for label in row:
                result[:, column] += left[:, label] - np.logaddexp.reduce(left, axis=1)
                if label < 0:
                    break
                left[:, label] = -np.inf
        return result


@dataclass(frozen=True)
class StabilityModel(OfLabels):
    """The k largest of counts + discrete Laplace noise, those that reach a threshold."""

    scale: float
    threshold: int
    k: int
    items: int | None
    cells: int = 0
    """With cells, the noisy counts too: at the threshold, 1 above it, ..., and all beyond."""
    values: ClassVar[tuple[int, ...]] = (0, 1, 2, 4)
    most: ClassVar[int] = 3

    def outcomes(self, d: int) -> Integers:
        """Lists of at most k labels, and the cells of their noisy counts."""
        lists = _lists(d, self.k)
        if not self.cells:
            return lists
        rows = []
        for row in lists.tolist():
            released = sum(label >= 0 for label in row)
            for cells in product(range(self.cells), repeat=released):
                rows.append([*row, *cells, *(-1,) * (self.k - released)])
        return np.array(rows, np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """By listing all noisy counts: below the threshold, then level by level, then above."""
        n, d = scores.shape
        steps = max(2, int(np.max(scores) - self.threshold + _REACH * self.scale))
        masses = np.stack([self._masses(scores[:, i], steps) for i in range(d)], axis=1)
        noisy = np.indices((steps + 1,) * d).reshape(d, -1)
        order = np.argsort(-noisy, axis=0, kind="stable")[: self.k]  # ties by position
        levels = np.take_along_axis(noisy, order, axis=0)
        released = np.where(levels > 0, order, -1).T
        if self.cells:
            cells = np.where(levels > 0, np.minimum(levels, self.cells) - 1, -1).T
            released = np.hstack([released, cells])
        lists = self.outcomes(d)
        digits = (max(d, self.cells) + 1) ** np.arange(lists.shape[1])
        codes = (lists + 1) @ digits
        by_code = np.argsort(codes)
        column = by_code[np.searchsorted(codes[by_code], (released + 1) @ digits)]
        result = np.empty((n, len(lists)))
        for row in range(n):
            mass = masses[row, 0]
            for i in range(1, d):
                mass = np.multiply.outer(mass, masses[row, i])
            result[row] = np.bincount(column, mass.ravel(), minlength=len(lists))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(result), np.float64)

    def _masses(self, counts: Scores, steps: int) -> Floats:
        """Pr[noisy count below the threshold], at it, 1 above it, ...; the rest in the last."""
        from_threshold = np.arange(steps + 1) + self.threshold
        tail = upper_tail(self.scale, from_threshold - counts[:, None])
        tail[counts <= 0] = 0.0  # a label without people is no label of the data
        return np.hstack([1 - tail[:, :1], tail[:, :-2] - tail[:, 1:-1], tail[:, -2:-1]])


class BoundedNoiseModel(StabilityModel):
    """The k largest of counts + noise that is no larger than K, those above K = threshold - 1."""

    def _masses(self, counts: Scores, steps: int) -> Floats:
        """Pr[noisy count up to K], one above it, ...; counts of 0 never get there."""
        edge = self.threshold - 1
        beyond = upper_tail(self.scale, np.array([edge + 1]))[0]
        from_threshold = np.arange(steps + 1) + self.threshold
        tail = upper_tail(self.scale, np.maximum(from_threshold - counts[:, None], -edge))
        tail = np.clip((tail - beyond) / (1 - 2 * beyond), 0.0, 1.0)
        return np.hstack([1 - tail[:, :1], tail[:, :-2] - tail[:, 1:-1], tail[:, -2:-1]])


@dataclass(frozen=True)
class OneshotScale:
    """The scale of the approximate oneshot mechanism, which depends on d."""

    mechanism: ApproximateOneshot
    utility: Utility

    def __call__(self, d: int) -> float:
        """For d candidates."""
        return float(self.mechanism.scale(self.utility, d))


@model_for.register
def _of_peeled_gumbel(mechanism: PeelGumbel, utility: Utility) -> Model:
    return model_of(mechanism._mechanism(), utility)


@model_for.register
def _of_peeled(mechanism: PeelPermuteAndFlip, utility: Utility) -> Model:
    return PeeledModel(float(mechanism.scale(utility)), mechanism.k)


@model_for.register
def _of_joint(mechanism: Joint, utility: Utility) -> Model:
    return JointModel(float(mechanism.scale(utility)), mechanism.k)


@model_for.register
def _of_canonical(mechanism: Canonical, utility: Utility) -> Model:
    made = OneItemCanonicalModel if mechanism.one_item else CanonicalModel
    return made(
        mechanism.noise,
        float(mechanism.scale(utility)),
        mechanism.k,
        float(mechanism.gamma),
        float(utility.one_sided) if mechanism.rounded else None,
    )


@model_for.register
def _of_approximate_oneshot(mechanism: ApproximateOneshot, utility: Utility) -> Model:
    scale = OneshotScale(mechanism, utility)
    return SizedSetModel(scale, scale(4), mechanism.k)


@model_for.register
def _of_gamma(mechanism: GammaMechanism, utility: Utility) -> Model:
    return CubeModel(float(mechanism.scale(utility)), mechanism.k)


def lists_and_sets(epsilon: float, *, quick: bool) -> Iterator[Selection]:
    """The mechanisms of lists and sets that are enumerated, one or more of each class."""
    yield from (PeelPermuteAndFlip(epsilon, 2), Joint(epsilon, 2))
    yield from (PeelGumbel(epsilon, Fraction(1, 100), k) for k in ((2,) if quick else (2, 3)))
    yield from (Canonical(epsilon, 2, gamma=Fraction(1, 2), noise=law) for law in Law)
    for law in (Law.GUMBEL, Law.EXPONENTIAL):
        yield from (
            Canonical(epsilon, 2, gamma=gamma, noise=law) for gamma in (0, Fraction(3, 5), 1)
        )
        yield Canonical(epsilon, 2, noise=law, rounded=True)
    yield from (GammaMechanism(epsilon, k) for k in (1, 2))
    yield ApproximateOneshot(Fraction(1, 5), Fraction(1, 20), 2)


def of_one_item(epsilon: float) -> Iterator[Canonical]:
    """Canonical for counts to which one person adds one item."""
    for gamma in (Fraction(1, 2), Fraction(3, 5), Fraction(1, 5)):
        yield Canonical(epsilon, 2, gamma, one_item=True)
    yield Canonical(epsilon, 2, noise=Law.GUMBEL, one_item=True)


class BrokenOneItem(Canonical):
    """BROKEN: has the noise for one item per person, and people have any number."""

    def model(self, utility: Utility) -> Model:
        """Its distribution, for neighbours who differ in many counts."""
        scale, gamma = float(self.scale(utility)), float(exact("gamma", self.gamma))
        return CanonicalModel(self.noise, scale, self.k, gamma)


def to_underpay() -> tuple[Selection, ...]:
    """Mechanisms of which an audit has to find that half of their epsilon is charged."""
    return PeelPermuteAndFlip(1.0, 2), Joint(1.0, 2), Canonical(1.0, 2), GammaMechanism(1.0, 2)
