"""The law of the privacy loss of one measurement, on a grid, never too small.

The loss of an outcome is L = log(P/Q), P and Q its probabilities under two neighbours.
What a measurement does to privacy is E_P[F(x e^-L)] for functions F >= 0 that fall and
are convex (see ``tight``). On a grid of losses k h four changes of a law never lower
that number, whatever F is:

1. *Spreading.* The part of the law with losses in [k h, (k+1) h] is moved to the two
   ends so that its P-mass and its Q-mass stay. It is a mean-preserving spread of e^-L
   under P, and F is convex.
2. *More P, less Q.* p F(x q/p) grows with p and falls with q. So P-masses are computed
   and rounded up, Q-masses down.
3. *Moving up.* P-mass at a loss below the grid is moved to its lowest point: less Q.
4. *Losing.* P-mass at a loss above the grid gets the loss infinity, where F is F(0) = 1.

Both laws here are symmetric: the loss of Q against P has the same law under Q. So one
bound serves both directions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.errors import GuaranteeError
from winnow.privacy.rounding import SLACK, at_least

_SLACK = float(SLACK)
_ABOVE, _BELOW = 9.0, 6.5
"""Standard deviations kept: of P 1e-19 is lost above, of Q 4e-11 below."""

_LARGEST_MU = 16
"""Beyond it the masses of cells would need more careful arithmetic, and nothing is private."""


@dataclass(frozen=True)
class LossLaw:
    """P-mass ``masses[i]`` at the loss (first + i) h, and ``infinite`` at infinity."""

    first: int
    masses: NDArray[np.float64]
    infinite: float


def randomized_response_losses(epsilon: Fraction, h: float) -> LossLaw:
    """The losses +epsilon and -epsilon, with odds e^epsilon to 1.

    Every epsilon-DP pair is a post-processing of this one [Kairouz-Oh-Viswanath 2015], in
    both directions. Discrete Laplace noise at sensitivity 1 has exactly this law.
    """
    x = at_least(epsilon)
    cells = Fraction(epsilon) / Fraction(h)
    whole = math.floor(cells)
    up = _upper_part(float(cells - whole), h)
    # -epsilon = -(whole + 1) h + the rest of a cell.
    down = _upper_part(float(1 + whole - cells), h)
    masses = np.zeros(2 * whole + 3)  # losses -(whole + 1) h .. (whole + 1) h
    likely, unlikely = 1 / (1 + math.exp(-x)), 1 / (1 + math.exp(x)) if x < 700 else 0.0
    masses[-2] += likely * (1 - up)
    masses[-1] += likely * up
    masses[0] += unlikely * (1 - down)
    masses[1] += unlikely * down
    return LossLaw(-(whole + 1), masses * (1 + _SLACK), 0.0)


def _upper_part(offset: float, h: float) -> float:
    """How much of an atom at (k + offset) h spreading moves to (k + 1) h; rounded up."""
    return min(1.0, math.expm1(-offset * h) / math.expm1(-h) * (1 + _SLACK))


def gaussian_losses(mu_squared: Fraction, h: float) -> LossLaw:
    """Two unit normals at distance mu; ``discrete_gaussian`` says what they stand for.

    The loss is normal with mean mu^2/2 and variance mu^2, in both directions, and the pair
    grows with mu: sets of large values are the best, and they gain with mu.
    """
    mu = math.sqrt(at_least(mu_squared)) * (1 + _SLACK)
    if mu > _LARGEST_MU:
        raise GuaranteeError(
            f"Gaussian noise of {1 / mu:.3g} times the sensitivity is too little for the tight "
            "accountant; the zcdp accountant takes it"
        )
    cell = h / mu
    first = math.floor((-mu * mu / 2 - _BELOW * mu) / h)
    last = max(math.ceil((mu * mu / 2 + _ABOVE * mu) / h), first + 1)
    # Boundaries of cells in standard deviations; the loss lies in [k h, (k+1) h].
    under_p = [(k * h - mu * mu / 2) / mu for k in range(first, last + 1)]
    under_q = [(k * h + mu * mu / 2) / mu for k in range(first, last + 1)]
    # Relative error of a cell's mass. A boundary is off by at most 4 roundings of
    # (10 + 2 mu); the density changes within a cell by e^((10 + mu) cell) at most; erfc is
    # off by a few units in the last place of a tail that is at most 2/cell cells.
    error = _SLACK * (12 + 2 * mu) * math.exp(min(500.0, (10 + mu) * cell)) / cell
    p = _cells(under_p) * (1 + error)
    q = _cells(under_q) * max(0.0, 1 - error)
    growth = np.exp(h * np.arange(first, last)) * (1 - 64 * _SLACK)
    # u + v = p at the lower and the upper end, and u + v e^-h = q e^(k h): solve for v.
    upper = np.clip((p - growth * q) / -math.expm1(-h) * (1 + _SLACK), 0.0, p)
    masses = np.zeros(last - first + 1)
    masses[1:] = upper
    masses[:-1] += p - upper
    masses[0] += _tail(-under_p[0]) * (1 + error)
    return LossLaw(first, masses * (1 + _SLACK), _tail(under_p[-1]) * (1 + error))


def _tail(z: float) -> float:
    """The mass of a standard normal above z."""
    return math.erfc(z / math.sqrt(2)) / 2


def _cells(ends: list[float]) -> NDArray[np.float64]:
    """Standard normal masses between neighbouring ends, without cancellation in the tails."""
    above = np.array([_tail(z) for z in ends])
    below = np.array([_tail(-z) for z in ends])
    middle = np.array([math.erf(z / math.sqrt(2)) / 2 for z in ends])
    signs = np.array(ends)
    left, right = signs[:-1], signs[1:]
    return np.where(
        left >= 0, -np.diff(above), np.where(right <= 0, np.diff(below), np.diff(middle))
    )
