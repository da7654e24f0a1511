"""How long something took, on a machine that may be busy with other things.

The smaller of the time that passed and of the time that this process had: waiting for a core does
not count, and work on several cores at once counts as long as it lasts.
"""

from __future__ import annotations

import time

Start = tuple[float, float]

_FINE = time.get_clock_info("process_time").resolution < 1e-5


def clock() -> Start:
    """The present moment."""
    return time.perf_counter(), time.process_time()


def since(start: Start) -> float:
    """Seconds since then."""
    passed = time.perf_counter() - start[0]
    return min(passed, max(1e-9, time.process_time() - start[1])) if _FINE else passed
