"""One document for whoever looks: a table, what is said of it, and a picture where there is one.

``Card.html`` is what Jupyter shows of it; terminals (``cli.printing``), reports (``show.report``)
and the pages of a server (``serve.results``) show the same card in their way.

Labels are data of users: every text is escaped here, and nothing else makes markup. Styles stand
in the elements, because notebooks drop others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from html import escape
from itertools import islice, product, repeat
from typing import Any, ClassVar, Self, overload

from winnow.core.unit import about_counted
from winnow.errors import ExtraMissing

MOST_ROWS = 12
"""Rows of a table that a notebook shows; the rest is counted."""
_LONGEST = 300
_SMALL = "color:#596473;font-size:90%;max-width:52em"


@dataclass(frozen=True, eq=False)
class Chart:
    """Numbers with labels along their axes, and from where to where each may really lie."""

    labels: tuple[Sequence[Any], ...]
    values: Any
    """An array with an axis for each list of labels."""
    low: Any = None
    high: Any = None
    counts: bool = field(default=True, kw_only=True)
    """Whether they count something, so that a part of one is noise."""

    def rows(self) -> Iterator[tuple[str, float, float | None, float | None]]:
        """A name, the number and the ends of its interval, one after another."""
        names = (", ".join(map(str, each)) for each in product(*self.labels))
        low, high = (
            repeat(None) if end is None else end.ravel().tolist() for end in (self.low, self.high)
        )
        return zip(names, self.values.ravel().tolist(), low, high, strict=False)


@dataclass(frozen=True)
class Card:
    """One thing as people see it: a table, and what is said of it."""

    title: str
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    """All of them; they may be made when they are looked at."""
    numeric: int = 0
    """How many of the last columns are numbers."""
    most: int | None = None
    """How many rows a notebook shows; None: all."""
    lead: Sequence[str] = ()
    """Between the title and the table: what was decided, and why."""
    notes: Sequence[tuple[str, str]] = ()
    """Below the table: a name and a text."""
    folded: Sequence[tuple[str, str]] = ()
    """Behind a click: the receipt."""
    picture: Callable[[], bytes] | None = None
    """Draws a PNG file, where matplotlib is installed."""
    chart: Callable[[], Chart] | None = None
    """The numbers of a picture, for whoever draws one."""
    parts: Callable[[], Sequence[Card]] | None = None
    """The tables that it is made of, each with what is drawn of it, where there is room for all."""

    def with_notes(self, *notes: tuple[str, str], folded: Sequence[tuple[str, str]] = ()) -> Card:
        """This card with more below it; what is there already is not said again."""
        more = [note for note in notes if note not in self.notes]
        return replace(self, notes=(*self.notes, *more), folded=(*self.folded, *folded))

    def text(self) -> str:
        """The card as plain text, with its parts."""
        blocks = [[self.title, *self.lead], self._ruled()]
        blocks += [] if self.parts is None else [part._ruled() for part in self.parts()]
        blocks.append([f"{name}: {text}" if name else text for name, text in self.notes])
        return "\n\n".join("\n".join(block) for block in blocks if block)

    def _ruled(self) -> list[str]:
        texts = range(len(self.heads) - self.numeric)
        return ruled([self.heads, *self.rows], texts) if self.heads else []

    def html(self) -> str:
        """The card as markup."""
        parts = [f'<div style="font-weight:600;margin:.3em 0">{escaped(self.title)}</div>']
        parts += [f'<div style="{_SMALL}">{escaped(text)}</div>' for text in self.lead]
        if self.rows or self.heads:
            parts.append(_table(self.heads, self.rows[: self.most], self.numeric))
        if self.most is not None and len(self.rows) > self.most:
            more = f"{self.most} of {len(self.rows):,} rows are shown"
            parts.append(f'<div style="{_SMALL}">{more}</div>')
        parts.append(self._drawn())
        parts += [
            f'<div style="{_SMALL}"><b>{escaped(name)}</b> {escaped(text)}</div>'
            for name, text in self.notes
        ]
        if self.folded:
            parts.append(
                f'<details style="{_SMALL}"><summary>receipt</summary>'
                f"{_table((), self.folded, 0)}</details>"
            )
        return f"<div>{''.join(parts)}</div>"

    def _drawn(self) -> str:
        if self.picture is None:
            return ""
        try:
            drawn = self.picture()
        except ExtraMissing:  # without matplotlib there is no picture
            return ""
        from base64 import b64encode  # a selection runs without it

        data = b64encode(drawn).decode("ascii")
        return (
            f'<img alt="{escaped(self.title)}" style="max-width:44em;width:100%" '
            f'src="data:image/png;base64,{data}">'
        )


class InNotebook(ABC):
    """Something that notebooks show as a card."""

    @abstractmethod
    def _card(self) -> Card:
        """What is shown of it; public."""

    def _repr_html_(self) -> str:
        return self._card().html()


class Printed(InNotebook):
    """Something that is printed as a card, too."""

    def __str__(self) -> str:
        return self._card().text()


class ReleasedValue(InNotebook):
    """A released value, which says what was counted wherever it is shown without its receipt."""

    @property
    def counted(self) -> str:
        """What of each person was counted, where a bound may have left something out."""
        return str(vars(self).get("_counted", ""))

    def about_counted(self, what: str) -> Self:
        """A copy of the value that knows what was counted; numbers and JSON stay as they are."""
        known = copy(self)
        vars(known)["_counted"] = what
        return known

    def _repr_html_(self) -> str:
        told = [("counted", about_counted(self.counted))] if self.counted else []
        return self._card().with_notes(*told).html()


class Listed(InNotebook):
    """Something that is shown as names and what they mean."""

    heading: ClassVar[str]

    @abstractmethod
    def lines(self) -> list[tuple[str, str]]:
        """Names and what they mean, as rows of a table."""

    def _card(self) -> Card:
        return pairs_card(self.heading, self.lines())

    def __str__(self) -> str:
        return pairs_text(self.lines())


def pairs_text(rows: Sequence[tuple[str, str]]) -> str:
    """Names and what they mean, in two columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def pairs_card(title: str, rows: Sequence[tuple[str, str]]) -> Card:
    """Names and what they mean."""
    return Card(title, (), rows)


