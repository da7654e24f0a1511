"""Exact probabilities of the noisy top: softmax, peeling, polynomials, quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from winnow.audit.densities import log_functions
from winnow.audit.quadrature import rule_between, unit_interval
from winnow.random.laws import Law, log1mexp

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
