"""Audit 4, continued: the rho that is charged covers the worst pair of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.audit.result import AuditResult
from winnow.core.relation import Relation
from winnow.privacy import (
    AnyOf,
    BoundedRange,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    tight_delta,
    zcdp_cost,
)
from winnow.privacy.charges import laplace_event

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
    yield integers_stay_below(tight_delta)
    yield choices_stay_below(tight_delta)
    yield several_counts_stay_below(laplace_event)
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


def integers_stay_below(claim: Callable[[DiscreteGaussian, float], float]) -> AuditResult:
    """Two or three integers with discrete Gaussian noise of different variances, exactly."""
    largest = 0.0
    for variances, shifts in (((0.5,), (1,)), ((1.0, 3.0), (1, 2)), ((0.75, 1.5, 2.0), (1, 1, -1))):
        p, q = np.ones(1), np.ones(1)
        z = np.arange(-24, 25)
        for variance, shift in zip(variances, shifts, strict=True):
            laws = [np.exp(-((z - by) ** 2) / (2 * variance)) for by in (shift, 0)]
            p, q = (np.outer(a, b / b.sum()).ravel() for a, b in zip((p, q), laws, strict=True))
        ratio = sum(Fraction(s) ** 2 / Fraction(v) for v, s in zip(variances, shifts, strict=True))
        event = DiscreteGaussian(ratio, Fraction(min(variances)), _HERE)
        for a in np.linspace(0.0, 4.0, 33):
            reached = float(np.maximum(p - math.exp(a) * q, 0.0).sum())
            largest = max(largest, _ratio(reached, claim(event, float(a))))
    return AuditResult(
        "accounting",
        "No integers with discrete Gaussian noise pass the tight accountant's delta.",
        "tight accountant",
        str(_HERE),
        "Dong-Roth-Su 2022, proved beside the accountant",
        1.0,
        largest,
        0.9 <= largest <= 1,
        "the largest ratio of what is reached to what is claimed, by enumeration",
    )


def choices_stay_below(claim: Callable[[Event, float], float]) -> AuditResult:
    """A first measurement decides which of two plans follows; with a small chance all is told."""
    lost, scale = 0.01, 3
    r = 1 / (1 + math.exp(-1 / scale))
    first = (np.array([r, 1 - r]), np.array([1 - r, r]))
    often = 1 / (1 + math.exp(-1 / 6))
    small = (np.array([often, 1 - often]), np.array([1 - often, often]))
    large = _two_point(0.6, 0.3)
    ways = [[[small], [small], [small]], [[large]]]
    choice = AnyOf((Repeat(DiscreteLaplace(6, _HERE), 3), BoundedRange(0.6, _HERE)))
    plan = Compose((DiscreteLaplace(scale, _HERE), Truncated(choice, lost)))
    largest = 0.0
    for a in np.linspace(0.0, 1.6, 33):
        after = [_best(way, a - np.log(first[0] / first[1])) for way in ways]
        reached = float((lost + (1 - lost) * np.max(after, axis=0)) @ first[0])
        largest = max(largest, _ratio(reached, claim(plan, float(a))))
    return AuditResult(
        "accounting",
        "Whoever chooses the next plan by what was released stays below the tight accountant.",
        "tight accountant",
        str(_HERE),
        "proved beside the accountant",
        1.0,
        largest,
        0.9 <= largest <= 1,
        "the largest ratio of what is reached to what is claimed, by enumeration",
    )


def several_counts_stay_below(event_of: Callable[[Fraction, int, Relation], Event]) -> AuditResult:
    """One, two or four counts that a person moves by one each, with Laplace noise, exactly."""
    largest = 0.0
    for moved in (1, 2, 4):
        for epsilon in (0.5, 1.0, 3.0):
            z, scale = np.arange(-70, 72), moved / epsilon
            law = np.exp(-np.abs(z) / scale)
            p, q = np.ones(1), np.ones(1)
            for _ in range(moved):  # of a count only whether it is above 0 tells anything
                one = np.array([law[z <= 0].sum(), law[z > 0].sum()]) / law.sum()
                p, q = np.outer(p, one).ravel(), np.outer(q, one[::-1]).ravel()
            event = event_of(Fraction(1 / epsilon), moved, _HERE)
            largest = max(largest, _rho(p, q) / float(zcdp_cost(event).rho))
            for a in np.linspace(0.0, 0.9 * epsilon, 10):
                reached = float(np.maximum(p - math.exp(a) * q, 0.0).sum())
                largest = max(largest, _ratio(reached, tight_delta(event, float(a))))
    return AuditResult(
        "accounting",
        "Counts that a person moves by one each cost no more than what is charged for them.",
        "tight accountant and zCDP",
        str(_HERE),
        "Canonne-Kamath-Steinke 2020; proved beside the table of promises",
        1.0,
        largest,
        0.9 <= largest <= 1,
        "the largest ratio of what is reached to what is claimed, by enumeration",
    )


def _ratio(reached: float, claimed: float) -> float:
    return reached / claimed if claimed else (math.inf if reached > 1e-15 else 0.0)


def _best(steps: list[list[tuple[Floats, Floats]]], a: Floats) -> Floats:
    """The largest P(S) - e^a Q(S) of an adversary that chooses each step's law as it goes."""
    if not steps:
        return np.asarray(-np.expm1(np.minimum(a, 0.0)))
    best = np.zeros_like(a)
    for p, q in steps[0]:
        best = np.maximum(best, _best(steps[1:], a[..., None] - np.log(p / q)) @ p)
    return best


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


