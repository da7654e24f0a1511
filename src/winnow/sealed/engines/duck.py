"""Counting with DuckDB: files, data frames, and tables of the user's own connection."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlglot import exp

from winnow.errors import InputError
from winnow.sealed.engines.keys import check_columns
from winnow.sealed.engines.query import CountQuery

Counts = dict[str, int]
_MOST_PARTS = 1024
_ROWS_PER_GIGABYTE = 12_000_000  # rows of one part for each gigabyte allowed


class DuckFiles:
    """CSV, TSV or Parquet files, counted in parts so that memory stays within a limit.

    People are split by a hash of their name into parts that are counted one after another:
    every person is wholly in one part, so bounding stays per person and counts add up.
    """

    def __init__(self, paths: list[Path], ending: str, memory: str) -> None:
        self.paths, self.ending, self.memory = paths, ending, memory

    def _source(self) -> exp.Expression:
        files = exp.array(*(exp.Literal.string(str(path)) for path in self.paths))
        if self.ending == ".parquet":
            return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[files]))
        # nothing is guessed from a sample: a quote may come in the last file only
        options: list[tuple[str, exp.Expression]] = [
            ("all_varchar", exp.true()),
            ("header", exp.true()),
            ("delim", exp.Literal.string("\t" if self.ending == ".tsv" else ",")),
            ("quote", exp.Literal.string('"')),
            ("escape", exp.Literal.string('"')),
        ]
        named = [exp.PropertyEQ(this=exp.to_identifier(n), expression=v) for n, v in options]
        return exp.Table(this=exp.Anonymous(this="read_csv", expressions=[files, *named]))

    def count(self, query: CountQuery, parts: int | None, progress: Progress | None) -> Counts:
        """The counts of all parts, added up."""
        import duckdb

        with _connection(self.memory) as connection:
            try:
                self._check_same_types(connection, query)
                source = self._source()
                check_columns(_types(connection, source), query.item, query.user)
                parts = parts or self._parts(connection, source, query)
                while True:
                    try:
                        return _in_parts(connection, source, query, parts, progress)
                    except duckdb.OutOfMemoryException:
                        if parts >= _MOST_PARTS:
                            raise InputError(
                                f"memory={self.memory!r} is not enough even in {parts} parts; "
                                "allow more"
                            ) from None
                        parts *= 4
            except duckdb.Error as error:
                # the engine's own message may quote values
                kind = type(error).__name__.removesuffix("Exception")
                raise InputError(
                    f"{self.paths[0].name} cannot be counted (DuckDB: {kind}); check that the "
                    "file is whole and that its first line names the columns"
                ) from None

    def _check_same_types(self, connection: Any, query: CountQuery) -> None:
        """Refuse files that disagree: DuckDB would read '007' as 7 and make two people one."""
        if self.ending != ".parquet":
            return
        names = [name for name in (query.item, query.user) if name is not None]
        kinds = set()
        for path in self.paths:
            types = _types(connection, DuckFiles([path], self.ending, self.memory)._source())
            kinds.add(tuple(types.get(name) for name in names))
        if len(kinds) > 1:
            raise InputError(
                "the files give the columns of items or people different types; write them all "
                "with one type"
            )

    def _parts(self, connection: Any, source: exp.Expression, query: CountQuery) -> int:
        """Enough parts for the rows at hand; every row may be a pair of its own."""
        if query.user is None:
            return 1
        rows = _rows(connection, source, self.paths, self.ending)
        allowed = _gigabytes(self.memory) * _ROWS_PER_GIGABYTE
        return min(_MOST_PARTS, max(1, -(-rows // max(1, int(allowed)))))


class DuckTable:
    """A table, query, relation or data frame that DuckDB can see through a connection."""

    def __init__(self, connection: Any, source: exp.Expression) -> None:
        self.connection, self.source = connection, source

    def count(self, query: CountQuery, parts: int | None, progress: Progress | None) -> Counts:
        """The counts, in the given number of parts."""
        import duckdb

        try:
            check_columns(_types(self.connection, self.source), query.item, query.user)
            source = self._exact_texts(query)
            return _in_parts(self.connection, source, query, parts or 1, progress)
        except duckdb.Error as error:
            kind = type(error).__name__.removesuffix("Exception")
            raise InputError(
                f"the source cannot be counted (DuckDB: {kind}); check that the table or query "
                "exists and runs by itself"
            ) from None

    def _exact_texts(self, query: CountQuery) -> exp.Expression:
        """The source with its two columns freed of collations, which would make 'a' and 'A' one.

        A merged pair of people would be bounded as one, and either could then move more
        counts than the bound says.
        """
        if self.connection.execute("SELECT 'a' = 'A' OR 'a' = '\u00e1'").fetchall()[0][0]:
            raise InputError(
                "this DuckDB connection compares texts by a collation that takes different "
                "letters for one; reset its default_collation"
            )
        texts = []
        for name in dict.fromkeys(n for n in (query.item, query.user) if n is not None):
            text = exp.cast(exp.column(exp.to_identifier(name, quoted=True)), "TEXT")
            encoded = exp.Anonymous(this="encode", expressions=[text])
            plain = exp.Anonymous(this="decode", expressions=[encoded])
            texts.append(exp.alias_(plain, name, quoted=True))
        return exp.select(*texts).from_(self.source.copy()).subquery("exact_texts")


class RelationConnection:
    """A DuckDB relation, asked like a connection that has it as the table `source`."""

    def __init__(self, relation: Any) -> None:
        self.relation = relation

    def execute(self, sql: str) -> Any:
        """Run a query over the relation."""
        return self.relation.query("source", sql)

    def column_types(self) -> dict[str, str]:
        """The columns and their types."""
        return dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))


Progress = Callable[[int, int], None]
"""Called with (parts done, parts in all)."""


def _in_parts(
    connection: Any,
    source: exp.Expression,
    query: CountQuery,
    parts: int,
    progress: Progress | None,
) -> Counts:
    totals: Counts = {}
    for part in range(parts):
        for item, count in _one_part(connection, source, query, _filters(query, part, parts)):
            totals[item] = totals.get(item, 0) + count
        if progress is not None:
            progress(part + 1, parts)
        if query.user is None:
            break
    return totals


def _one_part(
    connection: Any, source: exp.Expression, query: CountQuery, filters: list[exp.Expression]
) -> list[tuple[str, int]]:
    sql = query.over(source.copy(), *filters).sql(dialect="duckdb")
    counted: list[tuple[str, int]] = connection.execute(sql).fetchall()
    return counted


def _filters(query: CountQuery, part: int, parts: int) -> list[exp.Expression]:
    """The people of one part; DuckDB's own hash serves, as it only splits the work."""
    if parts == 1 or query.user is None:
        return []
    user = exp.column(exp.to_identifier(query.user, quoted=True))
    hashed = exp.Anonymous(this="hash", expressions=[user])
    remainder = exp.Mod(this=hashed, expression=exp.Literal.number(parts))
    return [exp.EQ(this=remainder, expression=exp.Literal.number(part))]


