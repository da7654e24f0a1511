"""Exact output probabilities of every selection mechanism on small instances.

Nothing here touches a tape or a kernel: a model holds the public parameters of a
mechanism and computes the probabilities of all its outputs from the definitions, by
closed formulas where there are some and by quadrature otherwise. A row of ``outcomes``
looks like a row of the mechanism's ``simulate``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations, product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.audit.quadrature import rule_between, unit_interval
from winnow.domain.utility import Utility
from winnow.mechanisms import LargeMargin, LipschitzMechanism, SparseVector
from winnow.mechanisms.margin_thresholds import stopping_margin
from winnow.random.laws import Law, log1mexp

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LN2 = float(np.log(2.0))


class Model(Protocol):
    """A mechanism as its output distribution."""

    def outcomes(self, d: int) -> Integers:
        """All outputs for d candidates, one per row."""

    def log_probabilities(self, scores: Floats) -> Floats:
        """The log-probability of each outcome, for one score vector."""


def model_of(mechanism: object, utility: Utility) -> Model:
    """The output distribution that a mechanism's public parameters define."""
    match mechanism:
        case LipschitzMechanism():
            scale = float(mechanism.scale(utility))
            return NoisyTopModel(mechanism.noise, scale, mechanism.kappa, mechanism.ordered)
        case SparseVector():
            b1, b2 = mechanism.scales(utility)
            return SparseVectorModel(
                float(mechanism.threshold), float(b1), float(b2), mechanism.cutoff
            )
        case LargeMargin():
            return LargeMarginModel.of(mechanism, utility)
    own = getattr(mechanism, "model", None)
    if own is None:
        raise TypeError(f"no exact probabilities are known for a {type(mechanism).__name__}")
    model: Model = own(utility)
    return model


