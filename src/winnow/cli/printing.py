"""Results as the user sees them, on the terminal or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from winnow.cli.reporting import manner
from winnow.core.notebook import InNotebook, card_of
from winnow.core.notebook import visible as visible

if TYPE_CHECKING:
    from winnow.core.notebook import Card
    from winnow.core.released import Released


_LONGEST_BAR = 30
"""Letters of the longest bar behind the rows of a table."""


def console() -> Console:
    """The standard output."""
    return Console(highlight=False)


def aside() -> Console:
    """The standard error, for what shows that something goes on; quiet where that is asked for."""
    how = manner.get()
    return Console(stderr=True, quiet=how.quiet or how.log)


def working(what: str) -> AbstractContextManager[object]:
    """A spinner and a clock on stderr while something takes a while; only on a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    display = Progress(*columns, console=aside(), transient=True)
    display.add_task(visible(what), total=None)
    return display


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar, moved by the function that it gives: (parts done, parts in all)."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=aside(), transient=True) as display:
        task = display.add_task(visible(what), total=None)
        yield lambda done, parts: display.update(task, completed=done, total=parts)


def show_json(data: Any) -> None:
    """Plain data as JSON, and nothing else, on the standard output."""
    typer.echo(json.dumps(data, indent=2, default=str))


def show_release(released: Released[Any], about_value: str = "") -> None:
    """A table of the value, the guarantee and the receipt."""
    values = released.value if isinstance(released.value, list) else [released.value]
    shown = Text("\n".join(visible(value) for value in values), style="bold green")
    table = pairs()
    table.add_row("value", shown)
    if about_value:
        table.add_row("", Text(about_value, style="dim"))
    add_receipt(table, released)
    console().print(table)


def add_receipt(table: Table, released: Released[Any]) -> None:
    """Rows for the guarantee and the receipt; a seeded result is marked."""
    notes = released.note()  # next to the numbers, and not once more below
    for name, text in notes:
        table.add_row(name, Text(visible(text)))
    table.add_row("guarantee", Text(visible(released.guarantee), style="bold"), end_section=True)
    for name, text in (line for line in released.receipt.lines() if line not in notes):
        warned = name == "randomness" and released.receipt.randomness != "os"
        table.add_row(name, Text(visible(text), style="bold yellow" if warned else ""))


def pairs() -> Table:
    """An empty table of names and what they mean."""
    table = Table(box=box.ROUNDED, show_header=False, border_style="dim")
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def grid(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table with a header; each column is a name and "left" or "right"."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
    for name, side in columns:
        right = side == "right"
        table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(visible(cell)) for cell in row))
    return table


def card_grid(card: Card, bars: Sequence[float] | None = None) -> Table:
    """The table of a card, with a bar behind each row where there are numbers for it."""
    first = len(card.heads) - card.numeric
    sides = ["left" if place < first else "right" for place in range(len(card.heads))]
    heads = [(head.replace("_", " "), side) for head, side in zip(card.heads, sides, strict=True)]
    if bars is None:
        return grid(heads, card.rows)
    most = max(1.0, *bars)
    drawn = ("█" * round(_LONGEST_BAR * max(0.0, each) / most) for each in bars)
    rows = ([*row, bar] for row, bar in zip(card.rows, drawn, strict=True))
    return grid([*heads, ("", "left")], rows)


def show_card(card: Card) -> None:
    """A card with its parts, as wide as the terminal allows."""
    show = console()
    show.print(Text(visible(card.title), style="bold"))
    for text in card.lead:
        show.print(Text(text))
    for each in (card, *(() if card.parts is None else card.parts())):
        if each.heads:
            show.print(card_grid(each))
    for name, text in card.notes:
        show.print(Text(f"{name}: {text}" if name else text, style="dim"))


def show_plan(plan: InNotebook, *, json: bool) -> None:
    """A plan as its card, or as JSON."""
    itself: Any = plan
    show_json(itself.to_dict()) if json else show_card(card_of(plan))


def notes(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and their meanings, in small print."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(style="dim")
    for name, meaning in rows:
        table.add_row(visible(name), visible(meaning))
    return table
