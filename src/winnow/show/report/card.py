"""The report of any released numbers as a page: their table, their notes, and a figure."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from winnow.core.drawing import Plotted
from winnow.core.notebook import card_of
from winnow.core.released import Released
from winnow.errors import ExtraMissing
from winnow.show.report.frame import Frame
from winnow.show.report.page import figure, paragraph, table

MOST_ROWS = 1000
"""Rows of the table; the file of numbers has all of them."""


def card_page(
    released: Released[Any], *, title: str, date: str = "", rows_per_person: int | None = None
) -> bytes:
    """The page as the content of an .html file; all of it comes from released numbers."""
    value, card, parts = released.value, card_of(released.value), list[str]()
    if isinstance(value, Plotted):
        with suppress(ExtraMissing):  # the page has the numbers
            parts.append(figure(value.figure(".svg"), f"{card.title}, drawn"))
    left = len(card.rows) - MOST_ROWS
    first = len(card.heads) - card.numeric
    heads = [(name.replace("_", " "), place >= first) for place, name in enumerate(card.heads)]
    parts.append(table(heads, card.rows[:MOST_ROWS]))
    if left > 0:
        parts.append(paragraph(f"{left:,} further rows are in the file of numbers."))
    parts += [paragraph(f"{name.capitalize()}: {text.rstrip('.')}.") for name, text in card.notes]
    return Frame(released, title, date, rows_per_person).page(card.title, parts)
