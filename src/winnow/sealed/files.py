"""Labels and scores read from a file: CSV, TSV, JSON or Parquet.

The labels and the names of the columns are public, the scores are private. A message
names the file, a line, a column or a label, and says how to mend it; it never quotes a
score. Integers are read as integers, so nothing is rounded on the way in.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from winnow.errors import ExtraMissing, InputError

Scores = NDArray[np.int64] | NDArray[np.float64]
Place = Callable[[int], str]
"""Where the i-th score stands, in words."""

STDIN = "-"
FORMATS = (".csv", ".tsv", ".json", ".parquet")

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHAPES = 'give {"label": score, ...} or a list of records with a label and a score'


def read_scores(
    source: str | Path, *, label_column: str | None = None, score_column: str | None = None
) -> tuple[list[Any], Scores]:
    """The public labels and the private scores of a file, or of CSV on stdin for "-".

    The ending of the name says what it holds; text files may be gzipped. A table has a
    label column and a score column: its only two, or those named.
    """
    file = "standard input" if str(source) == STDIN else str(source)
    asked = (label_column, score_column)
    kind = ".csv" if str(source) == STDIN else _kind(Path(source), file)
    if kind == ".parquet":
        return _from_parquet(Path(source), file, asked)
    text = _text(source, file)
    if kind == ".json":
        labels, values, place = _from_json(text, file, asked)
    else:
        labels, values, place = _from_rows(text, file, "\t" if kind == ".tsv" else ",", asked)
    if not labels:
        raise InputError(f"{file} has no candidates; give at least one label with its score")
    scores = _one_type(values, file)
    _refuse_repeated(labels, file, place)
    return labels, scores


def _kind(path: Path, file: str) -> str:
    name = path.name.lower().removesuffix(".gz")
    for ending in FORMATS:
        if name.endswith(ending) and not (ending == ".parquet" and path.name.endswith(".gz")):
            return ending
    raise InputError(
        f"the ending of {file} is not one of {', '.join(FORMATS)}; rename the file, "
        "or pipe CSV in with '-' as the file"
    )


def _text(source: str | Path, file: str) -> str:
    data = _bytes(source, file)
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            raise InputError(f"{file} is a damaged or cut-off gzip file; copy it again") from None
    if data[:4] in (b"PAR1", b"PK\x03\x04"):
        held = "a Parquet file" if data[:4] == b"PAR1" else "an Excel or zip file"
        raise InputError(f"{file} holds {held}, not text; rename it, or save it as CSV")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8 text; save it again as UTF-8") from None
    if "\0" in text:
        raise InputError(f"{file} is not plain text (it has NUL bytes); save it again as UTF-8")
    if not text.strip():
        raise InputError(f"{file} is empty; give at least one label with its score")
    return text


def _bytes(source: str | Path, file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if str(source) == STDIN else Path(source).read_bytes()
    except OSError as error:
        _refuse_unreadable(error, file)


def _refuse_unreadable(error: OSError, file: str) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        raise InputError(f"there is no file {file}; check the path") from None
    if isinstance(error, IsADirectoryError):
        raise InputError(f"{file} is a folder; name a file in it") from None
    if isinstance(error, PermissionError):
        raise InputError(f"{file} may not be read by you; change its permissions") from None
    reason = error.strerror or "unknown reason"
    raise InputError(f"{file} cannot be read ({reason}); copy it to another place") from None


# CSV and TSV


def _from_rows(
    text: str, file: str, delimiter: str, asked: tuple[str | None, str | None]
) -> tuple[list[str], list[int | float], Place]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error:
        raise InputError(
            f"{file}, line {reader.line_num}: the double quotes do not match; "
            'a quote inside quotes is written twice, as in "the ""big"" one"'
        ) from None
    header = [name.strip() for name in rows.pop(0)]
    del lines[0]

    def place(i: int) -> str:
        return f"line {lines[i]}"

    label_at, score_at = _two_columns(header, file, asked)
    if asked[1] is None and _DECIMAL.fullmatch(header[score_at]):
        raise InputError(
            f"the first line of {file} looks like data; put the names of the columns there, as "
            "in 'label,score' (if it is a name, say so with --score)"
        )
    labels: list[str] = []
    values: list[int | float] = []
    for i, row in enumerate(rows):
        if len(row) != len(header):
            raise InputError(
                f"{file}, {place(i)} has {len(row)} fields and the first line has {len(header)}; "
                "put a label with a separator in it between double quotes"
            )
        if not row[label_at].strip():
            raise InputError(f"{file}, {place(i)}: the label is empty; name every candidate")
        labels.append(row[label_at])
        values.append(_number(row[score_at].strip(), file, place(i), header[score_at]))
    return labels, values, place


def _number(text: str, file: str, place: str, column: str) -> int | float:
    if _INTEGER.fullmatch(text) and len(text) <= 20:
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    where = f"{file}, {place}: the score (column {column!r})"
    if not text:
        raise InputError(f"{where} is missing; fill it in or leave the line out")
    raise InputError(
        f"{where} is not a finite number in plain digits, such as 1234, 12.5 or 1e3; write it "
        "without thousands separators, units or words, or name other columns with --label "
        "and --score"
    )


def _two_columns(
    names: Sequence[str], file: str, asked: tuple[str | None, str | None]
) -> tuple[int, int]:
    """The positions of the label column and of the score column."""
    label, score = asked
    for name in (label, score):
        if name is not None and name not in names:
            raise InputError(f"{file} has no column {name!r}; {_listed(names)}")
    if label is not None and label == score:
        raise InputError(f"--label and --score both name {label!r}; give two columns")
    if len(names) != 2 and (label is None or score is None):
        missing = "--label and --score" if label == score else "--label" if score else "--score"
        raise InputError(
            f"{file} needs a label column and a score column; {_listed(names)}; "
            + (f"name the column to use with {missing}" if len(names) > 2 else _hint(names))
        )
    if label is None:
        label = names[1] if score == names[0] else names[0]
    if score is None:
        score = names[1] if label == names[0] else names[0]
    for name in (label, score):
        if list(names).count(name) > 1:
            raise InputError(f"{file} has two columns named {name!r}; rename one")
    return list(names).index(label), list(names).index(score)


def _listed(names: Sequence[str]) -> str:
    """The columns in words, unless they could be a line of data: that would show a score."""
    pieces = [piece.strip() for name in names for piece in re.split(r"[;|,\t ]", name)]
    if any(_DECIMAL.fullmatch(piece) for piece in pieces):
        return "its first line has numbers among the names of columns, so it may be data"
    return f"it has {', '.join(repr(name) for name in names)}"


def _hint(names: Sequence[str]) -> str:
    for separator, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"), (",", "commas")):
        if any(separator in name for name in names):
            return f"they seem to be separated by {word}: use commas in .csv and tabs in .tsv"
    return "put a first line such as 'label,score' and two fields on every line"


# JSON


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its repetitions, which a dict would drop silently."""