@dataclass(frozen=True)
class NoisyTopModel:
    """The kappa largest of scale * score + noise, as a sequence or as an unordered set.

    With `counts`, candidate i stands for counts[i] equal ones (kappa = 1 only): its noise
    is the largest of so many draws.
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

    def log_probabilities(self, scores: Floats) -> Floats:
        """By softmax, peeling, a polynomial, or quadrature over the best loser."""
        x = self.scale * (np.asarray(scores, np.float64) - np.max(scores))
        outcomes = self.outcomes(len(x))
        if self.counts is None and self.law is Law.GUMBEL and self.ordered:
            return log_peeling(x, outcomes)
        if self.counts is None and self.law is Law.EXPONENTIAL and self.kappa == 1:
            return log_permute_and_flip(x)
        if self.ordered and self.kappa > 1:
            return log_sequences_by_quadrature(self.law, x, outcomes)
        return log_sets_by_quadrature(self.law, x, outcomes, self.counts)


def log_peeling(x: Floats, sequences: Integers) -> Floats:
    """Draw one candidate after the other with probability proportional to e^x."""
    total = np.zeros(len(sequences))
    for row, sequence in enumerate(sequences):
        left = list(range(len(x)))
        for chosen in sequence:
            total[row] += x[chosen] - np.logaddexp.reduce(x[left])
            left.remove(chosen)
    return total


def log_permute_and_flip(x: Floats) -> Floats:
    """Permute-and-flip [McKenna-Sheldon 2020]: look at the candidates in random order and
    stop at i with probability p_i = e^(x_i - max x); start again if nothing stops.

    If i arrives at the uniform time t, each other one came before with probability t, so
    Pr[i] = p_i * integral over [0, 1] of prod over j != i of (1 - t p_j): a polynomial.
    """
    p = np.exp(x - x.max())
    t, weights = unit_interval(len(x) - 1)
    factors = 1.0 - t[:, None] * p
    others = np.array([np.prod(np.delete(factors, i, axis=1), axis=1) for i in range(len(x))])
    return np.asarray(x - x.max() + np.log(others @ weights), np.float64)


def log_sets_by_quadrature(
    law: Law, x: Floats, sets: Integers, counts: tuple[int, ...] | None = None
) -> Floats:
    """Pr[S wins] = integral over v, the best noisy score outside S, of Pr[all of S above v]."""
    d = len(x)
    if sets.shape[1] == d:
        return np.zeros(len(sets))
    v, weights = rule_between(x)
    log_density, log_cdf, log_sf = log_functions(law, v - x[:, None])
    if counts is not None:
        n = np.array(counts, np.float64)[:, None]
        below = np.where(n > 1, (n - 1) * log_cdf, 0.0)
        log_density, log_sf = log_density + np.log(n) + below, log1mexp(n * log_cdf)
        log_cdf = n * log_cdf
    result = np.empty(len(sets))
    for row, chosen in enumerate(sets):
        inside = log_sf[chosen].sum(axis=0)
        others = np.setdiff1d(np.arange(d), chosen)
        terms = [
            log_density[best] + log_cdf[others[others != best]].sum(axis=0) + inside
            for best in others
        ]
        result[row] = _log_integral(np.logaddexp.reduce(terms), weights)
    return result


def log_sequences_by_quadrature(law: Law, x: Floats, sequences: Integers) -> Floats:
    """Pr[i first, j second and the rest below], for kappa = 2 and any law.

    No guarantee speaks of the order except for Gumbel noise; audits use this to show why.
    """
    if sequences.shape[1] != 2:
        raise ValueError("only pairs can be integrated as sequences")
    v, weights = rule_between(x)
    log_density, log_cdf, log_sf = log_functions(law, v - x[:, None])
    result = np.empty(len(sequences))
    for row, (first, second) in enumerate(sequences):
        rest = np.setdiff1d(np.arange(len(x)), (first, second))
        terms = log_sf[first] + log_density[second] + log_cdf[rest].sum(axis=0)
        result[row] = _log_integral(terms, weights)
    return result


def log_functions(law: Law, z: Floats) -> tuple[Floats, Floats, Floats]:
    """log density, log distribution and log survival function of a law of scale 1."""
    with np.errstate(over="ignore", divide="ignore"):
        a = np.abs(z)
        match law:
            case Law.GUMBEL:
                log_cdf = -np.exp(-z)
                return -z + log_cdf, log_cdf, log1mexp(log_cdf)
            case Law.EXPONENTIAL:
                inside = z >= 0
                log_sf = np.where(inside, -z, 0.0)
                return np.where(inside, -z, -np.inf), log1mexp(log_sf), log_sf
            case Law.LAPLACE:
                near, far = np.log1p(-0.5 * np.exp(-a)), -LN2 - a
                return far, np.where(z > 0, near, far), np.where(z > 0, far, near)
            case Law.LOGISTIC:
                near = -np.log1p(np.exp(-a))  # log of the larger of F and 1 - F
                log_cdf, log_sf = np.where(z > 0, near, near - a), np.where(z > 0, near - a, near)
                return log_cdf + log_sf, log_cdf, log_sf
            case Law.HALF_LOGISTIC:
                inside = z >= 0
                log_one_plus = np.log1p(np.exp(-a))
                log_sf = np.where(inside, LN2 - a - log_one_plus, 0.0)
                density = np.where(inside, LN2 - a - 2 * log_one_plus, -np.inf)
                return density, log1mexp(log_sf), log_sf


@dataclass(frozen=True)
class SparseVectorModel:
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

    def log_probabilities(self, scores: Floats) -> Floats:
        """Given the threshold's noise the reports are independent: integrate over it."""
        gaps = np.asarray(scores, np.float64) - self.threshold
        if self.threshold_scale == 0:
            rho, weights, log_weight = np.zeros(1), np.ones(1), np.zeros(1)
        else:
            unit = min(self.threshold_scale, self.value_scale)
            rho, weights = rule_between(np.append(gaps, 0.0), unit, self.threshold_scale)
            log_weight = log_laplace(rho, self.threshold_scale)
        z = (rho - gaps[:, None]) / self.value_scale
        _, log_below, log_above = log_functions(Law.LAPLACE, z)
        reports = self.outcomes(len(gaps))
        log_terms = np.where(reports == 0, 1.0, 0.0) @ log_below + log_weight
        log_terms += np.where(reports == 1, 1.0, 0.0) @ log_above
        return _log_integral(log_terms, weights)


