"""A schema to be filled in, from the first line of a file and, if there is one, a codebook.

Both are public. Nothing else of the file is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from winnow.core.column import Column
from winnow.core.declaration import CALENDAR, COMMENT
from winnow.errors import DataError, InputError
from winnow.foreign import guarded, instead, reason
from winnow.read.records import csv_records, text_of

NOTES = (
    "Declare every column without looking at the data: from the questionnaire, the law, common",
    "sense. Then: winnow schema check FILE --schema THIS. Leave out columns that you do not need.",
    'Examples: {"values": ["Female", "Male"], "other": true} for a list;',
    '{"type": "number", "low": 0, "high": 200000, "step": 0.01, "clip": true} for numbers, and',
    '{"type": "date", "low": "2024-01-01", "high": "2024-12-31"} for dates as they are;',
    '{"edges": [0, 18, 40, 65, 120], "clip": true} or {"range": [0, 100], "bins": 20} for bins;',
    '{"edges": ["2024-01-01", "2024-07-01", "2025-01-01"]} or {"calendar": "month"} of dates;',
    '{"codes": 6} for whole numbers 0 to 5; {"buckets": 64} for texts without a list of values.',
    'Everywhere: "missing": true, "na": ["NA", "?"], "trim": true; and for values outside',
    '"other": true, "clip": true (edges only) or "drop": true.',
)
TO_FILL_IN = "to be filled in"
_NAMES_OF_DATA = re.compile(r"[+-]?[0-9.,:/ +-]*[0-9][0-9.,:/ +TZ-]*")
_MOST_WHOLE = 100
"""Whole numbers of a range in a codebook that each become a value."""


def looks_like_data(names: Sequence[str]) -> bool:
    """Whether a first line may be a row: a field is empty, a number or a date."""
    return any(not name.strip() or _NAMES_OF_DATA.fullmatch(name.strip()) for name in names)


def draft(names: Sequence[str], declared: dict[str, Any], *more: str) -> dict[str, Any]:
    """The document of a schema: what is declared of these columns, and the rest to be filled in."""
    document: dict[str, Any] = {COMMENT: [*NOTES, *more]}
    for name in names:
        document[name] = declared.get(name, {COMMENT: TO_FILL_IN})
    return document


@guarded
def read_codebook(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """The declarations of a codebook: a CSV file with the columns column, type, values or range.

    ``names`` are the columns of the data; a codebook that speaks of others is refused.
    """
    try:
        return _declarations(text_of(path.read_bytes()), names)
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = f"it cannot be read ({reason(error)}); check the path"
    raise DataError(f"the codebook {str(path)!r}: {problem}")


def _declarations(text: str, names: Sequence[str]) -> dict[str, Any]:
    rows = [(line, row) for line, row in csv_records(text, ",") if "".join(row).strip()]
    header = [field.strip().lower() for field in rows[0][1]] if rows else []
    if "column" not in header or not {"values", "range", "type"} & set(header):
        raise DataError(
            "its first line must name the columns column, type, and values or range (as well as "
            "step, bins, outside, missing and trim where wanted)"
        )
    declared: dict[str, Any] = {}
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise DataError(
                f"line {line} has {len(row)} fields and the first line has {len(header)}"
            )
        said = {name: field.strip() for name, field in zip(header, row, strict=True)}
        name = said["column"]
        if name in declared:
            raise DataError(f"line {line}: the column {name!r} appears more than once")
        if name not in names:
            raise DataError(f"line {line}: {no_column(name, names)}")
        try:
            form = _form(name, said)
            if form is not None:
                declared[name] = form
                Column.parse(name, form)
        except InputError as error:
            problem = str(error)
        else:
            continue
        raise DataError(f"line {line}: {problem}")
    return declared


def no_column(name: str, names: Sequence[str]) -> str:
    """That a column is not there, with the name that may have been meant; names are public."""
    near = get_close_matches(name, names, n=1) or [n for n in names if n.lower() == name.lower()]
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"the file has no column {name!r}{meant}"


def _form(name: str, said: dict[str, str]) -> dict[str, Any] | None:
    """One declaration; None where the codebook leaves it open."""
    kind, values, limits = (said.get(key, "") for key in ("type", "values", "range"))
    if not limits and ".." in values:
        values, limits = "", values
    if kind in CALENDAR:
        form: dict[str, Any] = {"calendar": kind}
        if values or limits:
            form["values"] = _years(name, values, limits)
    elif values:
        form = {"values": [_value(name, kind, text) for text in _parts(values)]}
    elif limits:
        form = _range(name, kind, limits, said.get("bins", ""), said.get("step", ""))
    elif kind == "boolean":
        form = {"values": [False, True]}
    else:
        return None
    for way in ("missing", "trim"):
        if said.get(way):
            form[way] = True
    outside = said.get("outside", "")
    if outside:
        if outside not in ("other", "clip", "drop"):
            raise DataError(f"outside={outside!r} is unknown; give other, clip or drop")
        form[outside] = True
    return form


def _parts(text: str) -> list[str]:
    mark = next((mark for mark in ("|", ";") if mark in text), ",")
    return [part.strip() for part in text.split(mark)]


def _value(name: str, kind: str, text: str) -> Any:
    match kind:
        case "" | "text" | "string" | "category":
            return text
        case "boolean":
            return text.lower() == "true"
        case "integer" | "number" | "real":
            return _number(name, text)
        case "date" | "time":
            raise DataError("dates have a range, or a unit such as month as their type")
    raise DataError(
        f"type={kind!r} is unknown; give text, integer, real, boolean, date or a unit of a "
        f"calendar ({', '.join(CALENDAR)})"
    )


def _number(name: str, text: str) -> int | float:
    with instead(DataError(f"column {name!r}: {text!r} is not a number"), ValueError):
        number = float(text)
    return int(number) if number.is_integer() else number


def _years(name: str, values: str, limits: str) -> list[int | float]:
    if values:
        return [_number(name, text) for text in _parts(values)]
    low, high = (_number(name, text) for text in _ends(limits))
    return list(range(int(low), int(high) + 1))


def _ends(limits: str) -> tuple[str, str]:
    low, dots, high = limits.partition("..")
    if not dots:
        raise DataError(f"range={limits!r} is not low..high")
    return low.strip(), high.strip()


def _range(name: str, kind: str, limits: str, bins: str, step: str) -> dict[str, Any]:
    """Every number or date of a range where a step is given; otherwise bins of them."""
    low, high = _ends(limits)
    dated = kind in ("date", "time")
    if step and bins:
        raise DataError("a range has a step, for its numbers, or bins; give one of them")
    if dated:
        if step and kind == "time":
            return {"type": "time", "low": low, "high": high, "unit": step}
        if step:
            return {"type": "date", "low": low, "high": high, "step": _number(name, step)}
        return {"edges": [low, high]}
    ends = [_number(name, low), _number(name, high)]
    if step:
        return {"type": "number", "low": ends[0], "high": ends[1], "step": _number(name, step)}
    whole = kind == "integer" and not bins and ends[1] - ends[0] < _MOST_WHOLE
    if whole:
        return {"values": list(range(int(ends[0]), int(ends[1]) + 1))}
    return {"range": ends, "bins": _number(name, bins or "10")}
