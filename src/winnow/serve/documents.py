"""What a release leaves behind: a document and files, as texts that every store can hold."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass
from typing import Any

from winnow.core.released import Released
from winnow.core.saving import with_counted
from winnow.errors import DataError
from winnow.release.synthetic import SyntheticDistribution
from winnow.serve.sizes import MOST_ROWS
from winnow.serve.texts import writable

_MAYBE_UNHELD = re.compile(r"\\u(0000|d[89a-f])")
"""Where one may be in JSON that is written in ASCII."""


@dataclass(frozen=True)
class Document:
    """A result: a document in JSON, and files to download."""

    text: str
    files: dict[str, str]

    def check(self, most: int) -> None:
        """Refuse what is larger than this many bytes."""
        largest = max(len(each.encode()) for each in (self.text, *self.files.values()))
        if largest > most:
            raise DataError(
                f"a result has {largest / 1e6:,.0f} MB, more than limits.result_mb = "
                f"{most / 1e6:g}; raise it and start the server again: the release is then "
                "completed without another charge"
            )


def document_of(released: Released[Any], seed: int, margin: int | None = None) -> Document:
    """What is shown of a release; a distribution is shown by its rows and its answers."""
    value, files, counted = released.value, {}, released.receipt.counted
    if isinstance(value, SyntheticDistribution):
        rows = min(value.total, MOST_ROWS)
        files["synthetic.csv"] = _csv(value.sample(rows, seed=seed))
        shown: Any = {
            "method": getattr(value, "method", "mwem"),
            "total": value.total,
            "rows": rows,
            "columns": list(value.schema.names),
            "measurements": len(value.measurements),
        }
        if hasattr(value, "to_columns"):
            files["answers.csv"] = _csv(with_counted(value.to_columns(), counted))
    else:
        shown = value.to_dict() if hasattr(value, "to_dict") else value
        if hasattr(value, "to_columns"):
            files["table.csv"] = _csv(with_counted(value.to_columns(), counted))
    document = {
        "value": shown,
        "guarantee": released.guarantee.to_dict(),
        "receipt": released.receipt.to_dict(),
        "downloads": sorted(files),
        "margin": margin,
        "cut": None if released.cut is None else released.cut.to_dict(),
    }
    return Document(_json(document), files)


def _json(document: Any) -> str:
    text = json.dumps(document, default=_plain)
    if _MAYBE_UNHELD.search(text):
        text = json.dumps(writable(json.loads(text)))
    return text


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _csv(columns: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_escaped, columns))
    writer.writerows(zip(*(map(_escaped, column) for column in columns.values()), strict=True))
    return text.getvalue()


def _escaped(value: Any) -> Any:
    """A label that a spreadsheet would run as a formula gets a quote before it."""
    if isinstance(value, str):
        label = str(writable(value))
        return f"'{label}" if label[:1] in "=+-@\t\r" else label
    return value.item() if hasattr(value, "item") else value
