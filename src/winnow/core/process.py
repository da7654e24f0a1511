"""Processes and threads: what stands for one charge belongs to the process that made it.

A fork copies budgets, grants, tapes and open runs with their noise. Parent and child would both
use what was paid once, and two answers with one noise value give their difference away.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from winnow.errors import GrantError, ParameterError
from winnow.foreign import shown

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

T = TypeVar("T")

_UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
_UNITS |= {"kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}


def parse_memory(memory: str | int) -> int:
    """A size in bytes, from a text like '4GB' or a number of bytes."""
    if isinstance(memory, int) and not isinstance(memory, bool) and memory > 0:
        return memory
    if isinstance(memory, str):
        text = memory.strip().lower().replace(" ", "")
        for unit in sorted(_UNITS, key=len, reverse=True):
            if text.endswith(unit) and _is_size(text.removesuffix(unit)):
                return int(float(text.removesuffix(unit)) * _UNITS[unit])
    raise ParameterError(f"memory={shown(memory)} is not a size; give one like '2GB' or '500MB'")


def _is_size(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal() and text.isascii() and float(text) > 0


def memory_text(size: int) -> str:
    """A size for people: 375 MB."""
    for unit, width in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= width:
            scaled = size / width
            if scaled >= 1e5:
                return f"{scaled:.0e} {unit}"
            return f"{scaled:.3g} {unit}" if scaled < 1000 else f"{scaled:,.0f} {unit}"
    return f"{size} bytes"


_forks = 0


def _count() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # numbers of processes come again, the count does not
    os.register_at_fork(after_in_child=_count)


class Owner:
    """The process in which something was made."""

    __slots__ = ("_forks", "_process")

    def __init__(self) -> None:
        self._process, self._forks = os.getpid(), _forks

    @property
    def here(self) -> bool:
        """Whether this is that process."""
        return self._forks == _forks and self._process == os.getpid()

    def check(self, what: str, remedy: str) -> None:
        """Refuse in a copy of that process."""
        if not self.here:
            raise GrantError(
                f"{what} was made by another process, of which this one is a copy (fork); {remedy}"
            )


def in_thread(work: Callable[[], T], stop: Callable[[], object]) -> T:
    """What the work finds, in a thread that leaves this one free to hear of Ctrl-C.

    Whatever interrupts the wait has the work stopped: told again, if it had not begun.
    """
    outcome: list[T] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # raised by the waiting thread
            failed.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="winnow-work", daemon=True).start()
    try:
        while not done.wait(0.2):
            pass
    except BaseException:
        while not done.wait(0.05):
            stop()
        raise
    if failed:
        raise failed[0]
    return outcome[0]


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on one thread: with the same rounding on every machine.

    Small matrices are slower on several, and far slower on a machine that is busy.
    """
    with _libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=2)
def _libraries(scipy: bool) -> ThreadpoolController:
    """What is loaded of linear algebra; SciPy brings its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
