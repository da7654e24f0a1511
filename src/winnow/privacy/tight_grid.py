"""The grid of the tight accountant: as fine as the work allows, for the mechanisms of a plan.

Any grid gives a valid bound; ``tight`` has the recursion on it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import assert_never

from winnow.core.checks import exact
from winnow.errors import GuaranteeError
from winnow.privacy.accountants import zcdp_cost
from winnow.privacy.discrete_gaussian import continuous_ratio
from winnow.privacy.events import (
    AnyOf,
    ApproxDP,
    BoundedRange,
    CappedRounds,
    Compose,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Gaussian,
    PureDP,
    Repeat,
    Truncated,
    describe,
)
from winnow.privacy.rounding import at_least

Single = (
    PureDP | BoundedRange | DiscreteLaplace | Gaussian | DiscreteGaussian | ApproxDP | CappedRounds
)

_LARGEST_CELL = 200.0
"""With larger cells e^(3 h) is beyond float64."""

_FINENESS = (64, 48, 32, 24, 16, 12, 8)
"""Cells to the smallest step of a plan, or, where that is too much work, to a larger one; with 64
the grid costs some 1e-4 of epsilon, with 8 about half a percent."""


@dataclass(frozen=True)
class LossGrid:
    """Nodes anchor + k h for k = low .. high; low < 0, and the value 0 lies inside."""

    anchor: float
    h: float
    low: int
    high: int
    summed: frozenset[Event] = frozenset()
    """Last choices that are too long for the recursion, bounded by their rho."""

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return self.high - self.low + 1

    @property
    def negative(self) -> int:
        """How many of them lie below 0."""
        return math.ceil(-self.anchor / self.h) - self.low


def _inventory(
    event: Event, times: int = 1, counted: Counter[Single] | None = None
) -> Counter[Single]:
    """How often each mechanism is computed, without walking through the repetitions."""
    counted = Counter() if counted is None else counted
    match event:
        case Repeat(inner, count):
            _inventory(inner, times * count, counted)
        case Compose(events) | AnyOf(events):
            for part in events:
                _inventory(part, times, counted)
        case Truncated(inner, _):
            _inventory(inner, times, counted)
        case single:
            counted[single] += times
    return counted


def mu_squared(single: Gaussian | DiscreteGaussian) -> Fraction:
    """mu^2 of the two normals that are no better than this noise."""
    if isinstance(single, DiscreteGaussian):
        ratio = exact("squared_ratio", single.squared_ratio)
        return continuous_ratio(ratio, exact("least_variance", single.least_variance))
    # Integers move by at least 1 or not at all: no variance is below this.
    squared = exact("noise_multiplier", single.noise_multiplier) ** 2
    return continuous_ratio(1 / squared, squared)


def _size(single: Single) -> float:
    """The range of a mechanism's loss, or twice its standard deviation."""
    match single:
        case BoundedRange(epsilon):
            return at_least(exact("epsilon", epsilon))
        case PureDP(epsilon) | ApproxDP(epsilon, _):
            return 2 * at_least(exact("epsilon", epsilon))
        case DiscreteLaplace(multiplier):
            return 2 * at_least(1 / exact("noise_multiplier", multiplier))
        case Gaussian() | DiscreteGaussian():
            return 2 * math.sqrt(at_least(mu_squared(single)))
        case CappedRounds(updates, epsilon, _):
            return 2 * at_least(exact("epsilon", epsilon)) * math.sqrt(updates)
        case never:
            assert_never(never)


def _vectors(single: Single, h: float) -> float:
    """How many operations on vectors one such step takes."""
    match single:
        case CappedRounds(updates, _, _):
            return 60.0 * updates
        case BoundedRange():  # 6 for each t
            return 6 * (_size(single) / h + 2)
        case _:  # 15.5 standard deviations of noise
            return 8 * (_size(single) / h + 2)


def grid_for(event: Event, anchor: float, top: float, work: float) -> LossGrid:
    """A grid around 0 and top, as fine as the work allows; any grid gives a valid bound.

    Where a plan ends with a choice, those that are too long for it are left to their rho.
    """
    deviation = math.sqrt(2 * at_least(zcdp_cost(event).rho))
    last = event.events[-1] if isinstance(event, Compose) else None
    fewest = range(len(last.events), 0, -1) if isinstance(last, AnyOf) else [0]
    for larger, kept in product(range(len(_inventory(event))), fewest):
        computed, left_out = event, frozenset[Event]()
        if isinstance(last, AnyOf) and isinstance(event, Compose):
            by_length = sorted(last.events, key=lambda part: sum(_inventory(part).values()))
            left_out = frozenset(by_length[kept:])
            computed = Compose((*event.events[:-1], AnyOf(tuple(by_length[:kept]))))
        grid = _fitting(_inventory(computed), anchor, top, deviation, work, larger)
        if grid is not None:
            return replace(grid, summed=left_out)
    raise GuaranteeError(
        f"{describe(event)} is too long or too costly a plan for the tight accountant; "
        "the zcdp accountant is nearly as good for many small steps"
    )


def _fitting(
    inventory: Counter[Single],
    anchor: float,
    top: float,
    deviation: float,
    work: float,
    larger: int,
) -> LossGrid | None:
    """A grid with some cells to the smallest step, or to one that so many are smaller than."""
    if not math.isfinite(deviation) or max(inventory.values()) > work or larger >= len(inventory):
        return None
    bottom, unit = -8 * deviation, sorted(map(_size, inventory))[larger]
    # Ranges are rounded up to whole cells, so a range is made to have a whole number of them.
    ranges = [
        at_least(exact("epsilon", single.epsilon))
        for single in inventory
        if isinstance(single, BoundedRange | CappedRounds)
    ]
    fitted = min(ranges, default=unit)
    for cells in _FINENESS:
        h = math.nextafter(fitted / math.ceil(cells * fitted / unit), math.inf)
        low, high = math.floor((bottom - anchor) / h), math.ceil((top + 4 * deviation - anchor) / h)
        width = sum(times * _vectors(single, h) for single, times in inventory.items())
        if h <= _LARGEST_CELL and width * (high - low) <= work:
            return LossGrid(anchor, h, low - 2, high + 2)
    return None
