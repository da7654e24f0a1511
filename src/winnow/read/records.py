"""One record is one line: how text files are cut into people's records, and which are refused.

A line ends at LF, with a CR before it or without, and nowhere else: not at the other characters
that Unicode calls line breaks (VT, FF, U+0085, U+2028 and more), which may stand inside of one
person's text, and not at a CR alone, which some readers take for a line end and others do not.
Then adding or removing one line adds or removes one record. `str.splitlines`, and files opened
as text, cut at more than that: neither is used on anybody's lines.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from winnow.errors import DataError, ExtraMissing, InputError
from winnow.foreign import instead, reason
from winnow.read.kernels.csv_states import (
    BREAK_INSIDE,
    CRLF_ENDS,
    FINE,
    LF_ENDS,
    LONE_RETURN,
    PLAIN,
    QUOTE_INSIDE,
    QUOTED,
    RETURN,
    START,
    TEXT_AFTER,
    ScanState,
    scan,
)

_BOM = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PACKINGS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstd"}
PACKED_ENDINGS = (".gz", ".bz2", ".zst")
_CHUNK = 1 << 22

_LONE = (
    "a carriage return (CR) stands there without a line feed (LF) after it; end lines with LF or "
    "with CR LF"
)
_WORDS = {
    LONE_RETURN: _LONE,
    QUOTE_INSIDE: (
        "a double quote stands inside a field that does not begin with one; put the whole field "
        'between double quotes and write the quote twice, as in "the ""big"" one"'
    ),
    BREAK_INSIDE: (
        "a field between double quotes does not end on its line: the double quotes do not match, "
        "or it holds a line break; correct the quotes, or allow line breaks with line_breaks=True "
        "(--line-breaks) if fields may have them"
    ),
    TEXT_AFTER: (
        "the double quotes do not match: text follows the closing quote of a field; write a "
        'quote inside quotes twice, as in "the ""big"" one"'
    ),
}


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends; a CR anywhere but before an LF is refused."""
    lines = text.split("\n")
    last = lines.pop()  # what follows the last LF: mostly nothing
    lines = [line.removesuffix("\r") for line in lines]
    if last:
        lines.append(last)
    if text.count("\r") != text.count("\r\n"):
        number = next(n for n, line in enumerate(lines, 1) if "\r" in line)
        raise DataError(f"line {number}: {_LONE}")
    return lines


