"""The exact privacy of tiny adaptive compositions, by dynamic programming without any grid.

An adversary fixes neighbours and, after every release, chooses the next mechanism. Its best
delta at epsilon a is D_n(a) with D_0(a) = (1 - e^a)+ and D_j(a) = max over its choices of
the sum of p D_(j-1)(a - log(p/q)) over the outcomes. Every number here is what some real
adversary reaches: a lower bound on what an accountant may claim.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Law = tuple[Floats, Floats]
"""Probabilities of the outcomes under the two neighbours."""


def exponential_mechanism(scores: Floats, moved: Floats, epsilon: float) -> Law:
    """The exponential mechanism at sensitivity 1 on one data set and on its neighbour."""
    assert np.max(np.abs(moved - scores)) <= 1

    def law(values: Floats) -> Floats:
        weights = np.exp(epsilon * (values - values.max()) / 2)
        return weights / weights.sum()

    return law(scores), law(moved)


def worst_pairs(epsilon: float, number: int) -> list[Law]:
    """Two candidates whose scores move apart by 1 each, from many starting gaps."""
    gaps = np.linspace(-4 / epsilon - 2, 4 / epsilon + 2, number)
    return [
        exponential_mechanism(np.array([gap, 0.0]), np.array([gap + 1, -1.0]), epsilon)
        for gap in gaps
    ]


def discrete_gaussian(sigma: float, shift: int, reach: int) -> Law:
    """An integer with discrete Gaussian noise, and the integer moved by the sensitivity.

    Only outcomes within reach count, a post-processing: what is left out helps nobody.
    """
    z = np.arange(-reach, reach + shift + 1)

    def law(mean: int) -> Floats:
        weights = np.exp(-((z - mean) ** 2) / (2 * sigma**2))
        far = np.arange(-60 * math.ceil(sigma), 60 * math.ceil(sigma) + 1)
        return weights / np.exp(-(far**2) / (2 * sigma**2)).sum()

    return law(0), law(shift)


def discrete_laplace(scale: float) -> Law:
    """An integer with discrete Laplace noise, moved by 1: its sufficient statistic."""
    p = 1 / (1 + math.exp(-1 / scale))
    return np.array([p, 1 - p]), np.array([1 - p, p])


def best_delta(steps: Sequence[Sequence[Law]], a: Floats) -> Floats:
    """D of the whole interaction at every a; steps[i] holds the choices of step i."""
    if not steps:
        return np.asarray(-np.expm1(np.minimum(a, 0.0)))
    found = np.zeros_like(a)
    for p, q in steps[0]:
        loss = np.log(p / q)
        after = best_delta(steps[1:], a[..., None] - loss)
        found = np.maximum(found, after @ p)
    return found


def hockey_stick(p: Floats, q: Floats, a: float) -> float:
    """sup over sets of P - e^a Q."""
    return float(np.sum(np.maximum(p - math.exp(a) * q, 0.0)))


def capped_delta(epsilon: float, updates: int, rounds: int, a: float, cells: int = 40) -> float:
    """What an adversary reaches at `a` in capped rounds, each epsilon-DP, rounded down.

    It chooses each round's law, stops when it likes, and is stopped after so many
    exceptions. Losses are rounded down to a grid, and D falls, so this is a lower bound.
    """
    h = epsilon / cells
    reach = 6 * epsilon * math.sqrt(rounds) + 4 * h
    nodes = a + h * np.arange(-math.ceil((reach + a) / h), math.ceil(reach / h) + 1)
    stopped = -np.expm1(np.minimum(nodes, 0.0))
    left = [stopped] * (updates + 1)
    grow = math.exp(epsilon)
    laws = []
    for part in (0.01, 0.05, 0.15, 0.3, 0.6, 1.0):
        small = part / (1 + grow)  # the largest mass whose complement stays within e^epsilon
        for quiet in (False, True):  # which of the two outcomes has the small mass
            for p, q in ((small, small * grow), (small * grow, small)):
                laws.append(((1 - p, 1 - q), (p, q)) if not quiet else ((p, q), (1 - p, 1 - q)))
    at = np.arange(len(nodes))

    def after(bound: Floats, p: float, q: float) -> Floats:
        index = at - math.floor(math.log(p / q) / h + 1e-9)
        return p * np.where(index < len(nodes), bound[np.clip(index, 0, len(nodes) - 1)], 0.0)

    for _ in range(rounds):
        grown = [stopped]
        for exceptions in range(1, updates + 1):
            best = left[exceptions]
            for quiet, loud in laws:
                reached = after(left[exceptions], *quiet) + after(left[exceptions - 1], *loud)
                best = np.maximum(best, reached)
            grown.append(best)
        left = grown
    return float(left[updates][np.searchsorted(nodes, a - h / 2)])
