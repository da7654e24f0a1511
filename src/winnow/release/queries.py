"""Public numbers of queries: the columns that they speak of, and their lengths."""

from __future__ import annotations

import math
from functools import lru_cache, reduce
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
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

Floats = NDArray[np.float64]
Columns = tuple[int, ...]


def cells_of(schema: Schema, columns: Columns) -> int:
    """The number of cells of some columns."""
    return math.prod(schema.shape[column] for column in columns)


@lru_cache(maxsize=4)
def spoken_columns(workload: Workload) -> Columns:
    """The columns that some query speaks of."""
    used: set[int] = set()
    for part in workload.parts:
        match part.form:
            case WholeTable(columns):
                used |= set(columns)
            case CodeRanges(column=column):
                used.add(column)
            case RangeTable() as form:
                used |= set(form.columns)
            case ProductSets(masks):
                used |= {column for each in masks for column in each}
            case BitMatrix() | GridMatrix():
                used |= set(range(len(workload.schema.columns)))
            case never:
                assert_never(never)
    return tuple(sorted(used))


@lru_cache(maxsize=4)
def squared_norms(workload: Workload, columns: Columns) -> Floats:
    """The sum of the squared values of every query over the cells of these columns."""
    norms = np.concatenate([_norms(part, workload.schema, columns) for part in workload.parts])
    norms.flags.writeable = False
    return norms


def _norms(part: Part, schema: Schema, columns: Columns) -> Floats:
    cells, shape = cells_of(schema, columns), schema.shape
    match part.form:
        case WholeTable(own):
            return np.full(part.size, cells / cells_of(schema, own))
        case CodeRanges(column, starts, stops):
            return np.asarray((stops - starts) * (cells / shape[column]), np.float64)
        case RangeTable(axes):
            lengths = [(axis.stops - axis.starts) / shape[axis.column] for axis in axes]
            return cells * reduce(np.multiply.outer, lengths).ravel()
        case ProductSets(masks):
            counted = np.count_nonzero  # a mask is short: other ways of counting are slower
            shares = [
                math.prod([counted(mask) / shape[c] for c, mask in own.items()]) for own in masks
            ]
            return cells * np.array(shares)
        case BitMatrix(bits):
            return np.asarray(np.bitwise_count(bits).sum(axis=1), np.float64)
        case GridMatrix(values):
            scaled = values.astype(np.float64) / part.grid
            return np.asarray((scaled**2).sum(axis=1))
        case never:
            assert_never(never)
