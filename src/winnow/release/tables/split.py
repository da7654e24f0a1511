"""How to split a pure epsilon between tables of block sums, all of which help each other.

With budgets e_T (noise of scale 1/e_T), the precision of a subspace S is the sum over tables T
that see it of c_TS e_T^2/2. Minimised is the sum over S of gain_S/precision_S with the e_T
adding up to 1. Written with the weights a_ST of the best linear estimate it is

    sum over T of  h_T/e_T^2,   h_T = sum over S of gain_S a_ST^2 2/c_TS,

so for fixed a the best e_T are ~ h_T^(1/3), for fixed e the best a_ST are c_TS e_T^2 over their
sum: alternating, the sum never rises. With joint tables it has several local minima, so it is
started several times.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.release.tables.measured import Space
from winnow.release.tables.strategy import Geometry, seen_by

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_ROUNDS = 80
"""Steps that find the split of a budget."""
_LEAST = 1e-3
"""Tables that end below this part of the largest budget are not measured."""

_MOST_TABLES = 2000
"""Beyond so many, only the tables that are asked for are looked at."""

_MOST_CELLS = 1 << 20
"""Of a joint table of several tables' columns."""

_MOST_JOINED = 8
"""Columns of which every joint table is looked at; of more, only the one of all."""


def laplace_split(
    geometry: Geometry, gains: Mapping[Space, float], joint: Sequence[Space] = ()
) -> dict[Space, float]:
    """The budget of each table of block sums, joint ones among them; they add up to 1."""
    places = [*_places(geometry), *joint]
    gain = np.array([gains.get(space, 0.0) for space in geometry.spaces])
    table, space_of, c = _seen(geometry, places)
    wanted = gain[space_of] > 0.0
    table, space_of, c = table[wanted], space_of[wanted], c[wanted]
    wished = gain > 0.0
    leaves = {part.place for part in geometry.parts}
    if not wanted.any():  # only a public total is asked for
        return dict.fromkeys(leaves, 1 / len(leaves))

    def improved(budget: Floats) -> tuple[float, Floats]:
        for _ in range(_ROUNDS):
            each = c * budget[table] ** 2
            precision = np.bincount(space_of, each, len(gain))
            share = each / precision[space_of]
            gains = np.bincount(table, gain[space_of] * share**2 / c, len(places))
            budget = np.cbrt(gains)
            budget /= budget.sum()
        seen = np.bincount(space_of, c * budget[table] ** 2, len(gain))
        return float((gain[wished] / seen[wished]).sum()), budget

    starts = [np.full(len(places), 1 / len(places)), *(_starts(places) if joint else ())]
    budget = min(map(improved, starts), key=lambda each: each[0])[1]
    kept = budget >= _LEAST * budget.max()
    shares = {p: float(b) for p, b, keep in zip(places, budget, kept, strict=True) if keep}
    if kept.all():
        return shares
    covered = set().union(*(seen_by(geometry, place, 1.0) for place in shares))
    for place in leaves:  # every subspace has to be seen
        if not set(seen_by(geometry, place, 1.0)) <= covered:
            shares[place] = max(shares.get(place, 0.0), _LEAST)
    return shares


def _seen(geometry: Geometry, places: list[Space]) -> tuple[Integers, Integers, Floats]:
    """For each table and each subspace that it tells of: their numbers, and half the precision."""
    cells = geometry.incidence
    if len(places) == len(cells.parts) == len(geometry.parts):  # the tables themselves
        return cells.of, cells.spaces, 0.5 * cells.seen
    rows, columns, seen = [], [], []
    for number, place in enumerate(places):
        for space, each in seen_by(geometry, place, 0.5).items():
            rows.append(number)
            columns.append(geometry.numbers[space])
            seen.append(each)
    return np.array(rows), np.array(columns), np.array(seen)


def _starts(places: list[Space]) -> Iterator[Floats]:
    """Mostly the tables of so many columns."""
    sizes = np.array([len(place) for place in places])
    for size in np.unique(sizes):
        budget = np.where(sizes == size, 1 / (sizes == size).sum(), _LEAST / len(places))
        yield budget / budget.sum()


def _places(geometry: Geometry) -> list[Space]:
    """The tables that may be measured: all levels of all sub-tables of those asked for."""
    places: dict[Space, None] = dict.fromkeys(part.place for part in geometry.parts)
    for part in geometry.parts:
        columns = sorted(part.columns)
        choices = [[None, *range(geometry.trees[c].levels)] for c in columns]
        for levels in itertools.product(*choices):
            pairs = zip(columns, levels, strict=True)
            places[tuple((c, level) for c, level in pairs if level is not None)] = None
            if len(places) > _MOST_TABLES:
                return [part.place for part in geometry.parts]
    return list(places)


def joint_tables(geometry: Geometry) -> list[Space]:
    """Tables of the columns of several tables, with few cells: one may serve for many.

    Noise on a joint table is summed over its cells, but one table takes all of the budget that
    many would share.
    """
    tables: list[Space] = []
    for columns in components(part.columns for part in geometry.parts):
        own = [set(part.columns) for part in geometry.parts if set(part.columns) <= set(columns)]
        sizes = range(2, len(columns) + 1) if len(columns) <= _MOST_JOINED else (len(columns),)
        for chosen in itertools.chain(*(itertools.combinations(columns, k) for k in sizes)):
            cells = math.prod(geometry.trees[column].size for column in chosen)
            inside = [each for each in own if each <= set(chosen)]
            if cells <= _MOST_CELLS and len(inside) > 1 and set(chosen) not in own:
                tables.append(tuple((column, 0) for column in chosen))
    return tables if len(tables) <= _MOST_TABLES else []


def components(sets: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Columns that some table joins, directly or by others."""
    groups: list[set[int]] = []
    for columns in sets:
        joined = set(columns)
        apart = []
        for other in groups:
            if other & joined:
                joined |= other
            else:
                apart.append(other)
        groups = [*apart, joined]
    return [tuple(sorted(each)) for each in groups]
