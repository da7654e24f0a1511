"""Queries in long form: one column for each attribute that they speak of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.frames import Columns, labelled
from winnow.core.workloads.conjunction import set_words
from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    GridMatrix,
    ProductSets,
    RangeTable,
    WholeTable,
)
from winnow.core.workloads.part import Part
from winnow.core.workloads.range_table import axis_labels
from winnow.core.workloads.workload import Workload

Objects = NDArray[np.object_]


def query_columns(workload: Workload) -> Columns:
    """The text of each query, and what it says of each column; None where it says nothing.

    A column of labels that all queries name keeps its type: numbers stay numbers.
    """
    parts = [_attributes(part) for part in workload.parts]
    names = {name for attributes in parts for name in attributes}
    columns: Columns = {"query": _objects([workload.label(i) for i in range(workload.size)])}
    for name in filter(names.__contains__, workload.schema.names):
        blocks = [
            attributes.get(name, _objects([None] * part.size))
            for part, attributes in zip(workload.parts, parts, strict=True)
        ]
        columns[free_name(name, columns)] = np.concatenate(blocks)
    return columns


def free_name(name: str, taken: Columns) -> str:
    """A name that no column has: an attribute may be called like a result."""
    while name in taken:
        name += "_"
    return name


def _attributes(part: Part) -> Columns:
    columns = part.schema.columns
    match part.form:
        case WholeTable(places):
            shape = [columns[place].cardinality for place in places]
            codes = np.indices(shape).reshape(len(shape), -1)
            return {
                columns[place].name: labelled(columns[place].labels, codes_there)
                for place, codes_there in zip(places, codes, strict=True)
            }
        case CodeRanges(column, starts, stops):
            axis = CodeRanges(column, starts, stops)
            return {columns[column].name: _objects(axis_labels(part.schema, axis))}
        case RangeTable(axes) as form:
            codes = np.indices(form.shape).reshape(len(axes), -1)
            return {
                columns[axis.column].name: _objects(axis_labels(part.schema, axis))[codes_there]
                for axis, codes_there in zip(axes, codes, strict=True)
            }
        case ProductSets(sets):
            named = sorted({place for masks in sets for place in masks})
            return {
                columns[place].name: _objects(
                    [set_words(part.schema, place, m[place]) if place in m else None for m in sets]
                )
                for place in named
            }
        case BitMatrix() | GridMatrix():
            return {}
        case never:
            assert_never(never)


def _objects(values: Sequence[Any]) -> Objects:
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects
