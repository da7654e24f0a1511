"""The public grid of a column of numbers, dates or times: low, low + step, ..., high.

A number stands for the nearest point of the grid, a date or time for the last point that is not
after it; the index of the point is the column's code. Which point that is depends on the value
alone, so a person's codes depend on nobody else's data.

Points of dates and times are counted in a unit (days, hours, minutes, seconds) from 1970-01-01.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.core.declaration import instant
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
    unit: str = ""
    """Of dates and times: in what low, high and step are counted; empty: they are numbers."""

    @property
    def size(self) -> int:
        """How many points there are."""
        return int((self.high - self.low) / self.step) + 1

    def value(self, code: int) -> Any:
        """The number of a code: a whole one where it is whole, else the nearest float.

        Of dates and times it is a text, such as 2026-11-30 or 2026-11-30T08:15:00.
        """
        return self.shown(self.low + self.step * code)

    def shown(self, place: Fraction | float) -> Any:
        """What stands at a place between low and high: a number, or a text for a time."""
        if self.unit:
            return instant_at(place, self.unit)
        return _plain(place) if isinstance(place, Fraction) else place

    @property
    def seconds(self) -> int:
        """Of dates and times: how many seconds a step has."""
        return int(self.step) * UNITS[self.unit]

    def values(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """The numbers of codes: whole ones where all of the grid are, else the nearest floats."""
        whole = self.low.denominator == self.step.denominator == 1
        distinct, places = np.unique(codes, return_inverse=True)
        numbers = [self.value(code) for code in distinct.tolist()]
        kind: Any = np.int64 if whole else np.float64
        return np.array(numbers, object if self.unit else kind)[places].reshape(codes.shape)

    def code(self, value: Fraction) -> int | None:
        """The code of a public number; None: it is no point of the grid."""
        place = (value - self.low) / self.step
        return int(place) if place.denominator == 1 and 0 <= place < self.size else None

    def first_from(self, value: Fraction) -> int:
        """The first code whose number is at least a public one; ``size`` where none is."""
        return min(max(math.ceil((value - self.low) / self.step), 0), self.size)

    def to_dict(self) -> dict[str, int | float | str]:
        """The declaration."""
        if self.unit:
            last = self.size - 1
            ends = {"low": self.value(0), "high": self.value(last), "step": int(self.step)}
            if self.unit == "day":
                return {"type": "date", **ends}
            return {"type": "time", **ends, "unit": self.unit}
        places = {"low": self.low, "high": self.high, "step": self.step}
        return {"type": "number", **{name: _plain(value) for name, value in places.items()}}


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
    kind = said.get("type")
    if not isinstance(kind, str) or kind not in _EXAMPLES:
        raise ParameterError(
            f'column {name!r}: type={shown(kind)} is unknown; give "number", "date" or "time"'
        )
    takes = {"type", "low", "high", "step", *(["unit"] if kind == "time" else [])}
    wrong = sorted(set(said) - takes)
    missing = [end for end in ("low", "high") if end not in said]
    if wrong or missing:
        what = f"has no {' and no '.join(missing)}" if missing else f"takes no {', '.join(wrong)}"
        raise ParameterError(f"column {name!r}: a {kind} {what}; give {_EXAMPLES[kind]}")
    if kind != "number":
        return _time_grid(name, kind, said)
    low, high = (exact(f"{end} of column {name!r}", said[end]) for end in ("low", "high"))
    step = exact(f"step of column {name!r}", said.get("step", 1))
    return checked_grid(name, NumberGrid(low, high, step))


UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
"""In what times are counted, in seconds."""
_EXAMPLES = {
    "number": '{"type": "number", "low": 0, "high": 100, "step": 1}',
    "date": '{"type": "date", "low": "2020-01-01", "high": "2024-12-31"}',
    "time": '{"type": "time", "low": "2024-01-01T00:00", "high": "2024-12-31T23:59", '
    '"unit": "minute"}',
}
_START = datetime.datetime(1970, 1, 1)


def _time_grid(name: str, kind: str, said: Mapping[str, object]) -> NumberGrid:
    unit = said.get("unit", "second") if kind == "time" else "day"
    if not isinstance(unit, str) or unit not in UNITS:
        raise ParameterError(
            f"column {name!r}: unit={shown(unit)} is unknown; give one of {', '.join(UNITS)}"
        )
    places: list[Fraction] = []
    for end in ("low", "high"):
        text = instant(name, said[end])
        place = Fraction(_seconds_at(text), UNITS[unit])
        if place.denominator != 1:
            raise ParameterError(
                f"column {name!r}: {end}={text} is not a whole {unit}; give the beginning of one"
            )
        places.append(place)
    step = exact(f"step of column {name!r}", said.get("step", 1))
    if step.denominator != 1:
        raise ParameterError(f"column {name!r}: step={shown(said['step'])} is not whole {unit}s")
    return checked_grid(name, NumberGrid(places[0], places[1], step, unit))


def _seconds_at(text: str) -> int:
    """The seconds of an instant since 1970-01-01."""
    passed = datetime.datetime.fromisoformat(text) - _START
    return passed.days * 86_400 + passed.seconds


def place_at(text: str, unit: str) -> Fraction:
    """Where an instant lies, in units since 1970-01-01."""
    return Fraction(_seconds_at(text), UNITS[unit])


def instant_at(place: Fraction | float, unit: str) -> str:
    """The date or time at a place: of days a date, else with seconds; rounded to that."""
    seconds = math.floor(Fraction(place) * UNITS[unit] + Fraction(1, 2))
    if unit == "day":
        seconds += UNITS["day"] // 2 - 1  # the nearest day
        seconds -= seconds % UNITS["day"]
    text = (_START + datetime.timedelta(seconds=seconds)).isoformat()
    return text.removesuffix("T00:00:00") if unit == "day" else text


def checked_grid(name: str, grid: NumberGrid) -> NumberGrid:
    """The grid, or an error that says what is wrong with it."""
    low, high = (grid.shown(each) for each in (grid.low, grid.high))
    step = _plain(grid.step)
    if grid.step <= 0:
        raise ParameterError(f"column {name!r}: step={step} is not positive; give the unit")
    if grid.low >= grid.high:
        raise ParameterError(f"column {name!r}: low={low} is not below high={high}")
    steps = (grid.high - grid.low) / grid.step
    if steps.denominator != 1:
        raise ParameterError(
            f"column {name!r}: step={step} does not divide the range from {low} to {high}; "
            f"give high={grid.value(int(steps) + 1)}, or another step"
        )
    if steps >= MOST_POINTS:
        raise ParameterError(
            f"column {name!r}: there are {int(steps) + 1:,} points from {low} to {high}, and at "
            f"most {MOST_POINTS:,} are taken; give a larger step"
        )
    if max(abs(grid.low), abs(grid.high)) / grid.step > _PRECISE:
        raise ParameterError(
            f"column {name!r}: float64 does not hold numbers of this size to step={step}; give a "
            "larger step, or subtract a public number first"
        )
    return grid


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
