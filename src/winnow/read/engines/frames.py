"""Pandas, Polars and Arrow tables in memory, through a private DuckDB."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.core.process import parse_memory
from winnow.errors import DataError, ExtraMissing
from winnow.foreign import instead
from winnow.read.engine import FRAME, Distinct, Source, refusing
from winnow.read.engines.columns import column_types, typed
from winnow.read.engines.distinct import duck_distinct
from winnow.read.engines.histogram import HistogramQuery
from winnow.read.engines.private_duck import (
    PartsCounter,
    PrivateDuck,
    number_of_rows,
    private_connection,
)
from winnow.read.engines.query import CountQuery
from winnow.read.engines.row_sources import PrivateRows, RowSource
from winnow.read.engines.scored import duck_contenders, scores_query


class DuckFrame(PrivateDuck):
    """A pandas or Arrow table in memory; the last engine, for whatever DuckDB can see."""

    def __init__(self, frame: Any, memory: str) -> None:
        self.frame, self.memory = frame, memory

    @classmethod
    def of(cls, source: Source) -> Self | None:
        """Anything in memory; what is no table is refused when it is read."""
        if source.connected is not None:
            return None
        frame, module = source.given, source.module
        if module in ("polars", "pyarrow") and importlib.util.find_spec("pyarrow") is None:
            # DuckDB reads both through it
            raise ExtraMissing("pyarrow", "parquet", "counting a Polars or Arrow table")
        if module == "polars":
            with refusing("the frame of Polars cannot be read", FRAME):
                frame = frame.collect() if hasattr(frame, "collect") else frame
                frame = frame.to_arrow()
        elif module == "pandas":
            frame = _checked_pandas(frame, source.used)
        return cls(frame, source.memory)

    @contextmanager
    def _counter(self, connection: Any, query: CountQuery) -> Iterator[PartsCounter]:
        """What counts the table."""
        size, source = parse_memory(self.memory), exp.to_table("winnow_source")
        kind = type(self.frame).__name__
        unknown = DataError(
            f"a {kind} cannot be counted; give a file, a pandas, Polars or Arrow table, a Spark "
            "data frame, or (connection, table)"
        )
        with instead(unknown):  # whatever is not a table
            connection.register("winnow_source", self.frame)
        with refusing("the table cannot be counted", FRAME, self.memory):
            query = typed(query, column_types(connection, source))
            rows = number_of_rows(connection, source)
            yield PartsCounter(connection, source, query, size, rows)

    def distinct(self, query: HistogramQuery) -> tuple[Distinct, bool]:
        """The distinct rows."""
        source = exp.to_table("winnow_source")
        unknown = DataError(
            f"a {type(self.frame).__name__} is not a table; give a file, a pandas, Polars or Arrow "
            "table, a Spark data frame, or (connection, table)"
        )
        with private_connection(self.memory) as connection:
            with instead(unknown):
                connection.register("winnow_source", self.frame)
            types = column_types(connection, source)
            return duck_distinct(connection, source, types, query), False

    def check_scores(self, id: str, score: str) -> None:
        """By the types of the columns."""
        with self._scores(id, score):
            pass

    def contenders(self, worker: Worker, id: str, score: str) -> list[bytes]:
        """A batch at a time."""
        with self._scores(id, score) as (connection, asked):
            return duck_contenders(worker, connection, asked)

    @contextmanager
    def _scores(self, id: str, score: str) -> Iterator[tuple[Any, exp.Select]]:
        with private_connection(self.memory) as connection:
            register(connection, self.frame)
            source = exp.to_table("winnow_source")
            yield connection, scores_query(column_types(connection, source), source, id, score)

    @contextmanager
    def rows(self, private: Any, used: Sequence[str]) -> Iterator[RowSource]:
        """The private database sees the frame itself."""
        register(private, self.frame)
        yield PrivateRows(private, exp.to_table("winnow_source"))


def register(private: Any, frame: Any, name: str = "winnow_source") -> None:
    """A frame as a table of the private database."""
    is_pandas = type(frame).__module__.split(".")[0] == "pandas"
    for again in (False, True) if is_pandas else (False,):
        try:  # DuckDB cannot see some views of a pandas frame, and sees their copies
            private.register(name, frame.copy() if again else frame)
        except Exception:
            continue
        return
    raise DataError(
        f"a {type(frame).__name__} is not a table; give a file, a pandas, Polars or Arrow table, "
        "a Spark data frame, or (connection, table); baskets may be a list, too"
    )


def _checked_pandas(frame: Any, used: Sequence[str]) -> Any:
    """The frame, unless an object column may mix 1 and '1', which would become one text.

    A column without values has the type of the values that it has not: pandas calls it float or a
    category of nothing. It becomes one of objects, which every use may have: to refuse it, and to
    take the column that one person's row fills, would tell whether somebody is there.
    """
    names = [str(name) for name in getattr(frame, "columns", ())]  # a Series has none
    if len({name.lower() for name in names}) < len(names):  # DuckDB would rename some of them
        raise DataError(
            "the data frame has several columns of one name, or of names that differ in letter "
            "case only; rename or drop some"
        )
    seen = frame
    for name in set(names).intersection(used):  # if one is not there, that is said later
        place = names.index(name)
        column = frame.iloc[:, place]
        if column.dtype == object and len({type(v) for v in column.dropna()}) > 1:
            raise DataError(
                f"the column {name!r} mixes several types; convert it to one, for example with "
                "astype(str)"
            )
        if _may_be_untyped(column) and column.isna().all():
            seen = frame.copy(deep=False) if seen is frame else seen
            seen.isetitem(place, column.astype(object))
    return seen


def _may_be_untyped(column: Any) -> bool:
    if str(column.dtype) == "category":
        return len(column.cat.categories) == 0
    return bool(column.dtype.kind == "f")
