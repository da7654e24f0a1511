"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from winnow._version import __version__
from winnow.cli import select

EXAMPLES = """\
Examples:

winnow demo

winnow plan select --candidates 100 --gap 20 --epsilon 1

winnow select votes.csv --epsilon 1 --monotone

Exit codes: 0 done, 1 a check failed, 2 bad input, 3 budget refused.
"""

app = typer.Typer(
    name="winnow",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _winnow(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=lambda v: _version(v)),
    ] = False,
) -> None:
    """Pick the best item, or the top k, of private data: exactly and with a receipt."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"winnow {__version__}")
        raise typer.Exit


app.command("select", epilog=select.EXAMPLES, rich_help_panel="Select")(select.select)
