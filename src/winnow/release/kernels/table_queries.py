"""What queries of maintained parts are: product sets of cells, and answers read off tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.release.kernels.tables import Floats, Integers, MarginalTables

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
        _packed(part, tables).read(values, 0, out)


def read_one(part: Any, tables: MarginalTables, query: int) -> float:
    """The unnormalised answer of one query."""
    values = tables.values
    if isinstance(part, MarginalPart):
        return float(values[tables.base[part.columns] + query])
    if isinstance(part, IntervalPart):
        base = tables.base[(part.column,)]
        return float(values[base + part.starts[query] : base + part.stops[query]].sum())
    out = np.empty(1)
    _packed(part, tables).read(values, query, out)
    return float(out[0])


@dataclass(frozen=True)
class _Packed:
    """The product sets of a part as offsets into the tables, one list for each set and column."""

    bases: Integers
    """Where the table of each set begins."""
    axes: Integers
    """The lists of set j are axes[j] .. axes[j + 1] - 1."""
    starts: Integers
    """List a is offsets[starts[a] : starts[a + 1]]."""
    offsets: NDArray[Any]

    def read(self, values: Floats, first: int, out: Floats) -> None:
        """The sums of the sets from `first` on, as many as there is room for."""
        from winnow.release.kernels.product_reads import sum_products

        sum_products(values, self.bases, self.axes, self.starts, self.offsets, first, out)


def _packed(part: ConjunctionPart, tables: MarginalTables) -> _Packed:
    """The sets of a part, packed once for these tables."""
    found: _Packed | None = tables.kept.get(part)
    if found is None:
        found = tables.kept[part] = _pack(part, tables)
    return found


def _pack(part: ConjunctionPart, tables: MarginalTables) -> _Packed:
    """All masks are laid end to end, so that their codes are found at once."""
    named = [tuple(masks) for masks in part.masks]  # ascending
    masks = [mask for each in part.masks for mask in each.values()]
    strides = [stride for columns in named for stride in tables.strides_of(columns)]
    ends = np.cumsum([0, *map(len, masks)], dtype=np.int64)
    inside = np.flatnonzero(np.concatenate(masks)) if masks else np.zeros(0, np.int64)
    starts = np.searchsorted(inside, ends).astype(np.int64)
    counts = np.diff(starts)
    offsets = (inside - np.repeat(ends[:-1], counts)) * np.repeat(
        np.array(strides, np.int64), counts
    )
    kind = np.int32 if len(tables.values) < 2**31 else np.int64
    return _Packed(
        np.array([tables.base[columns] for columns in named], np.int64),
        np.cumsum([0, *map(len, named)], dtype=np.int64),
        starts,
        offsets.astype(kind),
    )
