"""From noisy sums to counts, sums, means and variances with their intervals; all of it public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.numbers.moments.measured import ValuedColumn
from winnow.numbers.moments.noise import SumNoise
from winnow.release.tables.intervals import Ratio

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MomentNumbers:
    """One statistic of one column, in every group: numbers, standard errors and intervals."""

    value: NDArray[Any]
    standard_error: Floats
    low: NDArray[Any]
    high: NDArray[Any]


@dataclass(frozen=True, eq=False)
class ColumnEstimates:
    """What noisy sums say of one column.

    Everything is worked out on the scale of the column, on which values lie between -1 and 1.
    Intervals of counts and sums reach ``factor`` standard errors of the noise. That of a mean is
    Fieller's, as in tables: the r with |S - r N| within reach of the noise of S - r N, after S
    is cut to within -N and N; so it is never empty, and all of the range where N is too small.

    The interval of a variance spends half of what may be missed on the mean, and half on the sum V
    of the squared differences from it. At the true mean m, V - v N is noise. V moves with m by
    N (m - S/N)^2, so v lies between V/N at S/N less the noise, and as much more as the interval
    of m allows.
    """

    column: ValuedColumn
    sums: Mapping[tuple[str, str | None], Floats]
    """The noisy sums, in units of what one row adds at most; of every group."""
    noise: SumNoise
    missed: float
    """With what probability an interval may miss."""
    rows: int | None
    """The public number of rows; None: it was measured, or there are groups."""

    def of(self, statistic: str) -> MomentNumbers:
        """The numbers of one statistic."""
        match statistic:
            case "count":
                return self._around(self._count, self._count_error)
            case "sum":
                return self._sum
            case "mean":
                return self._mean
            case "variance":
                return self._scaled(2)
            case _:
                return self._scaled(1)

    def shown(self, statistic: str) -> MomentNumbers:
        """The numbers of one statistic; means of dates and times are texts."""
        numbers, grid = self.of(statistic), self.column.grid
        if statistic != "mean" or not grid.unit:
            return numbers
        whole = grid.unit == "day"  # the ends of an interval are rounded outwards
        low = np.floor(numbers.low) if whole else numbers.low
        high = np.ceil(numbers.high) if whole else numbers.high
        value, low, high = (
            np.array([grid.shown(place) for place in values.tolist()], object)
            for values in (numbers.value, low, high)
        )
        return MomentNumbers(value, numbers.standard_error, low, high)

    @cached_property
    def _count(self) -> Floats:
        name = ("present", self.column.name) if self.column.optional else ("rows", None)
        if name in self.sums:
            return self.sums[name]
        return np.full(self._any.shape, float(self.rows or 0))

    @property
    def _any(self) -> Floats:
        return next(iter(self.sums.values()))

    @property
    def _count_error(self) -> float:
        return self.noise.of_count(self.column)

    @property
    def _first(self) -> Floats:
        return self.sums[("first", self.column.name)]

    def _around(self, value: Floats, error: float) -> MomentNumbers:
        reach = self.noise.factor(self.missed) * error
        low, high = value - reach, value + reach
        return MomentNumbers(value, np.full(value.shape, error), low, high)

    @cached_property
    def _sum(self) -> MomentNumbers:
        error = self.noise.of_sum(self.column)
        alone = self.sums.get(("total", self.column.name))
        if alone is not None:
            grid = self.column.grid
            value = alone * float(max(abs(grid.low), abs(grid.high)))
        else:
            value = float(self.column.half) * self._first + float(self.column.middle) * self._count
        return self._around(value, error)

    def _ratio(self) -> Ratio:
        every = np.ones_like(self._count)
        return Ratio(
            total=self._first,
            total_error=self.noise.first(self.column) * every,
            total_unit=0.0,
            count=self._count,
            count_error=self._count_error * every,
            half=1.0,
        )

    def _mean_ends(self, factor: float) -> tuple[Floats, Floats]:
        """The ends of the mean's interval, on the scale of the column."""
        ratio = self._ratio()
        low, high = ratio.between(factor * ratio.total_error, factor * ratio.count_error)
        return np.minimum(low, ratio.point), np.maximum(high, ratio.point)

    @cached_property
    def _mean(self) -> MomentNumbers:
        middle, half = float(self.column.middle), float(self.column.half)
        low, high = self._mean_ends(self.noise.factor(self.missed))
        ratio = self._ratio()
        return MomentNumbers(
            middle + half * ratio.point,
            half * ratio.standard_error,
            middle + half * low,
            middle + half * high,
        )

    @cached_property
    def _variance(self) -> MomentNumbers:
        """On the scale of the column, where it lies between 0 and 1."""
        count = np.maximum(self._count, 1.0)
        seen = self._count >= 1.0
        square = (self.sums[("second", self.column.name)] + self._count) / 2 / count
        raw = self._first / count
        factor = self.noise.factor(self.missed / 2)
        low, high = self._mean_ends(factor)
        far = np.maximum(np.abs(low), np.abs(high))
        off = np.maximum(np.abs(low - raw), np.abs(high - raw)) ** 2
        least = np.maximum(np.maximum(low, -high), 0.0)
        # At the true mean m and variance v <= 1 - m^2 the number of rows counts (1/2 + m^2 - v).
        reach = factor * self.noise.of_variance(self.column, far, 0.0) / count
        about = square - raw**2
        most = 1 - least**2
        ends = np.clip(about - reach, 0.0, most), np.clip(about + reach + off, 0.0, most)
        point = self._ratio().point
        mean_error = self.noise.of_mean(self.column, 1.0) / count
        # The square of a noisy mean is larger by its variance.
        value = np.clip(about + np.minimum(mean_error, 1.0) ** 2, *ends)
        value = np.minimum(value, 1 - point**2)
        error = self.noise.of_variance(self.column, np.abs(point), value) / count
        return MomentNumbers(
            np.where(seen, value, 0.5),
            np.where(seen, np.minimum(error, 0.5), 0.5),
            np.where(seen, np.minimum(ends[0], value), 0.0),
            np.where(seen, np.maximum(ends[1], value), 1.0),
        )

    def _scaled(self, power: int) -> MomentNumbers:
        """The variance, or its root, in the units of the column."""
        variance = self._variance
        half = float(self.column.half)
        if power == 2:
            unit = half**2
            numbers = (variance.value, variance.standard_error, variance.low, variance.high)
            return MomentNumbers(*(unit * each for each in numbers))
        above = np.sqrt(np.minimum(variance.value + variance.standard_error, 1.0))
        below = np.sqrt(np.maximum(variance.value - variance.standard_error, 0.0))
        ends = np.sqrt(variance.low), np.sqrt(variance.high)
        return MomentNumbers(
            half * np.sqrt(variance.value),
            half * (above - below) / 2,
            half * ends[0],
            half * ends[1],
        )
