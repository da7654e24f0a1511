"""What every part of a workload can do, and the sums that several parts share.

A new part is a subclass of `Part` in a file of its own, listed in `parts.PARTS`: mypy refuses
there one that lacks a method.

A part is a public list of linear queries over the cells of a schema. Query values lie in
[0, 1]; a part with the grid G has values k/G with whole k, so that counts are whole numbers
in grid units.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.core.schema import Schema
from winnow.core.workloads.forms import Form, WholeTable
from winnow.errors import ParameterError
from winnow.foreign import shown

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = Sequence[NDArray[Any]]
"""The codes of the distinct rows of a table: one array for each column of the schema."""

EXACT_FLOAT = Border(
    2**53,
    "sums in floats",
    decides="the sum of the weights of all rows, in grid units",
    ways="counts added up as float64; as 64-bit integers",
    same="value",
    because="sums of whole numbers below 2^53 are exact in a float64, in any order",
)
"""Whole numbers up to here, and their sums, are exact in a float64."""


class Part(ABC):
    """A public list of queries."""

    schema: Schema
    """The schema over whose cells the queries speak."""
    grid: int
    """Query values are whole multiples of 1/grid."""
    bound: Fraction | None = None
    """c, where the queries were declared with values in [-c, c]; None: in [0, 1]."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many queries there are."""

    def declared(self, answers: Floats) -> Floats:
        """Answers in [0, 1] as answers of the queries as they were given."""
        return declared(self.bound, answers)

    @abstractmethod
    def answers(self, p: Floats) -> Floats:
        """The answers under a distribution over the cells, in [0, 1]."""

    @abstractmethod
    def counts(self, codes: Codes, weights: Counts) -> Counts:
        """The exact answers on rows with whole weights, in grid units."""

    @abstractmethod
    def row(self, query: int) -> Floats:
        """The query's value on every cell; for small domains."""

    @abstractmethod
    def label(self, query: int) -> str:
        """The query in words."""

    @abstractmethod
    def memory(self) -> int:
        """How many bytes the part itself holds."""

    @property
    @abstractmethod
    def form(self) -> Form:
        """The queries as a record that kernels act on; always the same object."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The part in a few words, for reports: 'age × sex'."""

    @abstractmethod
    def inside(self, columns: tuple[int, ...], own: Schema) -> tuple[Self, Self] | None:
        """The queries that speak of these columns only, over the whole schema and over ``own``.

        ``own`` is the schema of these columns. None when there is no such query.
        """

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Sequence[Self]:
        """These queries in as few parts as are good for speed; by default unchanged."""
        return parts


def table_columns(part: Part) -> tuple[int, ...] | None:
    """The columns of a part that is one whole marginal table; None for any other."""
    form = part.form
    return form.columns if isinstance(form, WholeTable) else None


def declared(bound: Fraction | None, answers: Floats) -> Floats:
    """Answers in [0, 1] as answers of the queries as they were given, in [-c, c].

    Queries in [-c, c] were brought to [0, 1] by q -> (q + c) / (2c) [PMW, Section III].
    """
    return answers if bound is None else np.asarray(float(bound) * (2.0 * answers - 1.0))


def declared_width(bound: Fraction | None) -> float:
    """The length of the interval that the declared queries live in: 1, or 2c."""
    return 1.0 if bound is None else 2.0 * float(bound)


class ArraysPart(Part):
    """Queries that are written out over the cells, one by one."""

    name: str

    def label(self, query: int) -> str:
        """Its number: such a query has no other name."""
        return f"{self.name} {check_query(query, self.size)}"

    @property
    def title(self) -> str:
        """A title for queries as they were given: they have no name in common."""
        return "queries given as arrays"

    def inside(self, columns: tuple[int, ...], own: Schema) -> tuple[Self, Self] | None:
        """Refused: each query speaks of all columns."""
        raise ParameterError(
            "queries given cell by cell use all columns at once, so they fit no group; leave out "
            "groups=, or use marginals, ranges or where"
        )


def check_query(query: int, size: int) -> int:
    """The number of a query, or an error that says which numbers there are."""
    if isinstance(query, bool) or not isinstance(query, int | np.integer):
        raise ParameterError(f"query {shown(query)} is not a number; give one of 0 to {size - 1}")
    if not 0 <= int(query) < size:
        raise ParameterError(f"query {query} is outside 0 to {size - 1}")
    return int(query)


def check_cells(p: Floats, schema: Schema) -> Floats:
    """A distribution over the cells, flat, of the right length."""
    flat = np.asarray(p, np.float64).reshape(-1)
    if flat.size != schema.cells:
        raise ParameterError(
            f"{flat.size} probabilities for {schema.cells:,} cells; give one for each"
        )
    return flat


def marginal_table(p: Floats, shape: tuple[int, ...], columns: Sequence[int]) -> Floats:
    """The marginal of some columns, one axis each, in the order of the columns given."""
    dropped = tuple(i for i in range(len(shape)) if i not in columns)
    kept = [i for i in range(len(shape)) if i in columns]
    table = p.reshape(shape).sum(axis=dropped) if dropped else p.reshape(shape)
    return np.asarray(np.transpose(table, [kept.index(i) for i in columns]))


def marginal_counts(
    codes: Codes, weights: Counts, shape: tuple[int, ...], columns: Sequence[int]
) -> Counts:
    """The exact counts of the cells of a marginal table, flat."""
    sizes = [shape[i] for i in columns]
    cells = math.prod(sizes)
    flat = np.zeros(len(weights), np.int64)
    for i in columns:
        flat *= shape[i]
        flat += codes[i]
    return bin_counts(flat, weights, cells)


def bin_counts(places: NDArray[np.int64], weights: Counts, cells: int) -> Counts:
    """The sum of the weights at each place, in whole numbers."""
    if sum_of(weights) < EXACT_FLOAT.at:  # then every float sum along the way is exact
        return np.bincount(places, weights, cells).astype(np.int64)
    counted = np.zeros(cells, np.int64)
    np.add.at(counted, places, weights)
    return counted


def sum_of(weights: Counts) -> int:
    """The sum of whole weights without wrapping around."""
    high, low = int((weights >> 32).sum()), int((weights & 0xFFFFFFFF).sum())
    return (high << 32) + low


def cell_counts(codes: Codes, weights: Counts, schema: Schema) -> Counts:
    """The histogram over all cells; only for domains that fit memory."""
    return marginal_counts(codes, weights, schema.shape, range(len(schema.shape)))
