"""What queries of maintained parts are: product sets of cells, and answers read off tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.domain.workloads.conjunction import ConjunctionPart
from winnow.domain.workloads.interval import IntervalPart
from winnow.domain.workloads.marginal import MarginalPart
from winnow.kernels.tables import Floats, Integers, MarginalTables

SMALLEST_BLOCK = 8
"""So many cells of a marginal, or more, are looked at together."""


def prefix(columns: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The leading columns whose cells hold at least a few cells of the table each."""
    length = 1
    for kept in range(len(columns) - 1, 0, -1):
        length *= shape[columns[kept]]
        if length >= SMALLEST_BLOCK:
            return columns[:kept]
    return ()


def codes_of(part: Any, query: int) -> dict[int, tuple[int, int] | Integers]:
    """The codes of a query's product set."""
    if isinstance(part, MarginalPart):
        codes: dict[int, tuple[int, int] | Integers] = {}
        for column in reversed(part.columns):
            query, code = divmod(query, part.schema.shape[column])
            codes[column] = (code, code + 1)
        return codes
    if isinstance(part, IntervalPart):
        return {part.column: (int(part.starts[query]), int(part.stops[query]))}
    masks: Mapping[int, NDArray[np.bool_]] = part.masks[query]
    return {column: np.flatnonzero(mask) for column, mask in masks.items()}


def read(part: Any, tables: MarginalTables, out: Floats) -> None:
    """The unnormalised answers of a part, read off the tables."""
    values = tables.values
    if isinstance(part, MarginalPart):
        base = tables.base[part.columns]
        out[:] = values[base : base + part.size]
    elif isinstance(part, IntervalPart):
        base = tables.base[(part.column,)]
        sums = np.concatenate([[0.0], np.cumsum(values[base : base + tables.shape[part.column]])])
        out[:] = sums[part.stops] - sums[part.starts]
    elif isinstance(part, ConjunctionPart):
        for j in range(part.size):
            out[j] = read_one(part, tables, j)


def read_one(part: Any, tables: MarginalTables, query: int) -> float:
    """The unnormalised answer of one query."""
    values = tables.values
    if isinstance(part, MarginalPart):
        return float(values[tables.base[part.columns] + query])
    if isinstance(part, IntervalPart):
        base = tables.base[(part.column,)]
        return float(values[base + part.starts[query] : base + part.stops[query]].sum())
    masks = part.masks[query]
    columns = tuple(sorted(masks))
    base = tables.base[columns]
    sizes = [tables.shape[c] for c in columns]
    table = values[base : base + math.prod(sizes)].reshape(sizes)
    held = [np.flatnonzero(masks[c]) for c in columns]
    return float(table[np.ix_(*held)].sum() if held else table.sum())
