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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.errors import ExtraMissing, InputError

Scores = NDArray[np.int64] | NDArray[np.float64]
Columns = tuple[str | None, str | None]
"""The label column and the score column that the user named."""
Place = Callable[[int], str]
"""Where the i-th candidate stands, in words."""
Content = tuple[list[Any], list[int | float], Place]

STDIN = "-"
FORMATS = (".csv", ".tsv", ".json", ".parquet")

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SHAPES = 'give {"label": score, ...} or a list of records with a label and a score'
_NOBODY = "there are no candidates; give at least one label with its score"


def read_scores(
    source: str | Path, *, label_column: str | None = None, score_column: str | None = None
) -> tuple[list[Any], Scores]:
    """The public labels and the private scores of a file, or of CSV on stdin for "-".

    The ending of the name says what it holds; text files may be gzipped. A table has a
    label column and a score column: its only two, or those named.
    """
    columns = (label_column, score_column)
    try:
        if str(source) == STDIN:
            return _checked(_from_rows(_text(sys.stdin.buffer.read()), ",", columns))
        path = Path(source)
        match _ending(path):
            case ".parquet":
                return _from_parquet(path, columns)
            case ".json":
                return _checked(_from_json(_text(path.read_bytes()), columns))
            case ending:
                delimiter = "\t" if ending == ".tsv" else ","
                return _checked(_from_rows(_text(path.read_bytes()), delimiter, columns))
    except ExtraMissing:
        raise
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = _unreadable(error)
    file = "standard input" if str(source) == STDIN else str(source)
    raise InputError(f"{file}: {problem}")  # outside the handlers: nothing private is chained


def _ending(path: Path) -> str:
    name = path.name.lower()
    for ending in FORMATS:
        if name.endswith(ending) or (ending != ".parquet" and name.endswith(ending + ".gz")):
            return ending
    raise InputError(
        f"the ending of the name is not one of {', '.join(FORMATS)}; rename the file, "
        "or pipe CSV in with '-' as the file"
    )


def _unreadable(error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return "there is no such file; check the path"
        case IsADirectoryError():
            return "this is a folder; name a file in it"
        case PermissionError():
            return "you may not read this file; change its permissions"
        case _:
            return f"the file cannot be read ({error.strerror}); copy it to another place"


def _text(data: bytes) -> str:
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error):
            raise InputError("the gzip file is damaged or cut off; copy it again") from None
    if data[:4] in (b"PAR1", b"PK\x03\x04"):
        held = "Parquet" if data[:4] == b"PAR1" else "Excel or zip"
        raise InputError(f"this is a file of the kind {held}, not text; rename it or save as CSV")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("this is not UTF-8 text; save it again as UTF-8") from None
    if "\0" in text:
        raise InputError("this is not plain text (it has NUL bytes); save it again as UTF-8")
    if not text.strip():
        raise InputError("the file is empty; give at least one label with its score")
    return text


def _from_rows(text: str, delimiter: str, columns: Columns) -> Content:
    """CSV or TSV with the names of the columns in the first line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error:
        raise InputError(
            f"line {reader.line_num}: the double quotes do not match, or a field is huge; "
            'write a quote inside quotes twice, as in "the ""big"" one"'
        ) from None
    if not rows:
        raise InputError(_NOBODY)
    header = [name.strip() for name in rows[0]]
    label_at, score_at = _two_columns(header, columns)
    if columns[1] is None and _DECIMAL.fullmatch(header[score_at]):
        raise InputError(
            "the first line looks like data; put the names of the columns there, as in "
            "'label,score' (if this is the name of a column, give it with --score)"
        )
    labels: list[str] = []
    values: list[int | float] = []
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            raise InputError(
                f"line {line} has {len(row)} fields and the first line has {len(header)}; "
                "put a label that contains the separator between double quotes"
            )
        labels.append(row[label_at])
        score = row[score_at].strip()
        if _INTEGER.fullmatch(score):
            values.append(int(score[:4000]))  # Python reads no more, and 64 bits hold less
        elif _DECIMAL.fullmatch(score):
            values.append(float(score))
        else:
            raise InputError(f"line {line}: {_not_a_number(header[score_at], missing=not score)}")
        if not row[label_at].strip():
            raise InputError(f"line {line}: the label is empty; name every candidate")
    return labels, values, lambda i: f"line {lines[i + 1]}"


def _not_a_number(column: str, *, missing: bool) -> str:
    if missing:
        return f"the score (column {column!r}) is missing; fill it in or leave the line out"
    return (
        f"the score (column {column!r}) is not a finite number in plain digits, such as 1234, "
        "12.5 or 1e3; write it without thousands separators, units or words, or name other "
        "columns with --label and --score"
    )


def _two_columns(names: Sequence[str], columns: Columns) -> tuple[int, int]:
    """The positions of the label column and of the score column."""
    label, score = columns
    for name in columns:
        if name is not None and name not in names:
            raise InputError(f"there is no column {name!r}; {_listed(names)}")
    if label is not None and label == score:
        raise InputError(f"the column {label!r} cannot be both label and score; name two columns")
    if (label is None or score is None) and len(names) != 2:
        options = [o for o, name in (("--label", label), ("--score", score)) if name is None]
        mend = f"name the columns to use with {' and '.join(options)}"
        raise InputError(
            f"a label column and a score column are needed; {_listed(names)}; "
            + (mend if len(names) > 2 else _separators(names))
        )
    if label is None:
        label = names[1] if score == names[0] else names[0]
    if score is None:
        score = names[1] if label == names[0] else names[0]
    for name in (label, score):
        if list(names).count(name) > 1:
            raise InputError(f"two columns are named {name!r}; rename one")
    return names.index(label), names.index(score)


def _listed(names: Sequence[str]) -> str:
    """The columns in words, unless they could be a line of data: that would show a score."""
    pieces = [piece for name in names for piece in re.split(r"[;|,\t ]", name)]
    if any(_DECIMAL.fullmatch(piece) for piece in pieces):
        return "the first line has numbers where the names of the columns should be"
    return f"the file has {', '.join(repr(name) for name in names) or 'none'}"


def _separators(names: Sequence[str]) -> str:
    for separator, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"), (",", "commas")):
        if any(separator in name for name in names):
            return f"they seem to be separated by {word}: use commas in .csv and tabs in .tsv"
    return "begin with a line such as 'label,score' and give two fields on every line"


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its repetitions, which a dict would drop silently."""


