"""How kernels are compiled: kept on disk where that is possible, else in memory.

Importing this module imports numba: kernel modules that use it are imported only where
their speed is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba.extending import register_jitable

KERNELS: list[Any] = []
"""All kernels of the modules that were imported, in that order."""
_OPTIONS = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that compiled kernels call; it is compiled into them, and stays Python here."""
    return _inside()(function)


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A helper for inner loops that makes no arrays: it counts no references to them either."""
    return _inside(_nrt=False)(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A bare helper that is never called: passing a record of many arrays on would take time."""
    return _inside(_nrt=False, forceinline=True)(function)


def _inside(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Without the code by which Python and C would call it, a fifth of what there is to compile."""
    return register_jitable(error_model="numpy", no_cfunc_wrapper=True, **options)  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _sources() -> tuple[tuple[str, float, int], ...]:
    """What all kernels were compiled from: names, times and sizes of their files."""
    files = sorted(Path(__file__).parents[2].glob("**/kernels/*.py"))
    stats = [(file, file.stat()) for file in files]
    return tuple((f"{file.parts[-3]}/{file.name}", at.st_mtime, at.st_size) for file, at in stats)


def _date_by_all(kernel: Any) -> None:
    """Let a kept kernel be compiled again when any kernel file has changed.

    numba looks at a kernel's own file only, and would go on with code that has an old helper,
    or an old record, of another file compiled into it.
    """
    kept = kernel._cache._cache_file
    kept._source_stamp = (kept._source_stamp, _sources())
    load = kept._load_index

    def loaded() -> Any:
        try:
            return load()
        except Exception:  # kept by a version whose records lay elsewhere: they cannot be named
            return {}

    kept._load_index = loaded


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The kernel, kept on disk where a writable cache is to be found, else only in memory."""
    options = _OPTIONS | options
    try:
        kernel = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place that it may write to
        kernel = numba.njit(**options)(function)
        KERNELS.append(kernel)
        return kernel  # type: ignore[no-any-return]
    KERNELS.append(kernel)
    _date_by_all(kernel)

    def call(*arguments: Any) -> Any:
        try:
            return kernel(*arguments)
        except OSError:  # the cache failed (full disk, read-only); the code is compiled by now
            return kernel(*arguments)

    return call


def compiled_bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that makes no arrays: records of many arrays cost nothing in it."""
    return compiled(function, _nrt=False)
