"""Errors of other libraries, and what may be said of them.

An engine's message may quote a row, and so may what a value's own code says. Python keeps such
an error as the context of whatever is raised while it is handled, even with ``from None``; its
traceback keeps the frames, with all that they hold. So an error of ours is never raised inside
a handler: `instead` puts one in the place of another, and `guarded` stands around everything
that a user calls.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from json import JSONDecodeError
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any, NoReturn, ParamSpec, TypeVar

from winnow.errors import ForeignError, WinnowError

P = ParamSpec("P")
T = TypeVar("T")

_CONTROL = (KeyboardInterrupt, SystemExit, GeneratorExit)
"""What stops a program on purpose. Every other error is foreign, a panic of Polars included."""
_HOME = Path(__file__).parent
_LONGEST = 200


class instead:
    """``with instead(refusal, OSError):`` raises the refusal in the place of such an error.

    The refusal is an error of ours, or a function that makes one of the other error; it must
    use no more of it than `reason` says. Where it makes none, the other error passes. Without
    types everything foreign is replaced. An error of ours passes, unless its own type is named.
    """

    def __init__(
        self,
        refusal: WinnowError | Callable[[BaseException], WinnowError | None],
        *caught: type[BaseException],
    ) -> None:
        self._refusal, self._caught = refusal, caught

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or not self._replaces(error):
            return
        refusal = self._refusal
        ours = refusal if isinstance(refusal, WinnowError) else refusal(error)
        if ours is None:
            return
        del kind, error, trace  # the frame of this call hangs on what is raised
        _raise_alone(ours)

    def _replaces(self, error: BaseException) -> bool:
        if isinstance(error, WinnowError):
            named = tuple(kind for kind in self._caught if issubclass(kind, WinnowError))
            return isinstance(error, named)
        return isinstance(error, self._caught) if self._caught else not _stops(error)


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """Let nothing out of a function but its value and errors of ours, each without a past.

    Whatever else goes wrong leaves as a ForeignError that names its type and its place in the
    library. What stops a program, such as Ctrl-C, passes, without a past too.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            alone = _without_a_past(error)
        del args, kwargs
        try:
            raise alone
        finally:
            del alone

    call.__guarded__ = True  # type: ignore[attr-defined]
    return call


def guarded_methods(kind: type[T]) -> type[T]:
    """Guard every public method of a class, those that are added later too."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, FunctionType):
            setattr(kind, name, guarded(member))
        elif isinstance(member, classmethod):
            setattr(kind, name, classmethod(guarded(member.__func__)))
    return kind


def reason(error: BaseException) -> str:
    """What may be said of another error: its type, and the system's or the database's code."""
    if isinstance(error, OSError) and isinstance(error.errno, int):
        return os.strerror(error.errno)
    if isinstance(error, JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}"
    kind = type(error).__name__
    state = getattr(error, "sqlstate", None)
    return f"{kind} {state}" if isinstance(state, str) and state.isalnum() else kind


def shown(value: Any) -> str:
    """A parameter as it was typed, or only its type where data may have been given instead."""
    if value is None or type(value) in (str, bytes, int, bool, float, Fraction, Decimal):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    if type(value) in (tuple, list) and len(value) <= 4:
        inside = ", ".join(map(shown, value))
        return f"({inside})" if type(value) is tuple else f"[{inside}]"
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return shown(value.item())
    return f"<{type(value).__name__}>"


def plain_type(kind: object) -> str:
    """The name of a column's type without what it is made of: an enum's type quotes its values."""
    return str(kind).split("(")[0].split("<")[0]


def _without_a_past(error: BaseException) -> BaseException:
    """What leaves in the place of an error: itself without a past, or no more than its type."""
    ours = isinstance(error, WinnowError) or _stops(error) or _misses_an_argument(error)
    alone = error if ours else ForeignError(_withheld(error))
    alone.__cause__ = alone.__context__ = alone.__traceback__ = None
    vars(alone).pop("__notes__", None)
    return alone


def _stops(error: BaseException) -> bool:
    return isinstance(error, _CONTROL)


def _misses_an_argument(error: BaseException) -> bool:
    """Whether a call itself failed, by names of parameters: no frame below `call` was begun."""
    trace = error.__traceback__
    return isinstance(error, TypeError) and trace is not None and trace.tb_next is None


def _withheld(error: BaseException) -> str:
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(_HOME):
            place = f" at {file.relative_to(_HOME.parent).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    return (
        f"unexpected {reason(error)}{place}; its own message is withheld, because it may quote "
        "private values. Check that the data can be read by themselves; if they can, please "
        "report this place"
    )


def _raise_alone(error: WinnowError) -> NoReturn:
    """Raise without the error that is being handled, which Python would keep as its context."""
    try:
        raise error
    finally:
        error.__context__ = None
