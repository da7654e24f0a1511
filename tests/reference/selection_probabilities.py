"""Slow, obvious twins of the exact probabilities: by listing, or by drawing with NumPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def permute_and_flip(x: Floats) -> Floats:
    """All permutations: stop at the first i whose coin of probability e^(x_i - max) falls."""
    p = np.exp(x - x.max())
    total = np.zeros(len(x))
    for order in itertools.permutations(range(len(x))):
        reached = 1.0
        for i in order:
            total[i] += reached * p[i]
            reached *= 1 - p[i]
    return total / math.factorial(len(x))


def draw_noise(law: str, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Plain float64 noise of scale 1."""
    match law:
        case "gumbel":
            return generator.gumbel(size=shape)
        case "exponential":
            return generator.exponential(size=shape)
        case "laplace":
            return generator.laplace(size=shape)
        case "logistic":
            return generator.logistic(size=shape)
        case _:
            return np.abs(generator.logistic(size=shape))


def above_threshold_once(gap: float, threshold_scale: float, value_scale: float) -> float:
    """Pr[gap + Lap(value_scale) > Lap(threshold_scale)], in closed form.

    The difference of two Laplace variables has the tail
    (a^2 e^(-x/a) - b^2 e^(-x/b))/(2 (a^2 - b^2)) at x >= 0.
    """
    a, b, x = value_scale, threshold_scale, abs(gap)
    tail = (a * a * math.exp(-x / a) - b * b * math.exp(-x / b)) / (2 * (a * a - b * b))
    return 1 - tail if gap > 0 else tail


def large_margin_draws(
    scores: Floats,
    scales: tuple[float, float, float],
    thresholds: Floats,
    choice_scale: float,
    draws: int,
    seed: int,
) -> Floats:
    """Frequencies of LMM's Algorithm 1, line by line, one draw after the other."""
    generator = np.random.default_rng(seed)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    ranked = [scores[i] for i in order]
    seen = np.zeros(len(scores))
    for _ in range(draws):
        m = ranked[0] + generator.laplace(scale=scales[0])
        g = generator.laplace(scale=scales[1])
        rank = 1
        while rank < len(scores):
            own = generator.laplace(scale=scales[2])
            if m - ranked[rank] > own + g + thresholds[rank - 1]:
                break
            rank += 1
        weights = np.exp(choice_scale * np.array(ranked[:rank]))
        seen[order[generator.choice(rank, p=weights / weights.sum())]] += 1
    return seen / draws
