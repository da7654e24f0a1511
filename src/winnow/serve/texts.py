"""Texts that every store and every answer can hold."""

from __future__ import annotations

import re
from typing import Any

_UNHELD = re.compile("[\0\ud800-\udfff]")
"""Neither Postgres nor an answer in UTF-8 holds a NUL or half of a surrogate pair."""


def writable(value: Any) -> Any:
    r"""Plain data whose texts can be written: a NUL becomes the six characters \u0000."""
    if isinstance(value, str):
        return _UNHELD.sub(lambda found: f"\\u{ord(found[0]):04x}", value)
    if isinstance(value, list):
        return [writable(each) for each in value]
    if isinstance(value, dict):
        return {writable(key): writable(each) for key, each in value.items()}
    return value
