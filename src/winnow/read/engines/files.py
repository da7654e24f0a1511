"""CSV, TSV and Parquet files, through a private DuckDB that guesses nothing.

DuckDB takes a double quote inside a field for text, one at its beginning for the start of a
quoted field however many lines that takes, and CR for a line end if all lines end so; no setting
makes it refuse them. So the bytes are checked first, in a pass that takes less than DuckDB's own.
The names of the columns come from the first line, and DuckDB is told all the rest: what it
guesses from a sample of the rows would depend on whose rows they are. Parquet files are one table
also where a file has no value in a column, and so no type for it.
"""

from __future__ import annotations

import csv
import glob
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from glob import escape
from pathlib import Path
from typing import Any, Self

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.core.process import parse_memory
from winnow.errors import DataError, InputError, ParameterError
from winnow.foreign import instead, reason
from winnow.read.engine import FILES, Distinct, Source, own_name, refusing
from winnow.read.engines.columns import column_types, is_untyped, typed
from winnow.read.engines.distinct import duck_distinct
from winnow.read.engines.histogram import HistogramQuery
from winnow.read.engines.private_duck import (
    PartsCounter,
    PrivateDuck,
    number_of_rows,
    private_connection,
)
from winnow.read.engines.query import CountQuery, column
from winnow.read.engines.row_sources import PrivateRows, RowSource, batches_of, receiver
from winnow.read.engines.scored import duck_contenders, scores_query
from winnow.read.options import PLAIN, TextFormat
from winnow.read.records import check_csv, chunks_of, packing_of, rows_of, sound
from winnow.read.text_format import (
    ENDINGS,
    delimiter_of,
    kind_of_file,
)


def parquet_table(connection: Any, paths: Sequence[Path], used: Sequence[str]) -> exp.Expression:
    """The files as one table; columns ``used`` have one type in all that have any.

    DuckDB would read all files by the types of the first: '007' as 7, which makes two people one,
    or as nothing at all where the first has no values.
    """
    whole = table_function("read_parquet", paths)
    if len(paths) == 1:
        return whole
    by_file = [column_types(connection, table_function("read_parquet", [path])) for path in paths]
    for name in used:
        if len({types.get(name) for types in by_file if not _untyped(types, name)}) > 1:
            raise DataError("the files give a column different types; write them all with one type")
    kinds = _kinds(by_file)
    groups: dict[tuple[str, ...], list[Path]] = {}
    for path, types in zip(paths, by_file, strict=True):
        lacking = tuple(name for name in kinds if _untyped(types, name))
        groups.setdefault(lacking, []).append(path)
    if len(groups) == 1:
        return whole
    parts: list[exp.Query] = []
    for lacking, alike in groups.items():
        cells = [_typed(name, kind) if name in lacking else column(name)
                 for name, kind in kinds.items()]  # fmt: skip
        parts.append(exp.select(*cells).from_(table_function("read_parquet", alike)))
    return exp.union(*parts, distinct=False).subquery("files")


def _kinds(types: list[dict[str, str]]) -> dict[str, str]:
    """The columns of the first file, each with the first type that a file has for it."""
    return {
        name: next((t[name] for t in types if name in t and not _untyped(t, name)), none)
        for name, none in types[0].items()
    }


def _untyped(types: dict[str, str], name: str) -> bool:
    return name in types and is_untyped(types[name])


def _typed(name: str, kind: str) -> exp.Expression:
    cast = exp.cast(column(name), exp.DataType.build(kind, dialect="duckdb", udt=True))
    return exp.Alias(this=cast, alias=exp.to_identifier(name, quoted=True))


_SEEN_BY_DUCKDB = {"": "none", "gzip": "gzip", "zstd": "zstd"}
"""How text may be packed for DuckDB to read it, and its word for that."""


def csv_table(
    connection: Any, paths: Sequence[Path], delimiter: str, text: TextFormat
) -> exp.Expression:
    """The files as one table of texts, if each of them is plain beyond doubt."""
    headers = [_header(path, delimiter, text) for path in paths]
    if any(header != headers[0] for header in headers):
        raise DataError(
            "the first lines of the files name different columns, or the same in another order; "
            "write them all alike"
        )
    packings = {packing_of(path) for path in paths}
    if len(packings) > 1 or text.encoding == "utf-16" or not packings <= _SEEN_BY_DUCKDB.keys():
        return _brought(connection, paths, headers[0], delimiter, text)
    columns = [
        exp.PropertyEQ(
            this=exp.to_identifier(name, quoted=True), expression=exp.Literal.string("VARCHAR")
        )
        for name in headers[0]
    ]
    options: dict[str, exp.Expression] = {
        "auto_detect": exp.false(),
        "columns": exp.Struct(expressions=columns),
        "header": exp.Boolean(this=text.names is None),
        "delim": exp.Literal.string(delimiter),
        "quote": exp.Literal.string('"'),
        "escape": exp.Literal.string('"'),
        "skip": exp.Literal.number(0),
        "comment": exp.Literal.string(""),
        "strict_mode": exp.true(),
        "compression": exp.Literal.string(_SEEN_BY_DUCKDB[packings.pop()]),
        # a thread that starts in the middle of a file takes a line inside quotes for a record
        "parallel": exp.Boolean(this=not text.line_breaks),
    }
    if text.encoding != "utf-8":
        options["encoding"] = exp.Literal.string(text.encoding)
    return table_function("read_csv", paths, options)


