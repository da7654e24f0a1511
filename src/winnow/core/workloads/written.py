"""Bound workloads as plain data: what a file keeps, so that it can be asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from winnow.core.schema import Schema
from winnow.core.workloads.bits import BitsPart
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.forms import CodeRanges, RangeTable
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.range_table import RangeTablePart
from winnow.core.workloads.real import GridPart
from winnow.core.workloads.workload import Workload

Plain = dict[str, Any]


def written_workload(workload: Workload) -> list[Plain] | None:
    """The parts as plain data, ready for JSON; None: one of them is of a user's own kind."""
    parts = [_written(part) for part in workload.parts]
    return None if None in parts else [part for part in parts if part is not None]


def read_workload(schema: Schema, parts: Sequence[Mapping[str, Any]]) -> Workload:
    """The workload that ``written_workload`` wrote."""
    return Workload(schema, tuple(_read(schema, part) for part in parts))


def written_ranges(schema: Schema, ranges: CodeRanges) -> Plain:
    """Ranges of the codes of one column."""
    return {
        "column": schema.names[ranges.column],
        "starts": ranges.starts.tolist(),
        "stops": ranges.stops.tolist(),
    }


def read_ranges(schema: Schema, plain: Mapping[str, Any]) -> CodeRanges:
    """The ranges that ``written_ranges`` wrote."""
    starts, stops = (np.array(plain[end], np.int64) for end in ("starts", "stops"))
    return CodeRanges(schema.names.index(plain["column"]), starts, stops)


def _written(part: Part) -> Plain | None:
    schema = part.schema
    match part:
        case MarginalPart(columns=columns):
            return {"table": [schema.names[column] for column in columns]}
        case IntervalPart():
            return {"ranges": written_ranges(schema, part.form)}
        case RangeTablePart():
            return {"product": [written_ranges(schema, axis) for axis in part.form.axes]}
        case ConjunctionPart(masks=masks):
            return {
                "where": [
                    {schema.names[c]: np.flatnonzero(mask).tolist() for c, mask in own.items()}
                    for own in masks
                ]
            }
        case BitsPart():
            return {"bits": [row.tobytes().hex() for row in _little(part.bits)], "name": part.name}
        case GridPart():
            bound = None if part.bound is None else str(part.bound)
            kind = part.values.dtype.name
            return {"values": part.values.tolist(), "kind": kind, "grid": part.grid,
                    "bound": bound, "name": part.name}  # fmt: skip
        case _:
            return None


def _read(schema: Schema, plain: Mapping[str, Any]) -> Part:
    match plain:
        case {"table": names}:
            return MarginalPart(schema, schema.positions(names))
        case {"ranges": ranges}:
            part = read_ranges(schema, ranges)
            return IntervalPart(schema, part.column, part.starts, part.stops)
        case {"product": axes}:
            return RangeTablePart(
                schema, RangeTable(tuple(read_ranges(schema, axis) for axis in axes))
            )
        case {"where": sets}:
            return ConjunctionPart(schema, tuple(_masks(schema, own) for own in sets))
        case {"bits": rows, "name": name}:
            words = [np.frombuffer(bytes.fromhex(row), "<u8") for row in rows]
            return BitsPart(schema, np.array(words, np.uint64), name)
        case {"values": values, "kind": kind, "grid": grid, "bound": bound, "name": name}:
            whole = np.array(values, np.dtype(kind))
            return GridPart(schema, whole, grid, None if bound is None else Fraction(bound), name)
        case _:
            raise ValueError("no part of a workload")


def _masks(schema: Schema, own: Mapping[str, Sequence[int]]) -> dict[int, Any]:
    masks = {}
    for name, codes in own.items():
        place = schema.names.index(name)
        masks[place] = np.isin(np.arange(schema.shape[place]), codes)
    return masks


def _little(words: Any) -> Any:
    return np.ascontiguousarray(words.astype("<u8"))
