"""Queries of DuckDB that Ctrl-C stops at once.

DuckDB looks for signals only now and then, and says RuntimeError. So the query runs in a
thread of its own, and the waiting thread tells DuckDB to stop.
"""

from __future__ import annotations

import threading
from typing import Any


def run(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a statement; whatever interrupts the wait interrupts the statement."""
    if not hasattr(connection, "interrupt"):  # a relation, which does not show its connection
        return _run_here(connection, sql)
    outcome: list[Any] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            outcome.extend(connection.execute(sql).fetchall())
        except BaseException as error:  # told to the waiting thread
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="winnow-duckdb", daemon=True).start()
    try:
        while not done.wait(0.2):
            pass
    except BaseException:
        while not done.wait(0.05):  # told again if the query had not begun
            connection.interrupt()
        raise
    if failure:
        raise failure[0]
    return outcome


def _run_here(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    try:
        rows: list[tuple[Any, ...]] = connection.execute(sql).fetchall()
        return rows
    except RuntimeError as error:
        interrupted = "interrupted" in str(error)
        if not interrupted:
            raise
    raise KeyboardInterrupt
