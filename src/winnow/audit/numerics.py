"""How far the outputs on two neighbouring tables lie apart: epsilon, delta and rho.

From the log-probabilities of the same outputs under both. The moments of the ratio are
sums of powers of one root of it, which is much cheaper than an exponential for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.formulas import log1mexp
from winnow.core.laws import Law

Floats = NDArray[np.float64]

_NODES = 14
_PANEL = 2.0
_TAIL = 40.0
"""Integrands fall like exp(-distance) or faster past the last kink: e^-40 is 4e-18."""


@lru_cache(maxsize=8)
def _gauss_legendre(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return np.asarray(nodes, np.float64), np.asarray(weights, np.float64)


def rule_between(kinks: Floats, unit: float = 1.0, reach: float = 1.0) -> tuple[Floats, Floats]:
    """Nodes and weights on the line, with an edge at every kink.

    Panels are at most two `unit` long: the integrand's nearest pole lies about three units
    off the line, and it changes by a factor e^10 or so on one panel; 14 nodes are exact
    to 1e-15 for that. The line is cut 40 `reach` beyond the outer kinks.
    """
    edges = np.unique(np.asarray(kinks, np.float64))
    edges = np.concatenate([[edges[0] - _TAIL * reach], edges, [edges[-1] + _TAIL * reach]])
    pieces = [
        np.linspace(low, high, int(np.ceil((high - low) / (_PANEL * unit))) + 1)[:-1]
        for low, high in pairwise(edges)
    ]
    edges = np.concatenate([*pieces, edges[-1:]])
    return on_panels(edges)


def on_panels(edges: Floats) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights on each of the panels between the edges."""
    nodes, weights = _gauss_legendre(_NODES)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


def unit_interval(degree: int) -> tuple[Floats, Floats]:
    """A rule on [0, 1] that is exact for polynomials of this degree."""
    nodes, weights = _gauss_legendre(degree // 2 + 1)
    return (nodes + 1) / 2, weights / 2


LN2 = float(np.log(2.0))


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
            case never:
                assert_never(never)


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


def upper_tail(scale: float, z: NDArray[np.int64] | Floats) -> Floats:
    """Pr[Z >= z] for discrete Laplace noise."""
    q = np.exp(-1 / scale)
    above = q ** np.maximum(z, 0.0) / (1 + q)
    return np.asarray(np.where(z > 0, above, 1 - q ** np.maximum(1.0 - z, 0.0) / (1 + q)))


@lru_cache(maxsize=16)
def _gaussian_tails(variance: float) -> Floats:
    """Pr[Z >= z] from the least z that matters to the largest, and 0."""
    reach = int(40 * math.sqrt(variance)) + 2
    ends = np.arange(-reach, reach + 1)
    mass = np.exp(-(ends.astype(np.float64) ** 2) / (2 * variance))
    return np.append(np.cumsum(mass[::-1])[::-1] / mass.sum(), 0.0)


def gaussian_upper_tail(variance: float, z: NDArray[np.int64] | Floats) -> Floats:
    """Pr[Z >= z] for discrete Gaussian noise at whole z, by its sum."""
    tails = _gaussian_tails(variance)
    reach = len(tails) // 2 - 1
    return np.asarray(tails[np.clip(np.asarray(z, np.int64) + reach, 0, len(tails) - 1)])


ORDERS = (1.25, 2.0, 4.0, 16.0)
_LARGEST = 40.0
"""Sums of 16th powers of ratios up to e^40 stay far within float64."""


@dataclass(frozen=True)
class Distance:
    """The larger of both directions, each."""

    epsilon: float
    delta: float
    rho: float

    def or_larger(self, other: Distance) -> Distance:
        """The worst of two pairs."""
        return Distance(
            max(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
            max(self.rho, other.rho),
        )


NOTHING = Distance(0.0, 0.0, 0.0)


def distance(log_p: Floats, log_q: Floats, epsilon: float) -> Distance:
    """Of two rows of log-probabilities; delta is the hockey-stick divergence at `epsilon`.

    Probability that is missing lies outside the listed outputs and counts in full.
    """
    log_p, log_q = log_p.ravel(), log_q.ravel()
    p, q, loss = np.exp(log_p), np.exp(log_q), log_p - log_q
    largest = float(np.abs(loss).max())
    if largest < _LARGEST:
        root = np.exp(loss / 4)
        rho = max(_rho(p, root), _rho(q, 1 / root))
    else:
        rho = max(_rho_by_logs(log_p, loss), _rho_by_logs(log_q, -loss))
    return Distance(largest, max(_delta(p, q, epsilon), _delta(q, p, epsilon)), rho)


def _delta(p: Floats, q: Floats, epsilon: float) -> float:
    beyond = np.maximum(p - np.exp(epsilon) * q, 0.0)
    return float(beyond.sum() + max(0.0, 1 - p.sum()))


def _rho(p: Floats, root: Floats) -> float:
    """The smallest rho with Renyi divergences of at most a rho, at the orders a."""
    fourth = (root * root) ** 2
    twelfth = fourth**2 * fourth
    sixtieth = (twelfth * twelfth) ** 2 * twelfth
    powers = (root, fourth, twelfth, sixtieth)  # 4 (a - 1) for each order a
    moments = [float(np.log(np.einsum("i,i->", p, power))) for power in powers]
    return max(m / (a - 1) / a for m, a in zip(moments, ORDERS, strict=True))


def _rho_by_logs(log_p: Floats, loss: Floats) -> float:
    worst = 0.0
    for order in ORDERS:
        exponent = log_p + (order - 1) * loss
        top = exponent.max()
        moment = top + np.log(np.exp(exponent - top).sum())
        worst = max(worst, float(moment) / (order - 1) / order)
    return worst
