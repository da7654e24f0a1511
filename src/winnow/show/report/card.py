"""The report of any released numbers as a page: their table, their notes, and a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from winnow.core.drawing import Plotted
from winnow.core.notebook import Card, card_of
from winnow.core.released import Released
from winnow.errors import ExtraMissing
from winnow.show.report.frame import Frame
from winnow.show.report.page import figure, paragraph, table
from winnow.show.report.tables import MOST_CELLS, MOST_TABLES, RED_LINES, ReaderTable

MOST_ROWS = 1000
"""Rows of the table; the file of numbers has all of them."""


def card_page(
    released: Released[Any],
    *,
    title: str,
    date: str = "",
    rows_per_person: int | None = None,
    card: Card | None = None,
    drawn: bytes | None = None,
) -> bytes:
    """The page as the content of an .html file; all of it comes from released numbers.

    ``card`` is shown in the place of the value's own, ``drawn`` an .svg figure.
    """
    value, parts = released.value, list[str]()
    if drawn is not None:
        parts.append(figure(drawn, f"{title}: noisy counts as bars"))
    card = card or card_of(value)
    if card.parts is None and drawn is None and isinstance(value, Plotted):
        with suppress(ExtraMissing):  # the page has the numbers
            parts.append(figure(value.figure(".svg"), f"{card.title}, drawn"))
    left = len(card.rows) - MOST_ROWS
    first = len(card.heads) - card.numeric
    heads = [(name.replace("_", " "), place >= first) for place, name in enumerate(card.heads)]
    parts.append(table(heads, card.rows[:MOST_ROWS]))
    if left > 0:
        parts.append(paragraph(f"{left:,} further rows are in the file of numbers."))
    if card.parts is not None:
        parts += _charts(card.parts())
    for name, text in card.notes:
        parts.append(paragraph(f"{name.capitalize()}: {text}" if name else text, ended=True))
    return Frame(released, title, date, rows_per_person).page(card.title, parts)


def _charts(parts: Sequence[Card]) -> Iterator[str]:
    """The first parts that are not too large to be read, as bars or shaded cells."""
    drawn = [(part.title, part.chart()) for part in parts if part.chart is not None]
    fitting = [(title, chart) for title, chart in drawn if chart.values.size <= MOST_CELLS]
    shown = [ReaderTable.of(title, chart) for title, chart in fitting[:MOST_TABLES]]
    left = len(drawn) - len(shown)
    more = f" {left:,} further parts are in the file of numbers." if left else ""
    lined = f"{RED_LINES} " if any(each.lined for each in shown) else ""
    if shown:
        yield paragraph(f"{lined}Noise may carry a count below 0.{more}")
    yield f'<div class="grid">\n{"".join(each.markup() for each in shown)}</div>\n'
