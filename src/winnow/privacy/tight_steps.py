"""One step of the tight accountant: from bounds on what follows to bounds with one more event.

``tight`` has the recursion, and numbers the reasons why every rounding here is upward.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from winnow.privacy.accountants import ZcdpCost
from winnow.privacy.loss_laws import LossLaw
from winnow.privacy.rounding import SLACK, at_least

Floats = NDArray[np.float64]
Step = Callable[[Floats], Floats]

_STEP_SLACK = float(SLACK)
_ORDERS = tuple(1.03**k for k in range(-80, 400))
"""So near to each other that a delta is hardly larger than at the best one."""


def measurement_step(law: LossLaw, h: float) -> Step:
    """The convolution with the law of the loss, directly (4)."""
    first, masses = law.first, law.masses
    if first > 0:
        first, masses = 0, np.concatenate([np.zeros(first), masses])
    last = first + len(masses) - 1
    if last < 0:
        last, masses = 0, np.concatenate([masses, np.zeros(-last)])
    slack = 1 + len(masses) * 2.0**-52 + _STEP_SLACK

    def step(bound: Floats) -> Floats:
        wider = padded(bound, last, -first, h)
        return (np.convolve(wider, masses, mode="valid") + law.infinite) * slack

    return step


def bounded_range_step(cells: int, h: float) -> Step:
    """The sup over t of the two-point laws with losses t and t - cells h (3)."""
    whole = -math.expm1(-cells * h)
    shares = [-math.expm1((i - cells) * h) / whole for i in range(cells)] + [0.0]
    square = math.expm1(-h) ** 2 * math.exp(3 * h) / (4 * whole)
    bumps = [math.exp((i - cells) * h) * square * (1 + 8 * _STEP_SLACK) for i in range(cells)]
    slope = math.expm1(h)

    def step(bound: Floats) -> Floats:
        size = len(bound)
        wider = padded(bound, cells + 1, cells + 1, h)  # node k is at k + cells + 1
        falls = wider[:-1] - wider[1:]
        error = (wider[:-1] + wider[1:]) * _STEP_SLACK
        # Where the chord over a cell meets x = 0, from above and from below.
        above = wider[:-1] + (falls + error) / slope
        under = wider[:-1] + (falls - error) / slope
        bends = np.maximum(above[:-cells] - under[cells:], 0.0)
        lower, gain = wider[cells:], wider[:-cells] - wider[cells:]
        best = np.zeros(size)
        at_next, at_this, bump = np.empty(size), np.empty(size), np.empty(size)

        def at_node(i: int, out: Floats) -> None:  # t = i h
            start = cells + 1 - i
            np.multiply(gain[start : start + size], shares[i], out=out)
            np.add(out, lower[start : start + size], out=out)

        at_node(0, at_this)
        for i in range(cells):
            at_node(i + 1, at_next)
            start = cells - i
            np.multiply(bends[start : start + size], bumps[i], out=bump)
            np.maximum(at_this, at_next, out=at_this)
            np.add(bump, at_this, out=bump)
            np.maximum(best, bump, out=best)
            at_this, at_next = at_next, at_this
        return best * (1 + 2 * _STEP_SLACK)

    return step


def summed_bound(cost: ZcdpCost, nodes: Floats) -> Floats:
    """Bounds on D at the nodes for what has a rho, where nothing follows.

    For every u > 0 delta is at most e^(u (1+u) rho - u a) u^u/(1+u)^(1+u), as in ``zcdp_delta``;
    this is the least over a grid of orders. Below 0 both neighbours change places:
    D(a) = 1 - e^a (1 - D(-a)).
    """
    rho, lost = at_least(cost.rho), at_least(cost.delta)
    levels = np.abs(nodes)
    log_delta = np.zeros_like(levels)
    for u in _ORDERS:
        constant = u * (1 + u) * rho - math.log1p(u) - u * math.log1p(1 / u)
        size = u * (1 + u) * rho + math.log1p(u) + u * math.log1p(1 / u)
        log_delta = np.minimum(log_delta, constant - u * levels + _STEP_SLACK * (size + u * levels))
    delta = np.minimum((np.exp(log_delta) + lost) * (1 + _STEP_SLACK), 1.0)
    below = -np.expm1(nodes) + np.exp(np.minimum(nodes, 0.0)) * delta
    return np.minimum(np.where(nodes < 0, below * (1 + _STEP_SLACK), delta), 1.0)


def padded(bound: Floats, left: int, right: int, h: float) -> Floats:
    """Bounds at more nodes: under the chord to D = 1 at x = 0, and under the last value (1)."""
    beyond = -np.expm1(-h * np.arange(left, 0, -1)) * (1 + _STEP_SLACK)
    before = bound[0] + (1 - bound[0]) * beyond
    return np.concatenate([before, bound, np.full(right, bound[-1])])
