"""CSV and TSV files as a table of DuckDB that guesses nothing.

DuckDB takes a double quote inside a field for text, one at its beginning for the start of a
quoted field however many lines that takes, and CR for a line end if all lines end so; no setting
makes it refuse them. So the bytes are checked first, in a pass that takes less than DuckDB's own.
The names of the columns come from the first line, and DuckDB is told all the rest: what it
guesses from a sample of the rows would depend on whose rows they are.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from sqlglot import exp

from winnow.errors import DataError, InputError
from winnow.foreign import reason
from winnow.read.records import check_csv, chunks_of, is_gzipped


def csv_table(paths: Sequence[Path], delimiter: str, *, line_breaks: bool) -> exp.Expression:
    """The files as one table of texts, if each of them is plain beyond doubt."""
    headers = [_header(path, delimiter, line_breaks) for path in paths]
    if any(header != headers[0] for header in headers):
        raise DataError(
            "the first lines of the files name different columns, or the same in another order; "
            "write them all alike"
        )
    columns = [
        exp.PropertyEQ(
            this=exp.to_identifier(name, quoted=True), expression=exp.Literal.string("VARCHAR")
        )
        for name in headers[0]
    ]
    options: dict[str, exp.Expression] = {
        "auto_detect": exp.false(),
        "columns": exp.Struct(expressions=columns),
        "header": exp.true(),
        "delim": exp.Literal.string(delimiter),
        "quote": exp.Literal.string('"'),
        "escape": exp.Literal.string('"'),
        "skip": exp.Literal.number(0),
        "comment": exp.Literal.string(""),
        "strict_mode": exp.true(),
        # a thread that starts in the middle of a file takes a line inside quotes for a record
        "parallel": exp.Boolean(this=not line_breaks),
    }
    return table_function("read_csv", paths, options)


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


def _header(path: Path, delimiter: str, line_breaks: bool) -> list[str]:
    """The names of the columns of a file whose bytes leave no doubt."""
    try:
        if is_gzipped(path) is not (path.suffix == ".gz"):  # DuckDB goes by the name
            raise DataError("its name and its content disagree on whether it is gzipped")
        check_csv(chunks_of(path), delimiter, line_breaks=line_breaks, one_ending=True)
        return _names(next(chunks_of(path), b""), delimiter)
    except InputError as error:
        problem = str(error)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        problem = "the gzip file is damaged or cut off; copy it again"
    except OSError as error:
        problem = f"it cannot be read ({reason(error)}); copy it to another place"
    raise DataError(f"the file {path.name!r}: {problem}")  # outside: nothing private is chained


def _names(beginning: bytes, delimiter: str) -> list[str]:
    """The names in the first line; a column without one is called by its place."""
    text = beginning.decode("utf-8-sig", errors="replace")  # it may end within a character
    first = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    if not any(field.strip() for field in first):
        raise DataError("its first line is empty; name the columns there")
    names = [field.strip() or f"column{place}" for place, field in enumerate(first)]
    if len({name.lower() for name in names}) < len(names):  # as DuckDB compares them
        raise DataError(
            "its first line has several columns of one name, or of names that differ in letter "
            "case only; rename some"
        )
    return names
