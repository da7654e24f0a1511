"""Columns of many numbers or dates: cut at private quantiles, and then learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import exact
from winnow.core.column import Column
from winnow.core.key import Key
from winnow.core.schema import Schema
from winnow.learn.about import AboutRows
from winnow.learn.crossing.bins import BinnedColumns, Cuts, binned
from winnow.learn.crossing.rows import SealedLabelled
from winnow.learn.features import Feature, schema_features
from winnow.learn.labelled import Labelled
from winnow.learn.predictor import Predictor
from winnow.learn.request import Learn
from winnow.learn.values import is_wide
from winnow.numbers.mechanism import HalvingQuantiles
from winnow.numbers.tree import QuantileTree

if TYPE_CHECKING:
    from winnow.learn.plan import LearnPlan

BINS = 16
"""Bins of a column: four levels of halving, and few enough for pairs of tests."""
SHARE = Fraction(1, 10)
"""The part of epsilon that finds the bins of all columns, as the sizes of the classes have."""


def wide_places(about: AboutRows) -> tuple[int, ...]:
    """The columns of a schema that are cut at private quantiles."""
    columns = () if about.schema is None else about.schema.columns
    return tuple(place for place, column in enumerate(columns) if is_wide(column))


def plan_in_bins(asked: Learn, about: AboutRows, wide: tuple[int, ...]) -> LearnPlan:
    """Quantiles, and the plan of what is left of epsilon on as many bins.

    How many bins there are is fixed, so that what is learned has the same charge wherever they lie.
    """
    assert about.schema is not None
    columns = about.schema.columns
    sizes = {place: columns[place].codes for place in wide}
    even = {place: _even(size) for place, size in sizes.items()}
    inner = replace(asked, epsilon=(1 - SHARE) * exact("epsilon", asked.epsilon))

    def over(cuts: dict[int, Cuts]) -> LearnPlan:
        return inner.plan(cut_at(about, cuts))

    first = over(even)
    each = SHARE * exact("epsilon", asked.epsilon) / len(wide)
    tree = QuantileTree(tuple(range(1, BINS)), BINS)
    mechanism = BinnedColumns(
        tuple(
            HalvingQuantiles(each, each / tree.levels, tree, size, about.rows_per_person)
            for size in sizes.values()
        ),
        wide,
        first.mechanism,
        first.guarantee.delta,
    )

    def model(data: SealedLabelled, key: Key) -> Predictor:
        drawn = mechanism.drawn(data, key.child("bins"))
        cuts = dict(zip(wide, drawn, strict=True))
        then = over(cuts)
        assert then.event == first.event  # bins are as many as were charged for
        rows = Labelled(then.about, binned(data, sizes, cuts))
        made = then.draw(then.ready(rows), key.child("model"))
        return replace(made, bound=None)  # a class of rules that was found is not a public one

    def check(data: SealedLabelled) -> None:
        mechanism.check(data)
        rows = Labelled(first.about, binned(data, sizes, even))
        first.check(first.ready(rows))

    features = schema_features(about.schema)
    names = ", ".join(columns[place].name for place in wide)
    return replace(
        first,
        mechanism=mechanism,
        guarantee=mechanism.guarantee(mechanism.promise(about.relation)),
        draw=model,
        check=check,
        reason=f"private quantiles cut {names}; {first.reason}",
        about=about,
        read=lambda data: data.coded(features),
        expected=None,
        compared=(),
        error=None,
    )


def cut_at(about: AboutRows, cuts: dict[int, Cuts]) -> AboutRows:
    """What is public of the rows, with bins instead of grids."""
    assert about.schema is not None
    columns = [
        _bins(column, cuts[place]) if place in cuts else column
        for place, column in enumerate(about.schema.columns)
    ]
    return replace(about, schema=Schema(tuple(columns)))


def _bins(column: Column, cuts: Cuts) -> Column:
    """Bins that begin at these points of the grid; the outer ones reach to its ends."""
    assert column.grid is not None
    last = column.grid.size - (not column.grid.unit)  # the last day ends where the next begins
    edges = tuple(column.grid.value(code) for code in (0, *cuts, last))
    return replace(column, kind="bins", edges=edges, grid=None)


def codes_of(
    features: Sequence[Feature], columns: Sequence[Column], codes: Sequence[NDArray[Any]]
) -> list[NDArray[np.int32]]:
    """Codes by the columns of a schema as codes of the features that were learned from it."""
    return [
        _of_grid(feature, column, values) if is_wide(column) else values
        for feature, column, values in zip(features, columns, codes, strict=True)
    ]


def _of_grid(feature: Feature, column: Column, array: NDArray[Any]) -> NDArray[np.int32]:
    assert column.grid is not None
    distinct, places = np.unique(array, return_inverse=True)
    inside = distinct < column.codes
    codes = distinct - column.codes + feature.count
    values = column.grid.values(distinct[inside].astype(np.int64))
    codes[inside] = feature.encode(values, f"the column {feature.name!r}")
    return np.asarray(codes[places], np.int32)


def _even(size: int) -> Cuts:
    return tuple(size * part // BINS for part in range(1, BINS))
