"""Files that are written whole or not at all, and files that no result may replace."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

SESSION = b'{"winnow-interactive":'
"""How the state of an interactive session starts."""
_RECORDS = {
    re.compile(rb"SQLite format 3\0"): "a database, such as a ledger",
    re.compile(re.escape(SESSION)): "the state of an interactive session",
    re.compile(rb"([0-9a-f]{64}){1,2}\n?\Z"): "the key of a ledger, a session or a server",
}
_LOOKED_AT = 256  # bytes: more than the longest key


def named(path: Path) -> Path:
    """What will be written: a link keeps pointing to the file that it names."""
    return Path(os.path.realpath(path))


def beside(path: Path) -> Path:
    """A name in the same folder that nobody else uses."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def record_at(path: Path) -> str | None:
    """What lies there that a guarantee rests on; None: nothing, or a file like any other."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(_LOOKED_AT)
    return next((what for form, what in _RECORDS.items() if form.match(start)), None)


def replace(path: Path, data: bytes) -> None:
    """Put the data at the path in one step; until then, and if it fails, nothing changes there."""
    target = named(path)
    temporary = beside(target)
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
