"""The public list of items that a user gives as a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from winnow.errors import InputError


def read_items(path: Path) -> list[str]:
    """One item per line; in a .csv or .tsv file one column, its name in the first line."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"--items {path}: this is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"--items {path}: {error.strerror}; check the path") from None
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        numbered = _column(path, text, "\t" if ending == ".tsv" else ",")
    else:
        numbered = list(enumerate(io.StringIO(text, newline=None), start=1))
    seen: dict[str, int] = {}
    for line, raw in numbered:
        item = raw.rstrip("\n")
        if not item.strip():
            continue
        if item in seen:
            raise InputError(
                f"--items {path}: {item!r} stands in line {seen[item]} and again in line {line}; "
                "list every item once"
            )
        seen[item] = line
    if not seen:
        raise InputError(f"--items {path}: there are no items; write one on each line")
    return list(seen)


def _column(path: Path, text: str, delimiter: str) -> list[tuple[int, str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = []
    try:
        for row in reader:
            if len(row) > 1:
                raise InputError(
                    f"--items {path}: line {reader.line_num} has {len(row)} fields; give a file "
                    "with one column, its name in the first line"
                )
            if row:
                rows.append((reader.line_num, row[0]))
    except csv.Error:
        raise InputError(
            f"--items {path}: line {reader.line_num}: the double quotes do not match; mend them"
        ) from None
    return rows[1:]
