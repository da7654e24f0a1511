"""What ledger and server share of SQL: how statements are spelled, and a connection that is kept.

There is one for a process, kept as long as it is good, and never used in a fork.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Lock
from typing import Any
from weakref import finalize

from winnow.core.process import Owner
from winnow.errors import WinnowError

_TABLE = re.compile(r"{(\w+)}")


@lru_cache(maxsize=256)
def spelled(statement: str, prefix: str, mark: str) -> str:
    """SQL for a database: names of tables stand in braces, and ? for a value."""
    return _TABLE.sub(rf"{prefix}\1", statement).replace("?", mark)


class KeptConnection:
    """A connection that is opened when it is needed, for one thread at a time.

    ``good`` says whether an open connection still leads to the ledger. Whatever goes wrong
    while it is used, except for a refusal of the ledger itself, ends it: the next use gets a
    new one.
    """

    def __init__(self, connect: Callable[[], Any], good: Callable[[Any], bool]) -> None:
        self._connect, self._good = connect, good
        self._begin()

    def _begin(self) -> None:
        self._lock, self._owner = Lock(), Owner()
        self._end: finalize[..., Any] | None = None
        self._connection: Any = None

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """The connection, to this thread alone."""
        if not self._owner.here:
            self._begin()
        with self._lock:
            if self._connection is not None and not self._good(self._connection):
                self._forget()
            if self._connection is None:
                self._connection = self._connect()
                self._end = finalize(self, _close, self._connection, self._owner)
            try:
                yield self._connection
            except WinnowError:
                raise
            except BaseException:
                self._forget()
                raise

    def _forget(self) -> None:
        if self._end is not None:
            self._end()
        self._connection = self._end = None


def _close(connection: Any, owner: Owner) -> None:
    if owner.here:
        with suppress(Exception):  # it is broken or not needed any more
            connection.close()
    else:  # to close it here would end a transaction of the parent: it is never freed
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def alive(connection: Any) -> bool:
    """Whether the server still holds this connection, and so its lock."""
    try:
        connection.execute("SELECT 1").fetchone()
    except Exception:  # whatever the driver says: the lock cannot be relied on
        return False
    return True
