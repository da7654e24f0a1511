"""Exact probabilities of mechanisms that compare with Laplace noise on both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

from winnow.audit.numerics import (
    log_functions,
    log_laplace,
    rule_between,
    two_laplace_density,
    unit_interval,
)
from winnow.core.formulas import log1mexp
from winnow.core.laws import Law

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Scores = NDArray[np.int64] | NDArray[np.float64]

_ENTRIES = 1 << 17
"""How many numbers are held at a time."""


@dataclass(frozen=True)
class NoisyTopModel:
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
            raise ValueError(f"no guarantee speaks of the order of {self.law} noise")
        return log_sets_by_quadrature(self.law, x, outcomes, self.counts)


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


@dataclass(frozen=True)
class LargeMarginModel:
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
