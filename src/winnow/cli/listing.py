"""The help of a list of commands, drawn without the packages that format the help of one.

They take twice as long to import as everything else that ``winnow --help`` needs.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import typer

_MOST = 100
"""Letters of a line at most, however wide the terminal is."""

Rows = Sequence[tuple[str, str]]


def listing(group: Any, ctx: Any) -> str:
    """Usage, options and commands by their panels, and examples, as a page for a terminal."""
    width = min(_MOST, shutil.get_terminal_size().columns)
    usage = " ".join([ctx.command_path, *group.collect_usage_pieces(ctx)])
    parts = [f"{typer.style('Usage:', fg='yellow')} {typer.style(usage, bold=True)}"]
    parts += _paragraphs(group.help, width)
    panels: dict[str, list[tuple[str, str]]] = {"Options": []}
    for each in group.get_params(ctx):
        flags = ", ".join(sorted(each.opts, key=len, reverse=True))
        panels["Options"].append((f"{flags} {each.metavar or ''}".strip(), each.help or ""))
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        about = (command.help or "").split("\n\n")[0]
        panels.setdefault(command.rich_help_panel or "Commands", []).append((name, about))
    names = max(len(name) for rows in panels.values() for name, _ in rows)
    boxes = (line for title, rows in panels.items() for line in _box(title, rows, names, width))
    return "\n\n".join([*parts, "\n".join(boxes), *_paragraphs(group.epilog, width)]) + "\n"


def _paragraphs(text: str | None, width: int) -> Iterator[str]:
    for paragraph in (text or "").strip().split("\n\n"):
        if paragraph:
            yield textwrap.fill(" ".join(paragraph.split()), width, break_long_words=False,
                                break_on_hyphens=False)  # fmt: skip


def _box(title: str, rows: Rows, names: int, width: int) -> Iterator[str]:
    """A heading and lines of names and what they are, in a frame."""
    room = max(20, width - names - 6)

    def dim(text: str) -> str:
        return typer.style(text, dim=True)

    edge = names + room + 4
    yield dim(f"╭─ {title} {'─' * (edge - len(title) - 3)}╮")
    for name, about in rows:
        for place, line in enumerate(textwrap.wrap(about, room) or [""]):
            shown = typer.style(name, fg="cyan", bold=True) if place == 0 else ""
            gap = " " * (names - (len(name) if place == 0 else 0))
            yield f"{dim('│')} {shown}{gap}  {line:<{room}} {dim('│')}"
    yield dim(f"╰{'─' * edge}╯")
