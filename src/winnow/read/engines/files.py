"""CSV, TSV and Parquet files, through a private DuckDB."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlglot import exp

from winnow.errors import DataError, ParameterError
from winnow.read.engine import Counts, Distinct, Engine, Progress, Source
from winnow.read.engines.columns import column_types, typed
from winnow.read.engines.csv_files import csv_table
from winnow.read.engines.distinct import duck_distinct
from winnow.read.engines.histogram import HistogramQuery
from winnow.read.engines.parquet_files import parquet_table
from winnow.read.engines.private_duck import (
    PartsCounter,
    gigabytes,
    number_of_rows,
    private_connection,
)
from winnow.read.engines.query import CountQuery
from winnow.read.engines.refusals import FILES, engine
from winnow.read.engines.row_sources import PrivateRows, RowSource

ENDINGS = (".csv", ".tsv", ".parquet")
ONLY_TEXT_FILES = "line_breaks=True is for CSV and TSV files, in which a quoted field may go on"


class DuckFiles(Engine):
    """CSV, TSV or Parquet files."""

    def __init__(
        self, paths: list[Path], ending: str, memory: str, *, line_breaks: bool = False
    ) -> None:
        self.paths, self.ending, self.memory = paths, ending, memory
        self.line_breaks = line_breaks

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """Paths and patterns, one or a list of them."""
        if source.paths is None:
            return None
        paths, ending = _found(source.paths, source.line_breaks)
        return cls(paths, ending, source.memory, line_breaks=source.line_breaks)

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

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows; those of text files are texts."""
        as_text = self.ending != ".parquet"
        with private_connection(self.memory) as connection:
            names = [column.name for column in query.columns]
            names += [] if query.person is None else [query.person]
            source = self.source(connection, names)
            types = column_types(connection, source)
            return duck_distinct(connection, source, types, query, as_text=as_text), as_text

    @contextmanager
    def rows(self, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
        """The private database sees the files itself."""
        yield PrivateRows(private, self.source(private, used))

    def source(self, connection: Any, used: Sequence[str]) -> exp.Expression:
        """The files as one table; they must agree on the types of the columns ``used``."""
        if self.ending == ".parquet":
            return parquet_table(connection, self.paths, used)
        delimiter = "\t" if self.ending == ".tsv" else ","
        return csv_table(self.paths, delimiter, line_breaks=self.line_breaks)

    def _rows(self, connection: Any, source: exp.Expression) -> int:
        """How many rows there are, roughly for text files."""
        if self.ending == ".parquet":  # from the files' own footers
            return number_of_rows(connection, source)
        packed = 8 if any(path.suffix == ".gz" for path in self.paths) else 1
        return sum(path.stat().st_size for path in self.paths) * packed // 12


def _found(sources: list[str | Path], line_breaks: bool) -> tuple[list[Path], str]:
    """The files that there are, and the one ending of their names; or what is wrong."""
    paths: list[Path] = []
    for place, source in enumerate(sources, 1):
        text = str(source)
        found = [text] if Path(text).exists() else sorted(glob.glob(text))
        if not found:  # a list may hold values that were taken for paths
            which = f"{text!r}" if len(sources) == 1 else f"under path {place} of the list"
            raise DataError(f"there is no file {which}; check the path")
        paths += map(Path, found)
    for path in paths:
        if path.is_dir():
            raise DataError(f"{path.name!r} is a folder; give files, or a pattern like '*.csv'")
        if not os.access(path, os.R_OK):
            raise DataError(f"the file {path.name!r} may not be read; check its permissions")
        if path.stat().st_size == 0:
            raise DataError(f"the file {path.name!r} is empty; its first line names the columns")
    endings = {path.with_suffix("").suffix.lower() if path.suffix == ".gz" else path.suffix.lower()
               for path in paths}  # fmt: skip
    if len(endings) != 1 or not endings <= set(ENDINGS):
        raise DataError(
            f"the files end in {', '.join(sorted(endings))}; give files of one kind: "
            f"{', '.join(ENDINGS)} (text may be gzipped)"
        )
    (ending,) = endings
    if line_breaks and ending == ".parquet":
        raise ParameterError(f"{ONLY_TEXT_FILES}; these files are Parquet")
    return paths, ending
