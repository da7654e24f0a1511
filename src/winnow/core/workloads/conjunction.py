"""Product sets: a set of codes for each of some columns, all of which must hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.schema import Schema
from winnow.core.workloads.forms import Mask, ProductSets
from winnow.core.workloads.interval import interval_label
from winnow.core.workloads.part import (
    Codes,
    Counts,
    Floats,
    Part,
    check_cells,
    check_query,
    marginal_counts,
    marginal_table,
)
from winnow.errors import ParameterError

_TABLE = 1 << 22  # marginal tables up to so many cells are summed once for all their queries


@dataclass(frozen=True, eq=False)
class ConjunctionPart(Part):
    """Query j holds a cell when masks[j][column][code] is true for each of its columns."""

    schema: Schema
    masks: tuple[Mapping[int, Mask], ...]

    grid = 1

    def __post_init__(self) -> None:
        if not self.masks:
            raise ParameterError("there is no predicate; give at least one")
        object.__setattr__(self, "masks", tuple(self._checked(mask) for mask in self.masks))

    def _checked(self, masks: Mapping[int, Mask]) -> dict[int, Mask]:
        shape = self.schema.shape
        checked: dict[int, Mask] = {}
        for column in sorted(masks):
            if not 0 <= column < len(shape):
                raise ParameterError(f"column {column} is not a position in the schema")
            mask = np.array(masks[column], np.bool_)
            if mask.shape != (shape[column],):
                raise ParameterError(
                    f"a mask of column {column} does not have one entry for each code"
                )
            mask.flags.writeable = False
            checked[column] = mask
        return checked

    @property
    def size(self) -> int:
        """How many predicates there are."""
        return len(self.masks)

    def answers(self, p: Floats) -> Floats:
        """Each set of columns is summed to its table once, then its queries are."""
        flat, shape = check_cells(p, self.schema), self.schema.shape
        answers = np.empty(self.size, np.float64)
        for columns, queries in self._by_columns().items():
            table = marginal_table(flat, shape, columns)
            answers[queries] = _all_inside(table, [self.masks[j] for j in queries], columns)
        return answers

    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """Answers in whole numbers; wide sets of columns go row by row."""
        shape = self.schema.shape
        counted = np.empty(self.size, np.int64)
        for columns, queries in self._by_columns().items():
            sizes = tuple(shape[i] for i in columns)
            if math.prod(sizes) <= _TABLE:
                table = marginal_counts(codes, weights, shape, columns).reshape(sizes)
                counted[queries] = _all_inside(table, [self.masks[j] for j in queries], columns)
                continue
            for j in queries:
                inside = np.ones(len(weights), np.bool_)
                for i in columns:
                    inside &= self.masks[j][i][codes[i]]
                counted[j] = weights[inside].sum()
        return counted

    def _by_columns(self) -> dict[tuple[int, ...], list[int]]:
        groups: dict[tuple[int, ...], list[int]] = {}
        for j, masks in enumerate(self.masks):
            groups.setdefault(tuple(masks), []).append(j)
        return groups

    def row(self, query: int) -> Floats:
        """1 on the cells inside the product set, else 0."""
        masks = self.masks[check_query(query, self.size)]
        inside = np.ones(self.schema.shape, np.bool_)
        for column, mask in masks.items():
            place = [1] * len(self.schema.shape)
            place[column] = -1
            inside &= mask.reshape(place)
        return inside.ravel().astype(np.float64)

    def label(self, query: int) -> str:
        """For example 'age in [40, 60), sex=Female'."""
        masks = self.masks[check_query(query, self.size)]
        words = (set_words(self.schema, i, mask) for i, mask in masks.items())
        return ", ".join(words) or "all rows"

    def memory(self) -> int:
        """The bytes of the masks."""
        return sum(mask.nbytes for masks in self.masks for mask in masks.values())

    @cached_property
    def form(self) -> ProductSets:
        """Product sets."""
        return ProductSets(self.masks)

    @property
    def title(self) -> str:
        """All of them together: they have no name in common."""
        return "predicates"

    def inside(
        self, columns: tuple[int, ...], own: Schema
    ) -> tuple[ConjunctionPart, ConjunctionPart] | None:
        """Those whose columns are at hand; one without any condition belongs to no group."""
        kept = tuple(m for m in self.masks if m and set(m) <= set(columns))
        if not kept:
            return None
        here = [{columns.index(c): mask for c, mask in m.items()} for m in kept]
        return ConjunctionPart(self.schema, kept), ConjunctionPart(own, tuple(here))

    @classmethod
    def joined(cls, parts: Sequence[ConjunctionPart]) -> Sequence[ConjunctionPart]:
        """One part: its queries share the sums of their tables."""
        masks = [masks for part in parts for masks in part.masks]
        return [ConjunctionPart(parts[0].schema, tuple(masks))]


def _all_inside(
    table: NDArray[Any], members: list[Mapping[int, Mask]], columns: tuple[int, ...]
) -> NDArray[Any]:
    """The sums over many product sets; those of one cell are read off together."""
    codes, single = [], np.ones(len(members), np.bool_)
    for i in columns:
        stacked = np.stack([masks[i] for masks in members])
        single &= stacked.sum(axis=1) == 1
        codes.append(stacked.argmax(axis=1))
    sums = np.array(table[tuple(codes)] if columns else np.broadcast_to(table, len(members)))
    for j in np.flatnonzero(~single):
        sums[j] = _inside(table, members[j], columns)
    return sums


def _inside(table: NDArray[Any], masks: Mapping[int, Mask], columns: tuple[int, ...]) -> Any:
    """The sum of the table over the product set."""
    for i in reversed(columns):
        table = table[..., masks[i]].sum(axis=-1)
    return table.sum()


def set_words(schema: Schema, position: int, mask: Mask) -> str:
    """The codes of one column that a set holds, in words: 'age in [40, 60)'."""
    codes = np.flatnonzero(mask)
    column = schema.columns[position]
    if codes.size == 0:
        return f"{column.name} in nothing"
    start, stop = int(codes[0]), int(codes[-1]) + 1
    if stop - start == codes.size and (column.kind != "categories" or codes.size == 1):
        return interval_label(schema, position, start, stop)
    return f"{column.name} in {', '.join(str(column.labels[int(code)]) for code in codes)}"
