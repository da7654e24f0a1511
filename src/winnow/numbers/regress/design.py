"""Which numbers of a row are multiplied: an intercept, the features and the target; all public.

Every number lies between -1 and 1 and is a whole multiple of 1/one. A column of numbers is one
number z, its place between the ends of its range. Any other column has an indicator, 0 or 1, for
each of its values but the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from winnow.core.number_grid import NumberGrid
from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.numbers.about import asked_column

ONE = 1 << 15
"""Then sums of products over 2^30 rows stay in 64 bits, and rounding moves a number by less than a
fifty-thousandth of half its range."""
MOST_TERMS = 100
"""Noise grows with the number of terms; 100 make some 5,000 sums."""


@dataclass(frozen=True)
class DesignColumn:
    """A column that is used: a number, or indicators of its values."""

    name: str
    place: int
    """In the schema."""
    grid: NumberGrid | None = None
    """Of a column of numbers."""
    labels: tuple[Any, ...] = ()
    """Of another column: its values; the first is what the others are compared with."""
    clip: bool = False
    optional: bool = False
    """Whether a row may have no number in it: it is left out then."""

    @property
    def width(self) -> int:
        """How many numbers of a row it makes."""
        return 1 if self.grid is not None else len(self.labels) - 1

    @property
    def half(self) -> float:
        """What 1 is, in the unit of the column."""
        return 1.0 if self.grid is None else float(self.grid.high - self.grid.low) / 2

    @property
    def middle(self) -> float:
        """What 0 is."""
        return 0.0 if self.grid is None else float(self.grid.high + self.grid.low) / 2


@dataclass(frozen=True)
class Term:
    """One number of a row."""

    column: int | None
    """Which of the columns; None: it is 1 in every row."""
    level: int = 0
    """Of an indicator: of which value."""
    sign: bool = False
    """Whether it is -1 or 1 in every row, so that its square is 1."""


@dataclass(frozen=True)
class Design:
    """The numbers of a row, in their order: the intercept, features, and last the target."""

    columns: tuple[DesignColumn, ...]
    """The features, and last the target."""
    one: int = ONE
    """Numbers are whole multiples of 1/one."""

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """All numbers of a row."""
        found = [Term(None, sign=True)]
        for place, column in enumerate(self.columns):
            if column.grid is None:
                found += [Term(place, level) for level in range(1, len(column.labels))]
            else:
                found.append(Term(place, sign=column.grid.size == 2))
        return tuple(found)

    @property
    def target(self) -> DesignColumn:
        """The column that is explained."""
        return self.columns[-1]

    @property
    def length(self) -> int:
        """The largest sum of the squares of a row: an indicator and its brothers make 1 at most."""
        return 1 + len(self.columns)

    @property
    def optional(self) -> bool:
        """Whether rows may be left out: their number is private then."""
        return any(column.optional for column in self.columns)

    def is_indicator(self, place: int) -> bool:
        """Whether the number is 0 or 1."""
        column = self.terms[place].column
        return column is not None and self.columns[column].grid is None

    def products(self, *, rows_are_public: bool) -> tuple[tuple[int, int], ...]:
        """The products whose sums are measured, from which all others follow."""
        return tuple(self._products(rows_are_public=rows_are_public))

    def _products(self, *, rows_are_public: bool) -> Iterator[tuple[int, int]]:
        terms = self.terms
        for i, one in enumerate(terms):
            for j in range(i, len(terms)):
                if i == j == 0:
                    if not rows_are_public:
                        yield 0, 0
                elif i == j:
                    if not one.sign and not self.is_indicator(i):
                        yield i, j
                elif one.column is None or one.column != terms[j].column:
                    yield i, j


def designed(schema: Schema, target: str, features: Sequence[str]) -> Design:
    """The design for a target and its features (none named: all other columns)."""
    names = list(features) or [name for name in schema.names if name != target]
    of = asked_column(schema, target, ())
    if target in names:
        raise ParameterError(f"features={list(names)} holds the target {target!r}; leave it out")
    if not names:
        raise ParameterError("there is no column beside the target; a regression needs features")
    columns = tuple(_column(schema, name) for name in names)
    declared = schema.columns[of.place]
    optional = declared.cardinality > of.grid.size
    explained = DesignColumn(target, of.place, of.grid, (), declared.clip, optional)
    made = Design((*columns, explained))
    if len(made.terms) - 1 > MOST_TERMS:
        raise ParameterError(
            f"the features {shown(names)} make {len(made.terms) - 2} terms beside the intercept, "
            f"more than {MOST_TERMS - 1}; name fewer in features="
        )
    return made


def _column(schema: Schema, name: str) -> DesignColumn:
    place = schema.position(name)
    column = schema.columns[place]
    if column.grid is not None and column.grid.unit:
        raise ParameterError(
            f"the column {name!r} holds dates or times; put it in bins first, wn.in_bins(table, "
            f"{name!r}, ...), and name these, or leave it out of features="
        )
    numbers = column.grid is not None or (column.kind == "codes" and not column.hashed)
    if numbers and column.codes > 1:
        of = asked_column(schema, name, ())
        optional = column.cardinality > of.grid.size
        return DesignColumn(name, place, of.grid, (), column.clip, optional)
    if column.cardinality < 2:
        raise ParameterError(f"the column {name!r} has one value only; leave it out")
    if column.cardinality > MOST_TERMS:
        raise ParameterError(
            f"the column {name!r} has {column.cardinality:,} values, and each would get a "
            f"coefficient of its own; at most {MOST_TERMS} may, so leave it out"
        )
    labels = tuple("missing" if label is None else label for label in column.labels)
    return DesignColumn(name, place, None, labels)
