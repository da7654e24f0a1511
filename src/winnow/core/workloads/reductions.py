"""Smaller domains for a workload: some of the columns, or a sample of the cells.

Both reductions are public: they look at the schema and the queries, never at data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count, positive, probability
from winnow.core.column import Column
from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import Schema
from winnow.core.workloads.arrays import Stream
from winnow.core.workloads.bits import BitsPart, pack, words_per_query
from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    GridMatrix,
    Mask,
    ProductSets,
    RangeTable,
    WholeTable,
    Words,
)
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
        within = part.inside(columns, own)
        if within is not None:
            kept.append(within[0])
            moved.append(within[1])
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
    """Queries on sampled cells only, numbered alike, over a domain of these cells."""
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
        match part.form:
            case WholeTable(columns):
                bits = _table_bits([workload.schema.shape[c] for c in columns], points[:, columns])
            case CodeRanges(column, starts, stops):
                codes = points[:, column]
                bits = pack((codes >= starts[:, None]) & (codes < stops[:, None]))
            case RangeTable() as form:
                queries = (form.ranges(query) for query in range(part.size))
                bits = pack(np.stack([_between(ranges, points) for ranges in queries]))
            case ProductSets(sets):
                bits = pack(np.stack([_held(masks, points) for masks in sets]))
            case BitMatrix() | GridMatrix():
                raise ParameterError(
                    "queries given cell by cell need the whole domain; leave out universe="
                )
            case never:
                assert_never(never)
        parts.append(BitsPart(schema, bits))
    return Workload(schema, tuple(parts))


def _table_bits(shape: Sequence[int], points: Integers) -> Words:
    flat = np.zeros(len(points), np.int64)
    for place, codes in enumerate(shape):
        flat = flat * codes + points[:, place]
    number = np.arange(len(points))
    bits = np.zeros((math.prod(shape), words_per_query(len(points))), np.uint64)
    ones = np.uint64(1) << (number % 64).astype(np.uint64)
    np.bitwise_or.at(bits, (flat, number // 64), ones)
    return bits


def _between(ranges: Mapping[int, tuple[int, int]], points: Integers) -> Mask:
    inside = np.ones(len(points), np.bool_)
    for column, (start, stop) in ranges.items():
        inside &= (points[:, column] >= start) & (points[:, column] < stop)
    return inside


def _held(masks: Mapping[int, Mask], points: Integers) -> Mask:
    inside = np.ones(len(points), np.bool_)
    for column, mask in masks.items():
        inside &= mask[points[:, column]]
    return inside


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


def phi_of_rows(*, rows: int, queries: int, beta: float) -> float:
    """How far n independent draws lie from their distribution on all queries, but for beta.

    [PMW, Claim V.1; with Hoeffding's constant, half of what is printed for phi^2]
    """
    count(rows=rows, queries=queries)
    return min(1.0, math.sqrt((math.log(2 / beta) + math.log(queries)) / (2 * rows)))


def listed_cells(schema: Schema, rows: Any) -> Integers:
    """Different cells of a public list: rows of labels in the order of the schema, or of codes."""
    refusal = ParameterError(
        "universe= is neither a number of cells to sample nor a list of rows with a label for each "
        "column of the schema (or an array of codes)"
    )
    width = len(schema.columns)
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "iu":
        codes = np.asarray(rows, np.int64)
        if codes.ndim != 2 or codes.shape[1] != width or not len(codes):
            raise refusal
        if (codes < 0).any() or (codes >= np.array(schema.shape)).any():
            raise ParameterError(
                "universe= has a code that its column does not have; give codes from 0"
            )
        return np.unique(codes, axis=0)
    if isinstance(rows, str) or not isinstance(rows, Sequence | np.ndarray) or not len(rows):
        raise refusal
    places = [{str(label): code for code, label in enumerate(c.labels)} for c in schema.columns]
    cells = []
    for row in rows:
        if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray) or len(row) != width:
            raise refusal
        for column, label, known in zip(schema.names, row, places, strict=True):
            if str(label) not in known:
                raise ParameterError(
                    f"universe= names {shown(label)}, which is not a label of the column {column}"
                )
        cells.append([known[str(label)] for label, known in zip(row, places, strict=True)])
    return np.unique(np.array(cells, np.int64), axis=0)
