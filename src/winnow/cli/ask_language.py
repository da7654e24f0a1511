"""Questions as people type them at the prompt, and how a started one can go on.

sex = Female, age = 40..60          conditions, all of which must hold
town = Ulm|Bonn and hours = ..40    one of several values; low <= value < high
"native country" = "Trinidad, Tobago"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from winnow.errors import InputError

if TYPE_CHECKING:
    from winnow.domain.column import Column
    from winnow.domain.schema import Schema
    from winnow.domain.workloads.conditions import Predicates

FORMS = "column = value, column = value|value, column = low..high; joined by ','"
_PIECE = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|,|&|=|\||\.\.|[^\s",&=|.]+(?:\.(?!\.)[^\s",&=|.]*)*|\.)'
)
_JOINERS = {",", "&", "and"}


def question_from(text: str, schema: Schema) -> Predicates:
    """The predicate that a line describes, checked against the schema."""
    from winnow.domain.workloads import where

    conditions: dict[str, Any] = {}
    for pieces in _conditions(_pieces(text), text):
        if "=" not in pieces:
            raise _unreadable(text, "a condition has no '='")
        split = pieces.index("=")
        name = " ".join(_plain(piece) for piece in pieces[:split])
        if name in conditions:
            raise InputError(f"the column {name!r} has two conditions; give one")
        conditions[name] = _condition(schema.column(name), pieces[split + 1 :], text)
    found = where(conditions)
    found.over(schema)
    return found


def completions(text: str, schema: Schema) -> list[str]:
    """Lines that the started one can become: names of columns, or values of one."""
    start = max(text.rfind(","), text.rfind("&")) + 1
    head, rest = text[:start], text[start:]
    space = rest[: len(rest) - len(rest.lstrip())]
    name, equals, value = rest.strip().partition("=") if "=" in rest else (rest.strip(), "", "")
    if not equals:
        return [
            f"{head}{space}{_quoted(column)} = "
            for column in schema.names
            if column.startswith(name.strip('"'))
        ]
    column = name.strip().strip('"')
    if column not in schema.names:
        return []
    before, bar, last = value.rpartition("|")
    last = last.strip().strip('"')
    return [
        f"{head}{space}{_quoted(column)} = {before.strip()}{bar}{_quoted(str(label))}"
        for label in schema.column(column).labels
        if str(label).startswith(last)
    ]


def _pieces(text: str) -> list[str]:
    pieces, place = [], 0
    while place < len(text.rstrip()):
        found = _PIECE.match(text, place)
        if found is None:
            raise _unreadable(text, "a quotation mark is not closed")
        pieces.append(found.group(1))
        place = found.end()
    if not pieces:
        raise InputError(f"there is no question; write {FORMS}")
    return pieces


def _conditions(pieces: list[str], text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for piece in pieces:
        if piece in _JOINERS:
            found.append([])
        else:
            found[-1].append(piece)
    if not all(found):
        raise _unreadable(text, "a condition is empty")
    return found


def _condition(column: Column, pieces: list[str], text: str) -> Any:
    if ".." in pieces:
        split = pieces.index("..")
        low, high = pieces[:split], pieces[split + 1 :]
        if ".." in high or "=" in high or "|" in pieces:
            raise _unreadable(text, "a range is low..high")
        return _bound(column, low), _bound(column, high)
    values: list[list[str]] = [[]]
    for piece in pieces:
        if piece == "=":
            raise _unreadable(text, "a condition has two '='")
        if piece == "|":
            values.append([])
        else:
            values[-1].append(piece)
    if not all(values):
        raise _unreadable(text, "a value is missing")
    return [_value(column, " ".join(map(_plain, value))) for value in values]


def _value(column: Column, text: str) -> Any:
    """The declared value that reads like this."""
    for label in column.labels:
        if str(label) == text:
            return label
    shown = ", ".join(str(label) for label in column.labels[:10])
    more = " and others" if len(column.labels) > 10 else ""
    raise InputError(
        f"{text!r} is not a declared value of the column {column.name!r}; it has {shown}{more}"
    )


def _bound(column: Column, pieces: list[str]) -> int | float | None:
    if not pieces:
        return None
    text = " ".join(map(_plain, pieces))
    try:
        number = float(text)
    except ValueError:
        raise InputError(
            f"column {column.name!r}: the bound {text!r} is not a number; write 40..60"
        ) from None
    return int(number) if number == int(number) else number


def _plain(piece: str) -> str:
    if piece.startswith('"'):
        return re.sub(r"\\(.)", r"\1", piece[1:-1])
    return piece


def _quoted(text: str) -> str:
    simple = re.fullmatch(r'[^\s",&=|.\\]+(?:\.(?!\.)[^\s",&=|.\\]*)*', text)
    if simple and text not in _JOINERS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unreadable(text: str, why: str) -> InputError:
    return InputError(f"{text!r}: {why}; write {FORMS}")
