"""The public grid of a column of numbers: low, low + step, ..., high.

A value stands for the nearest point of the grid; its index is the column's code. Which point that
is depends on the value alone, so a person's codes depend on nobody else's data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.errors import ParameterError
from winnow.foreign import shown

MOST_POINTS = 2**31 - 3
"""Codes have 32 bits, and 'missing' and 'other' are codes, too."""
_PRECISE = 2**53
"""A float64 holds every whole number up to this."""


@dataclass(frozen=True)
class NumberGrid:
    """The numbers low, low + step, ..., high, as exact rationals."""

    low: Fraction
    high: Fraction
    step: Fraction

    @property
    def size(self) -> int:
        """How many points there are."""
        return int((self.high - self.low) / self.step) + 1

    def value(self, code: int) -> int | float:
        """The number of a code: a whole one where it is whole, else the nearest float."""
        return _plain(self.low + self.step * code)

    def values(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """The numbers of codes: whole ones where all of the grid are, else the nearest floats."""
        whole = self.low.denominator == self.step.denominator == 1
        found, places = np.unique(codes, return_inverse=True)
        numbers = [self.value(code) for code in found.tolist()]
        return np.array(numbers, np.int64 if whole else np.float64)[places].reshape(codes.shape)

    def code(self, value: Fraction) -> int | None:
        """The code of a public number; None: it is no point of the grid."""
        place = (value - self.low) / self.step
        return int(place) if place.denominator == 1 and 0 <= place < self.size else None

    def first_from(self, value: Fraction) -> int:
        """The first code whose number is at least a public one; ``size`` where none is."""
        return min(max(math.ceil((value - self.low) / self.step), 0), self.size)

    def to_dict(self) -> dict[str, int | float | str]:
        """The declaration."""
        ends = {"low": self.low, "high": self.high, "step": self.step}
        return {"type": "number", **{name: _plain(value) for name, value in ends.items()}}


@dataclass(frozen=True)
class GridLabels(Sequence[Any]):
    """The public label of every code, worked out when it is asked for: there may be 2^31."""

    grid: NumberGrid
    more: tuple[str, ...] = ()
    """Of the codes after the grid: missing values, and all others."""

    def __len__(self) -> int:
        return self.grid.size + len(self.more)

    @overload
    def __getitem__(self, place: int) -> Any: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return tuple(self[each] for each in range(*place.indices(len(self))))
        code = range(len(self))[place]
        size = self.grid.size
        return self.grid.value(code) if code < size else self.more[code - size]


def number_grid(name: str, said: Mapping[str, object]) -> NumberGrid:
    """The grid of a declaration such as {"type": "number", "low": 0, "high": 100, "step": 0.01}."""
    if said.get("type") != "number":
        raise ParameterError(
            f'column {name!r}: type={shown(said.get("type"))} is unknown; give "number"'
        )
    wrong = sorted(set(said) - {"type", "low", "high", "step"})
    missing = [end for end in ("low", "high") if end not in said]
    if wrong or missing:
        what = f"has no {' and no '.join(missing)}" if missing else f"takes no {', '.join(wrong)}"
        raise ParameterError(
            f'column {name!r}: a number {what}; give {{"type": "number", "low": 0, '
            '"high": 100, "step": 1}'
        )
    low, high = (exact(f"{end} of column {name!r}", said[end]) for end in ("low", "high"))
    step = exact(f"step of column {name!r}", said.get("step", 1))
    return checked_grid(name, NumberGrid(low, high, step))


def checked_grid(name: str, grid: NumberGrid) -> NumberGrid:
    """The grid, or an error that says what is wrong with it."""
    low, high, step = (_plain(each) for each in (grid.low, grid.high, grid.step))
    if grid.step <= 0:
        raise ParameterError(f"column {name!r}: step={step} is not positive; give the unit")
    if grid.low >= grid.high:
        raise ParameterError(f"column {name!r}: low={low} is not below high={high}")
    steps = (grid.high - grid.low) / grid.step
    if steps.denominator != 1:
        raise ParameterError(
            f"column {name!r}: step={step} does not divide the range from {low} to {high}; "
            f"give high={_plain(grid.low + grid.step * (int(steps) + 1))}, or another step"
        )
    if steps >= MOST_POINTS:
        raise ParameterError(
            f"column {name!r}: there are {int(steps) + 1:,} points from {low} to {high}, and at "
            f"most {MOST_POINTS:,} are taken; give a larger step"
        )
    if max(abs(grid.low), abs(grid.high)) / grid.step > _PRECISE:
        raise ParameterError(
            f"column {name!r}: numbers of this size are not known to step={step}; give a larger "
            "step, or subtract a public number first"
        )
    return grid


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
