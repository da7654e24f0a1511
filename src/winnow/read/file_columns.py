"""Which columns of a file hold the labels and the scores, and what may be said about them.

A name that the user gave may be repeated. A name that only stands in the file may be the first
person's row of a file without a header, so it is repeated only where the user said that the
first line is a header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from winnow.errors import DataError
from winnow.foreign import instead, reason


class Columns(NamedTuple):
    """The columns that the user named, and how: for messages."""

    label: str | None
    score: str | None
    options: tuple[str, str] = ("--label", "--score")
    header: bool = False
    """Whether the user said that the file names its columns."""

    def quoted(self, name: str) -> str:
        """A space and the name of a column, if it may be repeated."""
        return f" {name!r}" if self.header or name in (self.label, self.score) else ""


Place = Callable[[int], str]
"""Where the i-th candidate stands, in words."""
Content = tuple[list[Any], list[int | float], Place]

INTEGER = re.compile(r"[+-]?[0-9]+")
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
NOBODY = "there are no candidates; give at least one label with its score"


def alike(name: str, names: Sequence[str]) -> str:
    """That a column has nearly this name. What only stands in the source is not repeated.

    A first line may be somebody's row; its place says which name to look at.
    """
    plain = [_plain(other) for other in names]
    near = get_close_matches(_plain(name), plain, n=1, cutoff=0.75)
    if not near:
        return ""
    place = plain.index(near[0]) + 1
    if near[0] == _plain(name):
        return f"column {place} has this name but for letter case or spaces: write it as it is"
    return f"did you mean column {place}, which has nearly this name?"


def _plain(name: str) -> str:
    return "".join(name.split()).casefold()


def could_be_data(name: str) -> bool:
    """Whether a first line's field may be a score: it has a digit."""
    return any(character.isdigit() for character in name)


def not_a_number(column: str, columns: Columns, *, missing: bool) -> str:
    """What is wrong with a score that cannot be read, without quoting it."""
    score = f"the score (column{columns.quoted(column)})" if columns.quoted(column) else "the score"
    if missing:
        return f"{score} is missing; fill it in or leave the line out"
    return (
        f"{score} is not a finite number in plain digits, such as 1234, 12.5 or 1e3; write it "
        "without thousands separators, units or words, or name other columns with "
        f"{' and '.join(columns.options)}"
    )


def two_columns(names: Sequence[str], columns: Columns) -> tuple[int, int]:
    """The positions of the label column and of the score column."""
    label, score, words = columns[:3]
    for name in (label, score):
        if name is not None and name not in names:
            near = alike(name, names)
            near = f"; {near}" if near else ""
            raise DataError(f"there is no column {name!r}; {_listed(names, columns)}{near}")
    if label is not None and label == score:
        raise DataError(f"the column {label!r} cannot be both label and score; name two columns")
    if (label is None or score is None) and len(names) != 2:
        options = [o for o, name in zip(words, (label, score), strict=True) if name is None]
        mend = f"name the columns to use with {' and '.join(options)}"
        raise DataError(
            f"a label column and a score column are needed; {_listed(names, columns)}; "
            + (mend if len(names) > 2 else _separators(names))
        )
    if label is None:
        label = names[1] if score == names[0] else names[0]
    if score is None:
        score = names[1] if label == names[0] else names[0]
    for name in (label, score):
        if list(names).count(name) > 1:
            raise DataError(f"two columns are named{columns.quoted(name) or ' alike'}; rename one")
    return names.index(label), names.index(score)


def _listed(names: Sequence[str], columns: Columns) -> str:
    """The columns in words, by name only where the user said that these are names."""
    if columns.header:
        return f"the file has {', '.join(repr(name) for name in names) or 'none'}"
    if any(could_be_data(name) for name in names):
        return (
            f"the first line has {len(names)} field{'s' if len(names) != 1 else ''}, with digits "
            "where the names of the columns should be"
        )
    several = f"{len(names)} column{'s' if len(names) != 1 else ''}"
    return f"the file has {several} (--header says that its first line names them, and shows them)"


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
    with instead(
        lambda error: DataError(
            f"{reason(error)}: this is not JSON, or it is cut off, nested too deep or has a number "
            f"that is too long; {_SHAPES}"
        ),
        ValueError,
        RecursionError,
    ):
        content = json.loads(text, object_pairs_hook=_Pairs)
    if isinstance(content, list) and not isinstance(content, _Pairs):
        return _from_records(content, columns)
    if not isinstance(content, _Pairs):
        raise DataError(f"this is a single JSON value; {_SHAPES}")
    if columns[:2] != (None, None):
        raise DataError(
            "one JSON object of labels and scores has no columns; leave out "
            f"{' and '.join(columns.options)}, or give a list of records"
        )
    values = [_json_number(value, f"entry {i}") for i, (_, value) in enumerate(content, 1)]
    return [label for label, _ in content], values, lambda i: f"entry {i + 1}"


def _from_records(records: list[Any], columns: Columns) -> Content:
    labels: list[Any] = []
    values: list[int | float] = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, _Pairs):
            raise DataError(f"record {number} is not an object in braces; {_SHAPES}")
        names = [name for name, _ in record]
        if number == 1:
            label_at, score_at = two_columns(names, columns)
            chosen = names[label_at], names[score_at]
        for name, what in zip(chosen, ("label", "score"), strict=True):
            if names.count(name) != 1:
                known = columns.quoted(name) or f" of the {what}"
                raise DataError(f"record {number} must have the field{known} exactly once")
        fields = dict(record)
        label = fields[chosen[0]]
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise DataError(
                f"record {number}: the label is neither a text nor a whole number; name every "
                "candidate"
            )
        labels.append(label)
        values.append(_json_number(fields[chosen[1]], f"record {number}"))
    return labels, values, lambda i: f"record {i + 1}"


def _json_number(value: Any, place: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(
            f"{place}: the score is missing or not a number; give a number, without quotes"
        )
    return value
