"""Values of a column as numbers: what is missing, times in seconds, buckets, points of a grid.

Messages name the column and nothing else: the values may be private.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.column import Column
from winnow.core.number_grid import UNITS, NumberGrid, instant_at, place_at
from winnow.errors import DataError
from winnow.foreign import instead

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

WIDE = 64
"""Points of a grid from which on private quantiles cut it: four for each of 16 bins."""


def is_wide(column: Column) -> bool:
    """Whether a column has more numbers than rules and points are learned for."""
    return column.grid is not None and column.grid.size > WIDE


def cuts_of(column: Column) -> tuple[tuple[float, ...], tuple[float, float]]:
    """Where codes part, and the outer ends: edges, halfway between numbers, beginnings of times."""
    grid = column.grid
    if grid is None:
        edges = tuple(_edge(edge) for edge in column.edges)
        return edges[1:-1], (edges[0], edges[-1])
    if grid.unit:
        starts = [_edge(grid.value(code)) for code in range(grid.size + 1)]
        return tuple(starts[1:-1]), (starts[0], starts[-1] - 1)  # a day ends where the next begins
    half = Fraction(1, 2)
    cuts = tuple(float(grid.low + grid.step * (code - half)) for code in range(1, grid.size))
    return cuts, (float(grid.low), float(grid.high))


def _edge(edge: float | str) -> float:
    return float(place_at(edge, "second")) if isinstance(edge, str) else float(edge)


def instant_text(seconds: float) -> str:
    """A time as people write it; midnight is a date."""
    return str(instant_at(seconds, "second")).removesuffix("T00:00:00")


def is_missing(values: NDArray[Any], na: tuple[str, ...]) -> Booleans:
    """Where nothing stands: None, NaN and the like, and the texts that stand for it."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values), np.bool_)
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values), np.bool_)
    if values.dtype.kind not in "OUT":
        return np.zeros(len(values), np.bool_)
    nothing = (value is None or _is_nan(value) or value in na for value in values.tolist())
    return np.fromiter(nothing, np.bool_, len(values))


def _is_nan(value: Any) -> bool:
    """Of any library: what is not equal to itself, or does not say."""
    if isinstance(value, str | int | list | tuple | dict | np.ndarray):
        return False
    try:
        return not bool(value == value)
    except TypeError:  # pandas' NA
        return True


def numbers_of(values: NDArray[Any], where: str) -> Floats:
    """Numbers; texts are none."""
    refusal = DataError(f"{where} does not hold numbers; give numbers")
    if values.dtype.kind not in "iufbO":
        raise refusal
    with instead(refusal):
        return values.astype(np.float64)


def seconds_of(values: NDArray[Any], where: str) -> Floats:
    """Dates and times as whole seconds since 1970-01-01."""
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]").astype(np.int64).astype(np.float64)
    refusal = DataError(
        f"{where} does not hold dates or times; give datetimes without a time zone, or texts "
        "such as 2026-11-30 or 2026-11-30T08:15:00"
    )
    with instead(refusal):
        instants = [_instant(value) for value in values.tolist()]
    return np.array([place_at(text, "second") for text in instants], np.float64)


def _instant(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        when = value
    elif isinstance(value, datetime.date):
        when = datetime.datetime(value.year, value.month, value.day)
    else:
        when = datetime.datetime.fromisoformat(value)
    if when.tzinfo is not None:
        raise ValueError("a time zone")
    return when.replace(microsecond=0, fold=0).isoformat()


def calendar_numbers(
    values: NDArray[Any], absent: Booleans, unit: str, where: str
) -> NDArray[np.int64]:
    """The unit of a calendar of dates and times; whole numbers are taken as they are."""
    numbers = np.zeros(len(values), np.int64)
    known = values[~absent]
    if known.dtype.kind in "iu":
        numbers[~absent] = known
        return numbers
    moments = seconds_of(known, where).astype("datetime64[s]").tolist()
    numbers[~absent] = [_CALENDAR[unit](moment) for moment in moments]
    return numbers


_CALENDAR: dict[str, Callable[[datetime.datetime], int]] = {
    "year": lambda moment: moment.year,
    "quarter": lambda moment: (moment.month + 2) // 3,
    "month": lambda moment: moment.month,
    "weekday": lambda moment: moment.isoweekday(),
    "hour": lambda moment: moment.hour,
}


def bucketed(values: NDArray[Any], buckets: int, where: str) -> NDArray[np.int32]:
    """The bucket of each text, by the public hash of the schema."""
    texts = values.tolist()
    if not all(isinstance(text, str) for text in texts):
        raise DataError(f"{where} does not hold texts; give texts")
    column = Column("texts", "codes", codes=buckets, hashed=True)
    return np.fromiter((column.bucket(text) for text in texts), np.int32, len(texts))


def on_grid(
    grid: NumberGrid, array: NDArray[Any], where: str
) -> tuple[NDArray[np.int64], Booleans]:
    """The nearest code of each value, and whether it lies between the ends of the grid."""
    if grid.unit:
        low, step = float(grid.low * UNITS[grid.unit]), float(grid.seconds)
        values = seconds_of(array, where)
        places = np.floor((values - low) / step)
        inside = (places >= 0) & (places < grid.size)
    else:
        low, step = float(grid.low), float(grid.step)
        values = numbers_of(array, where)
        places = np.floor((values - low) / step + 0.5)
        inside = (values >= low) & (values <= float(grid.high))
    return np.clip(places, 0, grid.size - 1).astype(np.int64), inside
