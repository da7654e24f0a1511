"""Bregman projection onto 1/s-dense distributions, with a certified error.

A measure exp(L_i) is projected to y_i = min(1, exp(L_i - theta))/s with theta such that the y_i
sum to 1 [FastMWEM, Definition B.2; Herbster-Warmuth 2001]. With the L_i sorted downwards, the k
largest are capped where k + sum_{i > k} exp(L_i - theta) = s, so one pass finds theta: O(m log m).

From a theta that is nearly right no sorting is needed. In c = exp(-theta) the sum of
min(1, c exp(L_i)) is concave and increasing, so Newton's steps reach s within a few passes: O(m).

The error is measured, not assumed. For two values of theta all y_i differ in the same direction,
so that the projections differ in l1 by exactly the difference of their sums: if the computed
y_i sum to 1 + e, they are |e| away in l1 from the projection of the same L. Sums are made of
blocks, so that rounding is below (BLOCK + 2) 2^-53 of the sum; exp is within 2^-50.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InternalError

Floats = NDArray[np.float64]

BLOCK = 4096
"""So many terms are added in one go; what blocks give is added exactly."""

L1_ERROR = 2.0**-30
"""Bound on the l1 distance between the computed and the exact projection."""

_SURE = 2.0**-32
_HIGHEST = 300.0
_FAR = 100.0


def project(logs: Floats, density: int, near: float | None = None) -> Floats:
    """The projection of exp(logs) to the 1/density-dense distributions; len(logs) >= density."""
    return projected(logs, density, near)[0]


def projected(logs: Floats, density: int, near: float | None = None) -> tuple[Floats, float]:
    """The projection and its theta; ``near`` is a theta that may be close, as of a round before."""
    solution = None if near is None else _newton(logs, density, near)
    if solution is None:
        solution = _newton(logs, density, _threshold(np.sort(logs)[::-1], density))
    if solution is None:
        raise InternalError("a projection did not converge; please report this defect")
    return solution


def _newton(logs: Floats, density: int, theta: float) -> tuple[Floats, float] | None:
    """Steps from theta; None when it is too far away for them."""
    parts = np.exp(np.minimum(logs - theta, _HIGHEST))
    factor = 1.0
    for _ in range(64):
        shares = np.minimum(factor * parts, 1.0)
        total = block_sum(shares)
        if total == 0.0:
            return None
        if abs(total / density - 1.0) <= _SURE:
            return np.asarray(shares / density), theta - math.log(factor)
        capped = int(np.count_nonzero(shares == 1.0))
        room, free = density - capped, total - capped
        if room > 0 and free > 0:
            factor *= room / free
        else:
            factor *= density / total
        if not abs(math.log(factor)) < _FAR:
            return None
    return None


def _threshold(ordered: Floats, density: int) -> float:
    """theta for values sorted downwards."""
    if len(ordered) == density:
        return float(ordered[-1])
    with np.errstate(under="ignore"):
        # tails[k] = log sum_{i >= k} exp(ordered_i), relative to the largest of them
        tails = np.logaddexp.accumulate(ordered[::-1])[::-1]
    capped = np.arange(min(density, len(ordered)))
    thetas = tails[: len(capped)] - np.log(density - capped)
    fits = np.flatnonzero(ordered[: len(capped)] <= thetas)
    k = int(fits[0]) if len(fits) else len(capped) - 1
    return float(thetas[k])


def block_sum(values: Floats) -> float:
    """The sum, with rounding below (BLOCK + 2) 2^-53 of the sum of absolute values."""
    starts = np.arange(0, len(values), BLOCK)
    return math.fsum(np.add.reduceat(values, starts).tolist())
