"""The report of a released top list as a page: the list, its noise, what is promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from winnow.show.report.frame import Frame
from winnow.show.report.page import figure, paragraph, table

if TYPE_CHECKING:
    from winnow.core.released import Released


def top_page(
    released: Released[Any],
    items: Sequence[str],
    counts: Sequence[int] | None,
    *,
    title: str,
    date: str = "",
    ordered: bool = True,
    notes: Sequence[str] = (),
    drawn: bytes | None = None,
) -> bytes:
    """The page as the content of an .html file; all of it comes from released numbers.

    ``drawn`` is an .svg figure of the counts, ``notes`` what a reader of them has to know.
    """
    what = "A list, the most common first" if ordered else "A set, listed in no order"
    parts = [] if drawn is None else [figure(drawn, f"{title}: noisy counts as bars")]
    parts += [_listed(items, counts, ordered), *map(paragraph, notes)]
    return Frame(released, title, date).page(what, parts)


def _listed(items: Sequence[str], counts: Sequence[int] | None, ordered: bool) -> str:
    heads = [("rank", True)] if ordered else []
    heads += [("item", False), *([("noisy count", True)] if counts is not None else [])]
    rows: list[list[object]] = []
    for place, item in enumerate(items):
        row: list[object] = [place + 1] if ordered else []
        row.append(item)
        if counts is not None:
            row.append(f"{counts[place]:,}")
        rows.append(row)
    return table(heads, rows)