def _brought(
    connection: Any, paths: Sequence[Path], names: Sequence[str], delimiter: str, text: TextFormat
) -> exp.Expression:
    """Files that DuckDB cannot read, as a table in its memory; an empty field is null, too."""
    table = own_name("rows")
    receive = receiver(connection, table, dict.fromkeys(names, "VARCHAR"))
    for path in paths:
        with _readable(path, text.encoding):
            rows = rows_of(path, delimiter, text.encoding, len(names))
            if text.names is None:
                next(rows, None)
            for batch in batches_of(rows):
                receive([[field or None for field in row] for row in batch])
    return exp.to_table(table)


def table_function(
    name: str, paths: Sequence[Path], options: dict[str, exp.Expression] | None = None
) -> exp.Expression:
    """A reader of DuckDB over exactly these files, with exactly their own columns.

    A name with brackets or stars is no pattern, and a folder called ``user=5`` does not become a
    column that hides the one of that name.
    """
    files = exp.array(*(exp.Literal.string(escape(str(path))) for path in paths))
    every = {**(options or {}), "hive_partitioning": exp.false()}
    named = [exp.PropertyEQ(this=exp.to_identifier(n), expression=v) for n, v in every.items()]
    return exp.Table(this=exp.Anonymous(this=name, expressions=[files, *named]))


def _header(path: Path, delimiter: str, text: TextFormat) -> list[str]:
    """The names of the columns of a file whose bytes leave no doubt."""
    with _readable(path, text.encoding):
        chunks = chunks_of(path, text.encoding)
        check_csv(chunks, delimiter, line_breaks=text.line_breaks, one_ending=True)
        return _names(_beginning(path, text.encoding), delimiter, text.names)


def _beginning(path: Path, encoding: str) -> str:
    """The first characters of a text file; they may end within a line."""
    known = "latin-1" if encoding == "latin-1" else "utf-8-sig"
    return next(chunks_of(path, encoding), b"").decode(known, errors="replace")


@contextmanager
def _readable(path: Path, encoding: str) -> Iterator[None]:
    """Around what reads a text file: errors name the file, and nothing private is chained."""
    named = instead(lambda error: DataError(f"the file {path.name!r}: {error}"), InputError)
    with named, sound(encoding):
        yield


def _names(beginning: str, delimiter: str, given: Sequence[str] | None = None) -> list[str]:
    """The names in the first line, or those given; a column without one is called by its place."""
    first = next(csv.reader(io.StringIO(beginning, newline=""), delimiter=delimiter), [])
    if given is not None:
        if first and len(first) != len(given):
            raise DataError(
                f"its first line has {len(first)} fields and {len(given)} names are given; name "
                "every column"
            )
        return list(given)
    if not any(field.strip() for field in first):
        raise DataError("its first line is empty; name the columns there")
    names = [field.strip() or f"column{place}" for place, field in enumerate(first)]
    if len({name.lower() for name in names}) < len(names):  # as DuckDB compares them
        raise DataError(
            "its first line has several columns of one name, or of names that differ in letter "
            "case only; rename some"
        )
    return names


ONLY_TEXT_FILES = "line_breaks=, delimiter=, encoding= and names= are for CSV and other text files"


