"""Errors as the user sees them: one line on stderr, an exit code, no traceback.

0  done
1  a check failed
2  bad input
3  the budget refused
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

from winnow.errors import WinnowError

INTERRUPTED = "interrupted; nothing further was released"


@contextmanager
def reported() -> Iterator[None]:
    """Turn every error of a command into a message and an exit code.

    Serves as a decorator of the commands. An unexpected error is shown by its type and
    its place in the code only: its text could contain a private value.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except WinnowError as error:
        report(f"error: {error}")
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        report(INTERRUPTED)
        raise typer.Exit(130) from None
    except OSError as error:
        report(f"error: the output could not be written: {error.strerror or error}")
        _give_up_stdout()
        raise typer.Exit(2) from None
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        report(
            f"error: unexpected {type(error).__name__} at {place.filename}:{place.lineno}; "
            "this is a mistake in winnow, please report it"
        )
        raise typer.Exit(1) from None


def report(message: str) -> None:
    """Show a message on stderr, on one line."""
    from rich.console import Console
    from rich.text import Text

    from winnow.cli.printing import visible

    head, colon, rest = (
        message.partition(":") if message.startswith("error:") else ("", "", message)
    )
    text = Text.assemble((visible(head + colon), "bold red"), visible(rest))
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)


def _give_up_stdout() -> None:
    """Keep Python from writing the unwritten rest again, and failing again, at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
