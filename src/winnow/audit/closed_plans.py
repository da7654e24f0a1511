"""Audit 4, continued: the tight accountant against exact adaptive adversaries and known numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.audit.result import AuditResult
from winnow.domain.neighbours import Relation
from winnow.privacy import BoundedRange, Compose, DiscreteLaplace, Event, Repeat, tight_delta

Floats = NDArray[np.float64]

_HERE = Relation.ADD_REMOVE
_CITATION = "Dong-Durfee-Rogers 2020"
_TIGHT_ROUNDS = {(1e-3, 100): 0.0698, (1e-6, 10): 0.1483, (1e-6, 50): 0.0608, (1e-6, 100): 0.0427}
"""(delta, T): the largest e for (1, delta) with T rounds of an exponential mechanism and a
measurement with continuous Laplace noise, e/2 each, against adaptive adversaries; computed
elsewhere."""


def closed_plans() -> Iterator[AuditResult]:
    """Every check of the tight accountant."""
    yield adversaries_stay_below()
    for (delta, rounds), expected in _TIGHT_ROUNDS.items():
        yield _known_number(delta, rounds, expected)


def adversaries_stay_below() -> AuditResult:
    """Three rounds of [exponential mechanism, discrete Laplace], chosen as they go, exactly."""
    epsilon, scale = 0.8, 3
    gaps = np.linspace(-8, 8, 17)
    choices = []
    for gap in gaps:  # two candidates whose scores move apart by 1 each
        p, q = 1 / (1 + math.exp(-epsilon * gap / 2)), 1 / (1 + math.exp(-epsilon * (gap / 2 - 1)))
        choices.append((np.array([p, 1 - p]), np.array([q, 1 - q])))
    r = 1 / (1 + math.exp(-1 / scale))
    noise = [(np.array([r, 1 - r]), np.array([1 - r, r]))]
    plan: Event = Compose((BoundedRange(epsilon, _HERE), DiscreteLaplace(scale, _HERE)))
    levels = np.linspace(0.0, 2.4, 7)
    reached = _best([choices, noise] * 3, levels)
    claims = [tight_delta(Repeat(plan, 3), float(a)) for a in levels]
    largest = max(float(x) / claim for x, claim in zip(reached, claims, strict=True))
    return AuditResult(
        "accounting",
        "No adaptive adversary passes the tight accountant's delta in three rounds.",
        "tight accountant",
        str(_HERE),
        _CITATION,
        1.0,
        largest,
        0.9 <= largest <= 1,
        "the largest ratio of what is reached to what is claimed, by dynamic programming",
    )


def _best(steps: list[list[tuple[Floats, Floats]]], a: Floats) -> Floats:
    """The largest P(S) - e^a Q(S) of an adversary that chooses each step's law as it goes."""
    if not steps:
        return np.asarray(-np.expm1(np.minimum(a, 0.0)))
    found = np.zeros_like(a)
    for p, q in steps[0]:
        found = np.maximum(found, _best(steps[1:], a[..., None] - np.log(p / q)) @ p)
    return found


def _known_number(delta: float, rounds: int, expected: float) -> AuditResult:
    def claim(e: float) -> float:
        half = Fraction(repr(e)) / 2
        steps = Compose((BoundedRange(half, _HERE), DiscreteLaplace(1 / half, _HERE)))
        return tight_delta(Repeat(steps, rounds), 1)

    below, above = claim(0.99 * expected), claim(1.01 * expected)
    return AuditResult(
        "accounting",
        f"{rounds} rounds at (1, {delta:g}) allow {expected:.4f} each by the tight accountant.",
        "tight accountant",
        str(_HERE),
        _CITATION,
        delta,
        below,
        below <= delta < above,
        "delta with 1 % less; 1 % more exceeds the target",
    )
