"""Several threads for one draw. The result is the same, bit for bit, for any number of them.

Every bit of noise has an address (``winnow.core.tape``), and parts of a draw are put together by
rules that do not depend on where they end. ``wn.Run(threads=)`` says how many threads there are,
for all other calls the environment variable WINNOW_THREADS; by default all processors of the
process are used, where there is enough to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

from winnow.core.checks import count
from winnow.errors import ParameterError
from winnow.foreign import shown

A = TypeVar("A")
R = TypeVar("R")

VARIABLE = "WINNOW_THREADS"
LEAST = 1 << 20
"""So many items are worth a thread of their own: a draw takes some 2 ms for them, and to start
two threads and wait for them .2 ms of a processor (``benchmarks/threads.py``)."""

_stated: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """Within the block so many threads; None: as elsewhere."""
    if threads is None:
        yield
        return
    before = _stated.set(threads)
    try:
        yield
    finally:
        _stated.reset(before)


@contextmanager
def everywhere(threads: int | None) -> Iterator[None]:
    """Within the block so many threads, in this process and those that it starts."""
    before = os.environ.get(VARIABLE)
    if threads is not None:
        os.environ[VARIABLE] = str(threads)
    try:
        yield
    finally:
        if threads is not None:
            os.environ.pop(VARIABLE, None)
            if before is not None:
                os.environ[VARIABLE] = before


def available() -> int:
    """How many threads a draw may use."""
    stated = _stated.get()
    return _by_environment() if stated is None else stated


def checked(threads: int | None) -> int | None:
    """A number of threads, or None where nothing is said."""
    if threads is not None:
        count(threads=threads)
    return threads


def _by_environment() -> int:
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return processors()
    if not said.isdecimal() or int(said) < 1:
        raise ParameterError(
            f"{VARIABLE}={shown(said)} is not a number of threads; set it to 1 or more, or unset it"
        )
    return int(said)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ranges(size: int, least: int = LEAST, step: int = 1) -> list[tuple[int, int]]:
    """A range for each thread, of ``least`` items or more, that begins at a multiple of a step."""
    worth = size // max(1, least)
    parts = max(1, min(available(), worth)) if worth > 1 else 1
    if parts == 1:
        return [(0, size)]
    ends = [size * part // parts // step * step for part in range(1, parts)]
    starts = sorted({0, *ends})
    return list(zip(starts, [*starts[1:], size], strict=True))


def each(work: Callable[[A], R], tasks: Sequence[A], threads: int | None = None) -> list[R]:
    """What the work finds for each task, in their order, by so many threads at a time.

    Each thread runs under the settings of the caller: warnings stay off where they are.
    """
    if len(tasks) < 2 or (threads := min(len(tasks), threads or available())) < 2:
        return [work(task) for task in tasks]
    from concurrent.futures import ThreadPoolExecutor  # small draws need none

    with ThreadPoolExecutor(threads, thread_name_prefix="winnow") as pool:
        waiting = [pool.submit(copy_context().run, work, task) for task in tasks]
        return [found.result() for found in waiting]
