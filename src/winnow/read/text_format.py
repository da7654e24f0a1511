"""What a text file says of how it is written: by its name and its first bytes.

The first line is public: it names the columns, or the user gives their names.
"""

from __future__ import annotations

from pathlib import Path

from winnow.errors import DataError
from winnow.read.options import TextFormat
from winnow.read.records import UTF16, begins_as_utf16, unpacked_name

ENDINGS = (".csv", ".tsv", ".parquet")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ZIP = b"PK\x03\x04"
_PARQUET = b"PAR1"
NOT_PARQUET = "this is not a Parquet file, or it is damaged or cut off; copy it again"


def kind_of_file(path: Path, encoding: str = "utf-8") -> str:
    """'.csv', '.tsv' or '.parquet': by the name, or by the content where the name does not say.

    A text of which neither says how its fields are separated is '.txt'.
    """
    ending = unpacked_name(path).suffix.lower()
    with path.open("rb") as file:
        first = file.read(4)
        file.seek(-min(4, path.stat().st_size), 2)
        last = file.read(4)
    if first == _ZIP:
        raise DataError("this is a zip or Excel file; save the table as CSV")
    if encoding == "utf-8" and begins_as_utf16(first):
        raise DataError(UTF16)
    if ending == ".parquet" or (first == _PARQUET and ending not in ENDINGS):
        if not first == last == _PARQUET:
            raise DataError(NOT_PARQUET)
        return ".parquet"
    if first == _PARQUET:
        raise DataError("this is Parquet, not text; rename it to .parquet")
    return ending if ending in ENDINGS else ".txt"


def delimiter_of(ending: str, first: str, text: TextFormat) -> str:
    """What separates the fields of a file with this first line.

    A first line that is somebody's row decides nothing: it would decide it for all others, too.
    """
    if text.delimiter is not None:
        return text.delimiter
    if text.names is not None:
        if ending == ".txt":
            raise DataError(
                "neither its name nor a line of names says what separates its fields; give "
                "delimiter= (--delimiter)"
            )
        return "\t" if ending == ".tsv" else ","
    seen = {mark: first.count(mark) for mark in SEPARATORS}
    likely = max(seen, key=lambda mark: seen[mark])
    if ending == ".txt":
        return likely if seen[likely] else ","
    usual = "\t" if ending == ".tsv" else ","
    if not seen[usual] and seen[likely]:
        shown_as = "tab" if likely == "\t" else likely
        raise DataError(
            f"its first line has no {SEPARATORS[usual]} and seems to be "
            f"separated by {SEPARATORS[likely]}; say so with delimiter={shown_as!r} "
            f"(--delimiter {shown_as!r})"
        )
    return usual
