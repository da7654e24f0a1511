"""Errors as the user sees them: one line on stderr, an exit code, no traceback.

0  done
1  a check failed
2  bad input
3  the budget refused
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from json import dumps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import typer

from winnow.errors import SavingError, WinnowError
from winnow.foreign import instead, reason

if TYPE_CHECKING:
    from winnow.core.released import Released

INTERRUPTED = "interrupted; nothing further was released"
INTERRUPT = 130
"""The exit code of what was interrupted."""


@dataclass(frozen=True)
class Manner:
    """How the command that runs speaks."""

    json: bool = False
    """Errors are JSON, too."""
    quiet: bool = False
    """No notes and nothing that shows that something goes on."""
    log: bool = False
    """The standard error is a log of JSON: nothing else goes there."""


PLAIN = Manner()
manner: ContextVar[Manner] = ContextVar("manner", default=PLAIN)
"""How the command that runs speaks."""


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
        code = failed(type(error).__name__, as_typed(str(error)), error.exit_code)
    except KeyboardInterrupt:
        code = failed("Interrupted", INTERRUPTED, INTERRUPT)
    except OSError as error:
        message = f"the output could not be written: {reason(error)}; make room, or write elsewhere"
        code = failed("OutputError", message, 2)
        _give_up_stdout()
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        code = failed(
            "Unexpected",
            f"unexpected {type(error).__name__} at {place.filename}:{place.lineno}; "
            "this is a bug in winnow; please report it",
            1,
        )
    else:
        return
    raise typer.Exit(code)


def failed(kind: str, message: str, code: int) -> int:
    """Say what went wrong, as text or as JSON on one line of stderr; the exit code.

    Messages of Winnow end with how to mend it, after the last semicolon.
    """
    mend = message.rpartition("; ")[2] if "; " in message and code != INTERRUPT else ""
    fault = {"kind": kind, "message": message, "mend": mend, "exit_code": code}
    how = manner.get()
    if how.log:
        from winnow.core.logs import tell

        tell("failed", lambda: fault, level=40)
    elif how.json:
        typer.echo(dumps({"error": fault}), err=True)
    else:
        report(message if code == INTERRUPT else f"error: {message}")
    return code


_WORD = re.compile(
    r"""(?<![\w.'"=-])(?<!\w\()(?P<name>[a-z][a-z_]*)="""  # a parameter of the library
    r"""(?:(?P<quote>['"])(?P<text>[^'"]*)(?P=quote)|(?P<bare>-?[\w<>]+(?:[.+-]\w+)*))?"""
    r"""(?P<hint>[ ]\(--[^()]*\))?"""  # the option, where a message names both
)
_OTHER_NAMES = {
    "label_column": ("label", "item"),
    "score_column": ("score", "count"),
    "unit": ("one_row", "one_basket"),
    "key_file": ("ledger_key",),
}


options_of_command: ContextVar[Mapping[str, str]] = ContextVar(
    "options_of_command", default=MappingProxyType({})
)
"""The options of the command that runs, by the names of its parameters."""

words_of_command: ContextVar[str] = ContextVar("words_of_command", default="")
"""The command that runs, as it is typed: plan select."""


def as_typed(message: str) -> str:
    """A message of the library in the words of the command that runs: --item, not item=."""
    options = options_of_command.get()

    def typed(match: re.Match[str]) -> str:
        name, text, bare = match["name"], match["text"], match["bare"]
        known = next((n for n in (name, *_OTHER_NAMES.get(name, ())) if n in options), None)
        if known is None or bare == "False":
            return match[0]
        flag = options[known]
        if bare == "True" or name == "unit" or (text is None and bare is None):
            return flag
        said = bare or text
        plain = bare is not None or re.fullmatch(r"[\w./-]+", said)
        return f"{flag} {said}" if plain else f"{flag} '{said}'"

    return _WORD.sub(typed, message)


def saving(what: str = "the result is released and printed") -> instead:
    """Around what saves a result: a failure says that it was released all the same."""
    return instead(lambda error: SavingError(f"{what}, but {error}"), WinnowError)


@contextmanager
def saved_then_shown(
    released: Released[Any],
    json: bool,
    show: Callable[[], object],
    what: str = "the result is released and printed",
    **extra: object,
) -> Iterator[None]:
    """Around what saves a release: what is paid for is shown, even if it could not be saved.

    ``extra`` stands beside the release where it is shown as JSON.
    """
    from winnow.cli.printing import show_json

    try:
        with saving(what):
            yield
    finally:
        if json:
            show_json(released.to_dict() | extra)
        else:
            show()


def report(message: str) -> None:
    """Show a message on stderr, on one line; a note is not shown where all is to be quiet."""
    how = manner.get()
    if how.log:
        from winnow.core.logs import tell

        note = message.startswith("note:")
        tell("said", lambda: {"message": message}, level=20 if note else 30)
        return
    if how.quiet and message.startswith("note:"):
        return
    from rich.console import Console
    from rich.text import Text

    from winnow.cli.printing import visible

    head, colon, rest = (
        message.partition(":") if message.startswith("error:") else ("", "", message)
    )
    text = Text.assemble((visible(head + colon), "bold red"), visible(rest))
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)


_LARGE_EPSILON = 20.0
_LARGE_DELTA = 1e-3


def weak_promises(epsilon: float | None, delta: float | None, people: int | None) -> Iterator[str]:
    """What to say of an epsilon or a delta, all public, that protects nobody."""
    if epsilon is not None and epsilon > _LARGE_EPSILON:
        yield (
            f"--epsilon {epsilon:g} promises next to nothing: what is released may be the private "
            "data as they are. Usual values are between 0.1 and 10"
        )
    if delta is not None and _LARGE_DELTA <= delta < 1:
        yield (
            f"--delta {delta:g} allows publishing everything about one person in {1 / delta:,.0f}; "
            "take one far below 1 divided by the number of people, such as 1e-6"
        )
    elif delta and people is not None and people > 0 and delta > 1 / people:
        yield (
            f"--delta {delta:g} is more than 1 divided by --rows {people}: everything about one "
            "person may be published; take a smaller one"
        )


def _give_up_stdout() -> None:
    """Keep Python from writing the unwritten rest again, and failing again, at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
