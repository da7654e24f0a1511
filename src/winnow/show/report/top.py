"""The report of a released top list as a page: the list, its noise, what is promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from winnow.core.notebook import escaped as text
from winnow.show.report.page import figure, heading, page, pairs_table, paragraph, table
from winnow.show.report.promise import promise_in_words
from winnow.show.report.tables import counted_words

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
    when = f" of {date}" if date else ""
    what = "A list, the most common first" if ordered else "A set, listed in no order"
    body = [
        f"<h1>{text(title)}</h1>\n",
        paragraph(
            f"{what}: a release{when} with noise that protects every "
            f"{released.guarantee.unit.name}. It is for everyone, and may be published.",
            "lead",
        ),
    ]
    if released.receipt.randomness != "os":
        body.append(
            paragraph(
                "Seeded: this release is repeatable, for tests only. It is not private.", "warning"
            )
        )
    body.append(counted_words(released))
    if drawn is not None:
        body.append(figure(drawn, f"{title}: noisy counts as bars"))
    body.append(_listed(items, counts, ordered))
    body += map(paragraph, notes)
    promise = promise_in_words(released.guarantee, None)
    body += [heading("What is promised"), *map(paragraph, promise), heading("Receipt")]
    body.append(pairs_table([("guarantee", str(released.guarantee)), *released.receipt.lines()]))
    return page(title, "".join(body))


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
