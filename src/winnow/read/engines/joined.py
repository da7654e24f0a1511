"""Joins as one expression over the tables of an engine, or over files and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.core.process import parse_memory
from winnow.errors import DataError, ParameterError
from winnow.read.engine import Distinct, Engine, Source, refusing
from winnow.read.engines.columns import check_columns, column_types, typed
from winnow.read.engines.distinct import duck_distinct
from winnow.read.engines.duck import DuckTable
from winnow.read.engines.files import DuckFiles
from winnow.read.engines.frames import DuckFrame, register
from winnow.read.engines.histogram import HistogramQuery
from winnow.read.engines.postgres import PostgresTable
from winnow.read.engines.private_duck import PartsCounter, PrivateDuck, private_connection
from winnow.read.engines.private_duck import number_of_rows as rows_of
from winnow.read.engines.query import CountQuery
from winnow.read.engines.row_sources import PrivateRows, RowSource
from winnow.read.engines.spark import SparkFrame, joined_frames
from winnow.read.joins import Join


@dataclass(frozen=True)
class JoinedTable:
    """One table of a join: where it is, its columns, and the one on which it is joined."""

    source: exp.Expression
    types: Mapping[str, str]
    on: str


def joined(
    tables: Sequence[JoinedTable], private: int, how: str, *, dialect: str, texts: bool = False
) -> exp.Subquery:
    """The join of the tables, of which the first ``private`` ones are those of people.

    Columns that several tables have are left out, but for those on which they are joined; with
    ``texts`` all columns are texts.
    """
    owners = _owners(tables, private)
    names = [f"winnow_{place}" for place in range(len(tables))]
    chosen = [_named(names[place], name, texts) for name, place in owners.items()]
    first = exp.select("*").from_(tables[0].source.copy()).subquery(names[0])
    query = exp.select(*chosen).from_(first)
    for place, table in enumerate(tables[1:], start=1):
        left = 0 if place < private else owners[table.on]
        same = exp.EQ(
            this=_exactly(names[left], table.on, dialect),
            expression=_exactly(names[place], table.on, dialect),
        )
        other = exp.select("*").from_(table.source.copy()).subquery(names[place])
        query = query.join(other, on=same, join_type=how)
    return query.subquery("joined")


def _owners(tables: Sequence[JoinedTable], private: int) -> dict[str, int]:
    """For each column the table that it is taken from; those of several tables are left out."""
    owners: dict[str, int] = {}
    joins, several = {table.on for table in tables}, set()
    for place, table in enumerate(tables):
        for name in table.types:
            if name in owners and name not in joins:
                several.add(name)
            owners.setdefault(name, place)
    for place, table in enumerate(tables[private:], start=private):
        if owners[table.on] >= place:
            raise DataError(
                f"the column {table.on!r}, on which a public table is joined, is in none of the "
                "tables before it; check its name"
            )
    return {name: place for name, place in owners.items() if name not in several}


def check_joined(tables: Sequence[JoinedTable], used: Sequence[str]) -> None:
    """Refuse tables without the column on which they are joined, and names that say too little."""
    for table in tables:
        check_columns(table.types, **{"join": table.on})
    joins = {table.on for table in tables}
    for name in used:
        if name not in joins and sum(name in table.types for table in tables) > 1:
            raise DataError(
                f"the column {name!r} is in several of the joined tables; rename it in all but one"
            )


def _named(table: str, name: str, texts: bool) -> exp.Expression:
    value: exp.Expression = exp.column(exp.to_identifier(name, quoted=True), table)
    if texts:
        value = exp.cast(value, "TEXT")
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _exactly(table: str, name: str, dialect: str) -> exp.Expression:
    """A column as texts that are compared by their bytes, whatever its collation."""
    text = exp.cast(exp.column(exp.to_identifier(name, quoted=True), table), "TEXT")
    if dialect == "duckdb":
        return exp.Anonymous(this="ENCODE", expressions=[text])
    collation = exp.to_identifier("C", quoted=True)
    return exp.Paren(this=exp.Collate(this=text, expression=collation))


class JoinedDuck(PrivateDuck):
    """Files and data frames, joined in a private database of this process."""

    def __init__(
        self, parts: list[DuckFiles | DuckFrame], join: Join, memory: str, used: Sequence[str]
    ) -> None:
        self.parts, self.join, self.memory, self.used = parts, join, memory, used
        self.on = [*[join.on] * len(join.tables), *join.public]

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """A join is no single source: ``engine_of_join`` makes one of these."""
        return None

    @property
    def as_text(self) -> bool:
        """Whether any of it is text, and so all of it is read as texts."""
        return any(isinstance(each, DuckFiles) and each.ending != ".parquet" for each in self.parts)

    def source(self, connection: Any) -> exp.Expression:
        """The join, its tables seen by the connection."""
        tables = []
        for place, (part, on) in enumerate(zip(self.parts, self.on, strict=True)):
            if isinstance(part, DuckFiles):
                seen = part.source(connection, self.used)
            else:
                name = f"winnow_source_{place}"
                register(connection, part.frame, name)
                seen = exp.to_table(name)
            tables.append(JoinedTable(seen, column_types(connection, seen), on))
        check_joined(tables, self.used)
        join = self.join
        return joined(tables, len(join.tables), join.how, dialect="duckdb", texts=self.as_text)

    @contextmanager
    def _counter(self, connection: Any, query: CountQuery) -> Iterator[PartsCounter]:
        with refusing("the joined tables cannot be counted", memory=self.memory):
            source = self.source(connection)
            query = typed(query, column_types(connection, source))
            rows = rows_of(connection, source)
            yield PartsCounter(connection, source, query, parse_memory(self.memory), rows)

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows of the join."""
        with private_connection(self.memory) as connection:
            source = self.source(connection)
            types = column_types(connection, source)
            rows = duck_distinct(connection, source, types, query, as_text=self.as_text)
            return rows, self.as_text

    def check_scores(self, id: str, score: str) -> None:
        """Scores are those of one table."""
        raise ParameterError("scores are read from one table; join it beforehand")

    def contenders(self, worker: Worker, id: str, score: str) -> list[bytes]:
        """Scores are those of one table."""
        raise ParameterError("scores are read from one table; join it beforehand")

    @contextmanager
    def rows(self, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
        """The private database sees the tables itself."""
        yield PrivateRows(private, self.source(private))


def engine_of_join(join: Join, parts: list[Engine], memory: str, used: Sequence[str]) -> Engine:
    """One engine for all tables of a join; they must lie in one place."""
    on = [*[join.on] * len(join.tables), *join.public]
    here = [part for part in parts if isinstance(part, DuckFiles | DuckFrame)]
    if len(here) == len(parts):
        return JoinedDuck(here, join, memory, used)
    if all(isinstance(part, SparkFrame) for part in parts):
        return SparkFrame(joined_frames([part.frame for part in parts], on, join, used))  # type: ignore[attr-defined]
    first = parts[0]
    one_place = all(
        type(part) is type(first) and _connection(part) is _connection(first) for part in parts
    )
    if one_place and isinstance(first, DuckTable) and hasattr(first.connection, "interrupt"):
        with refusing("the joined tables cannot be read"):
            tables = [
                JoinedTable(part.source, part.types(), name)
                for part, name in zip(parts, on, strict=True)
                if isinstance(part, DuckTable)
            ]
        check_joined(tables, used)
        return DuckTable(
            first.connection, joined(tables, len(join.tables), join.how, dialect="duckdb")
        )
    if one_place and isinstance(first, PostgresTable):
        with refusing("the joined tables cannot be read"):
            tables = [
                JoinedTable(part.source, part.types(), name)
                for part, name in zip(parts, on, strict=True)
                if isinstance(part, PostgresTable)
            ]
        check_joined(tables, used)
        return PostgresTable(
            first.connection, joined(tables, len(join.tables), join.how, dialect="postgres")
        )
    raise DataError(
        "the tables of a join lie in one place: files and data frames, Spark data frames, or "
        "tables of one connection of DuckDB or Postgres. In another database give a SELECT that "
        "joins them on the person"
    )


def _connection(engine: Engine) -> Any:
    return getattr(engine, "connection", None)
