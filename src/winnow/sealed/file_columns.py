"""Which columns of a file hold the labels and the scores, and what may be said about them.

A name that the user gave may be repeated. A name that only stands in the file may be a line
of data without a header, so it is repeated only when it has no digit in it.
"""

from __future__ import annotations

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