def _from_json(
    text: str, file: str, asked: tuple[str | None, str | None]
) -> tuple[list[Any], list[int | float], Place]:
    try:
        content = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file} is not valid JSON, or is cut off, at line {error.lineno}, "
            f"column {error.colno}; {_SHAPES}"
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"{file} has a number too long or brackets too deep; {_SHAPES}") from None
    if isinstance(content, _Pairs):
        if asked != (None, None):
            raise InputError(
                f"{file} is one JSON object of labels and scores and has no columns; "
                "leave out --label and --score"
            )
        labels = [label for label, _ in content]
        values = [_json_number(value, file, f"label {label!r}") for label, value in content]
        return labels, values, lambda i: f"entry {i + 1}"
    if not isinstance(content, list):
        raise InputError(f"{file} holds a single JSON value; {_SHAPES}")
    return _from_records(content, file, asked)


def _from_records(
    records: list[Any], file: str, asked: tuple[str | None, str | None]
) -> tuple[list[Any], list[int | float], Place]:
    def place(i: int) -> str:
        return f"record {i + 1}"

    labels: list[Any] = []
    values: list[int | float] = []
    chosen: tuple[str, str] | None = None
    for i, record in enumerate(records):
        if not isinstance(record, _Pairs):
            raise InputError(f"{file}, {place(i)} is not an object in braces; {_SHAPES}")
        names = [name for name, _ in record]
        if chosen is None:
            first, second = _two_columns(names, file, asked)
            chosen = names[first], names[second]
        for name in chosen:
            if names.count(name) != 1:
                problem = "no field" if name not in names else "more than one field"
                raise InputError(f"{file}, {place(i)} has {problem} {name!r}; give it once")
        fields = dict(record)
        label = fields[chosen[0]]
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise InputError(
                f"{file}, {place(i)}: the label (field {chosen[0]!r}) is not a text or a whole "
                "number; name every candidate"
            )
        labels.append(label)
        values.append(_json_number(fields[chosen[1]], file, place(i)))
    return labels, values, place


