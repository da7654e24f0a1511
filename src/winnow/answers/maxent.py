"""The distribution of maximum entropy that fits noisy linear measurements.

Found is the p over the cells that minimises

    tau KL(p | uniform) + sum over i of w_i/2 ((A p)_i - y_i)^2,

y_i a measured fraction with the variance 1/w_i. Its dual has no constraints and is convex: with p
~ exp(A' mu), minimise over mu

    log sum exp(A' mu) - mu.y + tau/2 sum of mu_i^2/w_i,      gradient  A p - y + tau mu/w,

which L-BFGS does. The pull tau is set by the evidence [MacKay 1992], as in the graphical model: in
a Gaussian approximation KL has the mean d/(2 tau), d the number of parameters that the
measurements determine against the pull. Everything here is post-processing of released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FIRST_PULL = 1000.0
_REFITTED = 2
_STEPS, _LAST_STEPS = 60, 150
_TOLERANCE, _LAST_TOLERANCE = 1e-3, 1e-5
_LEAST_DIVERGENCE = 0.01
_LEAST_PULL, _MOST_PULL = 10.0, 1e7
_CELL_FITS, _HALVINGS = 4, 60


class Observed(Protocol):
    """Measured fractions, each a linear function of a distribution, all numbers flat."""

    cells: int

    @property
    def values(self) -> Floats:
        """y: what was measured."""

    @property
    def weights(self) -> Floats:
        """w: one over the variances."""

    @property
    def spread(self) -> Floats:
        """About the variance of each coordinate under the distribution: for scaling."""

    @property
    def joint(self) -> Floats:
        """1 for the coordinates that tell of more than one column alone, else 0."""

    def divergence(self, p: Floats) -> float:
        """From what would be expected without these coordinates, in nats."""

    def start(self) -> Floats:
        """Coordinates mu to start from."""

    def forward(self, p: Floats) -> Floats:
        """A p."""

    def adjoint(self, mu: Floats) -> Floats:
        """A' mu, a number for each cell."""


@dataclass(frozen=True, eq=False)
class MaxEntropy:
    """A fitted distribution, and how it came about."""

    weights: Floats
    """Of the cells, in C order; sum 1."""
    pull: float
    steps: int


def fit(observed: Observed) -> MaxEntropy:
    """The distribution, with a pull that its own fit confirms."""
    mu, tau, steps = observed.start(), FIRST_PULL, 0
    _, p = _normalised(observed.adjoint(mu))
    tau = _evidence(observed, p, tau)
    for turn in range(_REFITTED):
        last = turn == _REFITTED - 1
        mu, p, taken = _minimised(observed, mu, tau, last=last)
        steps += taken
        if not last:
            tau = _evidence(observed, p, tau)
    return MaxEntropy(p, tau, steps)


def fit_cells(shares: Floats, deviation: float) -> Floats:
    """The same for one table that was measured cell by cell, with noise of one deviation.

    Each cell then has its own equation, p + g log p = y - l with g = tau x deviation^2, which the
    Wright omega function solves; l makes the sum 1.
    """
    from scipy.special import wrightomega  # takes a while to load

    y, tau = shares.reshape(-1), FIRST_PULL
    p = np.maximum(y, deviation)
    p = p / p.sum()
    for _ in range(_CELL_FITS):
        known = float((p / (p + tau * deviation**2)).sum())
        tau = _pull(known, _divergence(p.reshape(shares.shape)))
        g = tau * deviation**2

        def at(level: float, g: float = g) -> Floats:
            return np.asarray(g * wrightomega((y - level) / g - np.log(g)))

        low, high = float(y.min()) - 1.0, float(y.max()) + g * 50.0
        while at(low).sum() < 1.0:
            low -= 2.0 * (high - low)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if at(middle).sum() > 1.0 else (low, middle)
        p = at(low)
        p = p / p.sum()
    return np.asarray(p)


def _divergence(table: Floats) -> float:
    """From independent columns; of one column, from the uniform distribution."""
    if table.ndim == 1:
        return float(np.log(table.size)) - entropy(table)
    axes = range(table.ndim)
    alone = [table.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes]
    return sum(map(entropy, alone)) - entropy(table)


def entropy(p: Floats) -> float:
    """In nats."""
    held = p[p > 0.0]
    return -float(held @ np.log(held))


def monotone(prefixes: Floats, rows: int) -> Floats:
    """The weights of the codes of one column whose prefixes were estimated, the last being all.

    The prefixes become the nearest ones that rise from 0 to the number of rows (isotonic
    regression by least squares). It keeps the order of vectors and commutes with adding a
    constant: where x - y lies between a and b everywhere, so does what becomes of them. True
    prefixes rise, so they stay what they are. Hence neither the largest error of all prefixes nor
    that of all ranges is larger after it, whatever the noise was, nor the sum of any power of the
    errors of prefixes [Robertson-Wright-Dykstra 1988, 1.6]; and to cut off at 0 and at a public
    number of rows brings every prefix nearer.
    """
    from scipy.optimize import isotonic_regression  # takes a while to load

    rising = np.asarray(isotonic_regression(prefixes[:-1]).x) if len(prefixes) > 1 else prefixes[:0]
    ends = np.concatenate([[0.0], np.clip(rising, 0.0, rows), [float(rows)]])
    return np.diff(ends) / rows


def _minimised(
    observed: Observed, start: Floats, tau: float, *, last: bool
) -> tuple[Floats, Floats, int]:
    from scipy.optimize import minimize  # takes a while to load

    soft, y = tau / observed.weights, observed.values
    scale = 1.0 / np.sqrt(observed.spread + soft)

    def value(x: Floats) -> tuple[float, Floats]:
        mu = x * scale
        log_z, p = _normalised(observed.adjoint(mu))
        gradient = observed.forward(p) - y + soft * mu
        return log_z - float(mu @ y) + 0.5 * float(mu @ (soft * mu)), gradient * scale

    found = minimize(
        value,
        start / scale,
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": _LAST_STEPS if last else _STEPS,
            "gtol": _LAST_TOLERANCE if last else _TOLERANCE,
            "ftol": 0.0,
            "maxcor": 15,
        },
    )
    mu = found.x * scale
    return mu, _normalised(observed.adjoint(mu))[1], int(found.nit)


def _normalised(logs: Floats) -> tuple[float, Floats]:
    top = float(logs.max())
    p = np.exp(logs - top)
    total = float(p.sum())
    return top + float(np.log(total)), p / total


def _evidence(observed: Observed, p: Floats, tau: float) -> float:
    """The pull under which a divergence of this size is what to expect."""
    spread = observed.spread
    known = float(observed.joint @ (spread / (spread + tau / observed.weights)))
    return _pull(known, observed.divergence(p))


def _pull(known: float, divergence: float) -> float:
    found = known / (2.0 * max(divergence, _LEAST_DIVERGENCE))
    return min(max(found, _LEAST_PULL), _MOST_PULL)
