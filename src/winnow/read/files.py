"""Labels and scores read from a file: CSV, TSV, JSON or Parquet.

The labels and the names of the columns are public, the scores are private. A message
names the file, a line, a column or a label, and says how to mend it; it never quotes a
score. Integers are read as integers, so nothing is rounded on the way in.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.borders import Border
from winnow.errors import DataError, ExtraMissing, InputError
from winnow.foreign import guarded, instead, plain_type, reason
from winnow.read.databases import names_database
from winnow.read.file_columns import (
    DECIMAL,
    INTEGER,
    NOBODY,
    Columns,
    Content,
    Place,
    could_be_data,
    from_json,
    not_a_number,
    two_columns,
)
from winnow.read.large_counts import PackedLabels, large_counts
from winnow.read.options import PLAIN, TextFormat
from winnow.read.records import chunks_of, csv_records, sound, text_of, unpacked_name
from winnow.read.scores import repeated
from winnow.read.text_format import NOT_PARQUET, delimiter_of, kind_of_file

Scores = NDArray[np.int64] | NDArray[np.float64]
STDIN = "-"
LARGE_FILE = Border(
    4_000_000,
    "bytes of a file of counts",
    decides="how large a file is, and whether it is plain",
    ways="read line by line; read by whole arrays, with the labels packed",
    same="value",
    because="whatever is not plain beyond doubt is read line by line, so both give the same labels "
    "and counts in the same order",
)
"""Bytes from which on labels are kept packed."""


@guarded
def read_scores(
    source: str | Path,
    *,
    label_column: str | None = None,
    score_column: str | None = None,
    header: bool = False,
    options: tuple[str, str] = ("--label", "--score"),
    text: TextFormat = PLAIN,
) -> tuple[Sequence[Any], Scores]:
    """The public labels and the private scores of a file, or of CSV on stdin for "-".

    The ending of the name says what it holds, or else the content; text files may be packed. A
    table has a label column and a score column: its only two, or those named. ``options`` are the
    words with which the user names them, for messages. ``header`` says that the file names its
    columns for certain, so that messages may repeat what only stands there; without it a first
    line that looks like data is refused. ``text`` says how text is written, as in
    ``winnow.counts``.
    """
    named = header or text.names is not None
    columns = Columns(label_column, score_column, options, named)
    try:
        if str(source) == STDIN:
            return _checked(_from_rows(_text(sys.stdin.buffer.read(), text), ".csv", columns,
                                       text))  # fmt: skip
        if names_database(source):
            return _from_database(source, columns, text)
        path = Path(source)
        ending = _ending(path, text)
        if text.said and ending in (".json", ".parquet"):
            raise DataError(
                "line breaks, delimiters, encodings and names are options of CSV and other text "
                "tables; leave them out"
            )
        match ending:
            case ".parquet":
                return _from_parquet(path, columns)
            case ".json":
                return _checked(from_json(_text(path.read_bytes(), text), columns))
            case _:
                large = _large(path, ending, columns, text)
                if large is not None:
                    return large
                read = _text(path.read_bytes(), text)
                return _checked(_from_rows(read, ending, columns, text))
    except ExtraMissing:
        raise
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = unreadable(error)
    file = "standard input" if str(source) == STDIN else str(source)
    raise DataError(f"{file}: {problem}")  # outside the handlers: nothing private is chained


def _large(
    path: Path, ending: str, columns: Columns, written: TextFormat
) -> tuple[PackedLabels, Scores] | None:
    """What is read without a line at a time, if both columns are named and all is plain."""
    named = columns.label is not None and columns.score is not None
    if not named or written.line_breaks or path.stat().st_size < LARGE_FILE.at:
        return None
    return large_counts(path, ending, columns, written)


def _ending(path: Path, written: TextFormat) -> str:
    """'.json', or what `kind_of_file` says; a text that begins like JSON is JSON."""
    if unpacked_name(path).suffix.lower() == ".json":
        return ".json"
    kind = kind_of_file(path, written.encoding)
    if kind != ".txt" or written.said:
        return kind
    with sound():
        first = next(chunks_of(path), b"").lstrip()[:1]
    return ".json" if first in (b"{", b"[") else kind


def unreadable(error: OSError) -> str:
    """Why a file cannot be read, and what to do."""
    match error:
        case FileNotFoundError():
            return "there is no such file; check the path"
        case IsADirectoryError():
            return "this is a folder; name a file in it"
        case PermissionError():
            return "you may not read this file; change its permissions"
        case _:
            return f"the file cannot be read ({reason(error)}); copy it to another place"


def _text(data: bytes, written: TextFormat) -> str:
    text = text_of(data, written.encoding)
    if "\0" in text:
        raise DataError("this is not plain text (it has NUL bytes); save it again as UTF-8")
    if not text.strip():
        raise DataError("the file is empty; give at least one label with its score")
    return text


def _from_rows(text: str, ending: str, columns: Columns, written: TextFormat) -> Content:
    """A text table with the names of the columns in its first line, or with names given."""
    delimiter = delimiter_of(ending, text.partition("\n")[0], written)
    rows, lines = [], []
    if written.names is not None:
        rows, lines = [list(written.names)], [0]
    for line, row in csv_records(text, delimiter, line_breaks=written.line_breaks):
        if len(row) > 1 or "".join(row).strip():
            rows.append(row)
            lines.append(line)
    if not rows:
        raise DataError(NOBODY)
    header = [name.strip() for name in rows[0]]
    label_at, score_at = two_columns(header, columns)
    if not (columns.score or columns.header) and could_be_data(header[score_at]):
        raise DataError(
            "the first line looks like data; put the names of the columns there, as in "
            "'label,score' (if they are names already, say so with --header)"
        )
    labels: list[str] = []
    values: list[int | float] = []
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise DataError(
                f"line {line} has {len(row)} field{'' if len(row) == 1 else 's'}, and there are "
                f"{len(header)} columns; put a label that contains the separator between double "
                "quotes"
            )
        labels.append(row[label_at])
        score = row[score_at].strip()
        if INTEGER.fullmatch(score):
            if len(score) > 4000:  # Python reads no more
                raise DataError(f"line {line}: the score has more than 4,000 digits")
            values.append(int(score))
        elif DECIMAL.fullmatch(score):
            values.append(float(score))
        else:
            wrong = not_a_number(header[score_at], columns, missing=not score)
            raise DataError(f"line {line}: {wrong}")
        if not row[label_at].strip():
            raise DataError(f"line {line}: the label is empty; name every candidate")
    return labels, values, lambda i: f"line {lines[i + 1]}"


def _from_parquet(path: Path, columns: Columns) -> tuple[list[Any], Scores]:
    with instead(ExtraMissing("pyarrow", "parquet", "reading Parquet files"), ImportError):
        import pyarrow.parquet as pq
    with path.open("rb") as opened, instead(DataError(NOT_PARQUET)):
        file = pq.ParquetFile(opened)
        names = file.schema_arrow.names
        label, score = (names[at] for at in two_columns(names, columns))
        table = file.read(columns=[label, score])
    return _from_arrow(table, label, score, columns)


def _from_database(
    source: str | Path, columns: Columns, written: TextFormat
) -> tuple[list[Any], Scores]:
    """Labels and scores of a table, in the order of the labels: its rows have none to rely on."""
    from winnow.read.databases import arrow_of, opened

    if written.said:
        raise DataError(
            "line breaks, delimiters, encodings and names are options of text files; leave them out"
        )
    connections: dict[str, Any] = {}
    frame = opened(source, connections)
    try:
        table = arrow_of(frame, lambda names: (names[at] for at in two_columns(names, columns)))
    finally:
        for connection in connections.values():
            connection.close()
    label, score = table.column_names
    labels, scores = _from_arrow(table, label, score, columns)
    order = sorted(range(len(labels)), key=lambda place: str(labels[place]))
    return [labels[place] for place in order], scores[order]


def _from_arrow(table: Any, label: str, score: str, columns: Columns) -> tuple[list[Any], Scores]:
    import pyarrow as pa

    if table.num_rows == 0:
        raise DataError(NOBODY)
    for name, what in ((score, "score"), (label, "label")):
        if table[name].null_count:
            raise DataError(
                f"the {what} column{columns.quoted(name)} has missing values; fill or drop them"
            )
    kind, label_kind = table[score].type, table[label].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise DataError(
            f"the score column{columns.quoted(score)} has the type {plain_type(kind)}; give "
            f"integers or floats, or name other columns with {' and '.join(columns.options)}"
        )
    if pa.types.is_nested(label_kind):
        raise DataError(
            f"the label column{columns.quoted(label)} has the type {plain_type(label_kind)}; give "
            "texts"
        )
    scores: NDArray[Any] = table[score].to_numpy()
    if scores.dtype.kind == "f" and not np.isfinite(scores).all():
        raise DataError("at least one score is NaN or infinite; clean or drop it first")
    if scores.dtype == np.uint64 and scores.max() > np.iinfo(np.int64).max:
        raise DataError("at least one score is 2^63 or more; rescale the scores")
    labels: list[Any] = table[label].to_pylist()
    _refuse_repeated(labels, lambda i: f"row {i + 1}")
    if scores.dtype.kind == "f":
        return labels, scores.astype(np.float64)
    return labels, scores.astype(np.int64)


def _checked(content: Content) -> tuple[list[Any], Scores]:
    """All scores as int64, or as float64 where one is not whole; nothing is rounded."""
    labels, values, place = content
    if not values:
        raise DataError(NOBODY)
    whole = [value for value in values if type(value) is int]
    scores: Scores
    with instead(
        DataError("at least one whole score does not fit 64 bits; rescale the scores"),
        OverflowError,
    ):
        if len(whole) == len(values):
            scores = np.array(values, np.int64)
        else:
            scores = np.array(values, np.float64)
    if not np.isfinite(scores).all():
        raise DataError(
            "at least one score is not finite, or too large for a float64; clean or rescale it"
        )
    if len(whole) < len(values) and any(int(float(value)) != value for value in whole):
        raise DataError(
            "decimals are mixed with whole scores beyond 2^53, which would be rounded; "
            "write all scores as integers"
        )
    _refuse_repeated(labels, place)
    return labels, scores


def _refuse_repeated(labels: Sequence[Any], place: Place) -> None:
    if len(set(labels)) < len(labels):
        first, again = repeated(labels)
        raise DataError(
            f"the label in {place(first)} appears again in {place(again)}; add up its scores or "
            "rename one"
        )