@contextmanager
def _connection(memory: str) -> Iterator[Any]:
    """A private in-memory database whose spill goes to a folder that is removed afterwards."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        try:
            connection = duckdb.connect(
                config={
                    "memory_limit": memory,
                    "temp_directory": folder,
                    "max_temp_directory_size": "1GB",
                    "preserve_insertion_order": "false",
                }
            )
        except duckdb.Error:
            raise InputError(
                f"memory={memory!r} is not a size; give one like '2GB' or '500MB'"
            ) from None
        try:
            yield connection
        finally:
            connection.close()


def _types(connection: Any, source: exp.Expression) -> dict[str, str]:
    if isinstance(connection, RelationConnection):
        return connection.column_types()
    described = f"DESCRIBE {exp.select('*').from_(source.copy()).sql(dialect='duckdb')}"
    return {row[0]: row[1] for row in connection.execute(described).fetchall()}


def _rows(connection: Any, source: exp.Expression, paths: list[Path], ending: str) -> int:
    if ending == ".parquet":  # from the files' own footers
        counted = exp.select(exp.Count(this=exp.Star())).from_(source.copy())
        return int(connection.execute(counted.sql(dialect="duckdb")).fetchone()[0])
    packed = 8 if any(path.suffix == ".gz" for path in paths) else 1
    return sum(path.stat().st_size for path in paths) * packed // 12


def _gigabytes(memory: str) -> float:
    units = {"kb": 1e-6, "mb": 1e-3, "gb": 1.0, "tb": 1e3}
    units |= {"kib": 1.05e-6, "mib": 1.05e-3, "gib": 1.07, "tib": 1.1e3}
    text = memory.strip().lower().replace(" ", "")
    for unit in sorted(units, key=len, reverse=True):
        if text.endswith(unit):
            try:
                return float(text.removesuffix(unit)) * units[unit]
            except ValueError:
                break
    raise InputError(f"memory={memory!r} is not a size; give one like '2GB' or '500MB'")
