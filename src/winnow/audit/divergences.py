"""Audit 4, continued: the rho that is charged covers the worst pair of distributions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.audit.result import AuditResult
from winnow.domain.neighbours import Relation
from winnow.privacy import BoundedRange, DiscreteLaplace, Gaussian, PureDP, zcdp_cost

Floats = NDArray[np.float64]

_HERE = Relation.ADD_REMOVE
_Single = PureDP | BoundedRange | DiscreteLaplace | Gaussian


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
