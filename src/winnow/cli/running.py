"""How a command runs: the options that every command has, whatever it does."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

from winnow.cli.reporting import Manner, manner, reported
from winnow.core.threads import everywhere
from winnow.errors import ParameterError

RUNNING = "How it runs"

OUTPUTS = frozenset({"out", "plot", "report", "answers", "rules"})
"""The options that name files to be written, by the names of their parameters."""


@dataclass(frozen=True)
class Running:
    """The options of every command."""

    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            help="Show no tables, notes or progress: only errors, warnings, and what --json asks "
            "for.",
            rich_help_panel=RUNNING,
        ),
    ] = False
    log_json: Annotated[
        bool,
        typer.Option(
            "--log-json",
            help="Log to the standard error, one line of JSON for each step: what was asked, "
            "charged, released and written, and when. No private values.",
            rich_help_panel=RUNNING,
        ),
    ] = False
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Take options from a TOML file, too. The command line takes precedence, then the "
            "environment (--max-rows is WINNOW_MAX_ROWS), then the file.",
            rich_help_panel=RUNNING,
        ),
    ] = None

    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="How many threads large draws may take; by default all processors. What is "
            "released is the same for any number.",
            rich_help_panel=RUNNING,
        ),
    ] = None

    @contextmanager
    def run(self, command: str, given: dict[str, Any], *, releases: bool) -> Iterator[None]:
        """Around a command: quiet, logged and with errors as JSON where that is asked for."""
        json = bool(given.get("json"))
        how = Manner(json=json, quiet=self.quiet, log=self.log_json)
        before = manner.set(how)
        try:
            with reported(), everywhere(self.threads), ExitStack() as around:
                if self.log_json:
                    around.enter_context(_logged(command, given))
                if self.quiet and not json:
                    if releases:
                        _check_seen(given)
                    around.enter_context(redirect_stdout(StringIO()))
                yield
        finally:
            manner.reset(before)


def _check_seen(given: dict[str, Any]) -> None:
    """Refuse to pay for what nobody would see."""
    if all(given.get(name) is None for name in OUTPUTS):
        offered = sorted(OUTPUTS & set(given), key=list(given).index)
        flags = " or ".join(f"--{name}" for name in ("json", *offered))
        raise ParameterError(
            f"--quiet shows nothing, and nothing is saved: what is paid for would be lost; "
            f"give {flags}"
        )


@contextmanager
def _logged(command: str, given: dict[str, Any]) -> Iterator[None]:
    from winnow.cli.logs import lines_of_json, public
    from winnow.core.logs import tell

    with lines_of_json(time.time()):
        tell("asked", lambda: {"command": command, "options": public(given)})
        try:
            with reported():  # an error is logged while the log is open
                yield
        except typer.Exit as end:
            code = end.exit_code
            tell("ended", lambda: {"exit_code": code})
            raise
        sys.stdout.flush()
        tell("ended", lambda: {"exit_code": 0})


def split(given: dict[str, Any]) -> Running:
    """Take from what a command was given what belongs to how it runs."""
    return Running(**{field.name: given.pop(field.name) for field in fields(Running)})
