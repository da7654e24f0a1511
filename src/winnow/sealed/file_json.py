"""Labels and scores in a JSON file: one object, or a list of records."""

from __future__ import annotations

import json
from typing import Any

from winnow.errors import InputError
from winnow.sealed.file_columns import Columns, Content, two_columns

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
