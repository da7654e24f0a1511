"""Exact probabilities of mechanisms that compare with Laplace noise on both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import ceil

import numpy as np
from numpy.typing import NDArray

from winnow.audit.neighbours import Boxes, moves, sorted_vectors, vectors
from winnow.audit.numerics import (
    log_functions,
    log_laplace,
    rule_between,
    two_laplace_density,
    unit_interval,
)
from winnow.audit.probabilities import Exchangeable, Model, model_for
from winnow.core.formulas import log1mexp
from winnow.core.laws import Law
from winnow.core.utility import Utility
from winnow.select.mechanisms.large_margin import LargeMargin
from winnow.select.mechanisms.lipschitz import LipschitzMechanism
from winnow.select.mechanisms.margin_search import stopping_margin
from winnow.select.mechanisms.sparse_vector import SparseVector

Floats = NDArray[np.float64]


Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]

_ENTRIES = 1 << 17
"""How many numbers are held at a time."""


@dataclass(frozen=True)
class NoisyTopModel(Exchangeable):
    """The kappa largest of scale * score + noise, as a sequence or as an unordered set.

    With `counts`, candidate i stands for counts[i] equal ones: its noise is the largest of
    so many draws.
    """

    law: Law
    scale: float
    kappa: int = 1
    ordered: bool = True
    counts: tuple[int, ...] | None = None

    def outcomes(self, d: int) -> Integers:
        """Sequences of kappa candidates, or sets of them listed in order."""
        choose = permutations if self.ordered else combinations
        return np.array(list(choose(range(d), self.kappa)), np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """By softmax, peeling, a polynomial, or quadrature over the best loser."""
        x = self.scale * (scores - scores.max(axis=1, keepdims=True))
        outcomes = self.outcomes(x.shape[1])
        if self.counts is None and self.law is Law.GUMBEL and self.ordered:
            return log_peeling(x, outcomes)
        if self.counts is None and self.law is Law.EXPONENTIAL and self.kappa == 1:
            return log_permute_and_flip(x)
        if self.ordered and self.kappa > 1:
            return log_pairs_by_quadrature(self.law, x, outcomes)
        return log_sets_by_quadrature(self.law, x, outcomes, self.counts)

    def rows(self, scores: Integers) -> Floats:
        """With group sizes candidates are not alike."""
        return super().rows(scores) if self.counts is None else Model.rows(self, scores)


def log_peeling(x: Floats, sequences: Integers) -> Floats:
    """Draw one candidate after the other with probability proportional to e^x."""
    total = np.zeros((len(x), len(sequences)))
    for column, sequence in enumerate(sequences):
        left = list(range(x.shape[1]))
        for chosen in sequence:
            total[:, column] += x[:, chosen] - np.logaddexp.reduce(x[:, left], axis=1)
            left.remove(chosen)
    return total


def log_permute_and_flip(x: Floats) -> Floats:
    """Permute-and-flip [McKenna-Sheldon 2020]: look at the candidates in random order and
    stop at i with probability p_i = e^(x_i - max x); start again if nothing stops.

    If i arrives at the uniform time t, each other one came before with probability t, so
    Pr[i] = p_i * integral over [0, 1] of prod over j != i of (1 - t p_j): a polynomial.
    """
    log_p = x - x.max(axis=1, keepdims=True)
    t, weights = unit_interval(x.shape[1] - 1)
    factors = 1.0 - t * np.exp(log_p)[:, :, None]
    others = [np.prod(np.delete(factors, i, axis=1), axis=1) @ weights for i in range(x.shape[1])]
    return np.asarray(log_p + np.log(np.stack(others, axis=1)), np.float64)


def log_sets_by_quadrature(
    law: Law, x: Floats, sets: Integers, counts: tuple[int, ...] | None = None
) -> Floats:
    """Pr[S wins] = integral over v, the best noisy score outside S, of Pr[all of S above v]."""
    n, d = x.shape
    if np.ptp(x) * sets.shape[1] > 600:
        raise ValueError("scores too far apart for float64 probabilities")
    result = np.zeros((n, len(sets)))
    if sets.shape[1] == d:
        return result
    values, where = np.unique(x, return_inverse=True)
    v, weights = rule_between(values)
    tables: tuple[Floats, ...] = log_functions(law, v - values[:, None])
    if counts is None:
        tables = tuple(np.exp(table) for table in tables)
    step = max(1, _ENTRIES // (d * len(v)))
    for start in range(0, n, step):
        part = slice(start, start + step)
        place = where.reshape(n, d)[part].T  # one candidate after the other
        density, below, above = (table[place] for table in tables)
        if counts is not None:
            density, below, above = _largest_of(density, below, np.array(counts, np.float64))
        for column, chosen in enumerate(sets):
            inside = above[chosen[0]] * weights
            for other in chosen[1:]:
                inside = inside * above[other]
            first, *others = np.setdiff1d(np.arange(d), chosen)
            best, slope = below[first], density[first]  # of the largest outside: F and F'
            for other in others:
                slope = slope * below[other]
                slope += best * density[other]
                best = best * below[other]
            result[part, column] = np.log(np.einsum("ij,ij->i", slope, inside))
    return result


def log_pairs_by_quadrature(law: Law, x: Floats, pairs: Integers) -> Floats:
    """Pr[i before j before all others]: an integral over v, the noisy score of j."""
    if pairs.shape[1] != 2:
        raise ValueError("lists of more than two are not enumerated")
    n, d = x.shape
    values, where = np.unique(x, return_inverse=True)
    v, weights = rule_between(values)
    tables = tuple(np.exp(table) for table in log_functions(law, v - values[:, None]))
    density, below, above = (table[where.reshape(n, d).T] for table in tables)
    result = np.zeros((n, len(pairs)))
    for column, (first, second) in enumerate(pairs):
        inside = density[second] * above[first] * weights
        for other in np.setdiff1d(np.arange(d), (first, second)):
            inside = inside * below[other]
        result[:, column] = np.log(inside.sum(axis=1))
    return result


def _largest_of(
    log_density: Floats, log_below: Floats, copies: Floats
) -> tuple[Floats, Floats, Floats]:
    """Density, distribution and survival of the largest of so many equal draws."""
    copies = copies[:, None, None]
    with np.errstate(invalid="ignore"):  # 0 * -inf where the alternative is taken
        rest = np.where(copies > 1, (copies - 1) * log_below, 0.0)
    log_below = copies * log_below
    density = np.exp(log_density + np.log(copies) + rest)
    return density, np.exp(log_below), np.exp(log1mexp(log_below))


"""How many numbers are held at a time."""


@dataclass(frozen=True)
class SparseVectorModel(Model):
    """Reports of q_i + Lap(value_scale) > threshold + Lap(threshold_scale), up to the cutoff.

    A threshold scale of 0 means no noise on the threshold (a broken twin has that).
    """

    threshold: float
    threshold_scale: float
    value_scale: float
    cutoff: int

    def outcomes(self, d: int) -> Integers:
        """Rows of reports: 1 above, 0 below, -1 no longer asked."""
        rows = []
        for pattern in product((0, 1), repeat=d):
            ends = [i for i, report in enumerate(pattern) if sum(pattern[: i + 1]) == self.cutoff]
            asked = ends[0] + 1 if ends else d
            rows.append(pattern[:asked] + (-1,) * (d - asked))
        return np.array(sorted(set(rows)), np.int64)

    def log_probabilities(self, scores: Scores) -> Floats:
        """Given the threshold's noise the reports are independent: integrate over it."""
        gaps = np.asarray(scores - self.threshold, np.float64)
        n, d = gaps.shape
        if d * np.ptp(gaps) / self.value_scale > 600:
            raise ValueError("scores too far apart for float64 probabilities")
        values, where = np.unique(gaps, return_inverse=True)
        if self.threshold_scale == 0:
            rho, weights = np.zeros(1), np.ones(1)
        else:
            unit = min(self.threshold_scale, self.value_scale)
            rho, weights = rule_between(np.append(values, 0.0), unit, self.threshold_scale)
            weights = weights * np.exp(log_laplace(rho, self.threshold_scale))
        _, log_below, log_above = log_functions(
            Law.LAPLACE, (rho - values[:, None]) / self.value_scale
        )
        below, above = np.exp(log_below), np.exp(log_above)
        reports = self.outcomes(d)
        result = np.empty((n, len(reports)))
        step = max(1, _ENTRIES // (d * len(rho)))
        for start in range(0, n, step):
            part = slice(start, start + step)
            place = where.reshape(n, d)[part]
            factors = {0: below[place], 1: above[place]}
            reached: dict[tuple[int, ...], Floats] = {
                (): np.broadcast_to(weights, (len(place), len(weights)))
            }
            for column, row in enumerate(reports.tolist()):
                asked = tuple(report for report in row if report >= 0)
                for i, report in enumerate(asked):  # what a longer list begins with is there
                    if asked[: i + 1] not in reached:
                        reached[asked[: i + 1]] = reached[asked[:i]] * factors[report][:, i]
                result[part, column] = np.log(np.sum(reached[asked], axis=1))
        return result

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """All orders of near and far values; then reports that a neighbour finds hardest.

        Those are: far below the threshold and yet reported above, after values far above that
        are all reported below.
        """
        far = ceil(12 * self.value_scale)
        yield vectors((-1, 0, 1), 3), moves(boxes, 3)
        # two halves of three, moved apart: what draws can show best
        yield np.repeat(vectors((-1, 0, 1), 2), 3, axis=1), np.repeat(moves(boxes, 2), 3, axis=1)
        if not quick:
            yield vectors((-far, 0, far), 3), moves(boxes, 3)
        yield vectors((-far, far), 4), moves(boxes, 4)
        planted = [-far] * (self.cutoff - 1) + [far] * 4 + [-far]
        steps = moves(boxes, len(planted))
        middle = steps[:, self.cutoff - 1 : -1]
        yield np.array([planted]), steps[np.all(middle == middle[:, :1], axis=1)]


@dataclass(frozen=True)
class LargeMarginModel(Model):
    """The large margin mechanism [LMM, Alg 1], all scales in units of the sensitivity.

    `scales` are those of the noises Z, G and Z_l; `thresholds` maps ranks l to T(l); one of
    the leaders is drawn with probability proportional to exp(choice_scale * score).
    """

    sensitivity: float
    scales: tuple[float, float, float]
    thresholds: Callable[[Integers], Floats]
    choice_scale: float

    def outcomes(self, d: int) -> Integers:
        """One candidate."""
        return np.arange(d, dtype=np.int64)[:, None]

    def log_probabilities(self, scores: Scores) -> Floats:
        """Stopping ranks by quadrature over Z - G, then softmax among the best."""
        x = scores / self.sensitivity
        order = np.argsort(-x, axis=1, kind="stable")  # ties by position, as the mechanism has it
        descending = np.take_along_axis(x, order, axis=1)
        margins = descending[:, :1] - descending
        weights = np.exp(-self.choice_scale * margins)
        # the candidate of rank r may be drawn when the search stops at any l >= r
        per_weight = self.stopping_probabilities(margins[:, 1:]) / np.cumsum(weights, axis=1)
        share = np.cumsum(per_weight[:, ::-1], axis=1)[:, ::-1]
        result = np.empty_like(x)
        np.put_along_axis(result, order, np.log(share) - self.choice_scale * margins, axis=1)
        return result

    def stopping_probabilities(self, margins: Floats) -> Floats:
        """Pr[the search stops at rank 1, 2, ..., d], for each row of margins s(1) - s(l+1)."""
        distinct, where = np.unique(margins, axis=0, return_inverse=True)
        return self._stopping(distinct)[where.ravel()]

    def _stopping(self, margins: Floats) -> Floats:
        n, tests = margins.shape
        z, g, own = self.scales
        offsets = margins - self.thresholds(np.arange(1, tests + 1))
        w, weights = rule_between(np.append(-offsets, 0.0), min(z, g, own), max(z, g))
        weights = weights * two_laplace_density(w, z, g)
        passing, failing, places = [], [], []
        for column in offsets.T:
            values, place = np.unique(column, return_inverse=True)
            _, log_pass, log_fail = log_functions(Law.LAPLACE, (values[:, None] + w) / own)
            passing.append(np.exp(log_pass))
            failing.append(np.exp(log_fail))
            places.append(place)
        result = np.empty((n, tests + 1))
        step = max(1, _ENTRIES // len(w))
        for start in range(0, n, step):
            part = slice(start, start + step)
            reached = np.broadcast_to(weights, (len(offsets[part]), len(w)))
            for rank in range(tests):
                place = places[rank][part]
                result[part, rank] = np.einsum("ij,ij->i", reached, passing[rank][place])
                reached = reached * failing[rank][place]
            result[part, -1] = np.sum(reached, axis=1)
        return result

    def rows(self, scores: Integers) -> Floats:
        """Adding a constant to all scores changes no selection."""
        return super().rows(scores - scores.max(axis=1, keepdims=True))

    def instances(self, boxes: Boxes, *, quick: bool) -> Iterator[tuple[Integers, Integers]]:
        """Gaps at ties, at 2 sensitivities and around the thresholds; the leader first or last."""
        raw = self.thresholds(np.arange(1, 4)) * self.sensitivity
        for d in (3,) if quick else (3, 4):
            ties, around = ((0, 1, 2, 3, 4), (-1, 0, 2)) if d == 3 else ((0, 1, 2), (1,))
            gaps = {*ties, *(int(t) + step for t in raw[: d - 1] for step in around)}
            bases = -sorted_vectors(tuple(gaps), d - 1)
            bases = np.hstack([np.zeros((len(bases), 1), np.int64), bases])
            yield np.vstack([bases, bases[:, ::-1]]), moves(boxes, d, inside=d == 3)
        if not quick:  # five candidates, moved to the corners of a box
            gaps = {0, 1, 3, int(raw[0]) + 1}
            bases = -sorted_vectors(tuple(gaps), 4)
            corners = {step for box in boxes for step in product(box, repeat=5)} - {(0,) * 5}
            yield np.insert(bases, 0, 0, axis=1), np.array(sorted(corners), np.int64)
        # The last candidate leads many equals and may fall back among them: there the
        # thresholds are needed most.
        many = 60
        leading = np.array([(0,) * (many - 1) + (gap,) for gap in (0, 1, 2)], np.int64)
        steps = [(others,) * (many - 1) + (leader,) for others, leader in moves(boxes, 2).tolist()]
        yield leading, np.array(steps, np.int64)


@dataclass(frozen=True)
class StoppingMargins:
    """The thresholds T(l) of the shipped large margin mechanism."""

    epsilon: float
    delta: float
    thresholds: str

    def __call__(self, ranks: Integers) -> Floats:
        """T(l) for each rank l."""
        return stopping_margin(ranks, self.epsilon, self.delta, self.thresholds)


@model_for.register
def _of_lipschitz(mechanism: LipschitzMechanism, utility: Utility) -> Model:
    scale = float(mechanism.scale(utility))
    return NoisyTopModel(mechanism.noise, scale, mechanism.kappa, mechanism.ordered)


@model_for.register
def _of_sparse_vector(mechanism: SparseVector, utility: Utility) -> Model:
    threshold_scale, value_scale = map(float, mechanism.scales(utility))
    return SparseVectorModel(
        float(mechanism.threshold), threshold_scale, value_scale, mechanism.cutoff
    )


@model_for.register(LargeMargin)
def large_margin_model(mechanism: LargeMargin | LargeMargin, utility: Utility) -> LargeMarginModel:
    """With the scales of the paper."""
    epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
    return LargeMarginModel(
        float(utility.half_width),
        (3 / epsilon, 6 / epsilon, 12 / epsilon),  # [LMM, Alg 1]
        StoppingMargins(epsilon, delta, mechanism.thresholds),
        epsilon / 6,
    )
