"""One public input of a classifier: which tests may be made on it, and the code of a value.

Nothing here is learned from data: cut points, values and codes are declared. A feature has
codes 0, 1, ..., and every test asks whether the code lies in a range [low, high) or outside.

    cuts     a real number, or a time in seconds since 1970-01-01; code i means that i of the
             increasing cut points are <= x
    grid     a number or a time on a public grid, before private cut points are drawn
    values   declared values, or numbers of a calendar, without an order
    codes    whole numbers 0 .. n-1, with their order
    buckets  texts, each in one of n buckets by a public hash

One code more may stand for missing values, and a last one for whatever was not declared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from winnow.core.column import Column
from winnow.core.number_grid import NumberGrid
from winnow.core.schema import Schema
from winnow.errors import DataError, ParameterError
from winnow.foreign import shown
from winnow.learn.values import (
    bucketed,
    calendar_numbers,
    cuts_of,
    instant_text,
    is_missing,
    is_wide,
    numbers_of,
    on_grid,
    seconds_of,
)

Codes = NDArray[np.int32]
Test = tuple[int, int, bool]
"""A range of codes [low, high), and whether the test is that the code lies outside."""
Integers = NDArray[np.int64]
UNKNOWN = -1
"""The code of a value that was not declared: it lies in no range."""


@dataclass(frozen=True, eq=False)
class Tests:
    """Many tests on one feature, as arrays."""

    lows: Integers
    highs: Integers
    outside: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.lows)

    def __getitem__(self, place: int) -> Test:
        return int(self.lows[place]), int(self.highs[place]), bool(self.outside[place])


@dataclass(frozen=True)
class Feature:
    """A column as a classifier sees it; everything in it is public."""

    name: str
    kind: Literal["cuts", "grid", "values", "codes", "buckets"]
    cuts: tuple[float, ...] = ()
    values: tuple[Any, ...] = ()
    count: int = 0
    """How many codes are declared, without 'missing' and 'other'."""
    other: str | None = None
    """The label of the last code, for whatever was not declared; None: there is none."""
    limits: tuple[float, float] | None = None
    """For cuts: numbers beyond these are 'other'; None: they count in the outer bins."""
    missing: str | None = None
    """The label of the code after the declared ones, for missing values; None: there is none."""
    na: tuple[str, ...] = ()
    """Texts that stand for a missing value."""
    timed: bool = False
    """For cuts: whether they are times, in seconds since 1970-01-01."""
    calendar: str = ""
    """For values: the unit of a calendar that is taken of dates and times."""
    grid: NumberGrid | None = None
    """For a grid: its points."""

    @classmethod
    def of_column(cls, column: Column) -> Feature:
        """The feature of a column of a schema; the inner edges of bins are the cut points."""
        name, other, codes = column.name, column.other_label, column.codes
        said: dict[str, Any] = {"missing": column.missing_label, "na": column.na}
        if column.hashed:
            return cls(name, "buckets", count=codes, other=other, **said)
        strict = column.other and not column.clip
        if is_wide(column):
            limits = (0.0, 0.0) if strict else None  # the ends are those of the grid
            return cls(
                name, "grid", count=codes, other=other, limits=limits, grid=column.grid, **said
            )
        if column.placed:
            inner, outer = cuts_of(column)
            said["timed"] = column.content == "time"
            limits = outer if strict else None
            return cls(name, "cuts", inner, count=codes, other=other, limits=limits, **said)
        if column.kind == "categories":
            said["calendar"] = column.calendar
            return cls(name, "values", values=column.values, count=codes, other=other, **said)
        return cls(name, "codes", count=codes, other=other, **said)

    @classmethod
    def cut_at(cls, name: str, cuts: object, *, unused: bool = False) -> Feature:
        """A real feature with public cut points; none at all where it may be `unused`."""
        if isinstance(cuts, np.ndarray):
            cuts = cuts.tolist()
        if isinstance(cuts, str) or not isinstance(cuts, Sequence) or not (unused or len(cuts)):
            raise ParameterError(
                "the cuts of a column are not a list of numbers; give at least one"
            )
        numbers = []
        for cut in cuts:
            if isinstance(cut, bool) or not isinstance(cut, int | float | np.number):
                raise ParameterError(f"the cut {shown(cut)} is not a number")
            if not math.isfinite(float(cut)):
                raise ParameterError(f"the cut {shown(cut)} is not finite; give finite cuts")
            numbers.append(float(cut))
        if any(low >= high for low, high in pairwise(numbers)):
            raise ParameterError(f"the cuts {shown(numbers)} do not increase; sort them, each once")
        return cls(name, "cuts", cuts=tuple(numbers), count=len(numbers) + 1)

    @property
    def cardinality(self) -> int:
        """How many codes there are, with 'missing' and 'other'."""
        return self.count + (self.missing is not None) + (self.other is not None)

    @property
    def ordered(self) -> bool:
        """Whether 'below' and 'above' mean something."""
        return self.kind not in ("values", "buckets")

    def encode(self, values: Any, where: str = "a column") -> Codes:
        """The code of every value; what was not declared is 'other' or unknown.

        Numbers beyond the outer edges of bins count in the outer bins, unless they are
        'other': so a rule says on new rows what its text says. ``where`` says which column it
        is, for messages: its name may only stand in the data.
        """
        array = np.asarray(values)
        if array.ndim != 1:
            raise DataError(f"{where} has {array.ndim} dimensions; give one")
        outside = self.cardinality - 1 if self.other is not None else UNKNOWN
        absent = is_missing(array, self.na)
        codes = np.full(len(array), outside, np.int32)
        if self.kind == "values":
            if self.calendar:
                array = calendar_numbers(array, absent, self.calendar, where)
            known = {_key(value): code for code, value in enumerate(self.values)}
            pairs = zip(array.tolist(), absent.tolist(), strict=True)
            keys = (None if nothing else _key(value) for value, nothing in pairs)
            codes[:] = [known.get(key, outside) for key in keys]
            return codes
        if self.kind == "buckets":
            codes[~absent] = bucketed(array[~absent], self.count, where)
        elif self.grid is not None:
            placed, inside = on_grid(self.grid, array[~absent], where)
            codes[~absent] = np.where(inside | (self.limits is None), placed, outside)
        else:
            codes[~absent] = self._placed(array[~absent], where, outside)
        if self.missing is not None:
            codes[absent] = self.count
        return codes

    def _placed(self, array: NDArray[Any], where: str, outside: int) -> Codes:
        """Numbers or times among cut points, or as codes."""
        numbers = seconds_of(array, where) if self.timed else numbers_of(array, where)
        if self.kind == "cuts":
            low, high = self.limits or (-math.inf, math.inf)
            codes = np.searchsorted(self.cuts, numbers, "right")
            return np.where((numbers >= low) & (numbers <= high), codes, outside).astype(np.int32)
        valid = (numbers >= 0) & (numbers < self.count) & (numbers == np.floor(numbers))
        return np.where(valid, numbers, outside).astype(np.int32)

    def tests(self) -> Tests:
        """All tests on this feature, each set of codes once, none empty and none of all.

        For values: one value, or all but one. For cuts: from a cut point on, or not. For
        codes both. The list is closed under 'not'.
        """
        codes = np.arange(self.count)
        lows, highs = [], []
        if self.kind != "cuts":
            lows.append(codes)
            highs.append(codes + 1)
        if self.ordered:
            lows.append(codes[1:])
            highs.append(np.full(self.count - 1, self.count))
        more = np.arange(self.count, self.cardinality)
        lows.append(more)
        highs.append(more + 1)
        return self._either_way(np.concatenate(lows), np.concatenate(highs))

    def thresholds(self) -> Tests:
        """x >= cut, for every cut point; none where there is no order."""
        lows = np.arange(1, self.count if self.ordered else 1)
        return Tests(lows, np.full(len(lows), self.count), np.zeros(len(lows), np.bool_))

    def intervals(self) -> Tests:
        """low <= x < high and its opposite, half-lines included; none without an order."""
        lows, highs = np.triu_indices(self.count + 1 if self.ordered else 0, 1)
        return self._either_way(lows, highs)

    def text(self, test: Test) -> str:
        """The test for people, as in 'age >= 40' or 'sex = Female'."""
        low, high, outside = test
        alone = self._alone(test)
        if alone is not None and (self.kind != "cuts" or alone[0] >= self.count):
            code, left_out = alone
            return f"{self.name} {'!=' if left_out else '='} {self.label(code)}"
        if (low, high) == (0, self.count):
            return f"{self.name} is {'not ' if outside else ''}known"
        if self.count < high == self.cardinality:  # 'missing' and 'other' are neither
            if low == self.count:
                return f"{self.name} is not known"
            return f"not {self._range(0, low)}"
        return f"not {self._range(low, high)}" if outside else self._range(low, high)

    def label(self, code: int) -> str:
        """The public name of a code."""
        more = [label for label in (self.missing, self.other) if label is not None]
        if code >= self.count:
            return more[code - self.count]
        if self.kind == "values":
            return str(self.values[code])
        return str(code)

    def to_dict(self) -> dict[str, Any]:
        """The feature as plain data, ready for JSON."""
        form: dict[str, Any] = {"name": self.name}
        if self.kind == "cuts":
            form["cuts"] = list(self.cuts)
            if self.limits is not None:
                form["limits"] = list(self.limits)
            if self.timed:
                form["timed"] = True
        elif self.kind == "values":
            form["values"] = list(self.values)
            if self.calendar:
                form["calendar"] = self.calendar
        else:
            form[self.kind] = self.count
        if self.na:
            form["na"] = list(self.na)
        for word, label in (("missing", self.missing), ("other", self.other)):
            if label is not None:
                form[word] = label
        return form

    @classmethod
    def from_dict(cls, form: Any) -> Feature:
        """The feature of `to_dict`."""
        name = form["name"]
        said: dict[str, Any] = {word: form.get(word) for word in ("other", "missing")}
        said["na"] = tuple(form.get("na", ()))
        if "cuts" in form:
            cuts = tuple(float(cut) for cut in form["cuts"])
            low_high = tuple(float(edge) for edge in form.get("limits", ()))
            limits = (low_high[0], low_high[1]) if low_high else None
            said |= {"limits": limits, "timed": bool(form.get("timed", False))}
            return cls(name, "cuts", cuts, count=len(cuts) + 1, **said)
        if "values" in form:
            values, calendar = tuple(form["values"]), str(form.get("calendar", ""))
            said["calendar"] = calendar
            return cls(name, "values", values=values, count=len(values), **said)
        if "buckets" in form:
            return cls(name, "buckets", count=int(form["buckets"]), **said)
        return cls(name, "codes", count=int(form["codes"]), **said)

    def _alone(self, test: Test) -> tuple[int, bool] | None:
        """The code that is tested alone, and whether it is the one left out."""
        low, high, outside = test
        if high - low == 1:
            return low, outside
        if not outside and high - low == self.cardinality - 1:
            return (self.cardinality - 1 if low == 0 else 0), True
        return None

    def _range(self, low: int, high: int) -> str:
        bounds = self.cuts if self.kind == "cuts" else range(1, self.count)

        def said(place: int) -> str:
            bound = bounds[place - 1]
            return instant_text(bound) if self.timed else _plain(bound)

        if low == 0:
            return f"{self.name} < {said(high)}"
        if high >= self.count:
            return f"{self.name} >= {said(low)}"
        return f"{said(low)} <= {self.name} < {said(high)}"

    def _either_way(self, lows: Integers, highs: Integers) -> Tests:
        """The tests and their opposites, each set of codes once, none empty, none of all."""
        size = self.cardinality
        proper = (lows > 0) | (highs < size)
        lows, highs = lows[proper], highs[proper]
        first, last = lows == 0, highs == size
        # The opposite of a prefix is a suffix, and the other way round.
        other_lows = np.where(first, highs, np.where(last, 0, lows))
        other_highs = np.where(first, size, np.where(last, lows, highs))
        outside = np.concatenate((np.zeros(len(lows), np.bool_), ~(first | last)))
        lows = np.stack((lows, other_lows), axis=1).ravel()
        highs = np.stack((highs, other_highs), axis=1).ravel()
        outside = np.stack(np.split(outside, 2), axis=1).ravel()
        _, kept = np.unique((lows * (size + 1) + highs) * 2 + outside, return_index=True)
        kept.sort()
        return Tests(lows[kept], highs[kept], outside[kept])


def _key(value: Any) -> Any:
    """True and 1 are different values; 1 and 1.0 are not."""
    if isinstance(value, float) and math.isnan(value):
        return None
    try:
        hash(value)
    except TypeError:
        return (object, id(value))
    return (isinstance(value, bool), value) if value is not None else None


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(number)


def schema_features(schema: Schema) -> tuple[Feature, ...]:
    """One feature for each column of a schema."""
    return tuple(map(Feature.of_column, schema.columns))


def cut_features(names: Sequence[str], cuts: Any, *, named: bool) -> tuple[Feature, ...]:
    """Real columns of these names, at public cut points.

    ``named``: the data brought the names, so that cuts may be given by name.
    """
    if isinstance(cuts, Mapping):
        if not named:
            raise ParameterError(
                "cuts are given by name, and an array has no names; give a list of cuts for "
                "each column, [] for a column that is not used"
            )
        missing = [name for name in cuts if name not in names]
        if missing:
            raise ParameterError(f"there are cuts for {missing[0]!r}, and there is no such column")
        return tuple(Feature.cut_at(name, cuts[name]) for name in names if name in cuts)
    lists = len(cuts) and isinstance(cuts[0], Sequence | np.ndarray)
    if not lists or isinstance(cuts[0], str):
        return tuple(Feature.cut_at(name, cuts) for name in names)
    if len(cuts) != len(names):
        raise ParameterError(
            f"there are {len(cuts)} lists of cuts for {len(names)} columns; give one each"
        )
    return tuple(
        Feature.cut_at(name, own, unused=True) for name, own in zip(names, cuts, strict=True)
    )