def _json_number(value: Any, file: str, place: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            f"{file}, {place}: the score is missing or not a number; give a number, without quotes"
        )
    return value


# Parquet


def _from_parquet(
    path: Path, file: str, asked: tuple[str | None, str | None]
) -> tuple[list[Any], Scores]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ExtraMissing("pyarrow", "parquet", "reading Parquet files") from None
    try:
        with path.open("rb") as opened:
            table_file = pq.ParquetFile(opened)
            names = table_file.schema_arrow.names
            label_at, score_at = _two_columns(names, file, asked)
            table = table_file.read(columns=[names[label_at], names[score_at]])
    except OSError as error:
        if error.errno is None:  # Arrow's own: it has no number of the system's
            raise InputError(f"{file} is a damaged or cut-off Parquet file; copy it again") from None
        _refuse_unreadable(error, file)
    except pa.ArrowException:
        raise InputError(f"{file} is not a Parquet file, or is damaged; copy it again") from None
    label_column, score_column = table.column(names[label_at]), table.column(names[score_at])
    if table.num_rows == 0:
        raise InputError(f"{file} has no candidates; give at least one label with its score")
    for name, column in ((names[score_at], score_column), (names[label_at], label_column)):
        if column.null_count:
            raise InputError(f"{file}: column {name!r} has missing values; fill or drop them")
    kind = score_column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(
            f"{file}: the score column {names[score_at]!r} has the type {kind}; "
            "give integers or floats, or name other columns with --label and --score"
        )
    if pa.types.is_nested(label_column.type):
        raise InputError(
            f"{file}: the label column {names[label_at]!r} has the type {label_column.type}; "
            "give texts or numbers"
        )
    scores: NDArray[Any] = score_column.to_numpy()
    if scores.dtype.kind == "f" and not np.isfinite(scores).all():
        raise InputError(f"{file}: at least one score is NaN or infinite; clean or drop it first")
    if scores.dtype == np.uint64 and scores.max() > np.iinfo(np.int64).max:
        raise InputError(f"{file}: at least one score is 2^63 or more; rescale the scores")
    labels = label_column.to_pylist()
    _refuse_repeated(labels, file, lambda i: f"row {i + 1}")
    whole = scores.dtype.kind in "iu"
    return labels, scores.astype(np.int64 if whole else np.float64, copy=False)


# For all of them


def _one_type(values: list[int | float], file: str) -> Scores:
    """All of them as int64, or as float64 where one is not whole; nothing is rounded."""
    try:
        if all(type(value) is int for value in values):
            return np.array(values, np.int64)
        scores = np.array(values, np.float64)
    except OverflowError:
        raise InputError(
            f"{file}: at least one whole score does not fit 64 bits; rescale the scores"
        ) from None
    if not np.isfinite(scores).all():
        raise InputError(
            f"{file}: at least one score is not finite, or too large for a float64; "
            "clean or rescale the scores"
        )
    if any(type(value) is int and int(float(value)) != value for value in values):
        raise InputError(
            f"{file} mixes decimals with whole scores beyond 2^53, which would be rounded; "
            "write all scores as integers"
        )
    return scores


def _refuse_repeated(labels: Sequence[Any], file: str, place: Place) -> None:
    if len(set(labels)) == len(labels):
        return
    seen: dict[Any, int] = {}
    for i, label in enumerate(labels):
        first = seen.setdefault(label, i)
        if first != i:
            raise InputError(
                f"{file}: the label {label!r} stands in {place(first)} and again in {place(i)}; "
                "add up its scores or rename one"
            )
