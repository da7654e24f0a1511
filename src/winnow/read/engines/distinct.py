"""The answers of a histogram query as arrays, from DuckDB or from a driver's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from winnow.read.engine import Distinct
from winnow.read.engines.histogram import HistogramQuery, check_types
from winnow.read.engines.private_duck import run


class _Arrays:
    """A DuckDB connection whose statements give one dict of arrays instead of rows."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        if hasattr(connection, "interrupt"):  # a relation does not show its connection
            self.interrupt = connection.interrupt

    def execute(self, sql: str) -> _Arrays:
        self.result = self.connection.execute(sql)
        return self

    def fetchall(self) -> list[dict[str, NDArray[Any]]]:
        return [self.result.fetchnumpy()]


def duck_distinct(
    connection: Any,
    source: exp.Expression,
    types: dict[str, str],
    query: HistogramQuery,
    *,
    as_text: bool = False,
) -> Distinct:
    """The distinct rows of a source that DuckDB can see, whose columns have these types."""
    check_types(query, types, as_text=as_text)
    asked = query.over(source.copy(), types, "duckdb", as_text=as_text)
    arrays: Any = run(_Arrays(connection), asked.sql(dialect="duckdb"))[0]
    columns = [arrays[name] for name in query.fields]
    return columns, np.asarray(arrays["n"]).astype(np.int64)


def distinct_of_rows(rows: list[tuple[Any, ...]], query: HistogramQuery) -> Distinct:
    """Rows of a driver as one array for each column."""
    contents = list(query.fields.values())
    width = len(contents)
    turned = list(zip(*rows, strict=True)) if rows else [()] * (width + 1)
    columns = [_array(values, contents[i]) for i, values in enumerate(turned[:width])]
    return columns, np.array(turned[width], np.int64)


def _array(values: tuple[Any, ...], content: str) -> NDArray[Any]:
    nulls = np.array([value is None for value in values], np.bool_)
    if content == "text":
        array = np.empty(len(values), object)
        array[:] = values
    else:
        whole = all(value is None or isinstance(value, int) for value in values)
        filled = [0 if value is None else value for value in values]
        kind: Any = np.bool_ if content == "boolean" else np.int64 if whole else np.float64
        array = np.array(filled, kind)
    return np.ma.masked_array(array, nulls)
