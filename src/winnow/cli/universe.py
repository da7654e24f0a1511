"""What ``--universe`` and ``--phi`` name: some of the cells, and how far data may be from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from winnow.errors import DataError, ParameterError
from winnow.foreign import instead, reason, shown

if TYPE_CHECKING:
    from winnow.core.schema import Schema

ALPHA = "alpha"
"""As many sampled cells as an error bound allows."""


def universe_file(typed: str | None) -> Path | None:
    """The file that was named, if it is one."""
    if typed is None or typed == ALPHA or typed.lstrip("-").isdigit():
        return None
    return Path(typed)


def universe_from(typed: str | None, schema: Schema | None) -> int | str | list[list[str]] | None:
    """A universe for the verbs; a file is read, with the names of the columns in its first line."""
    file = universe_file(typed)
    if typed is None or typed == ALPHA:
        return typed
    if file is None:
        return int(typed)
    if schema is None:
        raise ParameterError(f"--universe {shown(typed)} is a list of cells, which needs --schema")
    from winnow.read.records import csv_records

    with instead(
        lambda error: DataError(
            f"--universe {shown(typed)} is neither a number of cells nor a file with a list of "
            f"them: {reason(error)}"
        ),
        OSError, UnicodeError,
    ):  # fmt: skip
        text = file.read_text(encoding="utf-8-sig")
    delimiter = "\t" if file.suffix == ".tsv" else ","
    records = [row for _, row in csv_records(text, delimiter) if row]
    heads, rows = (records[0], records[1:]) if records else ([], [])
    if sorted(heads) != sorted(schema.names):
        raise ParameterError(
            f"the first line of {file} names {', '.join(heads) or 'nothing'}; give the columns "
            f"{', '.join(schema.names)}, each once"
        )
    uneven = next((n for n, row in enumerate(rows, 2) if len(row) != len(heads)), None)
    if uneven is not None:
        raise DataError(f"row {uneven} of {file} does not have one field for each column")
    order = [heads.index(name) for name in schema.names]
    return [[row[place] for place in order] for row in rows]