def lines_card(
    title: str,
    lines: Sequence[Sequence[str]],
    *notes: str,
    texts: int = 1,
    lead: Sequence[str] = (),
) -> Card:
    """A table of texts, its first line the headings; the first columns are texts."""
    heads, rows = lines[0], lines[1:]
    card = Card(title, heads, rows, len(heads) - texts, lead=[text for text in lead if text])
    return card.with_notes(*(("", note) for note in notes if note))


def ruled(lines: Sequence[Sequence[str]], texts: Collection[int]) -> list[str]:
    """Lines as plain text, with a rule below the headings; the columns ``texts`` start left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = [
        "  ".join(
            cell.ljust(width) if place in texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return [shown[0], "-" * max(map(len, shown)), *shown[1:]]


class _ColumnRows(Sequence[Sequence[str]]):
    """Rows of columns as texts, made when they are looked at; the first columns are labels."""

    def __init__(self, columns: Sequence[Any], labels: int) -> None:
        self._columns, self._labels = columns, labels

    def __len__(self) -> int:
        return len(self._columns[0]) if self._columns else 0

    @overload
    def __getitem__(self, place: int) -> Sequence[str]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Sequence[str]]: ...
    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            return self[place : place + 1 or None][0]
        shown = []
        for number, column in enumerate(self._columns):
            text = str if number < self._labels else number_text
            shown.append([text(value) for value in column[place].tolist()])
        return list(zip(*shown, strict=True))


def columns_card(title: str, columns: Mapping[str, Any], labels: int) -> Card:
    """A table of columns; the first ``labels`` of them are labels."""
    rows = _ColumnRows(list(columns.values()), labels)
    return Card(title, tuple(columns), rows, len(columns) - labels, MOST_ROWS)


def card_of(value: InNotebook) -> Card:
    """What people see of a value, a plan or a result."""
    return value._card()


def text_card(text: str) -> Card:
    """A few lines of text: the first is the title."""
    title, *rest = text.split("\n")
    return Card(title, notes=[("", line) for line in islice(filter(None, rest), MOST_ROWS)])


def number_text(value: Any) -> str:
    """A number for people: 12,345 or 3.2 or 0.0123."""
    if value is None or value != value:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 10 else f"{value:.3g}"


def visible(value: object) -> str:
    """A value as text in one line, control characters spelt out."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def escaped(value: object) -> str:
    """A value as text of a page: visible and escaped."""
    return escape(visible(value), quote=True)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: int) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        inside = "".join(
            f'<{tag} style="text-align:{_side(place, len(cells), numeric)};padding:.15em .6em">'
            f"{escaped(_cut(cell))}</{tag}>"
            for place, cell in enumerate(cells)
        )
        return f"<tr>{inside}</tr>"

    head = f"<thead>{line(heads, 'th')}</thead>" if heads else ""
    body = "".join(line(row, "td") for row in rows)
    return f'<table style="border-collapse:collapse">{head}<tbody>{body}</tbody></table>'


def _side(place: int, columns: int, numeric: int) -> str:
    return "right" if place >= columns - numeric else "left"


def _cut(cell: str) -> str:
    return cell if len(cell) <= _LONGEST else f"{cell[:_LONGEST]}…"
