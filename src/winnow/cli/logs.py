"""``--log-json``: one line of JSON on the standard error for everything that happens."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from winnow.core.logs import LOG

SECRET = frozenset({"salt", "ledger", "ledger_key"})
"""Options of which a log says only that they were given."""
GIVEN = "(given)"


class LogLines(logging.Formatter):
    """Records as lines of JSON, with the seconds since the command began."""

    def __init__(self, began: float) -> None:
        super().__init__()
        self._began = began

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "seconds": round(record.created - self._began, 3),
            "level": record.levelname.lower(),
        }
        told = vars(record)
        if "facts" in told:
            line |= {"event": told["event"], **told["facts"]}
        else:
            line |= {"message": record.getMessage()}
        return json.dumps(line, default=str)


@contextmanager
def lines_of_json(began: float) -> Iterator[None]:
    """Log to the standard error while a command runs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines(began))
    before = LOG.level, LOG.propagate
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.level, LOG.propagate = before
        handler.flush()


def public(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command as a log may show them: those that were given, without secrets."""
    return {
        name: GIVEN if name in SECRET else _plain(value)
        for name, value in options.items()
        if value is not None and value is not False and value not in ("", [])
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Path | Enum | str):
        text = str(value.value if isinstance(value, Enum) else value)
        return GIVEN if "://" in text else text  # an address may hold a password
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
