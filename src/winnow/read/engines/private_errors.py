"""Errors of engines without what they quote.

A driver's message may show a row, and Python keeps it as the context of whatever is raised
while it is handled, even with ``from None``. So the error that leaves here is raised when
nothing is being handled any more, and says no more than the type of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from winnow.errors import InputError

T = TypeVar("T")


def without_details(action: Callable[[], T]) -> T:
    """Run an action on private data; whatever goes wrong leaves as a plain InputError."""
    try:
        return action()
    except InputError as error:
        problem = error
    except Exception as error:
        problem = InputError(_words(error))
    problem.__context__ = problem.__cause__ = None
    raise problem


def _words(error: Exception) -> str:
    """What may be said of another library's error: its type, never its message."""
    kind = type(error).__name__
    if kind == "OutOfMemoryException":
        return (
            "memory= is not enough to group this table; allow more, or name fewer columns with "
            "columns="
        )
    state = getattr(error, "sqlstate", None)
    named = f"{kind} {state}" if isinstance(state, str) and state.isalnum() else kind
    return (
        f"the source cannot be read ({named}); check that a file is whole and that its first line "
        "names the columns, or that a table or query exists and runs by itself"
    )
