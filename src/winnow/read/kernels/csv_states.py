"""Where the records of a CSV file end, byte by byte: an automaton of five states.

A reader that believes every double quote lets one record swallow others: a quote that opens and
does not close takes in all lines up to the next quote, which is somebody else's. So a file is
read only if it is plain beyond doubt: a quote stands at the beginning of a field, at its end, or
twice inside of it [RFC 4180], a CR stands before an LF only, and a quoted field ends on its line
unless line breaks are allowed.

All of this is ASCII, whose bytes are never part of another character of UTF-8. The function is
plain Python for small inputs and is compiled for large ones, so that numba is not imported for a
file of some lines.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from winnow.core.borders import Border

START, PLAIN, QUOTED, CLOSED, RETURN = range(5)
"""Of a field: its beginning, its inside, that between quotes, after a quote there, after a CR."""

FINE, LONE_RETURN, QUOTE_INSIDE, BREAK_INSIDE, TEXT_AFTER = range(5)
"""What may be wrong."""

LF_ENDS, CRLF_ENDS = 1, 2
"""How lines were seen to end; both may be."""

FEW_BYTES = Border(
    1 << 20,
    "bytes scanned by Python",
    decides="how large a piece of a text file is",
    ways="its quotes and line ends checked by a loop of Python; by the same loop, compiled",
    same="value",
    because="it is one function",
)
"""Bytes that plain Python reads in less time than numba takes to load."""


class ScanState(NamedTuple):
    """How far a file was read: the state, the line ends so far, their kinds, what is wrong."""

    state: int = START
    lines: int = 0
    ends: int = 0
    problem: int = FINE


def scan(data: bytes, delimiter: int, line_breaks: bool, place: ScanState) -> ScanState:
    """Read on from a place, up to the end of the data or to the first thing that is wrong."""
    started = (place.state, place.lines, place.ends)
    if len(data) <= FEW_BYTES.at:
        return ScanState(*_scan(data, delimiter, line_breaks, *started))
    return ScanState(*_compiled()(np.frombuffer(data, np.uint8), delimiter, line_breaks, *started))


def _scan(
    data: Any, delimiter: int, line_breaks: bool, state: int, lines: int, ends: int
) -> tuple[int, int, int, int]:
    for byte in data:
        if state == QUOTED:
            if byte == 34:  # "
                state = CLOSED
            elif byte == 10 or byte == 13:
                if not line_breaks:
                    return state, lines, ends, BREAK_INSIDE
                lines += byte == 10
        elif state == RETURN:
            if byte != 10:
                return state, lines, ends, LONE_RETURN
            state = START
            lines += 1
            ends |= CRLF_ENDS
        elif byte == delimiter:
            state = START
        elif byte == 10:
            state = START
            lines += 1
            ends |= LF_ENDS
        elif byte == 13:
            state = RETURN
        elif byte == 34:
            if state == PLAIN:
                return state, lines, ends, QUOTE_INSIDE
            state = QUOTED  # at the beginning, or the second of two
        elif state == CLOSED:
            return state, lines, ends, TEXT_AFTER
        else:
            state = PLAIN
    return state, lines, ends, FINE


@cache
def _compiled() -> Any:
    from winnow.core.kernels.compiled import compiled

    return compiled(_scan)
