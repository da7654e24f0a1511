"""How kernels are compiled: kept on disk where that is possible, else in memory.

Importing this module imports numba: kernel modules that use it are imported only where
their speed is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

_OPTIONS = {"error_model": "numpy", "nogil": True}


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that compiled kernels call; it is compiled into them."""
    return numba.njit(error_model="numpy")(function)  # type: ignore[no-any-return]


def bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A helper for inner loops that makes no arrays: it counts no references to them either."""
    return numba.njit(error_model="numpy", _nrt=False)(function)  # type: ignore[no-any-return]


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A bare helper that is never called: passing a record of many arrays on would take time."""
    return numba.njit(error_model="numpy", _nrt=False, forceinline=True)(function)  # type: ignore[no-any-return]


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The kernel, kept on disk where a writable cache is to be found, else only in memory."""
    options = _OPTIONS | options
    try:
        kernel = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no place that it may write to
        return numba.njit(**options)(function)  # type: ignore[no-any-return]

    def call(*arguments: Any) -> Any:
        try:
            return kernel(*arguments)
        except OSError:  # the cache failed (full disk, read-only); the code is compiled by now
            return kernel(*arguments)

    return call


def compiled_bare(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that makes no arrays: records of many arrays cost nothing in it."""
    return compiled(function, _nrt=False)