class DuckFiles(PrivateDuck):
    """CSV, TSV or Parquet files."""

    def __init__(
        self, paths: list[Path], ending: str, memory: str, text: TextFormat = PLAIN
    ) -> None:
        self.paths, self.ending, self.memory, self.text = paths, ending, memory, text

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """Paths and patterns, one or a list of them."""
        if source.paths is None:
            return None
        paths, ending = _found(source.paths, source.text)
        return cls(paths, ending, source.memory, source.text)

    def names(self) -> list[str]:
        """The names of the columns of the first file; of text only the first line is read."""
        path = self.paths[0]
        if self.ending == ".parquet":
            with (
                private_connection(self.memory) as connection,
                refusing(f"{path.name} cannot be read: it is not Parquet, or damaged", FILES),
            ):
                return list(column_types(connection, table_function("read_parquet", [path])))
        delimiter = self.delimiter
        with _readable(path, self.text.encoding):
            return _names(_beginning(path, self.text.encoding), delimiter, self.text.names)

    @contextmanager
    def _counter(self, connection: Any, query: CountQuery) -> Iterator[PartsCounter]:
        """What counts the files."""
        size = parse_memory(self.memory)
        with (
            refusing(f"{self.paths[0].name} cannot be counted", FILES, self.memory),
            self._explaining(),
        ):
            source = self.source(connection, list(query.columns))
            query = typed(query, column_types(connection, source))
            yield PartsCounter(connection, source, query, size, self._rows(connection, source))

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows; those of text files are texts."""
        as_text = self.ending != ".parquet"
        with private_connection(self.memory) as connection, self._explaining():
            names = [column.name for column in query.columns]
            names += [] if query.person is None else [query.person]
            source = self.source(connection, names)
            types = column_types(connection, source)
            return duck_distinct(connection, source, types, query, as_text=as_text), as_text

    def check_scores(self, id: str, score: str) -> None:
        """By the types of the columns."""
        self.contenders(None, id, score)

    def contenders(self, worker: Worker | None, id: str, score: str) -> list[bytes]:
        """A batch at a time, however large the files are; without a worker nothing is read."""
        with private_connection(self.memory) as connection, self._explaining():
            source, as_text = self.source(connection, [id, score]), self.ending != ".parquet"
            types = column_types(connection, source)
            asked = scores_query(types, source, id, score, as_text=as_text)
            return [] if worker is None else duck_contenders(worker, connection, asked)

    @contextmanager
    def rows(self, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
        """The private database sees the files itself."""
        with self._explaining():
            yield PrivateRows(private, self.source(private, used))

    def source(self, connection: Any, used: Sequence[str]) -> exp.Expression:
        """The files as one table; they must agree on the types of the columns ``used``."""
        if self.ending == ".parquet":
            return parquet_table(connection, self.paths, used)
        return csv_table(connection, self.paths, self.delimiter, self.text)

    @cached_property
    def delimiter(self) -> str:
        """What separates the fields of a text file."""
        path = self.paths[0]
        with _readable(path, self.text.encoding):
            first = _beginning(path, self.text.encoding).partition("\n")[0]
            return delimiter_of(self.ending, first, self.text)

    def _explaining(self) -> instead:
        """Around the work of DuckDB: where it fails, the line that is the reason, if one is."""
        import duckdb

        return instead(self._explained, duckdb.Error)

    def _explained(self, error: BaseException) -> InputError | None:
        import duckdb

        damaged = (duckdb.InvalidInputException, duckdb.IOException, duckdb.SerializationException)
        if isinstance(error, duckdb.OutOfMemoryException):
            return None
        if self.ending != ".parquet":
            return self._wrong_line()
        if not isinstance(error, damaged):
            return None
        one = len(self.paths) == 1
        which = f"the file {self.paths[0].name!r}" if one else "at least one of the files"
        return DataError(f"{which} is damaged Parquet ({reason(error)}); copy it again")

    def _wrong_line(self) -> InputError | None:
        """What is wrong with the first line that cannot be read; None: all of them can."""
        width = len(self.names())
        try:
            for path in self.paths:
                with _readable(path, self.text.encoding):
                    for _ in rows_of(path, self.delimiter, self.text.encoding, width):
                        pass
        except InputError as error:
            return error
        return None

    def _rows(self, connection: Any, source: exp.Expression) -> int:
        """How many rows there are, roughly for text files."""
        if self.ending == ".parquet":  # from the files' own footers
            return number_of_rows(connection, source)
        packed = 8 if any(map(packing_of, self.paths)) else 1
        return sum(path.stat().st_size for path in self.paths) * packed // 12


def _found(sources: list[str | Path], text: TextFormat) -> tuple[list[Path], str]:
    """The files that there are, and the one ending of their names; or what is wrong."""
    paths: list[Path] = []
    for place, source in enumerate(sources, 1):
        name = str(source)
        files = [name] if Path(name).exists() else sorted(glob.glob(name))
        if not files:  # a list may hold values that were taken for paths
            which = f"{name!r}" if len(sources) == 1 else f"under path {place} of the list"
            raise DataError(f"there is no file {which}; check the path")
        paths += map(Path, files)
    for path in paths:
        if path.is_dir():
            raise DataError(f"{path.name!r} is a folder; give files, or a pattern like '*.csv'")
        if not os.access(path, os.R_OK):
            raise DataError(f"the file {path.name!r} may not be read; check its permissions")
        if path.stat().st_size == 0:
            raise DataError(f"the file {path.name!r} is empty; its first line names the columns")
    endings: set[str] = set()
    for path in paths:
        with _readable(path, text.encoding):
            endings.add(kind_of_file(path, text.encoding))
    if len(endings) != 1:
        raise DataError(
            f"the files are of the kinds {', '.join(sorted(endings))}; give files of one kind: "
            f"{', '.join(ENDINGS)} (text may be packed with gzip, bzip2 or zstd)"
        )
    (ending,) = endings
    if text.said and ending == ".parquet":
        raise ParameterError(f"{ONLY_TEXT_FILES}; these files are Parquet")
    return paths, ending