def csv_records(
    text: str, delimiter: str, *, line_breaks: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV text, each with the number of its last line; blank lines are empty.

    One that is not plain beyond doubt is refused; see :mod:`winnow.read.kernels.csv_states`.
    """
    check_csv([text.encode()], delimiter, line_breaks=line_breaks)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        with instead(lambda _: _huge(reader.line_num), csv.Error):
            row = next(reader, None)
        if row is None:
            return
        yield reader.line_num, row


def _huge(line: int) -> DataError:
    limit = csv.field_size_limit()
    return DataError(f"line {line}: a field has more than {limit:,} characters; shorten it")


def check_csv(
    chunks: Iterable[bytes], delimiter: str, *, line_breaks: bool, one_ending: bool = False
) -> None:
    """Refuse CSV bytes of which another reader might make other records.

    ``one_ending`` refuses lines that end in LF next to lines that end in CR LF, too.
    """
    mark, place, first = ord(delimiter), ScanState(), True
    for chunk in chunks:
        data = chunk.removeprefix(_BOM) if first else chunk
        first = False
        place = _read_on(data, delimiter.encode(), place) or scan(data, mark, line_breaks, place)
        if place.problem != FINE:
            raise DataError(f"line {place.lines + 1}: {_WORDS[place.problem]}")
        if one_ending and place.ends == LF_ENDS | CRLF_ENDS:
            raise DataError("some lines end with LF and others with CR LF; write all of them alike")
    if place.state == RETURN:
        raise DataError(f"line {place.lines + 1}: {_LONE}")
    if place.state == QUOTED:
        raise DataError(
            f"line {place.lines + 1}: the double quotes do not match: the last one opens a field "
            "that does not end; correct them"
        )


def _read_on(data: bytes, delimiter: bytes, place: ScanState) -> ScanState | None:
    """The place after bytes that have no quote and no CR alone, at the speed of a search."""
    if place.state not in (START, PLAIN) or b'"' in data:
        return None
    if not data:
        return place
    seen = np.frombuffer(data, np.uint8)
    feeds, both = seen == 10, 0
    if b"\r" in data:
        returns = np.flatnonzero(seen == 13)
        both = len(returns)
        if returns[-1] + 1 == len(seen) or not feeds[returns + 1].all():
            return None
    lines = int(np.count_nonzero(feeds))
    ends = place.ends | (CRLF_ENDS if both else 0) | (LF_ENDS if lines > both else 0)
    state = START if data.endswith((b"\n", delimiter)) else PLAIN
    return ScanState(state, place.lines + lines, ends)


def packing_of(path: Path) -> str:
    """'gzip', 'bzip2' or 'zstd', by the first bytes of a file; '' where it is not packed."""
    with path.open("rb") as file:
        return _packing(file.read(4))


def _packing(first: bytes) -> str:
    return next((word for mark, word in _PACKINGS.items() if first.startswith(mark)), "")


def unpacked_name(path: Path) -> Path:
    """The path without the ending of a packed file."""
    return path.with_suffix("") if path.suffix.lower() in PACKED_ENDINGS else path


def opened(path: Path) -> Any:
    """The bytes of a file, unpacked by what it begins with, whatever its name says."""
    match packing_of(path):
        case "gzip":
            return gzip.open(path)
        case "bzip2":
            return bz2.open(path)
        case "zstd":
            return _arrow().CompressedInputStream(str(path), "zstd")
        case _:
            return path.open("rb")


def _arrow() -> Any:
    with instead(ExtraMissing("pyarrow", "parquet", "unpacking zstd"), ImportError):
        import pyarrow
    return pyarrow


def _unpacked(data: bytes) -> bytes:
    match _packing(data[:4]):
        case "gzip":
            return gzip.decompress(data)
        case "bzip2":
            return bz2.decompress(data)
        case "zstd":
            arrow = _arrow()
            unpacked: bytes = arrow.CompressedInputStream(arrow.BufferReader(data), "zstd").read()
            return unpacked
        case _:
            return data


def rows_of(path: Path, delimiter: str, encoding: str, width: int) -> Iterator[list[str]]:
    """The rows of a text file that `check_csv` took, with a field for each of its columns.

    A line with more or fewer fields is refused, and one that is not text. A blank line is no row,
    but for the only field of a table with one column.
    """
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    with opened(path) as raw, io.TextIOWrapper(raw, encoding=known, newline="") as text:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        while True:
            with (
                instead(lambda _: DataError(_undecoded(path, encoding)), UnicodeError),
                instead(lambda _: _huge(reader.line_num), csv.Error),
            ):
                row = next(reader, None)
            if row is None:
                return
            if row and len(row) != width:
                raise DataError(
                    f"line {reader.line_num} has {len(row)} field{'' if len(row) == 1 else 's'}, "
                    f"and there are {width} columns; put a field that contains the separator "
                    "between double quotes"
                )
            if row or width == 1:
                yield row or [""]


def _undecoded(path: Path, encoding: str) -> str:
    """Where a file stops being text; only lines of UTF-8 are told by their bytes."""
    if encoding != "utf-8":
        return not_text(encoding)
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 1
    for chunk in chunks_of(path):
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            return f"line {lines + error.object[: error.start].count(10)}: {not_text(encoding)}"
        lines += chunk.count(b"\n")
    return not_text(encoding)


def chunks_of(path: Path, encoding: str = "utf-8") -> Iterator[bytes]:
    """The bytes of a file in chunks, unpacked; UTF-16 becomes UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)() if encoding == "utf-16" else None
    with opened(path) as file:
        while chunk := file.read(_CHUNK):
            yield chunk if decoder is None else decoder.decode(chunk).encode()
    if decoder is not None:
        decoder.decode(b"", final=True)


def sound(encoding: str | None = "utf-8") -> instead:
    """Around what unpacks and decodes a file: its own errors become words, with no value."""

    def refusal(error: BaseException) -> DataError:
        if isinstance(error, UnicodeError):
            first = error.object[:2] if isinstance(error, UnicodeDecodeError) else b""
            marked = encoding == "utf-8" and begins_as_utf16(first)
            return DataError(UTF16 if marked else not_text(encoding))
        if isinstance(error, OSError) and error.errno is not None:
            return DataError(f"it cannot be read ({reason(error)}); copy it to another place")
        return DataError(DAMAGED)

    return instead(refusal, UnicodeError, EOFError, zlib.error, OSError)


DAMAGED = "the packed file is damaged or cut off; copy it again"
UTF16 = "this is UTF-16 text; say so with encoding='utf-16' (--encoding utf-16)"


def not_text(encoding: str | None) -> str:
    """That bytes are no text of an encoding, and what else they may be."""
    if encoding is None:
        return "this is not UTF-8 text; save it again as UTF-8"
    if encoding == "utf-16":
        return "this is not UTF-16 text that begins with its mark (BOM); save it again as UTF-8"
    return (
        "this is not UTF-8 text; if the file is Latin-1 or Windows-1252, say encoding='latin-1' "
        "(--encoding latin-1)"
    )


def begins_as_utf16(data: bytes) -> bool:
    """Whether bytes begin with the mark of UTF-16."""
    return data.startswith(_UTF16_MARKS)


def text_of(data: bytes, encoding: str | None = None) -> str:
    """Bytes as text, unpacked if they are packed.

    None is for public lists, of which nobody says the encoding: UTF-8, or UTF-16 by its mark.
    """
    with sound(encoding):
        content = _unpacked(data)
        if encoding is None and begins_as_utf16(content):
            encoding = "utf-16"
        return content.decode("utf-8-sig" if encoding in (None, "utf-8") else encoding)


def lines_of_file(path: str | Path) -> list[str]:
    """The lines of a public list in a text file that say something."""
    try:
        return [line for line in lines_of(text_of(Path(path).read_bytes())) if line.strip()]
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = f"it cannot be read ({reason(error)}); check the path"
    raise DataError(f"the list {str(path)!r}: {problem}")
