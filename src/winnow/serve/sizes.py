"""How large the result of an order can be, from public numbers: cells, labels and k.

What would be larger than the server shows is refused before it is planned, charged or drawn. Where
labels or how many there are of them are private, only the result itself can tell: see ``Document``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.describe.request import Describe
from winnow.numbers.regress.design import MOST_TERMS
from winnow.read.crossing import SealedTable
from winnow.serve import bodies
from winnow.serve.datasets import OpenDataset

MOST_ROWS = 100_000
"""Of a synthetic table to download."""
_NUMBER = 45
"""Bytes of a number with the name of its field, as JSON writes it."""
_FIELDS = 4
"""Of an estimate: itself, its standard error, and both ends of its interval."""


@dataclass(frozen=True)
class ResultSize:
    """How many answers a result has, and about how many bytes they take."""

    answers: int
    bytes: int


def of_list(opened: OpenDataset, order: Any, lists: int = 1) -> ResultSize:
    """A list of labels; labels that are private count as nothing."""
    number = (order.k or 1) * lists
    return ResultSize(number, number * (_width(opened, order.column) + _NUMBER))


def of_lists(opened: OpenDataset, order: Any) -> ResultSize:
    """A list, or one for each group."""
    return of_list(opened, order, len(opened.declared.groups or ()) or 1)


def of_itemsets(opened: OpenDataset, order: Any) -> ResultSize:
    """Itemsets, with their subsets where these are asked for."""
    number = (order.k or 1) * (2**order.size if order.supports == "subsets" else 1)
    width = order.size * (_width(opened, None) + _FIELDS)
    return ResultSize(number, number * (width + _NUMBER))


def of_tables(opened: OpenDataset, order: Any) -> ResultSize:
    """All cells of all tables, or all items."""
    if not isinstance(opened.stand_in, SealedTable):
        return _item_table(opened)
    return _answers(opened, order.by or (), _FIELDS * (1 + 2 * len(order.values)))


def of_moments(opened: OpenDataset, order: Any) -> ResultSize:
    """The statistics of each column and group."""
    return _of_groups(opened, order.by, len(order.values) * len(order.statistics or (0,) * 3))


def of_quantiles(opened: OpenDataset, order: Any) -> ResultSize:
    """The quantiles of each group."""
    return _of_groups(opened, order.by, len(order.quantiles))


def of_histogram(opened: OpenDataset, order: Any) -> ResultSize:
    """The bins, and what lies in none."""
    number = 2 + (order.bins if isinstance(order.bins, int) else len(order.bins) + 1)
    return ResultSize(number, number * (3 + _FIELDS) * _NUMBER)


def of_coefficients(opened: OpenDataset, order: Any) -> ResultSize:
    """Of each column a coefficient, or one for each of its values."""
    assert isinstance(opened.stand_in, SealedTable)
    widths = _widths(opened)
    number = size = 0
    for name in order.features or widths:
        terms = min(MOST_TERMS, opened.stand_in.schema.column(name).cardinality)
        number += terms
        size += terms * (widths[name] + 2 * len(name) + 2 * _FIELDS * _NUMBER)
    return ResultSize(number, size)


def of_release(opened: OpenDataset, order: Any) -> ResultSize:
    """The answers, and the synthetic table."""
    answers = _answers(opened, order.workload, _FIELDS + 1)
    rows = min(opened.rows or order.rows or MOST_ROWS, MOST_ROWS)
    synthetic = rows * sum(width + 1 for width in _widths(opened).values())
    return ResultSize(answers.answers, max(answers.bytes, synthetic))


def _of_groups(opened: OpenDataset, by: Sequence[str], each: int) -> ResultSize:
    """So many rows for each group: labels, and up to four numbers."""
    assert isinstance(opened.stand_in, SealedTable)
    schema, widths = opened.stand_in.schema, _widths(opened)
    groups = math.prod(schema.column(name).cardinality for name in by)
    row = sum(widths[name] + len(name) + 8 for name in by) + _FIELDS * _NUMBER
    number = groups * each
    return ResultSize(number, number * row)


def of_description(opened: OpenDataset, order: Any) -> ResultSize:
    """Of each column its bins or most common values, and a few numbers more."""
    assert isinstance(opened.stand_in, SealedTable)
    wanted = len(Describe.quantiles if order.quantiles is None else order.quantiles)
    number = size = 0
    for name, width in _widths(opened).items():
        answers = max(order.bins, order.top) + wanted + 4
        number += answers
        size += answers * (2 * width + len(name) + (3 + _FIELDS) * _NUMBER)
    return ResultSize(number, size)


def _item_table(opened: OpenDataset) -> ResultSize:
    labels: Any = getattr(opened.stand_in, "labels", ())
    number = 0 if isinstance(labels, Sealed) else len(labels)
    return ResultSize(number, number * (_width(opened, None) + _FIELDS * _NUMBER))


def _answers(
    opened: OpenDataset, pieces: Sequence[bodies.WorkloadPiece], numbers: int
) -> ResultSize:
    """Rows of tables: what each says of its columns, and its numbers."""
    assert isinstance(opened.stand_in, SealedTable)
    schema, widths = opened.stand_in.schema, _widths(opened)
    named = {name: 2 * width + 2 * len(name) + 8 for name, width in widths.items()}
    answers = size = 0
    for piece in pieces:
        number, columns = _piece(schema, piece)
        widest = sorted((named[name] for name in columns[1]), reverse=True)[: columns[0]]
        answers += number
        size += number * (sum(widest) + len(named) + numbers * _NUMBER)
    return ResultSize(answers, size)


def _piece(schema: Schema, piece: bodies.WorkloadPiece) -> tuple[int, tuple[int, Sequence[str]]]:
    """How many answers it has; each is about so many of these columns."""
    names = schema.names
    if piece.marginals is not None:
        return _cells(schema.shape, piece.marginals), (piece.marginals, names)
    if piece.product is not None:
        factors = [_factor(schema, factor) for factor in piece.product]
        columns = [name for _, own in factors for name in own]
        return math.prod(size for size, _ in factors), (len(columns), columns)
    if piece.where is None:
        size, columns = _factor(schema, piece)
        return size, (len(columns), columns)
    return len(piece.where), (len(names), names)


def _factor(
    schema: Schema, piece: bodies.WorkloadPiece | bodies.WorkloadFactor
) -> tuple[int, list[str]]:
    """How many answers a table or ranges have, and of which columns."""
    if piece.table is not None:
        shape = [schema.column(name).cardinality for name in piece.table]
        return math.prod(shape), list(piece.table)
    if piece.prefixes is not None:
        return schema.column(piece.prefixes).cardinality, [piece.prefixes]
    if piece.ranges is None:
        return 0, []
    codes = schema.column(piece.ranges).cardinality
    return codes * (codes + 1) // 2, [piece.ranges]


def _cells(shape: Sequence[int], ways: int) -> int:
    """The cells of all tables of so many columns, without a list of the tables.

    It is the elementary symmetric polynomial of the numbers of values.
    """
    sums = [1] + [0] * ways
    for cells in shape:
        for number in range(ways, 0, -1):
            sums[number] += cells * sums[number - 1]
    return sums[ways]


def _width(opened: OpenDataset, column: str | None) -> int:
    """The longest public label of a column, or of the items."""
    widths = _widths(opened)
    return widths.get(column, 0) if column is not None else max(widths.values(), default=0)


def _widths(opened: OpenDataset) -> dict[str, int]:
    return opened.label_widths
