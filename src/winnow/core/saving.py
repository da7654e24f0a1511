"""Results as files, whole or not at all: CSV, Parquet and JSON."""

from __future__ import annotations

import csv
import io
import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from winnow.core.frames import Framed
from winnow.core.logs import tell
from winnow.core.released import Released
from winnow.core.replacing import beside, named, record_at, replace
from winnow.errors import DataError, ExtraMissing, SavingError
from winnow.foreign import instead, reason

Rows = Sequence[Mapping[str, Any]]

kept_files: ContextVar[dict[str, bytes] | None] = ContextVar("kept_files", default=None)
"""Where the content of files waits for somebody who keeps it first and writes it then."""

FORMATS = (".csv", ".json", ".parquet")


def check_target(path: Path, endings: Sequence[str] = FORMATS) -> None:
    """Refuse a target that cannot be written, before anything is spent."""
    ending = path.suffix.lower()
    if ending not in endings:
        raise DataError(
            f"cannot save to {path}: the ending of the name says the format; "
            f"use one of {', '.join(endings)}"
        )
    if ending == ".parquet":
        _arrow()
    if os.path.isdir(path):  # unlike Path.is_dir it is False, and no error, for impossible names
        raise DataError(f"cannot save to {path}: this is a folder; name a file in it")
    if not os.path.isdir(path.parent):
        raise DataError(f"cannot save to {path}: there is no folder {path.parent}; make it first")
    with instead(
        lambda error: DataError(
            f"cannot save to {path}: {reason(error)}; choose another file or folder"
        ),
        OSError,
    ):
        target = named(path)
        if target.exists() and not target.is_file():  # it would be replaced by a file
            raise DataError(f"cannot save to {path}: this is a device or a pipe; name a file")
        if (record := record_at(target)) is not None:
            raise DataError(f"cannot save to {path}: this is {record}; name another file")
        trial = beside(target)
        trial.open("xb").close()
        trial.unlink()


def save(path: Path, document: Any, rows: Rows) -> None:
    """Save plain data: JSON takes the document, CSV and Parquet take the rows."""
    match path.suffix.lower():
        case ".json":
            data = (json.dumps(document, indent=2, default=str) + "\n").encode()
        case ".csv":
            data = _csv(rows)
        case ".parquet":
            data = _parquet(rows)
        case _:
            check_target(path)
            raise AssertionError("the target is of a known format")
    write_whole(path, data)


def save_released(path: Path, released: Released[Any]) -> None:
    """Save a release; the guarantee and the receipt go with every row of the value."""
    save(path, released.to_dict(), released_rows(released))


def released_rows(released: Released[Any]) -> list[dict[str, Any]]:
    """One row for each released item, with the guarantee and the receipt beside it.

    An answer of no items is one row without a value: that there are none was paid for too.
    """
    values = released.value if isinstance(released.value, list) else [released.value]
    values = values or [None]
    about = {**released.guarantee.to_dict(), **released.receipt.to_dict()}
    return [{"value": value, **about} for value in values]


def write_whole(path: Path, data: bytes) -> None:
    """Put the data at the path in one step."""
    with instead(
        lambda error: SavingError(
            f"the file {path} could not be written: {reason(error)}; "
            "make room or choose another file"
        ),
        OSError,
    ):
        if (record := record_at(path)) is not None:
            raise SavingError(
                f"the file {path} is {record} and is not overwritten; choose another file"
            )
        kept = kept_files.get()
        if kept is not None:
            kept[str(path)] = data
            return
        replace(path, data)
    tell("written", lambda: {"file": str(path)})


def with_counted(columns: Mapping[str, Any], counted: str) -> dict[str, Any]:
    """Columns of numbers, and what was counted beside each, where a bound may have cut it."""
    if not counted or not columns:
        return dict(columns)
    name = "counted"
    while name in columns:  # a column of the table may have this name
        name += "_"
    return {**columns, name: [counted] * len(next(iter(columns.values())))}


