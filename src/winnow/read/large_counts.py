"""Large files of ready counts, read by whole arrays where they are plain beyond doubt.

Millions of labels as Python texts take a gigabyte and seconds. Here they stay the bytes that they
were in the file, one behind the other, and a label becomes a text when it is asked for. What is
not plain (a count that is no whole number, an empty or repeated label, a line with other fields, a
stray quote) is left to the reader of :mod:`winnow.read.files`, which says what and where. So both
give the same labels and counts, in the order of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from winnow.errors import InputError
from winnow.read.file_columns import Columns, two_columns
from winnow.read.options import TextFormat
from winnow.read.records import chunks_of, csv_records, sound
from winnow.read.text_format import delimiter_of

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

_QUOTE, _FEED, _RETURN, _BLANK, _MINUS, _PLUS, _ZERO = b'"\n\r -+0'
_MOST_DIGITS = 18
_BLOCK = 1 << 19
"""Labels that are worked on at once."""
_GROUP, _WORD = np.uint64(40), np.uint64(24)
"""Where the number of a group stands in a key of 64 bits, and what is cut off the word below."""
_MAY_BE_BLANK = np.zeros(256, np.bool_)
_MAY_BE_BLANK[list(b"\t\n\v\f\r\x1c\x1d\x1e\x1f ")] = True
_MAY_BE_BLANK[[0xC2, 0xE1, 0xE2, 0xE3]] = True  # how the other blanks of Unicode begin in UTF-8


class PackedLabels(Sequence[str]):
    """Texts without NUL, kept as UTF-8 bytes one behind the other, in any order of places."""

    def __init__(self, data: bytearray, bounds: Ints, places: Ints | None = None) -> None:
        """Label i lies between two bounds; eight zeros follow the last one."""
        self._data, self._bounds, self._places = data, bounds, places

    def __len__(self) -> int:
        return len(self._bounds) - 1 if self._places is None else len(self._places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        at = at if self._places is None else int(self._places[at])
        return self._data[int(self._bounds[at]) : int(self._bounds[at + 1])].decode()

    def taken(self, places: Ints) -> PackedLabels:
        """Those at some places of a list that is in the order of its file."""
        return PackedLabels(self._data, self._bounds, places)

    @cached_property
    def order(self) -> Ints:
        """The places of the labels of a file in the order of their texts."""
        return self._sorted[0]

    @property
    def repeats(self) -> bool:
        """Whether a label of a file stands there twice."""
        return self._sorted[1]

    @cached_property
    def _sorted(self) -> tuple[Ints, bool]:
        """UTF-8 bytes sort as the texts do.

        They are compared eight at a time, as one number, and then five at a time among labels
        that were equal so far; zeros behind an end keep the order, as no text has any.
        """
        key = np.empty(len(self), np.uint64)
        for start in range(0, len(key), _BLOCK):
            block = slice(start, start + _BLOCK)
            key[block] = self._eight(self._bounds[:-1][block], self._bounds[1:][block])
        order = np.argsort(key)
        same = np.empty(max(len(key) - 1, 0), np.bool_)
        for start in range(0, len(same), _BLOCK):
            ahead = key[order[start : start + _BLOCK + 1]]
            same[start : start + _BLOCK] = ahead[1:] == ahead[:-1]
        del key
        longest, far = int(np.diff(self._bounds).max(initial=0)), 8
        while far < longest and same.any():
            for tied, group in _groups(same):
                places = order[tied]
                word = self._eight(self._bounds[places] + far, self._bounds[places + 1])
                word = (group << _GROUP) | (word >> _WORD)
                within = np.argsort(word)
                order[tied] = places[within]
                word = word[within]
                same[tied[:-1]] &= word[1:] == word[:-1]
            far += 5
        return order, bool(same.any())

    def _eight(self, starts: Ints, ends: Ints) -> NDArray[np.uint64]:
        """The eight bytes from each start on, as one number; those behind an end are zeros."""
        words = np.ndarray(len(self._data) - 7, ">u8", self._data, strides=(1,))
        eight = words[np.minimum(starts, len(words) - 1)].astype(np.uint64)
        left = np.clip(ends - starts, 0, 8).astype(np.uint64)
        behind = np.uint64(8) * (np.uint64(8) - np.maximum(left, np.uint64(1)))
        return np.where(left > 0, (eight >> behind) << behind, np.uint64(0))


def _groups(same: NDArray[np.bool_]) -> Iterator[tuple[Ints, NDArray[np.uint64]]]:
    """Neighbours that are the same, in blocks of whole groups: their places, their groups."""
    start, size = 0, len(same) + 1
    while start < size:
        stop = min(start + _BLOCK, size)
        while stop < size and same[stop - 1]:
            behind = same[stop - 1 : stop - 1 + _BLOCK]
            stop += len(behind) if behind.all() else int(np.argmin(behind))
        within = same[start : stop - 1]
        tied = np.flatnonzero(np.append(within, False) | np.append(False, within))
        begins = np.append(True, ~within[tied[1:] - 1])[: len(tied)]
        yield start + tied, np.cumsum(begins, dtype=np.uint64)
        start = stop


def large_counts(
    path: Path, ending: str, columns: Columns, written: TextFormat
) -> tuple[PackedLabels, Ints] | None:
    """The labels and counts of a plain file; None: read it line by line."""
    data, lengths, counts = bytearray(), bytearray(), bytearray()  # they grow without a copy
    layout = None
    try:
        with sound(written.encoding):
            for lines in _whole_lines(path, written.encoding):
                rest = lines
                if layout is None:
                    layout, rest = _layout(lines, ending, columns, written)
                if not rest:
                    continue
                fields = _fields(rest, layout)
                if fields is None:
                    return None
                data += fields[0].tobytes()
                lengths += fields[1].astype(np.int32).tobytes()
                counts += fields[2].tobytes()
    except InputError:
        return None
    data += bytes(8)
    bounds = np.zeros(len(lengths) // 4 + 1, np.int64)
    np.cumsum(np.frombuffer(lengths, np.int32), dtype=np.int64, out=bounds[1:])
    del lengths
    labels = PackedLabels(data, bounds)
    if not len(labels) or labels.repeats:
        return None
    return labels, np.frombuffer(counts, np.int64)


class _Layout(NamedTuple):
    delimiter: int
    width: int
    label: int
    score: int


def _whole_lines(path: Path, encoding: str) -> Iterator[bytes]:
    """The file as UTF-8 in chunks that end with a line; a wrong byte is an error."""
    left = b""
    for chunk in chunks_of(path, encoding):
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            left += chunk
            continue
        yield _as_utf8(left + chunk[:cut], encoding)
        left = chunk[cut:]
    if left:
        yield _as_utf8(left + b"\n", encoding)


def _as_utf8(lines: bytes, encoding: str) -> bytes:
    if encoding == "latin-1":
        return lines.decode("latin-1").encode()
    lines.decode()  # says if it is not
    return lines


def _layout(
    chunk: bytes, ending: str, columns: Columns, written: TextFormat
) -> tuple[_Layout, bytes]:
    """What the first line says, and what follows it."""
    chunk = chunk.removeprefix(b"\xef\xbb\xbf")
    first, _, rest = chunk.partition(b"\n")
    delimiter = delimiter_of(ending, first.decode(), written)
    if written.names is None:
        row = next(csv_records(f"{first.decode()}\n", delimiter), (1, []))[1]
        names, chunk = [name.strip() for name in row], rest
    else:
        names = list(written.names)
    label, score = two_columns(names, columns)
    return _Layout(ord(delimiter), len(names), label, score), chunk


def _fields(chunk: bytes, layout: _Layout) -> tuple[Bytes, Ints, Ints] | None:
    """The bytes of the labels, their lengths, and the counts; None where it is not so plain."""
    seen = np.frombuffer(chunk, np.uint8)
    feeds, marks = np.flatnonzero(seen == _FEED), np.flatnonzero(seen == layout.delimiter)
    if b"\0" in chunk or (b"\r" in chunk and not _before_feeds(seen)):
        return None
    kept = None
    if b'"' in chunk:
        quotes = np.flatnonzero(seen == _QUOTE)
        kept = _unquoted(seen, quotes, layout.delimiter)
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
        if kept is None or (np.searchsorted(quotes, feeds) % 2).any():
            return None
    between = layout.width - 1
    if len(marks) != len(feeds) * between:
        return None
    begins, cuts = np.append(0, feeds[:-1] + 1), marks.reshape(len(feeds), between)
    if (cuts[:, 0] < begins).any() or (cuts[:, -1] >= feeds).any():
        return None
    stops = feeds - (seen[feeds - 1] == _RETURN)

    def field(place: int) -> tuple[Ints, Ints]:
        start = begins if place == 0 else cuts[:, place - 1] + 1
        return start, stops if place == between else cuts[:, place]

    counts = _whole_numbers(seen, *field(layout.score))
    if counts is None:
        return None
    start, stop = field(layout.label)
    lengths = stop - start
    runs = np.empty(2 * len(start) + 1, np.int64)  # outside of labels, inside, outside, ...
    runs[0:-1:2], runs[1::2] = start - np.append(0, stop[:-1]), lengths
    runs[-1] = len(seen) - stop[-1]
    inside = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
    if kept is not None:
        so_far = np.append(0, np.cumsum(kept))
        inside, lengths = inside & kept, so_far[stop] - so_far[start]
    labels = seen[inside]
    return None if _has_blank(labels, lengths) else (labels, lengths, counts)


def _has_blank(labels: Bytes, lengths: Ints) -> bool:
    """Whether a label is empty, or nothing but white space."""
    if not lengths.all():
        return True
    ends = np.cumsum(lengths)
    starts = ends - lengths
    doubtful = np.flatnonzero(_MAY_BE_BLANK[labels[starts]])
    pairs = zip(starts[doubtful].tolist(), ends[doubtful].tolist(), strict=True)
    return not all(labels[start:end].tobytes().decode().strip() for start, end in pairs)


def _before_feeds(seen: Bytes) -> bool:
    """Whether every CR stands before an LF."""
    return bool((seen[np.flatnonzero(seen == _RETURN) + 1] == _FEED).all())


def _unquoted(seen: Bytes, quotes: Ints, delimiter: int) -> NDArray[np.bool_] | None:
    """Which bytes are text: all but quotes, of two in a row the second. None: a stray quote.

    The quotes of a line open, close, open and so on. One that opens stands at the beginning of a
    field, or right behind one that closes: both together are one quote of the text.
    """
    if len(quotes) % 2:
        return None
    opening, closing = quotes[0::2], quotes[1::2]
    before = np.where(opening > 0, seen[opening - 1], _FEED)
    behind = seen[closing + 1]  # there is one: lines end with LF
    again = before == _QUOTE
    if not (again | (before == delimiter) | (before == _FEED)).all():
        return None
    ends = (behind == delimiter) | (behind == _FEED) | (behind == _RETURN) | (behind == _QUOTE)
    if not ends.all():
        return None
    kept = np.ones(len(seen), np.bool_)
    kept[quotes] = False
    kept[opening[again]] = True
    return kept


def _whole_numbers(seen: Bytes, start: Ints, stop: Ints) -> Ints | None:
    """The numbers in these fields; None: at least one is not plain."""
    start, stop = start.copy(), stop.copy()
    quoted = (seen[start] == _QUOTE) & (seen[stop - 1] == _QUOTE) & (stop - start > 1)
    start += quoted
    stop -= quoted
    while (blank := (seen[start] == _BLANK) & (start < stop)).any():
        start += blank
    while (blank := (seen[stop - 1] == _BLANK) & (start < stop)).any():
        stop -= blank
    negative = (seen[start] == _MINUS) & (start < stop)
    start += negative | ((seen[start] == _PLUS) & (start < stop))
    digits = stop - start
    most = int(digits.max(initial=0))
    if (digits < 1).any() or most > _MOST_DIGITS:
        return None
    total = np.zeros(len(start), np.int64)
    for place in range(most):
        here = place < digits
        digit = np.where(here, seen[np.maximum(stop - 1 - place, 0)].astype(np.int64) - _ZERO, 0)
        if ((digit < 0) | (digit > 9)).any():
            return None
        total += digit * 10**place
    return np.where(negative, -total, total)
