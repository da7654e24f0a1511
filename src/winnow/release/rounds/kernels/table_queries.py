"""Queries that are product sets of codes: their cells, and their answers read off tables.

Compiled sums of many product sets, each read off the marginal table of its own columns.

The sum of an inner axis is finished before it is added to the next one, so no value passes
through more additions than there are codes in the set's lists: what ``MarginalTables.slack``
counts on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.kernels.compiled import compiled
from winnow.core.workloads.forms import CodeRanges, ProductSets, RangeTable, TableForm, WholeTable
from winnow.release.rounds.kernels.tables import Floats, Integers, MarginalTables

_MOST = 64  # axes


def _sum_products(values, bases, axes, starts, offsets, first, out):  # type: ignore[no-untyped-def]
    """out[i] = the sum of set first + i, whose axes are axes[first + i] .. axes[first + i + 1]."""
    digits = np.zeros(_MOST, np.int64)
    partial = np.zeros(_MOST, np.float64)
    for i in range(out.shape[0]):
        low, high = axes[first + i], axes[first + i + 1]
        place = bases[first + i]
        empty = False
        for axis in range(low, high - 1):
            if starts[axis] == starts[axis + 1]:
                empty = True
            else:
                place += offsets[starts[axis]]
        if empty:
            out[i] = 0.0
            continue
        if low == high:
            out[i] = values[place]
            continue
        begin, end = starts[high - 1], starts[high]
        while True:
            total = 0.0
            for k in range(begin, end):
                total += values[place + offsets[k]]
            axis = high - 2
            while axis >= low:
                level = axis - low
                total += partial[level]
                at = starts[axis] + digits[level]
                place -= offsets[at]
                if at + 1 < starts[axis + 1]:
                    partial[level] = total
                    digits[level] += 1
                    place += offsets[at + 1]
                    break
                partial[level] = 0.0
                digits[level] = 0
                place += offsets[starts[axis]]
                axis -= 1
            if axis < low:
                out[i] = total
                break


sum_products = compiled(_sum_products)


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


def tables_for(form: TableForm, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The tables that the answers, and blocks of queries, are read off; () is the whole mass."""
    match form:
        case WholeTable(columns):
            return [prefix(columns, shape)]
        case CodeRanges(column=column):
            return [(column,)]
        case RangeTable() as form:
            return [form.columns]
        case ProductSets(sets):
            return [tuple(sorted(masks)) for masks in sets]
        case never:
            assert_never(never)


def codes_of(
    form: TableForm, shape: tuple[int, ...], query: int
) -> dict[int, tuple[int, int] | Integers]:
    """The codes of a query's product set."""
    match form:
        case WholeTable(columns):
            codes: dict[int, tuple[int, int] | Integers] = {}
            for column in reversed(columns):
                query, code = divmod(query, shape[column])
                codes[column] = (code, code + 1)
            return codes
        case CodeRanges(column, starts, stops):
            return {column: (int(starts[query]), int(stops[query]))}
        case RangeTable():
            return dict(form.ranges(query))
        case ProductSets(sets):
            return {column: np.flatnonzero(mask) for column, mask in sets[query].items()}
        case never:
            assert_never(never)


def read(form: TableForm, tables: MarginalTables, out: Floats) -> None:
    """The unnormalised answers of all queries of a form, read off the tables."""
    values = tables.values
    match form:
        case WholeTable(columns):
            base = tables.base[columns]
            out[:] = values[base : base + len(out)]
        case CodeRanges(column=column):
            base = tables.base[(column,)]
            out[:] = form.sums(values[base : base + tables.shape[column]])
        case RangeTable():
            out[:] = form.sums(_table(form, tables)).ravel()
        case ProductSets():
            _offsets(form, tables).read(values, 0, out)
        case never:
            assert_never(never)


def read_one(form: TableForm, tables: MarginalTables, query: int) -> float:
    """The unnormalised answer of one query."""
    values = tables.values
    match form:
        case WholeTable(columns):
            return float(values[tables.base[columns] + query])
        case CodeRanges(column, starts, stops):
            base = tables.base[(column,)]
            return float(values[base + starts[query] : base + stops[query]].sum())
        case RangeTable():
            inside = tuple(slice(*each) for each in form.ranges(query).values())
            return float(_table(form, tables)[inside].sum())
        case ProductSets():
            out = np.empty(1)
            _offsets(form, tables).read(values, query, out)
            return float(out[0])
        case never:
            assert_never(never)


def _table(form: RangeTable, tables: MarginalTables) -> Floats:
    """The marginal table of the columns of a product."""
    shape = [tables.shape[column] for column in form.columns]
    base = tables.base[form.columns]
    return tables.values[base : base + math.prod(shape)].reshape(shape)


@dataclass(frozen=True)
class _Offsets:
    """Product sets as offsets into the tables, one list for each set and column."""

    bases: Integers
    """Where the table of each set begins."""
    axes: Integers
    """The lists of set j are axes[j] .. axes[j + 1] - 1."""
    starts: Integers
    """List a is offsets[starts[a] : starts[a + 1]]."""
    offsets: NDArray[Any]

    def read(self, values: Floats, first: int, out: Floats) -> None:
        """The sums of the sets from `first` on, as many as there is room for."""
        from winnow.release.rounds.kernels.table_queries import sum_products

        sum_products(values, self.bases, self.axes, self.starts, self.offsets, first, out)


def _offsets(sets: ProductSets, tables: MarginalTables) -> _Offsets:
    """The offsets of the sets, found once for these tables."""
    offsets: _Offsets | None = tables.kept.get(sets)
    if offsets is None:
        offsets = tables.kept[sets] = _found_offsets(sets, tables)
    return offsets


def _found_offsets(sets: ProductSets, tables: MarginalTables) -> _Offsets:
    """All masks are laid end to end, so that their codes are found at once."""
    named = [tuple(masks) for masks in sets.masks]  # ascending
    masks = [mask for each in sets.masks for mask in each.values()]
    strides = [stride for columns in named for stride in tables.strides_of(columns)]
    ends = np.cumsum([0, *map(len, masks)], dtype=np.int64)
    inside = np.flatnonzero(np.concatenate(masks)) if masks else np.zeros(0, np.int64)
    starts = np.searchsorted(inside, ends).astype(np.int64)
    counts = np.diff(starts)
    offsets = (inside - np.repeat(ends[:-1], counts)) * np.repeat(
        np.array(strides, np.int64), counts
    )
    kind = np.int32 if len(tables.values) < 2**31 else np.int64
    return _Offsets(
        np.array([tables.base[columns] for columns in named], np.int64),
        np.cumsum([0, *map(len, named)], dtype=np.int64),
        starts,
        offsets.astype(kind),
    )
