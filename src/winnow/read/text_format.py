"""How a text file is written: what separates its fields, its encoding, and where its names stand.

What is not said is decided by the name of the file and its first line, which is public: it names
the columns, or the user gives their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow.core.checks import flag
from winnow.core.column import check_name
from winnow.errors import DataError, ParameterError
from winnow.foreign import shown
from winnow.read.records import UTF16, begins_as_utf16, unpacked_name

ENDINGS = (".csv", ".tsv", ".parquet")
ENCODINGS = ("utf-8", "latin-1", "utf-16")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_WORDS = {"tab": "\t", "\\t": "\t"}
_ZIP = b"PK\x03\x04"
_PARQUET = b"PAR1"
NOT_PARQUET = "this is not a Parquet file, or it is damaged or cut off; copy it again"


@dataclass(frozen=True)
class TextFormat:
    """What the user said about text files; all of it is public."""

    line_breaks: bool = False
    """Whether fields between double quotes may hold line breaks."""
    delimiter: str | None = None
    """What separates fields; None: by the name of the file."""
    encoding: str = "utf-8"
    names: tuple[str, ...] | None = None
    """The names of the columns of a file without a first line of names."""

    @classmethod
    def parse(
        cls,
        *,
        line_breaks: bool = False,
        delimiter: str | None = None,
        encoding: str = "utf-8",
        names: Sequence[str] | None = None,
    ) -> TextFormat:
        """The format in these words, or what is wrong with them."""
        flag(line_breaks=line_breaks)
        if delimiter is not None:
            delimiter = _WORDS.get(delimiter, delimiter) if isinstance(delimiter, str) else ""
            if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum():
                raise ParameterError(
                    "the delimiter is not one character such as ',', ';', '|' or tab; give one"
                )
            if delimiter in '"\r\n\0.-+':
                raise ParameterError("quotes, line ends, dots and signs separate no fields")
        if encoding not in ENCODINGS:
            raise ParameterError(
                f"encoding={shown(encoding)} cannot be read; give one of {', '.join(ENCODINGS)}, "
                "or save the file as UTF-8"
            )
        if names is None:
            return cls(line_breaks, delimiter, encoding)
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise ParameterError(f"names={shown(names)} is not a list of names")
        listed = tuple(check_name(name) for name in names)
        if not listed or len({name.lower() for name in listed}) < len(listed):
            raise ParameterError(
                "names= is empty or gives one name twice (letter case aside); name every column"
            )
        return cls(line_breaks, delimiter, encoding, listed)

    @property
    def said(self) -> bool:
        """Whether anything was said that only text files have."""
        return self != PLAIN


PLAIN = TextFormat()
"""Nothing was said."""


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
    found = {mark: first.count(mark) for mark in SEPARATORS}
    likely = max(found, key=lambda mark: found[mark])
    if ending == ".txt":
        return likely if found[likely] else ","
    usual = "\t" if ending == ".tsv" else ","
    if not found[usual] and found[likely]:
        shown_as = "tab" if likely == "\t" else likely
        raise DataError(
            f"its first line has no {SEPARATORS[usual]} and seems to be "
            f"separated by {SEPARATORS[likely]}; say so with delimiter={shown_as!r} "
            f"(--delimiter {shown_as!r})"
        )
    return usual
