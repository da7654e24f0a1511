"""What a graphical model is fitted by: least squares, and a pull towards independent columns.

Tables i have noisy counts y_i = N A_i p + sigma_i z: p is an unknown distribution over all columns,
A_i p its marginal, N the number of rows. With s_i = sigma_i / N, and with y_i moved to the sum N
and divided by it, the objective over all p is

    F(p) = sum_i |y_i - A_i p|^2 / (2 s_i^2) + tau KL(p | q),       q ~ exp(sum_i A_i^T center_i),

the weighted least squares of Private-PGM [McKenna-Sheldon-Miklau 2019] and a pull towards q. The
minimiser is p ~ exp(sum_i A_i^T theta_i), a graphical model, and over theta

    g_i = (y_i - A_i p) / s_i^2 - tau (theta_i - center_i),         dF/dtheta = -Cov g

with Cov the covariance of the tables' indicators under p.

Certificate. For every lambda on the tables, Fenchel's inequality gives

    F(p) - min F <= sum_i s_i^2 |r_i / s_i^2 - lambda_i|^2 / 2 + tau KL(p | q_lambda),

with r_i = y_i - A_i p and q_lambda ~ q exp(A^T lambda / tau). With lambda = tau (theta - center)
+ a g the first term is (1 - a)^2 sum s^2 g^2 / 2, the second tau log E_p exp(a A^T g / tau) -
a g.Ap; the best a in [0, 1] is searched for. At a = 1 and tau -> 0 this is the Frank-Wolfe gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.wide.kernels.tree_layout import TreeLayout

Floats = NDArray[np.float64]

_SHARP = 1e-9
"""For tau = 0: E_p exp at such a fraction of the largest g stands for the maximum, from above."""
_HALVINGS = 12


@dataclass(frozen=True, eq=False)
class FitPoint:
    """A model, and F about it."""

    theta: Floats
    marginals: Floats
    """On all tables."""
    value: float
    """F."""
    loss: float
    """Its first part."""
    divergence: float
    """KL(p | q)."""
    g: Floats


class TreeObjective:
    """F for some tables; ``descent`` is about the last point that was made."""

    def __init__(
        self, layout: TreeLayout, observed: Floats, variances: Floats, center: Floats, tau: float
    ) -> None:
        from winnow.wide.kernels.tree_passes import dot

        self.dot = dot
        self.layout = layout
        self.observed = observed
        """y / N, each table with the sum 1."""
        self.variances = variances
        """s^2 of every cell."""
        self.tau = tau
        self._center = center
        self._log_q = layout.propagate(center, np.empty(layout.size))

    def at(self, theta: Floats) -> FitPoint:
        """One pass through the tree."""
        marginals = np.empty(self.layout.size)
        log_z = self.layout.propagate(theta, marginals)
        away, left = theta - self._center, self.observed - marginals
        pulled = left / self.variances
        loss = 0.5 * self.dot(left, pulled)
        divergence = self.dot(away, marginals) - log_z + self._log_q
        value = loss + self.tau * divergence
        return FitPoint(theta, marginals, value, loss, divergence, pulled - self.tau * away)

    def descent(self, point: FitPoint) -> Floats:
        """Cov g, the steepest descent of F over theta."""
        return self.layout.tangent(point.g)

    def gap(self, point: FitPoint) -> float:
        """F is at most so much above its minimum over all distributions."""
        g = point.g.copy()
        for place in self.layout.places.values():
            g[place] -= g[place].mean()  # constants change nothing; this makes lambda smaller
        whole = self.dot(g, self.variances * g)
        soft = max(self.tau, _SHARP * float(np.abs(g).max()))
        if soft == 0.0:
            return 0.0
        marginals = np.empty(self.layout.size)
        base = self.layout.propagate(point.theta, marginals)
        mean, best, low, high = self.dot(g, marginals), 0.5 * whole, 0.0, 1.0
        a = 1.0
        for _ in range(_HALVINGS):  # the bound is convex in a
            more = self.layout.propagate(point.theta + (a / soft) * g, marginals) - base
            bound = 0.5 * (1 - a) ** 2 * whole + soft * more - a * mean
            best = min(best, bound)
            if self.dot(g, marginals) - mean > (1 - a) * whole:
                high = a
            else:
                low = a
            a = 0.5 * (low + high)
        return max(0.0, float(best))
