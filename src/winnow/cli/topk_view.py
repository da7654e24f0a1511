"""A released top k as the user sees it: a table, rows of a file, and a bar plot."""

from __future__ import annotations

from typing import Any

from winnow.cli.printing import add_receipt, console, grid, pairs, visible
from winnow.released import Released

Top = Released[list[Any]]


def released_items(released: Top, *, with_counts: bool) -> tuple[list[Any], list[int] | None]:
    """The labels, and their noisy counts where these were released."""
    if not with_counts:
        return list(released.value), None
    return [item for item, _ in released.value], [noisy for _, noisy in released.value]


def show_top(
    released: Top, *, k: int, with_counts: bool, ordered: bool, margin: int | None
) -> None:
    """The items in a table, with ranks where there is an order, then the receipt."""
    items, counts = released_items(released, with_counts=with_counts)
    heads, columns = [("item", "left")], [[str(item) for item in items]]
    if ordered:
        heads.insert(0, ("rank", "right"))
        columns.insert(0, [str(rank) for rank in range(1, len(items) + 1)])
    if counts is not None:
        heads.append(("noisy count", "right"))
        columns.append([f"{noisy:,}" for noisy in counts])
    show = console()
    if items:
        show.print(grid(heads, zip(*columns, strict=True)))
    about = [] if ordered else ["a set: the order says nothing"]
    if len(items) < k:
        about.append(f"{len(items) or 'none'} of up to {k}: no other label passed the threshold")
    if margin is not None:
        about.append(f"noise of each count: within ±{margin:,} with probability 0.95")
    for line in about:
        show.print(line, style="dim")
    table = pairs()
    add_receipt(table, released)
    show.print(table)


def top_rows(released: Top, *, with_counts: bool) -> list[dict[str, Any]]:
    """One row for each item, with the guarantee and the receipt beside it.

    If no label passed the threshold there is one row without an item, which keeps the receipt.
    """
    items, counts = released_items(released, with_counts=with_counts)
    about = {**released.guarantee.to_dict(), **released.receipt.to_dict()}
    if counts is None:
        return [{"item": item, **about} for item in items or [None]]
    pairs_or_none = zip(items, counts, strict=True) if items else [(None, None)]
    return [{"item": item, "count": noisy, **about} for item, noisy in pairs_or_none]


def draw(
    released: Top, *, title: str, ordered: bool, margin: int | None, ending: str = ".png"
) -> bytes:
    """Bars of the noisy counts: by rank for a list, by noisy count for a set."""
    from winnow.plots import draw_top

    items, counts = released_items(released, with_counts=True)
    bars = list(zip(map(visible, items), counts or [], strict=True))
    if not ordered:
        bars.sort(key=lambda bar: -bar[1])
    mechanism = released.receipt.mechanism.partition(",")[0].partition(" (")[0]
    subtitle = f"{mechanism}: {released.guarantee}"
    if released.receipt.randomness != "os":
        subtitle += " (seeded: not private)"
    return draw_top(bars, title=visible(title), subtitle=subtitle, margin=margin, ending=ending)
