"""Bins of a public grid: runs of its points, and what they are called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.core.column import Column
from winnow.core.declaration import instant
from winnow.core.number_grid import NumberGrid, place_at
from winnow.errors import ParameterError
from winnow.foreign import shown

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Bins:
    """Runs of the points of a grid: the i-th from the stop of the one before up to its own.

    Runs without points may be among them. Further codes, of missing values and of others, stand
    after the grid and are a bin each.
    """

    grid: NumberGrid
    stops: tuple[int, ...]
    """The first code after each bin; the last is the size of the grid."""
    further: tuple[str, ...] = ()
    """What the codes after the grid are called."""

    @property
    def starts(self) -> tuple[int, ...]:
        """The first code of each bin."""
        return (0, *self.stops[:-1])

    @property
    def size(self) -> int:
        """How many counts there are."""
        return len(self.stops) + len(self.further)

    def places(self, codes: NDArray[Any]) -> Integers:
        """The bin of each code of the column."""
        size = self.grid.size
        ends = [*self.stops, *range(size + 1, size + 1 + len(self.further))]
        return np.searchsorted(np.array(ends, np.int64), codes, side="right")

    def kept(self) -> Integers:
        """The places of the bins that have points, and of the further ones."""
        widths = np.diff(np.array((0, *self.stops)))
        more = np.arange(len(self.stops), self.size)
        return np.concatenate([np.flatnonzero(widths > 0), more])


def bins_column(name: str, size: int) -> Column:
    """A column whose codes are the bins."""
    return Column(name, "codes", codes=size)


def equal_bins(column: Column, grid: NumberGrid, number: int) -> Bins:
    """Bins of equally many points, but for one."""
    if number > grid.size:
        raise ParameterError(
            f"bins={number:,} are more than the {grid.size:,} numbers that the column "
            f"{column.name!r} can hold; give fewer"
        )
    stops = tuple(i * grid.size // number for i in range(1, number + 1))
    return Bins(grid, stops, further(column, grid))


def even_bins(column: Column, grid: NumberGrid, most: int) -> Bins:
    """At most so many bins of one width, but for the last, which has the end of the grid."""
    width = max(1, -(-(grid.size - 1) // most))
    stops = (*range(width, grid.size - 1, width), grid.size)
    return Bins(grid, stops, further(column, grid))


def bins_between(column: Column, grid: NumberGrid, edges: Sequence[Any]) -> Bins:
    """Bins between public edges; each begins with its edge, and the last ends with the last one.

    Numbers of the grid below the first edge, or beyond the last, get a bin of their own.
    """
    wanted = [_place(column.name, grid, edge) for edge in edges]
    for low, high in pairwise(wanted):
        if not low < high:
            raise ParameterError(f"bins={shown(edges)} do not ascend; sort them, each once")
    if wanted[0] < grid.low or wanted[-1] > grid.high:
        raise ParameterError(
            f"bins={shown(edges)} reach beyond the numbers that the column {column.name!r} can "
            f"hold, from {grid.value(0)} to {grid.value(grid.size - 1)}; keep within them"
        )
    stops = [grid.first_from(edge) for edge in wanted[:-1]]
    stops.append(math.floor((wanted[-1] - grid.low) / grid.step) + 1)
    stops = [stop for stop in stops if stop > 0]
    if stops[-1] < grid.size:
        stops.append(grid.size)
    if len(set(stops)) < len(stops):
        raise ParameterError(
            f"two of the edges in bins={shown(edges)} have no number of the grid between them; "
            f"its step is {grid.step}"
        )
    return Bins(grid, tuple(stops), further(column, grid))


def _place(name: str, grid: NumberGrid, edge: Any) -> Fraction:
    """Where an edge lies: a number, or a date in the unit of the grid."""
    return place_at(instant(name, edge), grid.unit) if grid.unit else exact("edge", edge)


def quantile_bins(column: Column, grid: NumberGrid, codes: Sequence[int]) -> Bins:
    """Bins between released quantiles.

    A number that is several quantiles holds many rows: it gets a bin of its own.
    """
    stops = sorted(codes)
    for place in range(1, len(stops)):
        next_one = stops[place + 1] if place + 1 < len(stops) else grid.size
        if stops[place] == stops[place - 1] and next_one > stops[place]:
            stops[place] += 1
    return Bins(grid, (*stops, grid.size), further(column, grid))


def further(column: Column, grid: NumberGrid) -> tuple[str, ...]:
    """What the codes after the grid are called: missing values, others."""
    return tuple(str(column.labels[code]) for code in range(grid.size, column.cardinality))


def named(bins: Bins) -> tuple[str, ...]:
    """What the bins are called: '0 to 9', '2024-01-01 to 2024-03-31', 'missing'."""
    grid = bins.grid
    ends = [
        (grid.value(a), grid.value(b - 1)) for a, b in zip(bins.starts, bins.stops, strict=True)
    ]
    return (*(between(low, high) for low, high in ends), *bins.further)


def between(low: Any, high: Any) -> str:
    """What a bin is called, from its first to its last number."""
    return _written(low) if low == high else f"{_written(low)} to {_written(high)}"


def _written(number: Any) -> str:
    """A number of the grid without the noise of binary fractions; a date is written already."""
    return f"{number:.12g}" if isinstance(number, float) else str(number)
