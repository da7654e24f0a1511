"""Smaller domains for a workload: some of the columns, or a sample of the cells.

Both reductions are public: they look at the schema and the queries, never at data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count, positive, probability
from winnow.core.column import Column
from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import Schema
from winnow.core.workloads.arrays import Stream
from winnow.core.workloads.bits import BitsPart, pack, words_per_query
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.foreign import shown

Integers = NDArray[np.int64]


def group_columns(schema: Schema, groups: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    """The columns of each group, every column of the schema in one; or what is wrong."""
    if isinstance(groups, str) or not isinstance(groups, Sequence) or not groups:
        raise ParameterError(f"groups={shown(groups)} is not a list of lists of columns")
    placed = [tuple(sorted(schema.positions(group))) for group in groups]
    every = [column for group in placed for column in group]
    again = sorted({schema.names[c] for c in every if every.count(c) > 1})
    if again:
        raise ParameterError(f"the columns {', '.join(again)} are in more than one group")
    missing = [name for place, name in enumerate(schema.names) if place not in every]
    if missing:
        raise ParameterError(
            f"the columns {', '.join(missing)} are in no group; add them (a group of its own "
            "will do), or restrict the table"
        )
    return placed


def inside(workload: Workload, columns: tuple[int, ...]) -> tuple[Workload, Workload] | None:
    """The queries that speak of these columns only, over the whole schema and over theirs.

    None when there is none. A predicate without any condition belongs to no group.
    """
    schema = workload.schema
    own = Schema(tuple(schema.columns[column] for column in columns))
    kept: list[Part] = []
    moved: list[Part] = []
    for part in workload.parts:
        match part:
            case MarginalPart():
                if set(part.columns) <= set(columns):
                    kept.append(part)
                    places = tuple(columns.index(column) for column in part.columns)
                    moved.append(MarginalPart(own, places))
            case IntervalPart():
                if part.column in columns:
                    kept.append(part)
                    place = columns.index(part.column)
                    moved.append(IntervalPart(own, place, part.starts, part.stops))
            case ConjunctionPart():
                masks = [m for m in part.masks if m and set(m) <= set(columns)]
                if masks:
                    kept.append(ConjunctionPart(schema, tuple(masks)))
                    here = [{columns.index(c): mask for c, mask in m.items()} for m in masks]
                    moved.append(ConjunctionPart(own, tuple(here)))
            case _:
                raise ParameterError(
                    "queries given cell by cell speak of all columns at once and fit no group; "
                    "leave out groups=, or use marginals, ranges or where"
                )
    return (Workload(schema, tuple(kept)), Workload(own, tuple(moved))) if kept else None


def sample_cells(schema: Schema, size: int, seed: int = 0) -> Integers:
    """Different cells of the domain, drawn uniformly: a row of codes each [PMW, Section V].

    The seed is public: which cells are drawn must not depend on data, and protects nothing.
    """
    count(universe=size)
    if size >= schema.cells:
        raise ParameterError(
            f"universe={size} is not below the {schema.cells:,} cells of the domain; leave it out"
        )
    codes = [
        Stream(seed, f"universe-{place}").below(codes, int(size))
        for place, codes in enumerate(schema.shape)
    ]
    return np.unique(np.stack(codes, axis=1), axis=0)


def on_points(workload: Workload, points: Integers, memory: str | int = "4GB") -> Workload:
    """The same queries on sampled cells only, numbered alike, over a domain of these cells."""
    schema = Schema((Column("cell", "codes", codes=len(points)),))
    needed = workload.size * words_per_query(len(points)) * 8
    if needed > parse_memory(memory):
        raise ParameterError(
            f"{workload.size:,} queries on {len(points):,} sampled cells need about "
            f"{memory_text(needed)}, more than memory={shown(memory)}; lower universe=, or ask "
            "fewer queries"
        )
    parts = []
    for part in workload.parts:
        match part:
            case MarginalPart():
                bits = _table_bits(part, points)
            case IntervalPart():
                codes = points[:, part.column]
                starts, stops = part.starts[:, None], part.stops[:, None]
                bits = pack((codes >= starts) & (codes < stops))
            case ConjunctionPart():
                bits = pack(np.stack([_held(masks, points) for masks in part.masks]))
            case _:
                raise ParameterError(
                    "queries given cell by cell need the whole domain; leave out universe="
                )
        parts.append(BitsPart(schema, bits))
    return Workload(schema, tuple(parts))


def _table_bits(part: MarginalPart, points: Integers) -> NDArray[np.uint64]:
    flat = np.zeros(len(points), np.int64)
    for column, codes in zip(part.columns, part.shape, strict=True):
        flat = flat * codes + points[:, column]
    number = np.arange(len(points))
    bits = np.zeros((part.size, words_per_query(len(points))), np.uint64)
    ones = np.uint64(1) << (number % 64).astype(np.uint64)
    np.bitwise_or.at(bits, (flat, number // 64), ones)
    return bits


def _held(masks: object, points: Integers) -> NDArray[np.bool_]:
    held = np.ones(len(points), np.bool_)
    for column, mask in masks.items():  # type: ignore[attr-defined] # a mapping of masks
        held &= mask[points[:, column]]
    return held


def sub_universe_size(
    *, cells: int, queries: int, smoothness: float, alpha: float, beta: float = 0.05
) -> int:
    """How many cells to sample so that accuracy survives [PMW, Lemma V.2].

    ``smoothness`` is xi: no cell holds more than this part of the rows, or of a distribution
    that answers all queries alike up to phi. Then, with probability 1 - beta over the sample,
    some distribution on the sampled cells answers every query within phi + alpha.
    """
    count(cells=cells, queries=queries)
    positive(smoothness=smoothness)
    probability(alpha=alpha, beta=beta)
    spread = smoothness * cells * (math.log(1 / beta) + math.log(queries)) / alpha**2
    return math.ceil(4 * max(spread, math.log(1 / beta)))


def sub_universe_alpha(*, sampled: int, queries: int, evenness: float = 1.0, beta: float) -> float:
    """The alpha that a sample of this size gives, for xi = evenness/cells [PMW, Lemma V.2]."""
    return math.sqrt(4 * evenness * (math.log(1 / beta) + math.log(queries)) / sampled)
