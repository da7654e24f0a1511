"""What a page shows of a release: the card of its value, with pictures drawn on the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from markupsafe import Markup

from winnow.core.notebook import Card, InNotebook, card_of
from winnow.serve import charts, replies
from winnow.serve.received import value_of

_MOST_ROWS = 200
"""Of a table on a page; the rest is in the file."""
_MOST_TABLES = 12


@dataclass(frozen=True)
class ResultGrid:
    """A table with a caption; the names of its columns are headers, the last are numbers."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: int = 0
    picture: Markup | None = None
    left_out: int = 0


@dataclass(frozen=True)
class ResultView:
    """A release as a page shows it."""

    headline: str = ""
    ranked: list[str] = field(default_factory=list)
    """Items in their order, where they have no counts."""
    grids: list[ResultGrid] = field(default_factory=list)
    note: str = ""


def shown(
    release: replies.ReleaseAnswer, synthetic: str | None, labels: dict[str, list[Any]]
) -> ResultView:
    """The parts of a page for the value of a release; labels give columns their order."""
    files = {"synthetic.csv": synthetic or ""}
    value = value_of(msgspec.structs.asdict(release), files.__getitem__, labels)
    if isinstance(value, InNotebook):
        return _card_view(card_of(value))
    if not isinstance(value, list):
        return ResultView(headline=str(value))
    if not value:
        return ResultView(headline="No item passed the threshold that the noise asks for")
    return ResultView(ranked=[_name(each) for each in value])


def _card_view(card: Card) -> ResultView:
    parts = [card] if card.parts is None else list(card.parts())
    notes = [f"{name}: {text}" if name else text for name, text in card.notes]
    left = len(parts) - _MOST_TABLES
    if left > 0:
        notes.append(f"{left:,} further tables are in the file")
    headline = "" if card.parts is None else card.title
    grids = [_grid(part) for part in parts[:_MOST_TABLES]]
    return ResultView(headline, grids=grids, note="; ".join(notes))


def _grid(card: Card) -> ResultGrid:
    picture = None
    if card.chart is not None:
        bars = [charts.Bar(*row) for row in card.chart().rows()]
        picture = charts.bars(bars, card.title) if bars else None
    left = max(0, len(card.rows) - _MOST_ROWS)
    return ResultGrid(card.title, card.heads, card.rows[:_MOST_ROWS], card.numeric, picture, left)


def _name(item: Any) -> str:
    return " + ".join(map(str, item)) if isinstance(item, list | tuple) else str(item)
