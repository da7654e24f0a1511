"""Requests as a client sends them; only the standard library is needed."""

from __future__ import annotations

from typing import Any

from winnow.core.options import Method, options
from winnow.errors import ParameterError

OF_THE_SERVER = ("budget", "seed", "run")
"""Fields of a request that a client cannot say."""


def sent(asked: Any, **encoded: Any) -> dict[str, Any]:
    """What was said of a request and is not its default; ``encoded`` is sent as it is given."""
    for name in OF_THE_SERVER:
        if getattr(asked, name, None) is not None:
            raise ParameterError(f"{name}= is decided by the server; leave it out")
    return _said(asked, encoded)


def _said(record: Any, encoded: dict[str, Any]) -> dict[str, Any]:
    said = dict(encoded)
    for field in options(type(record)):
        value = getattr(record, field.name)
        if field.name not in encoded and (field.needed or value != field.default):
            said[field.name] = _plain(value)
    return said


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        own = _said(value, {})
        return {"kind": value.word(), **own} if own else value.word()
    if isinstance(value, bool | int | float | str | None):
        return value
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else float(value)
