"""Which numbers of a release speak of a part of a workload: its own answers, or its tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    GridMatrix,
    ProductSets,
    RangeTable,
    WholeTable,
)
from winnow.core.workloads.part import Part
from winnow.core.workloads.workload import Workload
from winnow.release.tables.parts import table_part
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.strategy import Geometry

Floats = NDArray[np.float64]


class KnownAnswers(NamedTuple):
    """Of every query of some parts, as fractions; not a number where only the model speaks."""

    estimates: Floats
    standard_errors: Floats
    answers: Floats


def released_place(workload: Workload, part: Part) -> tuple[int, tuple[int, ...] | None] | None:
    """The part of a workload that asks the same, and how to turn its axes; None: there is none."""
    for place, other in enumerate(workload.parts):
        match part.form, other.form:
            case WholeTable(asked), WholeTable(held) if set(asked) == set(held):
                return place, tuple(held.index(column) for column in asked)
            case RangeTable() as asked, RangeTable() as held if _turned(asked, held):
                return place, tuple(held.columns.index(column) for column in asked.columns)
            case _ if part is other or _same(part, other):
                return place, None
    return None


def _turned(asked: RangeTable, other: RangeTable) -> bool:
    """Whether two products ask the same of each column."""
    own = {axis.column: axis for axis in other.axes}
    return set(asked.columns) == set(other.columns) and all(
        np.array_equal(axis.starts, own[axis.column].starts)
        and np.array_equal(axis.stops, own[axis.column].stops)
        for axis in asked.axes
    )


def _same(a: Part, b: Part) -> bool:
    """Whether two parts ask the same queries in one order."""
    if a.size != b.size or a.bound != b.bound:
        return False
    match a.form, b.form:
        case CodeRanges(c, starts, stops), CodeRanges(d, begins, ends):
            return c == d and bool((starts == begins).all() and (stops == ends).all())
        case ProductSets(masks), ProductSets(others):
            return all(
                one.keys() == two.keys() and all((one[c] == two[c]).all() for c in one)
                for one, two in zip(masks, others, strict=True)
            )
        case BitMatrix(bits), BitMatrix(others):
            return bits.shape == others.shape and bool((bits == others).all())
        case GridMatrix(values), GridMatrix(others):
            same = values.shape == others.shape and a.grid == b.grid
            return same and bool((values == others).all())
    return False


def from_tables(tables: ReleasedTables, part: Part) -> tuple[Floats, Floats] | None:
    """Estimates and standard errors of a part, in rows, where released tables have its columns."""
    asked = table_part(part)
    if asked is None:
        return None
    if not any(set(asked.columns) <= set(part_there.columns) for part_there in tables.parts):
        return None
    layer = tables.layers[0]
    variance = Geometry((asked,), layer.geometry.trees).variance(0, layer.precision)
    estimate = layer.estimate(asked)
    errors = np.broadcast_to(np.sqrt(np.maximum(variance, 0.0)), estimate.shape)
    return estimate.reshape(-1), errors.reshape(-1)
