"""One record is one line: how text files are cut into people's records, and which are refused.

A line ends at LF, with a CR before it or without, and nowhere else: not at the other characters
that Unicode calls line breaks (VT, FF, U+0085, U+2028 and more), which may stand inside of one
person's text, and not at a CR alone, which some readers take for a line end and others do not.
Then adding or removing one line adds or removes one record. `str.splitlines`, and files opened
as text, cut at more than that: neither is used on anybody's lines.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from winnow.errors import DataError, InputError
from winnow.foreign import reason
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
_GZIP = b"\x1f\x8b"
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
        "or it holds a line break; mend the quotes, or allow line breaks with line_breaks=True "
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
        try:
            row = next(reader, None)
        except csv.Error:
            row, huge = None, True
        else:
            huge = False
        if huge:  # raised outside the handler: nothing private is chained
            raise DataError(
                f"line {reader.line_num}: a field has more than {csv.field_size_limit():,} "
                "characters; shorten it"
            )
        if row is None:
            return
        yield reader.line_num, row


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
            "that does not end; mend them"
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


def is_gzipped(path: Path) -> bool:
    """Whether a file begins as gzipped ones do."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP


def chunks_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file in chunks, unpacked if it is gzipped."""
    with gzip.open(path) if is_gzipped(path) else path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def text_of(data: bytes) -> str:
    """UTF-8 bytes as text, unpacked if they are gzipped."""
    try:
        return (gzip.decompress(data) if data[:2] == _GZIP else data).decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = "this is not UTF-8 text; save it again as UTF-8"
    except (EOFError, OSError, zlib.error):
        problem = "the gzip file is damaged or cut off; copy it again"
    raise DataError(problem)  # outside the handlers: nothing private is chained


def lines_of_file(path: str | Path) -> list[str]:
    """The lines of a public list in a text file that say something."""
    try:
        return [line for line in lines_of(text_of(Path(path).read_bytes())) if line.strip()]
    except InputError as error:
        problem = str(error)
    except OSError as error:
        problem = f"it cannot be read ({reason(error)}); check the path"
    raise DataError(f"the list {str(path)!r}: {problem}")
