"""Large files of ready counts, read by DuckDB where they are plain beyond doubt.

What is not (a count that is no plain whole number, an empty or repeated label, a line with other
fields) is left to the reader of :mod:`winnow.read.files`, which says what and where. So both give
the same labels and counts, in the order of the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from winnow.errors import InputError
from winnow.read.engines.files import DuckFiles
from winnow.read.engines.private_duck import private_connection
from winnow.read.engines.query import column
from winnow.read.file_columns import Columns, two_columns
from winnow.read.records import chunks_of

_MEMORY = "1GB"
_PLAIN = "[+-]?[0-9]{1,18}"


def large_counts(
    path: Path, ending: str, columns: Columns
) -> tuple[list[Any], NDArray[np.int64]] | None:
    """The labels and counts of a plain file; None: read it line by line."""
    import duckdb

    try:
        if any(b"\0" in chunk for chunk in chunks_of(path)):
            return None
        files = DuckFiles([path], ending, _MEMORY)
        names = files.names()
        label, score = (names[place] for place in two_columns(names, columns))
        with private_connection(_MEMORY) as connection:
            connection.execute("SET preserve_insertion_order = true")
            found = connection.execute(_query(files, connection, label, score)).fetchnumpy()
    except (InputError, OSError, EOFError, duckdb.Error):
        return None
    labels, scores = found["label"], found["score"]
    if np.ma.getmaskarray(labels).any() or np.ma.getmaskarray(scores).any() or not len(labels):
        return None
    listed: list[str] = np.ma.getdata(labels).tolist()
    if not all(map(str.strip, listed)) or _may_repeat(listed):
        return None
    return listed, np.ma.getdata(scores).astype(np.int64, copy=False)


def _query(files: DuckFiles, connection: Any, label: str, score: str) -> str:
    """Labels and counts; a count that is not plain is null."""
    plain = exp.Anonymous(
        this="regexp_full_match", expressions=[column(score), exp.Literal.string(_PLAIN)]
    )
    number = exp.TryCast(this=column(score), to=exp.DataType.build("BIGINT"))
    asked = exp.select(
        exp.alias_(column(label), "label"), exp.alias_(exp.Case().when(plain, number), "score")
    )
    return asked.from_(files.source(connection, [])).sql(dialect="duckdb")


def _may_repeat(labels: list[str]) -> bool:
    """Whether two labels have one hash: without that, all differ."""
    hashes = np.fromiter(map(hash, labels), np.int64, len(labels))
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())
