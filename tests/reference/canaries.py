"""Values that say who they are when they are touched, and where that may not be heard.

A canary stands in cells, names of columns and messages of errors. `overheard` calls something
and gives back every text that left it: the message, all that hangs on the error, the locals of
the library's own frames, warnings and logs.
"""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import winnow

CANARY = "cAnAry417"
HOME = str(Path(winnow.__file__).parent)


def betraying(*methods: str, error: type[BaseException] = RuntimeError) -> Any:
    """An object whose methods of these names raise an error that quotes the canary."""

    def betray(self: object, *_: object) -> Any:
        raise error(f"{CANARY} has a secret")

    content = dict.fromkeys(methods, betray)
    content |= {} if "__hash__" in methods else {"__hash__": object.__hash__}
    return type("Item", (), content)()


class Betraying:
    """A stand-in for an engine's connection or frame: whatever is asked of it fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"row ({CANARY}, 7) is bad in {name}")


def of_module(name: str) -> Any:
    """A betraying object that looks as if it came from a package of this name."""
    return type("Frame", (Betraying,), {"__module__": name})()


class _Log(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def overheard(action: Callable[[], Any]) -> tuple[BaseException | None, list[str]]:
    """The error that left an action, or None, and every text that left with it."""
    log, root, before = _Log(), logging.getLogger(), logging.getLogger().level
    root.addHandler(log)
    root.setLevel(logging.DEBUG)
    error: BaseException | None = None
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                action()
            except BaseException as caught:
                error = caught
    finally:
        root.removeHandler(log)
        root.setLevel(before)
    heard = log.lines + [str(warning.message) for warning in warned]
    return error, heard + ([] if error is None else list(_of_error(error)))


def _of_error(error: BaseException) -> Iterator[str]:
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield from (str(one), repr(one), repr(one.args), repr(vars(one)))
        yield from (str(note) for note in getattr(one, "__notes__", ()))
        yield from traceback.format_exception(one)
        yield from _of_frames(one)
        waiting += [held for held in (one.__cause__, one.__context__) if held is not None]


def _of_frames(error: BaseException) -> Iterator[str]:
    """What the frames of the library hold, which tools for error reports send along."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(HOME):
            for value in trace.tb_frame.f_locals.values():
                try:
                    yield repr(value)
                except RuntimeError as betrayed:
                    yield str(betrayed)
        trace = trace.tb_next
