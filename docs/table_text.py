"""Markdown tables and short numbers, for the tables that are written when the pages are built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], lines: Iterable[Sequence[str]], right: int = 0) -> str:
    """A Markdown table whose last `right` columns are numbers."""
    rule = ["---"] * (len(head) - right) + ["--:"] * right
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *lines)) + "\n"


def short(number: float | None, digits: int = 2) -> str:
    """A number with few digits and no exponent: 12,300, 4.6, 0.0123; a dash for none."""
    if number is None:
        return "–"
    if number == 0:
        return "0"
    if abs(number) >= 10**digits:
        return f"{number:,.0f}"
    places = digits - 1
    size = abs(number)
    while size < 1 and places < 12:
        size *= 10
        places += 1
    if size >= 10:
        places -= 1
    return f"{number:.{places}f}"


def rounded(number: float) -> str:
    """A large number of which only the first two digits are meant."""
    return f"{float(f'{number:.2g}'):,.0f}"


def span(seconds: float | None) -> str:
    """A time with the unit that suits it."""
    if seconds is None:
        return "–"
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 1000:
            return f"{short(seconds * factor)} {unit}"
    if seconds < 300:
        return f"{short(seconds)} s"
    return f"{short(seconds / 60)} min" if seconds < 7200 else f"{short(seconds / 3600)} h"


def size(number_of_bytes: float) -> str:
    """A size of memory with the unit that suits it."""
    for unit in ("B", "kB", "MB", "GB"):
        if number_of_bytes < 1000:
            return f"{short(number_of_bytes)} {unit}"
        number_of_bytes /= 1000
    return f"{short(number_of_bytes)} TB"


def power(number: int) -> str:
    """A large round number as a power of ten."""
    exponent = len(str(number)) - 1
    if number == 10**exponent and exponent >= 4:
        return f"10<sup>{exponent}</sup>"
    return f"{number:,}"
