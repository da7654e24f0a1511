"""How large a margin the large margin mechanism asks for at each rank [LMM, Alg 1].

Rank l may stop the search only when the l-th margin f(1) - f(l+1) exceeds t(l) with
all but a small probability; the search therefore compares a noisy margin with
T(l) > t(l). Everything here is public and in units of the sensitivity (the paper's
1/n), and every float is rounded up: a larger threshold is always at least as private.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ranks = NDArray[np.int64] | Floats
"""Ranks beyond 2^63 come as float64: what that rounds is far below the rounding up."""
THRESHOLDS = ("tight", "printed")

_ROUND_UP = 1.0 + 2.0**-40  # far above the error of log and of the polynomial below


def needed_margin(ranks: Ranks, epsilon: float, delta: float, thresholds: str) -> Floats:
    """t(l): the margin at which the last step on the l best items is private.

    t(l) = 6 (1 + ln(3 l/delta)/epsilon) [LMM, Alg 1]. At l = 1 the last step returns the
    best item without noise, so it suffices that neighbours agree on it: t(1) = 2
    (the tightened thresholds of the errata).
    """
    r = ranks.astype(np.float64)
    needed = 6.0 * (1.0 + np.log(3.0 * r / delta) / epsilon) * _ROUND_UP
    if thresholds == "tight":
        needed = np.where(ranks == 1, np.minimum(needed, 2.0), needed)
    return needed


def stopping_margin(ranks: Ranks, epsilon: float, delta: float, thresholds: str) -> Floats:
    """T(l): the noisy margin at which the search stops at rank l.

    ``printed`` adds one tail bound for each of the three noises [LMM, Alg 1].
    ``tight`` adds q(l), the upper quantile of their sum Z - G - Z_l at level
    (2 delta/3)/(l (l+1)). Why it is enough: if the margin is at most t(l), the search
    stops at l only when Z - G - Z_l > T(l) - t(l) = q(l), which has that probability;
    over all l these sum to at most 2 delta/3, the mass that the proof of LMM Theorem 2
    gives away before its last step.
    """
    r = ranks.astype(np.float64)
    needed = needed_margin(ranks, epsilon, delta, thresholds)
    if thresholds == "printed":
        noise = (
            3.0 * np.log(3.0 / (2.0 * delta))
            + 6.0 * np.log(3.0 / delta)
            + 12.0 * np.log(3.0 * r * (r + 1.0) / delta)
        ) / epsilon
    else:
        noise = three_laplace_quantile((2.0 * delta / 3.0) / (r * (r + 1.0)), epsilon)
    total: Floats = (noise + needed) * _ROUND_UP
    return total


def three_laplace_tail(x: Floats, epsilon: float) -> Floats:
    """Pr[Z - G - Z_l > x], x >= 0, for Laplace scales 3, 6 and 12 over epsilon.

    The characteristic function is the product of 1/(1 + b^2 t^2) over three distinct
    scales; its partial fractions are a signed mixture of the three Laplace laws with
    weights 1/45, -4/9 and 64/45.
    """
    y = np.exp(-np.asarray(x, np.float64) * epsilon / 12.0)
    return y * (32.0 / 45.0 - y * (2.0 / 9.0 - y * y / 90.0))


def three_laplace_quantile(p: Floats, epsilon: float) -> Floats:
    """An x with Pr[Z - G - Z_l > x] <= p (p < 1/2), tight to about 1e-11 relative.

    In y = exp(-epsilon x/12) the tail is an increasing concave polynomial on (0, 1], so
    Newton's iteration from below converges from below; y is then rounded down.
    """
    p = np.asarray(p, np.float64)
    y = 45.0 / 32.0 * p
    for _ in range(8):
        value = y * (32.0 / 45.0 - y * (2.0 / 9.0 - y * y / 90.0)) - p
        slope = 32.0 / 45.0 - y * (4.0 / 9.0 - 4.0 / 90.0 * y * y)
        y = y - value / slope
    return -12.0 / epsilon * np.log(y * (2.0 - _ROUND_UP))