def _from_json(text: str, columns: Columns) -> Content:
    """One object {label: score}, or a list of records."""
    try:
        content = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}, column {error.colno}: this is not JSON, or it is cut off; "
            + _SHAPES
        ) from None
    except (ValueError, RecursionError):
        raise InputError(f"a number is too long or brackets are too deep; {_SHAPES}") from None
    if isinstance(content, list) and not isinstance(content, _Pairs):
        return _from_records(content, columns)
    if not isinstance(content, _Pairs):
        raise InputError(f"this is a single JSON value; {_SHAPES}")
    if columns != (None, None):
        raise InputError(
            "one JSON object of labels and scores has no columns; leave out --label and --score"
        )
    values = [_json_number(value, f"label {label!r}") for label, value in content]
    return [label for label, _ in content], values, lambda i: f"entry {i + 1}"


def _from_records(records: list[Any], columns: Columns) -> Content:
    labels: list[Any] = []
    values: list[int | float] = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, _Pairs):
            raise InputError(f"record {number} is not an object in braces; {_SHAPES}")
        names = [name for name, _ in record]
        if number == 1:
            label_at, score_at = _two_columns(names, columns)
            chosen = names[label_at], names[score_at]
        for name in chosen:
            if names.count(name) != 1:
                raise InputError(f"record {number} must have the field {name!r} exactly once")
        fields = dict(record)
        label = fields[chosen[0]]
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise InputError(
                f"record {number}: the label (field {chosen[0]!r}) is neither a text nor a whole "
                "number; name every candidate"
            )
        labels.append(label)
        values.append(_json_number(fields[chosen[1]], f"record {number}"))
    return labels, values, lambda i: f"record {i + 1}"


def _json_number(value: Any, place: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(
            f"{place}: the score is missing or not a number; give a number, without quotes"
        )
    return value


def _from_parquet(path: Path, columns: Columns) -> tuple[list[Any], Scores]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ExtraMissing("pyarrow", "parquet", "reading Parquet files") from None
    damaged = "this is not a Parquet file, or it is damaged or cut off; copy it again"
    try:
        with path.open("rb") as opened:
            file = pq.ParquetFile(opened)
            names = file.schema_arrow.names
            label, score = (names[at] for at in _two_columns(names, columns))
            table = file.read(columns=[label, score])
    except pa.ArrowException:
        raise InputError(damaged) from None
    except OSError as error:
        if error.errno is None:  # Arrow's, not the system's
            raise InputError(damaged) from None
        raise
    if table.num_rows == 0:
        raise InputError(_NOBODY)
    for name in (score, label):
        if table[name].null_count:
            raise InputError(f"the column {name!r} has missing values; fill or drop them")
    kind, label_kind = table[score].type, table[label].type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(
            f"the score column {score!r} has the type {kind}; give integers or floats, "
            "or name other columns with --label and --score"
        )
    if pa.types.is_nested(label_kind):
        raise InputError(f"the label column {label!r} has the type {label_kind}; give texts")
    scores: NDArray[Any] = table[score].to_numpy()
    if scores.dtype.kind == "f" and not np.isfinite(scores).all():
        raise InputError("at least one score is NaN or infinite; clean or drop it first")
    if scores.dtype == np.uint64 and scores.max() > np.iinfo(np.int64).max:
        raise InputError("at least one score is 2^63 or more; rescale the scores")
    labels: list[Any] = table[label].to_pylist()
    _refuse_repeated(labels, lambda i: f"row {i + 1}")
    if scores.dtype.kind == "f":
        return labels, scores.astype(np.float64)
    return labels, scores.astype(np.int64)


def _checked(content: Content) -> tuple[list[Any], Scores]:
    """All scores as int64, or as float64 where one is not whole; nothing is rounded."""
    labels, values, place = content
    if not values:
        raise InputError(_NOBODY)
    whole = [value for value in values if type(value) is int]
    scores: Scores
    try:
        if len(whole) == len(values):
            scores = np.array(values, np.int64)
        else:
            scores = np.array(values, np.float64)
    except OverflowError:
        raise InputError(
            "at least one whole score does not fit 64 bits; rescale the scores"
        ) from None
    if not np.isfinite(scores).all():
        raise InputError(
            "at least one score is not finite, or too large for a float64; clean or rescale it"
        )
    if len(whole) < len(values) and any(int(float(value)) != value for value in whole):
        raise InputError(
            "decimals are mixed with whole scores beyond 2^53, which would be rounded; "
            "write all scores as integers"
        )
    _refuse_repeated(labels, place)
    return labels, scores


def _refuse_repeated(labels: Sequence[Any], place: Place) -> None:
    if len(set(labels)) == len(labels):
        return
    seen: dict[Any, int] = {}
    for i, label in enumerate(labels):
        first = seen.setdefault(label, i)
        if first != i:
            raise InputError(
                f"the label {label!r} stands in {place(first)} and again in {place(i)}; "
                "add up its scores or rename one"
            )