@dataclass(frozen=True)
class LargeMarginModel:
    """The large margin mechanism [LMM, Alg 1], all scales in units of the sensitivity.

    `scales` are those of the noises Z, G and Z_l; `thresholds[l - 1]` is T(l).
    """

    sensitivity: float
    scales: tuple[float, float, float]
    thresholds: tuple[float, ...]
    choice_scale: float

    RANKS = 15

    @classmethod
    def of(cls, mechanism: LargeMargin, utility: Utility) -> LargeMarginModel:
        """The model of the shipped mechanism, with the scales of the paper's Algorithm 1."""
        epsilon, delta = float(mechanism.epsilon), float(mechanism.delta)
        ranks = np.arange(1, cls.RANKS + 1)
        thresholds = stopping_margin(ranks, epsilon, delta, mechanism.thresholds)
        return cls(
            float(utility.half_width),
            (3 / epsilon, 6 / epsilon, 12 / epsilon),
            tuple(map(float, thresholds)),
            epsilon / 6,
        )

    def outcomes(self, d: int) -> Integers:
        """One candidate."""
        return np.arange(d, dtype=np.int64)[:, None]

    def log_probabilities(self, scores: Floats) -> Floats:
        """Stopping ranks by quadrature over Z - G, then softmax among the best."""
        x = np.asarray(scores, np.float64) / self.sensitivity
        order = np.argsort(-x, kind="stable")  # ties by position, as the mechanism has it
        stopping = self.stopping_probabilities(x[order])
        probabilities = np.zeros(len(x))
        for rank, probability in enumerate(stopping, start=1):
            best = order[:rank]
            logits = self.choice_scale * x[best]
            share = np.exp(logits - np.logaddexp.reduce(logits))
            probabilities[best] += probability * share
        return np.asarray(np.log(probabilities), np.float64)

    def stopping_probabilities(self, descending: Floats) -> Floats:
        """Pr[the search stops at rank 1, 2, ..., d]."""
        d = len(descending)
        z, g, own = self.scales
        gaps = (descending[0] - descending[1:]) - np.array(self.thresholds[: d - 1])
        w, weights = rule_between(np.append(-gaps, 0.0), min(z, g, own), max(z, g))
        density = two_laplace_density(w, z, g)
        _, log_pass, log_fail = log_functions(Law.LAPLACE, (gaps[:, None] + w) / own)
        result = np.empty(d)
        log_reached = np.zeros_like(w)
        for rank in range(d - 1):
            result[rank] = np.sum(weights * density * np.exp(log_reached + log_pass[rank]))
            log_reached = log_reached + log_fail[rank]
        result[-1] = np.sum(weights * density * np.exp(log_reached))
        return result


def log_laplace(x: Floats, scale: float) -> Floats:
    """The log density of Laplace noise."""
    return -np.abs(x) / scale - float(np.log(2 * scale))


def two_laplace_density(x: Floats, a: float, b: float) -> Floats:
    """The density of the difference of two Laplace variables of different scales a and b.

    The characteristic function 1/((1 + a^2 t^2)(1 + b^2 t^2)) has the partial fractions
    (a^2/(1 + a^2 t^2) - b^2/(1 + b^2 t^2))/(a^2 - b^2).
    """
    of_a, of_b = np.exp(log_laplace(x, a)), np.exp(log_laplace(x, b))
    return np.asarray((a * a * of_a - b * b * of_b) / (a * a - b * b), np.float64)


def hockey_stick(p: Floats, q: Floats, epsilon: float) -> float:
    """The smallest delta with P <= e^epsilon Q + delta: sum of (p - e^epsilon q)+."""
    return float(np.sum(np.maximum(p - np.exp(epsilon) * q, 0.0)))


def _log_integral(log_terms: Floats, weights: Floats) -> Floats:
    """log of the integral of exp(log_terms) over the last axis."""
    top = log_terms.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(log_terms - top) @ weights) + top[..., 0], np.float64)