class Saved(Framed):
    """A released value that is saved as a table, with its guarantee and what was counted."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, ready for JSON."""

    def save(self, path: str | Path, *, about: Mapping[str, Any] | None = None) -> None:
        """Save whole or not at all, as CSV, Parquet or JSON.

        ``about`` (the guarantee and the receipt) goes into the metadata of Parquet and beside
        the numbers in JSON; beside a CSV file it gets a file of its own, FILE.receipt.json.
        """
        target = Path(path)
        check_target(target)
        if target.suffix.lower() == ".json":
            write_json(target, self.to_dict() | ({"about": dict(about)} if about else {}))
            return
        said = (about or {}).get("receipt", {}).get("counted", "")
        counted = said or str(getattr(self, "counted", ""))
        save_columns(target, with_counted(self.to_columns(), counted), about)


def save_columns(
    path: Path,
    columns: Mapping[str, Any],
    about: Mapping[str, Any] | None = None,
) -> None:
    """Save a table given by columns of equal length as CSV or Parquet.

    ``about`` goes into the metadata of a Parquet file, as JSON under the name "winnow"; beside a
    CSV file it gets a file of its own, FILE.receipt.json.
    """
    match path.suffix.lower():
        case ".csv":
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(columns.keys())
            lists = [_plain_list(column) for column in columns.values()]
            writer.writerows(zip(*lists, strict=True))
            data = text.getvalue().encode("utf-8", "backslashreplace")
        case ".parquet":
            pa, pq = _arrow()
            table = pa.table({name: _arrow_column(column) for name, column in columns.items()})
            if about is not None:
                table = table.replace_schema_metadata({"winnow": json.dumps(about, default=str)})
            buffer = io.BytesIO()
            pq.write_table(table, buffer)
            data = buffer.getvalue()
        case _:
            check_target(path, (".csv", ".parquet"))
            raise AssertionError("the target is of a known format")
    write_whole(path, data)
    if about is not None and path.suffix.lower() == ".csv":
        write_json(receipt_path(path), about)


def receipt_path(path: Path) -> Path:
    """Where the guarantee and the receipt of a CSV file lie."""
    return path.with_name(f"{path.name}.receipt.json")


def write_json(path: Path, document: Any) -> None:
    """Save plain data as JSON, on one line: it may be large."""
    write_whole(path, (json.dumps(document, default=str) + "\n").encode())


def _plain_list(column: Any) -> list[Any]:
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _arrow_column(column: Any) -> list[Any]:
    values = _plain_list(column)
    if _one_type(values):
        return values
    return [None if value is None else str(value) for value in values]


def _csv(rows: Rows) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0].keys())
    for row in rows:
        writer.writerow([_cell(value) for value in row.values()])
    return text.getvalue().encode()


def _parquet(rows: Rows) -> bytes:
    pa, pq = _arrow()
    columns: dict[str, list[Any]] = {}
    for name in rows[0]:
        values = [_cell(row[name], keep=(bool, int, float)) for row in rows]
        if not _one_type(values):
            values = [None if value is None else str(value) for value in values]
        columns[name] = values
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _one_type(values: list[Any]) -> bool:
    """Whether Arrow has a type for all of them."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        return all(-(2**63) <= value < 2**63 for value in values if value is not None)
    return len(kinds) <= 1


def _cell(value: Any, keep: tuple[type, ...] = (int, float)) -> Any:
    """A value as a cell: numbers and texts as they are, parts and flags as JSON."""
    if value is None or type(value) in keep:
        return value
    if isinstance(value, bool | dict | list | tuple):
        return json.dumps(value, default=str)
    return str(value).encode("utf-8", "backslashreplace").decode()  # JSON allows half characters


def _arrow() -> tuple[Any, Any]:
    with instead(ExtraMissing("pyarrow", "parquet", "saving as Parquet"), ImportError):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet
