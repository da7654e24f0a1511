"""Makers of marginals, prefixes and ranges."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from winnow.core.checks import count as check_count
from winnow.core.column import check_name
from winnow.core.schema import Schema
from winnow.core.workloads.arrays import Stream, check_seed
from winnow.core.workloads.interval import IntervalPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part
from winnow.core.workloads.workload import Maker
from winnow.errors import ParameterError
from winnow.foreign import shown


@dataclass(frozen=True)
class Marginals(Maker):
    """All or sampled marginal tables of some numbers of columns."""

    ways: tuple[int, ...]
    columns: tuple[str, ...] | None
    sample: int | None
    seed: int

    advice = "lower ways=, name fewer columns=, or take some of the tables with sample="

    def sets(self, schema: Schema) -> list[tuple[int, ...]]:
        """The sets of columns, as positions in the schema."""
        named = schema.names if self.columns is None else self.columns
        places = tuple(sorted(schema.positions(named)))
        for ways in self.ways:
            if ways > len(places):
                raise ParameterError(
                    f"ways={ways} exceeds the {len(places)} columns at hand; lower ways="
                )
        totals = [math.comb(len(places), ways) for ways in self.ways]
        total = sum(totals)
        if self.sample is None:
            return [chosen for ways in self.ways for chosen in combinations(places, ways)]
        if self.sample > total:
            raise ParameterError(
                f"sample={self.sample} exceeds the {total} sets of columns; lower it"
            )
        ranks = Stream(self.seed, "marginals").choose(total, self.sample)
        return list(self._unranked(ranks, places))

    def _unranked(self, ranks: list[int], places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for rank in ranks:
            for ways in self.ways:
                here = math.comb(len(places), ways)
                if rank < here:
                    yield tuple(places[i] for i in _combination(rank, len(places), ways))
                    break
                rank -= here

    def size(self, schema: Schema) -> int:
        """The cells of all tables."""
        shape = schema.shape
        return sum(math.prod([shape[i] for i in columns]) for columns in self.sets(schema))

    def own_memory(self, schema: Schema) -> int:
        """A marginal is known by its columns."""
        return 0

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """One part for each set of columns."""
        return tuple(MarginalPart(schema, columns) for columns in self.sets(schema))


def marginals(
    ways: int | Sequence[int] | str | Sequence[str] = 3,
    columns: Sequence[str] | None = None,
    sample: int | None = None,
    *,
    seed: int = 0,
) -> Marginals:
    """All cells of the marginal tables of ``ways`` columns, such as 3 or [2, 3].

    Names of columns in the place of ``ways`` ask for the one table of theirs, such as "sex" or
    ["race", "sex"].

    ``columns`` keeps to some columns; ``sample`` takes that many of the tables, chosen by the
    public ``seed``.
    """
    given = [ways] if isinstance(ways, numbers.Integral | str) else ways
    number_as_text = isinstance(ways, str) and ways.strip().isdigit()
    if number_as_text or not isinstance(given, Sequence) or not given:
        raise ParameterError(
            f"ways={shown(ways)} is not a number of columns; give 3, a list like [2, 3], or the "
            'names of the columns of one table, like ["race", "sex"]'
        )
    if all(isinstance(each, str) for each in given):
        return _named(given, columns, sample, seed)
    for each in given:
        check_count(ways=each)
    if len(set(given)) != len(given):
        raise ParameterError(f"ways={shown(ways)} names a number twice; give each once")
    if sample is not None:
        check_count(sample=sample)
    if columns is not None:
        if isinstance(columns, str):
            raise ParameterError(f"columns={shown(columns)} is a text; give a list of names")
        columns = tuple(check_name(name) for name in columns)
    wanted = tuple(sorted(int(each) for each in given))
    return Marginals(wanted, columns, None if sample is None else int(sample), check_seed(seed))


def _named(given: Sequence[Any], columns: Any, sample: Any, seed: int) -> Marginals:
    """The one table of the columns of these names."""
    if columns is not None or sample is not None:
        raise ParameterError("one table was named; leave out columns= and sample=")
    names = tuple(check_name(name) for name in given)
    if len(set(names)) != len(names):
        raise ParameterError("a column is named twice; name each once")
    return Marginals((len(names),), names, None, check_seed(seed))


def _combination(rank: int, total: int, size: int) -> Iterator[int]:
    """The combination of this rank in lexicographic order."""
    item = 0
    while size:
        here = math.comb(total - item - 1, size - 1)
        if rank < here:
            yield item
            size -= 1
        else:
            rank -= here
        item += 1


@dataclass(frozen=True)
class Ranges(Maker):
    """Prefixes, or all or sampled ranges, of a column with an order."""

    column: str
    prefixes: bool
    number: int | None = None
    seed: int = 0

    advice = "take some of the ranges with count="

    def _codes(self, schema: Schema) -> int:
        column = schema.column(self.column)
        if not column.ordered:
            made = "buckets" if column.hashed else "categories"
            raise ParameterError(
                f"the column {self.column!r} is made of {made}, which have no order; use "
                "wn.where or wn.marginals"
            )
        return column.codes

    def size(self, schema: Schema) -> int:
        """How many ranges."""
        codes = self._codes(schema)
        if self.prefixes:
            return codes
        total = codes * (codes + 1) // 2
        if self.number is not None and self.number > total:
            raise ParameterError(f"count={self.number} exceeds the {total} ranges; lower it")
        return total if self.number is None else self.number

    def own_memory(self, schema: Schema) -> int:
        """Two bounds for each range."""
        return 16 * self.size(schema)

    def parts(self, schema: Schema) -> tuple[Part, ...]:
        """One part; ranges by their start, then by their stop."""
        codes, size = self._codes(schema), self.size(schema)
        place = schema.position(self.column)
        if self.prefixes:
            starts, stops = np.zeros(codes, np.int64), np.arange(1, codes + 1)
            return (IntervalPart(schema, place, starts, stops),)
        if self.number is None:
            starts, ends = np.triu_indices(codes)
            return (IntervalPart(schema, place, starts, ends + 1),)
        ranks = np.array(Stream(self.seed, "ranges").choose(codes * (codes + 1) // 2, size))
        firsts = np.cumsum(np.concatenate([[0], np.arange(codes, 0, -1)]))
        starts = np.searchsorted(firsts, ranks, side="right") - 1
        return (IntervalPart(schema, place, starts, starts + ranks - firsts[starts] + 1),)


def prefixes(column: str) -> Ranges:
    """The first 1, 2, ... codes of a column: its cumulative distribution."""
    return Ranges(check_name(column), prefixes=True)


def ranges(column: str, count: int | None = None, *, seed: int = 0) -> Ranges:
    """All ranges of codes of a column, or ``count`` of them chosen by the public ``seed``."""
    if count is not None:
        check_count(count=count)
        count = int(count)
    return Ranges(check_name(column), prefixes=False, number=count, seed=check_seed(seed))
