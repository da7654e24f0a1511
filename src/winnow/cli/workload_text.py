"""Workloads as the commands take them: a short text, or a JSON file of predicates.

    marginals:3            all cells of all tables of three columns; marginals:2,3 of two and three
    prefixes:age           the first 1, 2, ... codes of a column
    ranges:age             all ranges of codes of a column
    where:queries.json     predicates; queries.json alone is the same
    marginals:2+ranges:age several, joined by +

The file holds a list of predicates, each an object with a condition for each column: a value, a
list of values, or {"from": low, "to": high} for low <= value < high (either may be left out).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from winnow.domain.workloads import Maker, marginals, predicates, prefixes, ranges, where
from winnow.errors import InputError

FORMS = "marginals:K (or K,K), prefixes:COLUMN, ranges:COLUMN or a JSON file, joined by +"
_JOINED = re.compile(r"\+(?=\s*(?:marginals|prefixes|ranges|where):)")


def workload_of(text: str) -> Maker:
    """The workload that a text describes, not yet bound to a schema."""
    pieces = [_piece(piece.strip(), text) for piece in _JOINED.split(text)]
    found = pieces[0]
    for piece in pieces[1:]:
        found = found + piece
    return found


def workload_files(text: str) -> list[Path]:
    """The files that a text names."""
    found = []
    for piece in _JOINED.split(text):
        kind, _, rest = piece.strip().partition(":")
        if kind == "where" and rest:
            found.append(Path(rest.strip()))
        elif piece.strip().endswith(".json"):
            found.append(Path(piece.strip()))
    return found


def _piece(piece: str, text: str) -> Maker:
    kind, colon, rest = piece.partition(":")
    rest = rest.strip()
    if piece.endswith(".json") and kind not in ("marginals", "prefixes", "ranges", "where"):
        return _predicates(Path(piece))
    if colon and rest:
        match kind:
            case "marginals":
                return marginals(_ways(rest))
            case "prefixes":
                return prefixes(rest)
            case "ranges":
                return ranges(rest)
            case "where":
                return _predicates(Path(rest))
    raise InputError(f"--workload {text!r}: {piece!r} is not a workload; give {FORMS}")


def _ways(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise InputError(
            f"--workload: marginals:{text} does not name numbers of columns; write marginals:3, "
            "or marginals:2,3"
        ) from None


def _predicates(path: Path) -> Maker:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read the workload {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(
            f'the workload {path} is not JSON; give a list such as [{{"sex": "Female"}}]'
        ) from None
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise InputError(
            f"the workload {path} is not a list of predicates; give one such as "
            '[{"sex": "Female", "age": {"from": 40, "to": 60}}]'
        )
    return predicates(where({c: _condition(c, v) for c, v in each.items()}) for each in content)


def _condition(column: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if not value or not set(value) <= {"from", "to"}:
        raise InputError(
            f"the condition on {column!r} is an object with other names than 'from' and 'to'; "
            'write {"from": 40, "to": 60}'
        )
    return value.get("from"), value.get("to")
