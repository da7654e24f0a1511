"""Labels and scores in a JSON file: one object, or a list of records."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from winnow.errors import InputError


class Columns(NamedTuple):
    """The label column and the score column that the user named, and how: for messages."""

    label: str | None
    score: str | None
    options: tuple[str, str] = ("--label", "--score")


Place = Callable[[int], str]
"""Where the i-th candidate stands, in words."""
Content = tuple[list[Any], list[int | float], Place]

INTEGER = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOBODY = "there are no candidates; give at least one label with its score"


def could_be_data(name: str) -> bool:
    """Whether a first line's field may be a score: it has a digit."""
    return any(character.isdigit() for character in name)


def not_a_number(column: str, columns: Columns, *, missing: bool) -> str:
    """What is wrong with a score that cannot be read, without quoting it."""
    if missing:
        return f"the score (column {column!r}) is missing; fill it in or leave the line out"
    return (
        f"the score (column {column!r}) is not a finite number in plain digits, such as 1234, "
        "12.5 or 1e3; write it without thousands separators, units or words, or name other "
        f"columns with {' and '.join(columns.options)}"
    )


def two_columns(names: Sequence[str], columns: Columns) -> tuple[int, int]:
    """The positions of the label column and of the score column."""
    label, score, words = columns
    for name in (label, score):
        if name is not None and name not in names:
            raise InputError(f"there is no column {name!r}; {_listed(names)}")
    if label is not None and label == score:
        raise InputError(f"the column {label!r} cannot be both label and score; name two columns")
    if (label is None or score is None) and len(names) != 2:
        options = [o for o, name in zip(words, (label, score), strict=True) if name is None]
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
            given = f" {name!r}" if name in columns[:2] or not could_be_data(name) else " alike"
            raise InputError(f"two columns are named{given}; rename one")
    return names.index(label), names.index(score)


def _listed(names: Sequence[str]) -> str:
    """The columns in words, unless they could be a line of data: that would show a score."""
    if any(could_be_data(name) for name in names):
        return (
            f"the first line has {len(names)} field{'s' if len(names) != 1 else ''}, with digits "
            "where the names of the columns should be"
        )
    return f"the file has {', '.join(repr(name) for name in names) or 'none'}"


def _separators(names: Sequence[str]) -> str:
    for separator, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"), (",", "commas")):
        if any(separator in name for name in names):
            return f"they seem to be separated by {word}: use commas in .csv and tabs in .tsv"
    return "begin with a line such as 'label,score' and give two fields on every line"


_SHAPES = 'give {"label": score, ...} or a list of records with a label and a score'


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its repetitions, which a dict would drop silently."""


def from_json(text: str, columns: Columns) -> Content:
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
    if columns[:2] != (None, None):
        raise InputError(
            "one JSON object of labels and scores has no columns; leave out "
            f"{' and '.join(columns.options)}, or give a list of records"
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
            label_at, score_at = two_columns(names, columns)
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
