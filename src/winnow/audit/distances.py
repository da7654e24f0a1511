"""How far the outputs on two neighbouring tables lie apart: epsilon, delta and rho.

From the log-probabilities of the same outputs under both. The moments of the ratio are
sums of powers of one root of it, which is much cheaper than an exponential for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