_Single = PureDP | BoundedRange | DiscreteLaplace | Gaussian | DiscreteGaussian


def costs_dominate_divergences() -> Iterator[AuditResult]:
    """Every rho is at least that of the worst pair of distributions of its kind."""
    for epsilon in (0.1, 1.0, 6.0):
        p = np.array([1.0, math.exp(-epsilon)]) / (1 + math.exp(-epsilon))
        yield _dominates(PureDP(epsilon, _HERE), [(p, p[::-1])], "randomized response")
        pairs = [_two_point(epsilon, t) for t in np.linspace(0, epsilon, 41)[1:-1]]
        yield _dominates(
            BoundedRange(epsilon, _HERE), pairs, "two-point losses t and t - epsilon, all t"
        )
        x = np.arange(-400, 402)
        law = np.exp(-np.abs(x) * epsilon)
        yield _dominates(
            DiscreteLaplace(1 / Fraction(str(epsilon)), _HERE),
            [(law[:-1] / law.sum(), law[1:] / law.sum())],
            "the discrete Laplace law and its shift by 1",
        )
    for sigma in (1.0, 5.0):
        x = np.arange(-60, 62) if sigma == 1 else np.arange(-300, 302)
        law = np.exp(-(x**2) / (2 * sigma**2))
        yield _dominates(
            Gaussian(sigma, _HERE),
            [(law[:-1] / law.sum(), law[1:] / law.sum())],
            "the discrete Gaussian law and its shift by 1",
        )
    x = np.arange(-40, 42)
    narrow, wide = np.exp(-(x**2) / 2), np.exp(-(x**2) / 6)
    p, q = (np.outer(narrow[s], wide[s]).ravel() for s in (slice(None, -1), slice(1, None)))
    yield _dominates(
        DiscreteGaussian(Fraction(4, 3), 1, _HERE),
        [(p / p.sum(), q / q.sum())],
        "two integers with the variances 1 and 3, each moved by 1",
    )


def _two_point(epsilon: float, t: float) -> tuple[Floats, Floats]:
    """Two distributions with the log ratios t and t - epsilon."""
    high = (1 - math.exp(t - epsilon)) / (1 - math.exp(-epsilon))
    p = np.array([high, 1 - high])
    return p, p * np.exp([-t, epsilon - t])


def _dominates(event: _Single, pairs: list[tuple[Floats, Floats]], what: str) -> AuditResult:
    worst = max(max(_rho(p, q), _rho(q, p)) for p, q in pairs)
    charged = float(zcdp_cost(event).rho)
    name = type(event).__name__
    number = next(iter(event.parameters().values()))
    return AuditResult(
        "accounting",
        f"The rho charged for {name}({float(number):g}) covers {what}.",
        "accountant",
        str(_HERE),
        "Bun-Steinke 2016; Cesar-Rogers 2021; Canonne-Kamath-Steinke 2020",
        charged,
        worst,
        worst <= charged * (1 + 1e-9),
        "Renyi divergences of orders 1 to 256, over their order",
    )


def _rho(p: Floats, q: Floats) -> float:
    keep = (p > 1e-250) & (q > 1e-250)
    log_p, loss = np.log(p[keep]), np.log(p[keep]) - np.log(q[keep])
    worst = float(np.sum(p[keep] * loss))
    for order in (1.05, 1.5, 2, 3, 5, 10, 32, 256):
        moment = float(np.logaddexp.reduce(log_p + (order - 1) * loss))
        worst = max(worst, moment / (order - 1) / order)
    return worst
