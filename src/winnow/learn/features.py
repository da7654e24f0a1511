"""One public input of a classifier: which tests may be made on it, and the code of a value.

Nothing here is learned from data: cut points, values and codes are declared. A feature has
codes 0, 1, ..., and every test asks whether the code lies in a range [low, high) or outside.

    cuts    a real number; code i means that i of the increasing cut points are <= x
    values  declared values, without an order
    codes   whole numbers 0 .. n-1, with their order
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from winnow.core.column import Column
from winnow.core.schema import Schema
from winnow.errors import DataError, ParameterError
from winnow.foreign import instead, shown


def named_columns(data: Any) -> tuple[tuple[str, ...], list[Any], bool]:
    """The names of the columns, the columns, and whether the data brought the names.

    Messages name columns and nothing else: the values may be private.
    """
    if isinstance(data, Mapping):
        return tuple(map(str, data)), [np.asarray(values) for values in data.values()], True
    if not isinstance(data, np.ndarray | Sequence) and hasattr(data, "columns"):
        return _of_frame(data)
    array = _array(data)
    if array.ndim != 2:
        raise DataError(f"Reshape your data: X has {array.ndim} dimensions; give rows and columns")
    names = tuple(f"x{i}" for i in range(array.shape[1]))
    return names, [array[:, i] for i in range(array.shape[1])], False


def pick_columns(features: Sequence[Feature], data: Any) -> list[Any]:
    """The column of every feature: by name where the data have names, else by place."""
    names, columns, own_names = named_columns(data)
    if own_names:
        missing = [feature.name for feature in features if feature.name not in names]
        if missing:
            raise DataError(f"there is no column {missing[0]!r} in the data; add or rename it")
        return [columns[names.index(feature.name)] for feature in features]
    if len(columns) != len(features):
        raise DataError(
            f"X has {len(columns)} features, but {len(features)} features are expected; "
            "give one column for each"
        )
    return columns


def _array(data: Any) -> Any:
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise DataError("a sparse matrix is not supported; give a dense one")
    if isinstance(data, np.ndarray) or not isinstance(data, Sequence):
        return np.asarray(data)
    array = np.array(data, object)  # so that 70 beside "m" stays a number
    if array.ndim == 1 and any(isinstance(row, Sequence | np.ndarray) for row in data):
        raise DataError("X is ragged; give rows of equal length")
    return array


def _of_frame(data: Any) -> tuple[tuple[str, ...], list[Any], bool]:
    import narwhals.stable.v2 as nw

    frame = None
    with suppress(TypeError):
        frame = nw.from_native(data, eager_only=True)
    if frame is None:
        raise DataError(f"a {type(data).__name__} is not a table that can be read; give an array")
    return (
        tuple(map(str, frame.columns)),
        [frame.get_column(name).to_numpy() for name in frame.columns],
        True,
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
    kind: Literal["cuts", "values", "codes"]
    cuts: tuple[float, ...] = ()
    values: tuple[Any, ...] = ()
    count: int = 0
    """How many codes are declared, without 'other'."""
    other: str | None = None
    """The label of the last code, for whatever was not declared; None: there is none."""
    limits: tuple[float, float] | None = None
    """For cuts: numbers beyond these are 'other'; None: they count in the outer bins."""

    @classmethod
    def of_column(cls, column: Column) -> Feature:
        """The feature of a column of a schema; the inner edges of bins are the cut points."""
        if column.content == "time" or column.hashed or column.missing_label is not None:
            raise ParameterError(
                f"the column {column.name!r} holds times, buckets or a code for missing values, "
                "which a rule cannot read off new rows; leave it out, or declare it by values, "
                "numbers or edges"
            )
        if column.placed:
            inner, outer = _cuts_of(column)
            strict = column.other and not column.clip
            return cls(
                column.name,
                "cuts",
                cuts=inner,
                count=column.codes,
                other=column.other_label,
                limits=outer if strict else None,
            )
        if column.kind == "categories":
            kept = column.values
            return cls(
                column.name, "values", values=kept, count=len(kept), other=column.other_label
            )
        return cls(column.name, "codes", count=column.codes, other=column.other_label)

    @classmethod
    def cut_at(cls, name: str, cuts: object, *, unused: bool = False) -> Feature:
        """A real feature with public cut points; none at all where it may be `unused`."""
        if isinstance(cuts, np.ndarray):
            cuts = cuts.tolist()
        if isinstance(cuts, str) or not isinstance(cuts, Sequence) or not (unused or len(cuts)):
            raise ParameterError(
                "the cuts of a column are not a list of numbers; give at least one"
            )
        found = []
        for cut in cuts:
            if isinstance(cut, bool) or not isinstance(cut, int | float | np.number):
                raise ParameterError(f"the cut {shown(cut)} is not a number")
            if not math.isfinite(float(cut)):
                raise ParameterError(f"the cut {shown(cut)} is not finite; give finite cuts")
            found.append(float(cut))
        if any(low >= high for low, high in pairwise(found)):
            raise ParameterError(f"the cuts {shown(found)} do not increase; sort them, each once")
        return cls(name, "cuts", cuts=tuple(found), count=len(found) + 1)

    @property
    def cardinality(self) -> int:
        """How many codes there are, with 'other'."""
        return self.count + (self.other is not None)

    @property
    def ordered(self) -> bool:
        """Whether 'below' and 'above' mean something."""
        return self.kind != "values"

    def encode(self, values: Any, where: str = "a column") -> Codes:
        """The code of every value; what was not declared is 'other' or unknown.

        Numbers beyond the outer edges of bins count in the outer bins, unless they are
        'other': so a rule says on new rows what its text says. ``where`` says which column it
        is, for messages: its name may only stand in the data.
        """
        held = np.asarray(values)
        if held.ndim != 1:
            raise DataError(f"{where} has {held.ndim} dimensions; give one")
        outside = self.count if self.other is not None else UNKNOWN
        if self.kind == "values":
            known = {_key(value): code for code, value in enumerate(self.values)}
            found = [known.get(_key(value), outside) for value in held.tolist()]
            return np.array(found, np.int32).reshape(len(held))
        numbers = _real(held, where)
        valid = ~np.isnan(numbers)
        codes = np.full(len(held), outside, np.int32)
        if self.kind == "cuts":
            if self.limits is not None:
                valid &= (numbers >= self.limits[0]) & (numbers <= self.limits[1])
            codes[valid] = np.searchsorted(self.cuts, numbers[valid], "right")
            return codes
        valid &= (numbers >= 0) & (numbers < self.count) & (numbers == np.floor(numbers))
        codes[valid] = numbers[valid].astype(np.int32)
        return codes

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
        if self.other is not None:
            lows.append(np.array([self.count]))
            highs.append(np.array([self.count + 1]))
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
        if alone is not None and (self.kind != "cuts" or alone[0] == self.count):
            code, left_out = alone
            return f"{self.name} {'!=' if left_out else '='} {self.label(code)}"
        if self.other is not None and high == self.cardinality:  # 'other' is neither
            return f"not {self._range(0, low)}"
        return f"not {self._range(low, high)}" if outside else self._range(low, high)

    def label(self, code: int) -> str:
        """The public name of a code."""
        if code == self.count and self.other is not None:
            return self.other
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
        elif self.kind == "values":
            form["values"] = list(self.values)
        else:
            form["codes"] = self.count
        return form if self.other is None else form | {"other": self.other}

    @classmethod
    def from_dict(cls, form: Any) -> Feature:
        """The feature of `to_dict`."""
        name, other = form["name"], form.get("other")
        if "cuts" in form:
            cuts = tuple(float(cut) for cut in form["cuts"])
            low_high = tuple(float(edge) for edge in form.get("limits", ()))
            limits = (low_high[0], low_high[1]) if low_high else None
            return cls(name, "cuts", cuts=cuts, count=len(cuts) + 1, other=other, limits=limits)
        if "values" in form:
            values = tuple(form["values"])
            return cls(name, "values", values=values, count=len(values), other=other)
        return cls(name, "codes", count=int(form["codes"]), other=other)

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
        if low == 0:
            return f"{self.name} < {_plain(bounds[high - 1])}"
        if high >= self.count:
            return f"{self.name} >= {_plain(bounds[low - 1])}"
        return f"{_plain(bounds[low - 1])} <= {self.name} < {_plain(bounds[high - 1])}"

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


def _real(held: NDArray[Any], where: str) -> NDArray[np.float64]:
    refusal = DataError(f"{where} does not hold numbers; give numbers")
    if held.dtype.kind not in "iufbO":
        raise refusal
    with instead(refusal):
        return held.astype(np.float64)


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(number)


_MOST_CUTS = 1 << 12
"""Cuts of a column of numbers: models hold a number for each, and people read what comes out."""


def _cuts_of(column: Column) -> tuple[tuple[float, ...], tuple[float, float]]:
    """Where the codes of numbers part, and the outer ends: edges, or halfway between numbers."""
    grid = column.grid
    if grid is None:
        edges = tuple(float(edge) for edge in column.edges)
        return edges[1:-1], (edges[0], edges[-1])
    if grid.size > _MOST_CUTS:
        raise ParameterError(
            f"the column {column.name!r} has {grid.size:,} numbers, too many for tests between "
            "them; declare edges, or a larger step"
        )
    half = Fraction(1, 2)
    cuts = tuple(float(grid.low + grid.step * (code - half)) for code in range(1, grid.size))
    return cuts, (float(grid.low), float(grid.high))


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
