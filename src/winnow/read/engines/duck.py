"""Tables, queries and relations of the user's own DuckDB connection.

Nothing is created or set there: the one expression of :mod:`winnow.read.engines.query` is asked,
and the connection's own settings of memory and spilling hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlglot import exp

from winnow.errors import DataError
from winnow.foreign import instead
from winnow.read.engines.csv_files import csv_table
from winnow.read.engines.keys import column_types, typed
from winnow.read.engines.names import own_name
from winnow.read.engines.packed_pairs import people_of_part
from winnow.read.engines.parquet_files import parquet_table
from winnow.read.engines.private_duck import (
    Counts,
    PartsCounter,
    Progress,
    gigabytes,
    private_connection,
    run,
)
from winnow.read.engines.query import CountQuery, listed_in_one_text
from winnow.read.engines.refusals import FILES, FRAME, TABLE, engine


class DuckFiles:
    """CSV, TSV or Parquet files."""

    def __init__(
        self, paths: list[Path], ending: str, memory: str, *, line_breaks: bool = False
    ) -> None:
        self.paths, self.ending, self.memory = paths, ending, memory
        self.line_breaks = line_breaks

    def count(self, query: CountQuery, parts: int | None, progress: Progress | None) -> Counts:
        """The counts of all files together."""
        size = gigabytes(self.memory)
        used = [name for name in (query.item, query.user) if name is not None]
        with (
            private_connection(self.memory) as connection,
            engine(f"{self.paths[0].name} cannot be counted", FILES, self.memory),
        ):
            source = self.source(connection, used)
            query = typed(query, column_types(connection, source))
            rows = self._rows(connection, source)
            counter = PartsCounter(connection, source, query, size)
            return counter.count(parts, progress, rows)

    def source(self, connection: Any, used: Sequence[str]) -> exp.Expression:
        """The files as one table; they must agree on the types of the columns ``used``."""
        if self.ending == ".parquet":
            return parquet_table(connection, self.paths, used)
        delimiter = "\t" if self.ending == ".tsv" else ","
        return csv_table(self.paths, delimiter, line_breaks=self.line_breaks)

    def _rows(self, connection: Any, source: exp.Expression) -> int:
        """How many rows there are, roughly for text files."""
        if self.ending == ".parquet":  # from the files' own footers
            return _rows(connection, source)
        packed = 8 if any(path.suffix == ".gz" for path in self.paths) else 1
        return sum(path.stat().st_size for path in self.paths) * packed // 12


class DuckFrame:
    """A pandas or Arrow table in memory."""

    def __init__(self, frame: Any, memory: str) -> None:
        self.frame, self.memory = frame, memory

    def count(self, query: CountQuery, parts: int | None, progress: Progress | None) -> Counts:
        """The counts of the whole table."""
        size, source = gigabytes(self.memory), exp.to_table("winnow_source")
        kind = type(self.frame).__name__
        unknown = DataError(
            f"a {kind} cannot be counted; give a file, a pandas, Polars or Arrow table, a Spark "
            "data frame, or (connection, table)"
        )
        with private_connection(self.memory) as connection:
            with instead(unknown):  # whatever is not a table
                connection.register("winnow_source", self.frame)
            with engine("the table cannot be counted", FRAME, self.memory):
                query = typed(query, column_types(connection, source))
                counter = PartsCounter(connection, source, query, size)
                return counter.count(parts, progress, _rows(connection, source))


def _rows(connection: Any, source: exp.Expression) -> int:
    counted = exp.select(exp.Count(this=exp.Star())).from_(source.copy())
    return int(connection.execute(counted.sql(dialect="duckdb")).fetchone()[0])


class DuckTable:
    """A table, query or relation that DuckDB can see through a connection."""

    def __init__(self, connection: Any, source: exp.Expression) -> None:
        self.connection, self.source = connection, source

    def count(self, query: CountQuery, parts: int | None, progress: Progress | None) -> Counts:
        """The counts, in the given number of parts, rounded up to a power of two."""
        with engine("the source cannot be counted", TABLE):
            if isinstance(self.connection, RelationConnection):
                types = self.connection.column_types()
            else:
                types = column_types(self.connection, self.source)
            query = typed(query, types)
            source = self._exact_texts(query)
            return self._counted(source, query, parts or 1, progress)

    def _counted(
        self, source: exp.Expression, query: CountQuery, parts: int, progress: Progress | None
    ) -> Counts:
        parts = 1 << (parts - 1).bit_length()
        totals, listed = Counts(), listed_in_one_text(query.items)
        for part in range(parts):
            split = people_of_part(query.user or query.item, part, parts)
            asked = query.over(source.copy(), *split, listed=listed)
            for item, count in run(self.connection, asked.sql(dialect="duckdb")):
                totals[item] = totals.get(item, 0) + count
            if progress is not None:
                progress(part + 1, parts)
        return totals

    def _exact_texts(self, query: CountQuery) -> exp.Expression:
        """The source with its two columns freed of collations, which would make 'a' and 'A' one.

        A merged pair of people would be bounded as one, and either could then move more
        counts than the bound says.
        """
        check_collation(self.connection)
        columns = []
        for name in dict.fromkeys(n for n in (query.item, query.user) if n is not None):
            value: exp.Expression = exp.column(exp.to_identifier(name, quoted=True))
            if not (query.whole and name == query.user):
                text = exp.cast(value, "TEXT")
                encoded = exp.Anonymous(this="encode", expressions=[text])
                value = exp.Anonymous(this="decode", expressions=[encoded])
            columns.append(exp.alias_(value, name, quoted=True))
        return exp.select(*columns).from_(self.source.copy()).subquery("exact_texts")


def check_collation(connection: Any) -> None:
    """Refuse a connection with a default collation: no cast frees a text of it.

    All but a few take different texts for one, 'nfc' and the languages too: whichever it is,
    none is needed here.
    """
    ((default,),) = connection.execute("SELECT current_setting('default_collation')").fetchall()
    if default:
        raise DataError(
            f"this DuckDB connection compares texts by the collation {default!r}, which may take "
            "different people for one; run RESET default_collation on it"
        )


class RelationConnection:
    """A DuckDB relation, asked like a connection that has it as the table `name`."""

    def __init__(self, relation: Any) -> None:
        self.relation, self.name = relation, own_name("relation")

    def execute(self, sql: str) -> Any:
        """Run a query over the relation."""
        return self.relation.query(self.name, sql)

    def column_types(self) -> dict[str, str]:
        """The columns and their types."""
        return dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
