"""Released tables as plain data, and back: all that their estimates and errors follow from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.core.schema import Schema
from winnow.core.workloads.written import read_ranges, written_ranges
from winnow.release.tables.column_matrix import Basis, ColumnMatrix
from winnow.release.tables.estimates import Layer
from winnow.release.tables.parts import TablePart
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.strategy import Geometry
from winnow.release.tables.trees import Tree

Plain = dict[str, Any]


def written_tables(tables: ReleasedTables) -> Plain:
    """Tables of counts as plain data, ready for JSON."""
    (layer,) = tables.layers
    schema = tables.parts[0].schema
    return {
        "law": tables.law,
        "whole": layer.whole,
        "tables": [_written_part(part) for part in tables.parts],
        "columns": {
            schema.names[column]: _written_basis(basis)
            for column, basis in layer.geometry.trees.items()
        },
        "details": [
            {
                "at": [[schema.names[column], level] for column, level in space],
                "precision": None if math.isinf(precision) else precision,
                "values": np.asarray(layer.details[space], np.float64).ravel().tolist(),
            }
            for space, precision in layer.precision.items()
            if space in layer.details
        ],
    }


def read_tables(schema: Schema, plain: Mapping[str, Any]) -> ReleasedTables:
    """The tables that ``written_tables`` wrote."""
    parts = tuple(_read_part(schema, each) for each in plain["tables"])
    trees = {schema.names.index(name): _read_basis(own) for name, own in plain["columns"].items()}
    details, precision = {}, {}
    for each in plain["details"]:
        space = tuple((schema.names.index(name), int(level)) for name, level in each["at"])
        shape = [trees[column].places(level) for column, level in space]
        details[space] = np.array(each["values"], np.float64).reshape(shape)
        told = each["precision"]
        precision[space] = math.inf if told is None else float(told)
    layer = Layer(Geometry(parts, trees), details, precision, bool(plain["whole"]))
    return ReleasedTables(parts, (layer,), plain["law"])


def _written_part(part: TablePart) -> Plain:
    schema = part.schema
    return {
        "columns": list(part.names),
        "ranges": [axis and written_ranges(schema, axis) for axis in part.axes],
    }


def _read_part(schema: Schema, plain: Mapping[str, Any]) -> TablePart:
    ranges = tuple(each and read_ranges(schema, each) for each in plain["ranges"])
    return TablePart(schema, schema.positions(plain["columns"]), ranges if any(ranges) else ())


def _written_basis(basis: Basis) -> Plain:
    if isinstance(basis, Tree):
        return {"size": basis.size, "radices": list(basis.radices)}
    return {"matrix": basis.matrix.tolist()}


def _read_basis(plain: Mapping[str, Any]) -> Basis:
    if "matrix" in plain:
        return ColumnMatrix(np.array(plain["matrix"], np.int64))
    return Tree(int(plain["size"]), tuple(int(radix) for radix in plain["radices"]))
