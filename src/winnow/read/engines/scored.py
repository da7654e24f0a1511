"""Ids and scores of a source in batches: what a worker of a draw asks of an engine."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from winnow.core.noisy_top.keyed import Worker
from winnow.errors import DataError, ExtraMissing
from winnow.foreign import plain_type
from winnow.read.engines.columns import check_columns, is_whole
from winnow.read.engines.query import column, not_null

BATCH = 1 << 16
_REAL = {"float", "double", "decimal", "real", "float4", "float8", "numeric"}


def scores_query(
    types: Mapping[str, str], source: exp.Expression, id: str, score: str, *, as_text: bool = False
) -> exp.Select:
    """The ids (i) and the scores (s) of a source, if they can be one."""
    check_columns(types, id=id)
    if score not in types:
        check_columns(types, score=score)  # which says what is missing
    kind = plain_type(types[score]).lower()
    whole = is_whole(types, score)
    if not whole and not as_text and kind not in _REAL:
        raise DataError(
            f"the column {score!r} has the type {kind}, and scores are numbers; cast it to one"
        )
    name = exp.cast(column(id), "BIGINT" if is_whole(types, id) else "TEXT")
    value = exp.cast(column(score), "BIGINT" if whole else "DOUBLE")
    asked = exp.select(exp.alias_(name, "i"), exp.alias_(value, "s")).from_(source.copy())
    return asked.where(not_null(column(id)))


def need_arrow() -> None:
    """Refuse to read scores where pyarrow is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ExtraMissing("pyarrow", "parquet", "streaming scores")


def duck_contenders(worker: Worker, connection: Any, asked: exp.Select) -> list[bytes]:
    """Through this process, a batch at a time."""
    need_arrow()
    ask = getattr(connection, "sql", connection.execute)  # a relation has no other way
    reader = ask(asked.sql(dialect="duckdb")).to_arrow_reader(BATCH)
    return [worker.of_batches(reader)]
