"""Rows of any source, brought as texts and truths into a private DuckDB.

Counting can be left to the engine that has the data; mining needs the rows themselves. So the
wanted columns travel, each as text compared by its bytes or as true and false, duplicates left
behind where that is asked for, in batches into a table of a private in-memory database. What
happens there is the same for every source.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlglot import exp

from winnow.read.engines.columns import column_types
from winnow.read.engines.private_duck import run
from winnow.read.engines.query import column, no_more_than, not_null

BATCH = 50_000
YES = ("1", "1.0", "true", "t", "yes", "y", "x")
"""What a cell says that means yes, in any case of letters."""


_OfText = Callable[[exp.Expression], exp.Expression]


@dataclass(frozen=True)
class Wanted:
    """Columns by the names that they get: texts, which no row may lack, and truths."""

    texts: dict[str, str]
    truths: dict[str, str]
    distinct: bool = False
    most: int | None = None
    """Where there are more rows, it is enough to know that."""

    def over(self, source: exp.Expression, free: _OfText) -> exp.Select:
        """The rows of a source; ``free`` takes the collation off a text."""
        texts = [exp.alias_(free(_as_text(name)), alias) for alias, name in self.texts.items()]
        truths = [exp.alias_(_truth(name), alias) for alias, name in self.truths.items()]
        rows = exp.select(*texts, *truths).from_(source.copy())
        filled = [not_null(column(name)) for name in self.texts.values()]
        rows = rows.where(*filled) if filled else rows
        return no_more_than(self.most, rows.distinct() if self.distinct else rows)

    def kinds(self) -> dict[str, str]:
        """The types that the columns get."""
        return dict.fromkeys(self.texts, "VARCHAR") | dict.fromkeys(self.truths, "BOOLEAN")


def _as_text(name: str) -> exp.Expression:
    return exp.cast(column(name), "TEXT")


def _truth(name: str) -> exp.Expression:
    """Whether a cell says yes; empty cells and nulls say no."""
    said = exp.Lower(this=exp.Trim(this=_as_text(name)))
    yes = exp.In(this=said, expressions=[exp.Literal.string(word) for word in YES])
    return exp.Coalesce(this=yes, expressions=[exp.false()])


class RowSource(ABC):
    """A source whose columns are known, and a private database for its rows."""

    def __init__(self, private: Any, types: dict[str, str]) -> None:
        self.private, self.types = private, types

    @abstractmethod
    def bring(self, wanted: Wanted, table: str) -> None:
        """Make a table of the wanted rows in the private database."""


def receiver(
    private: Any, table: str, kinds: dict[str, str]
) -> Callable[[Sequence[Sequence[Any]]], None]:
    """An empty table with columns of these types, and what puts a batch of rows into it."""
    named = {exp.to_identifier(name, quoted=True).sql("duckdb"): kind
             for name, kind in kinds.items()}  # fmt: skip
    described = ", ".join(f"{name} {kind}" for name, kind in named.items())
    private.execute(f"CREATE TEMP TABLE {table} ({described})")
    lists = (f"unnest(${place}::{kind}[])" for place, kind in enumerate(kinds.values(), 1))
    insert = f"INSERT INTO {table} SELECT {', '.join(lists)}"

    def receive(rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            private.execute(insert, [list(column) for column in zip(*rows, strict=True)])

    return receive


class PrivateRows(RowSource):
    """Files and data frames, which the private database sees itself."""

    def __init__(self, private: Any, source: exp.Expression) -> None:
        super().__init__(private, column_types(private, source))
        self._source = source

    def bring(self, wanted: Wanted, table: str) -> None:
        """In one statement; nothing there has a collation."""
        rows = wanted.over(self._source, lambda text: text).sql(dialect="duckdb")
        run(self.private, f"CREATE TEMP TABLE {table} AS {rows}")


def batches(fetch: Callable[[int], Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """What ``fetch`` gives for a number of rows, again and again until there is nothing."""
    while rows := fetch(BATCH):
        yield rows


def batches_of(rows: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """Rows, so many at a time."""
    waiting = iter(rows)
    return batches(lambda size: list(islice(waiting, size)))
