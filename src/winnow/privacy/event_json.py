"""Events as stored data: written to and read from ledgers and receipts, forever the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction

from winnow.domain.checks import Real, exact
from winnow.domain.neighbours import Relation
from winnow.errors import InputError
from winnow.privacy.events import (
    EVENT_NAMES,
    SINGLE_EVENTS,
    Compose,
    Event,
    Repeat,
    Truncated,
    check_event,
    short_number,
)


def to_json(event: Event) -> dict[str, object]:
    """The event as JSON-ready data; every number survives the round trip exactly."""
    check_event(event)
    match event:
        case Repeat(inner, times):
            return {"type": "Repeat", "event": to_json(inner), "count": times}
        case Compose(events):
            return {"type": "Compose", "events": [to_json(part) for part in events]}
        case Truncated(inner, delta):
            number = short_number("delta", delta)
            return {"type": "Truncated", "event": to_json(inner), "delta": number}
        case single:
            numbers = {n: short_number(n, v) for n, v in single.parameters().items()}
            kind = type(single).__name__
            return {"type": kind, **numbers, "relation": str(single.relation)}


def from_json(data: Mapping[str, object]) -> Event:
    """The event that ``to_json`` wrote; unknown types and fields are refused by name."""
    if not isinstance(data, Mapping):
        raise InputError(f"an event is a JSON object, not a {type(data).__name__}")
    kind = data.get("type")
    if kind == "Repeat":
        inner, times = _take(data, "event", "count")
        return Repeat(from_json(inner), times)  # type: ignore[arg-type] # both check what they get
    if kind == "Compose":
        (parts,) = _take(data, "events")
        if not isinstance(parts, list):
            raise InputError("field 'events' of the event Compose is not a list")
        return Compose(tuple(from_json(part) for part in parts))
    if kind == "Truncated":
        inner, delta = _take(data, "event", "delta")
        return Truncated(from_json(inner), _number_from_json("delta", delta))  # type: ignore[arg-type]
    for single in SINGLE_EVENTS:
        if kind == single.__name__:
            names = [field.name for field in fields(single)]
            values = dict(zip(names, _take(data, *names), strict=True))
            numbers = {n: _number_from_json(n, v) for n, v in values.items() if n != "relation"}
            relation = Relation.parse(str(values["relation"]))
            return single(**numbers, relation=relation)  # type: ignore[arg-type] # they check
    raise InputError(
        f"event type {kind!r} is unknown; this version knows: {', '.join(EVENT_NAMES)}"
    )


def _take(data: Mapping[str, object], *names: str) -> list[object]:
    """The values of exactly these fields, in order."""
    unknown = sorted(str(name) for name in data if name not in (*names, "type"))
    missing = [name for name in names if name not in data]
    if unknown or missing:
        raise InputError(
            f"event {data['type']} has "
            + " and ".join(
                f"{what} field(s) {', '.join(repr(name) for name in which)}"
                for what, which in (("unknown", unknown), ("missing", missing))
                if which
            )
        )
    return [data[name] for name in names]


def _number_from_json(name: str, value: object) -> Real:
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+(/0*[1-9][0-9]*)?", value):
            raise InputError(f"{name}={value!r} is not a number; write it as p/q")
        return Fraction(value)
    exact(name, value)
    if not isinstance(value, int | float):
        raise InputError(f"{name}={value!r} is not a JSON number")
    return value
