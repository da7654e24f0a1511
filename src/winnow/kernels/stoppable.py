"""Long kernels that Ctrl-C stops.

A compiled loop hears no signal. So it runs in a thread of its own, without Python's lock, and
looks at a flag once in a while; the thread that waits for it sets the flag when interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np


def stoppable(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a kernel whose last argument is its flag: an array of one byte."""
    stop = np.zeros(1, np.uint8)
    outcome: list[Any] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            outcome.append(kernel(*arguments, stop))
        except BaseException as error:  # told to the waiting thread
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name="winnow-kernel", daemon=True).start()
    try:
        while not done.wait(0.2):
            pass
    except BaseException:
        stop[0] = 1
        done.wait()
        raise
    if failure:
        raise failure[0]
    return outcome[0]
