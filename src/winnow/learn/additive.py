"""Additive models: every value of every column has points for each class, and the most points win.

The points come from noisy tables of classes by values (naive Bayes); everything here is computed
from what was released. Tables that overlap in what they say make naive Bayes too sure of
itself, so there are variants: only the columns that tell most, points that count for less, and a
smaller weight of how frequent the classes are. One of them is selected privately afterwards.
Points are whole numbers, so that a sum is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.learn.chances import ScoredPredictor, calibration_of
from winnow.learn.features import UNKNOWN, Feature
from winnow.learn.rules import Codes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_STEP = 1000
"""Points of one nat at full strength."""
_WHOLE = 4
"""Quarters of full strength."""
_STRENGTHS = (1, 2, 3, 4)
"""How much points count, in quarters."""
_PRIORS = (0, 1, 2)
"""How much the frequency of a class counts, in halves."""


@dataclass(frozen=True)
class Variant:
    """One model of those that are compared."""

    columns: int
    """How many columns are used, the most telling first."""
    strength: int
    prior: int


@dataclass(frozen=True, eq=False)
class AdditiveFamily:
    """The variants that follow from noisy tables, one table (classes by values) for each column."""

    points: tuple[Integers, ...]
    """For each column: classes by values."""
    prior: Integers
    """For each class."""
    order: tuple[int, ...]
    """Columns by how much they tell about the class."""
    sizes: tuple[int, ...]
    """The noisy number of rows of each class, at least the standard deviation of its noise."""

    @classmethod
    def of(cls, tables: Sequence[Integers], deviation: float) -> AdditiveFamily:
        """From tables with noise of this standard deviation in every cell."""
        sizes = np.maximum(np.mean([table.sum(axis=1) for table in tables], axis=0), 1.0)
        shares = sizes / sizes.sum()
        points, told = [], []
        for table in tables:
            # A pseudo-count of half the noise keeps cells that hold only noise near each other.
            cells = np.maximum(table, 0) + 1.0 + deviation / 2
            given = cells / cells.sum(axis=1, keepdims=True)
            joint = given * shares[:, None]
            told.append(float((joint * np.log(given / joint.sum(axis=0))).sum()))
            points.append(_whole(np.log(given)))
        order = sorted(range(len(tables)), key=lambda column: -told[column])
        # A class that is hardly there counts as large as the noise in its size.
        cells = sum(table.shape[1] for table in tables)
        least = deviation * math.sqrt(cells) / len(tables)
        rows = tuple(int(size) for size in np.rint(np.maximum(sizes, least)))
        return cls(tuple(points), _whole(np.log(shares)), tuple(order), rows)

    @property
    def variants(self) -> list[Variant]:
        """All that are compared; how many there are is public."""
        columns = variant_columns(len(self.points))
        return [Variant(*each) for each in product(columns, _STRENGTHS, _PRIORS)]

    def predictions(self, codes: Sequence[NDArray[np.int32]]) -> Iterator[NDArray[np.intp]]:
        """The class of every row by each variant, in their order."""
        total = np.zeros((len(self.prior), len(codes[0]) if codes else 0), np.int64)
        used = 0
        for variant in self.variants:
            while used < variant.columns:
                column = self.order[used]
                total = total + self.points[column][:, codes[column]]
                used += 1
            prior = 2 * variant.prior * self.prior
            yield (variant.strength * total + prior[:, None]).argmax(axis=0)

    def model(self, number: int) -> tuple[dict[int, Integers], Integers]:
        """The points by column of one variant, and those of the classes."""
        variant = self.variants[number]
        used = sorted(self.order[: variant.columns])
        points = {column: variant.strength * self.points[column] for column in used}
        return points, 2 * variant.prior * self.prior

    def lean(self, number: int, codes: Sequence[NDArray[np.int32]]) -> Integers:
        """By how much one variant is for the second of two classes, row by row."""
        points, start = self.model(number)
        return lean_of(points, start, dict(enumerate(codes)), len(codes[0]) if codes else 0)


def lean_of(
    points: Mapping[int, Integers], start: Sequence[int] | Integers, codes: Codes, rows: int
) -> Integers:
    """Points of the second class less those of the first, in thousandths of a nat, rounded down."""
    total = np.full(rows, int(start[1]) - int(start[0]), np.int64)
    for place, own in points.items():
        codes_here = codes[place]
        known = codes_here != UNKNOWN  # a value that was not declared says nothing
        total[known] += (own[1] - own[0])[codes_here[known]]
    return total // _WHOLE


def variant_columns(columns: int) -> list[int]:
    """How many columns the variants use: growing by about a half, up to all."""
    return sorted({min(columns, n) for n in (1, 2, 3, 5, 8, 13, 20)} | {columns})


def variants_of(columns: int) -> int:
    """How many variants there are over so many columns."""
    return len(variant_columns(columns)) * len(_STRENGTHS) * len(_PRIORS)


def balanced(sizes: Sequence[int]) -> tuple[int, ...]:
    """Weights of classes of these sizes under which each counts the same, in thousandths."""
    return tuple(max(1, round(1000 * min(sizes) / size)) for size in sizes)


RARE = 2
"""A class is rare that has less than an even share of the rows over this: its weight is then more
than three times that of the others of two. Nearer to even, balanced and plain accuracy are much
the same."""


def balanced_where_rare(sizes: Sequence[int]) -> tuple[int, ...]:
    """Weights under which each class counts the same where one is rare; else each row does."""
    rare = RARE * len(sizes) * min(sizes) < sum(sizes)
    return balanced(sizes) if rare else (1000,) * len(sizes)


def _whole(values: Floats) -> Integers:
    return np.asarray(np.rint(_STEP * values), np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class AdditivePredictor(ScoredPredictor):
    """Points for each class by the value of each column; the class with the most is predicted."""

    points: tuple[tuple[int, Integers], ...] = ()
    """The place of each column that is used, and its points: classes by values."""
    start: tuple[int, ...] = ()
    """What each class has before any column."""

    @property
    def text(self) -> str:
        """The model for people."""
        names = ", ".join(self.features[column].name for column, _ in self.points)
        return f"the class with the most points for {names}"

    @property
    def used(self) -> set[int]:
        """The places of the features that are looked at."""
        return {place for place, _ in self.points}

    def of_codes(self, codes: Codes, rows: int) -> NDArray[np.intp]:
        """The number of the class of every row, from the codes of each feature."""
        return np.asarray(self._totals(codes, rows).argmax(axis=0), np.intp)

    def scores(self, codes: Codes, rows: int) -> Floats:
        """What is said of every row for each class, in nats."""
        return self._totals(codes, rows).T / (_WHOLE * _STEP)

    def _totals(self, codes: Codes, rows: int) -> Integers:
        total = np.repeat(np.array(self.start, np.int64)[:, None], rows, axis=1)
        for place, points in self.points:
            codes_here = codes[place]
            known = codes_here != UNKNOWN  # a value that was not declared says nothing
            total[:, known] += points[:, codes_here[known]]
        return total

    def to_dict(self) -> dict[str, Any]:
        """The predictor as plain data, ready for JSON; `load_predictor` reads it back."""
        return super().to_dict() | {
            "points": [[column, points.tolist()] for column, points in self.points],
            "start": list(self.start),
        }

    @classmethod
    def from_dict(cls, form: Any) -> AdditivePredictor:
        """The predictor of `to_dict`."""
        features = tuple(map(Feature.from_dict, form["features"]))
        classes, start = tuple(form["classes"]), tuple(int(n) for n in form["start"])
        points = tuple((int(c), np.array(p, np.int64)) for c, p in form["points"])
        for column, points_here in points:
            if points_here.shape != (len(classes), features[column].cardinality):
                raise ValueError("points that do not fit their column")
        if len(start) != len(classes):
            raise ValueError("classes without points")
        number, size = int(form["number"]), int(form["hypotheses"])
        kind, rows = str(form["kind"]), form["rows"]
        return cls(
            classes,
            number,
            size,
            kind,
            None,
            rows,
            None,
            features,
            points,
            start,
            calibration=calibration_of(form),
        )
