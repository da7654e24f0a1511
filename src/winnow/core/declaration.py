"""The pieces of a column's declaration, each checked: counts, lists, values, edges, instants.

Messages may quote what is declared: a schema is public.
"""

from __future__ import annotations

import datetime
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from winnow.errors import ParameterError
from winnow.foreign import instead, shown

Content = Literal["text", "number", "boolean", "time"]
Number = int | float
Edge = int | float | str
"""A number, or an instant as ISO text: such texts have the order of what they say."""

FORMS = (
    '{"codes": n}, {"values": [...]}, {"edges": [...]}, {"range": [low, high], "bins": n}, '
    '{"type": "number", "low": a, "high": b, "step": c}, {"type": "date", "low": a, "high": b}, '
    '{"calendar": "month"} or {"buckets": n}'
)
COMMENT = "_comment"
CALENDAR: dict[str, range | None] = {
    "year": None,
    "quarter": range(1, 5),
    "month": range(1, 13),
    "weekday": range(1, 8),
    "hour": range(24),
}
"""The units of a calendar and their numbers; Monday is weekday 1."""
MOST_CODES = 2**31
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?")


def is_comment(value: object) -> bool:
    """Whether this can only be a comment: a text, or a list of texts."""
    listed = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(line, str) for line in listed)


def kind_of(value: object) -> Content:
    """What a declared value is; True is not a number."""
    if isinstance(value, bool | np.bool_):
        return "boolean"
    return "text" if isinstance(value, str) else "number"


def count_of_codes(name: str, value: object) -> int:
    """How many codes a column has."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(
            f"column {name!r} is declared as {shown(value)}; give its number of codes, or {FORMS}"
        )
    if not 1 <= int(value) <= MOST_CODES:
        raise ParameterError(f"column {name!r} has {value} codes; give 1 or more, at most 2^31")
    return int(value)


def label_of(name: str, option: str, value: object) -> str | None:
    """A label for what true, or a text, asks for; None for false."""
    if isinstance(value, bool):
        return option if value else None
    if isinstance(value, str) and value.strip():
        return value
    raise ParameterError(f"column {name!r}: {option}={shown(value)} is not true, false or a label")


def list_of(name: str, form: str, content: object) -> tuple[Any, ...]:
    """The items of a list."""
    if isinstance(content, np.ndarray):
        content = content.tolist()
    if isinstance(content, str | Mapping) or not isinstance(content, Sequence | range):
        raise ParameterError(f"column {name!r}: {form} are a {type(content).__name__}; give a list")
    return tuple(content)


def categories(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """Declared values: of one kind, each once."""
    plain = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if not plain:
        raise ParameterError(f"column {name!r} has no values; give at least one")
    for value in plain:
        if value is not None and not isinstance(value, str | bool | int | float):
            raise ParameterError(
                f"column {name!r}: {shown(value)} is a {type(value).__name__}; values are texts, "
                "numbers, true and false, or null"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise ParameterError(
                f"column {name!r}: {shown(value)} is not a value that can be declared; give null "
                "for missing values, or 'other'"
            )
    kinds = {kind_of(value) for value in plain if value is not None}
    if len(kinds) > 1:
        raise ParameterError(
            f"column {name!r} mixes values of {' and '.join(sorted(kinds))}; '1', 1 and true are "
            "different things, so declare one kind"
        )
    if len(set(plain)) != len(plain):
        again = next(v for i, v in enumerate(plain) if v in plain[:i])
        raise ParameterError(f"column {name!r}: the value {shown(again)} appears more than once")
    return plain


def edges_of(name: str, edges: Sequence[Any]) -> tuple[Edge, ...]:
    """Edges that increase: all numbers, or all dates and times."""
    plain = tuple(e.item() if isinstance(e, np.generic) else e for e in edges)
    timed = [isinstance(edge, str | datetime.date) for edge in plain]
    if any(timed) and all(timed):
        plain = tuple(instant(name, edge) for edge in plain)
    else:
        for edge in plain:
            _check_number(name, edge)
    if len(plain) < 2:
        raise ParameterError(f"column {name!r} has {len(plain)} edges; give at least two")
    if any(low >= high for low, high in pairwise(plain)):
        raise ParameterError(f"column {name!r}: the edges do not increase; sort them, each once")
    return plain


def _check_number(name: str, edge: object) -> None:
    if isinstance(edge, bool) or not isinstance(edge, int | float):
        raise ParameterError(f"column {name!r}: the edge {shown(edge)} is not a number")
    if not math.isfinite(edge):
        raise ParameterError(
            f"column {name!r}: the edge {shown(edge)} is not finite; give finite edges, and "
            '"clip": true to count what lies beyond in the outer bins'
        )
    if isinstance(edge, int) and abs(edge) > 2**53:
        raise ParameterError(f"column {name!r}: an edge is beyond 2^53; rescale the column")


def instant(name: str, given: object) -> str:
    """A date or time as '2026-11-30' or '2026-11-30T08:15:00', without a time zone."""
    text = given.isoformat() if isinstance(given, datetime.date) else given
    wrong = ParameterError(
        f"column {name!r}: {shown(given)} is not a date or time such as 2026-11-30 or "
        "2026-11-30T08:15, in whole seconds and without a time zone"
    )
    if not isinstance(text, str) or not _INSTANT.fullmatch(text):
        raise wrong
    with instead(wrong, ValueError):
        moment = datetime.datetime.fromisoformat(text)
    return moment.isoformat().removesuffix("T00:00:00")


def equal_bins(name: str, limits: object, bins: object) -> tuple[Number, ...]:
    """The edges of bins of equal width, each the float nearest to the exact edge."""
    pair = list_of(name, "range", limits)
    number = count_of_codes(name, bins)
    if len(pair) != 2 or any(isinstance(e, str) for e in pair):
        raise ParameterError(
            f"column {name!r}: range={shown(limits)} is not a pair of numbers [low, high]"
        )
    for edge in pair:
        _check_number(name, edge)
    low, high = Fraction(pair[0]), Fraction(pair[1])
    exact = [low + (high - low) * i / number for i in range(number + 1)]
    return tuple(int(edge) if edge.denominator == 1 else float(edge) for edge in exact)


def calendar_values(name: str, unit: object, values: object) -> tuple[int, ...]:
    """The numbers of a calendar's unit; years have to be listed."""
    if not isinstance(unit, str) or unit not in CALENDAR:
        raise ParameterError(
            f"column {name!r}: calendar={shown(unit)} is unknown; give one of {', '.join(CALENDAR)}"
        )
    own = CALENDAR[unit]
    if values is None and own is None:
        raise ParameterError(
            f'column {name!r}: say which years there are, as in "values": [2024, 2025, 2026]'
        )
    listed = tuple(own or ()) if values is None else list_of(name, "values", values)
    for value in listed:
        if value is None:
            continue
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or value not in (range(1, 10000) if own is None else own):
            raise ParameterError(f"column {name!r}: {shown(value)} is not a {unit}; give numbers")
    return listed


def plain_edge(edge: Edge) -> str:
    """A number as people write it: 40, not 40.0; an instant as it is."""
    if isinstance(edge, str):
        return edge
    return str(int(edge)) if float(edge).is_integer() and abs(edge) < 1e15 else repr(edge)
