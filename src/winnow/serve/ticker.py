"""One ticker that always runs: every answer leaves at arrival + quantum, whatever it is.

An answer that was computed early waits; one that is late leaves at twice the time, four times, and
so on, and is counted. A sleep for each request would not do: a sleep of asyncio ends a whole number
of milliseconds after the loop was last busy, which is when the answer was ready, and some hundred
timings tell a fresh answer from a repeated one. So a thread wakes on a grid of 4 ms whether there
is anything to send or not, and tells the loop what is due. When something is due follows from when
it came, and from nothing else.

What is due is written first, and leaves some tenths of a millisecond after the tick: ``depart``.
After more work the same steps take some microseconds more, because the processor has to fetch
them again, and a thousand timings on one machine tell that. Of what is left, a microsecond in the
sending itself, a random wait hides all but a part in hundreds.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import os
import threading
import time
from collections.abc import Callable
from itertools import count

GRID = 0.004
_SLACK = 2 * GRID
"""An answer may leave so long after its quantum and is still in time: the grid, and a stumble."""


_WRITING = 0.0002
"""Seconds after a tick in which its first answers are written out."""
_SPREAD = 0.0004
"""Up to so many more they wait, at random."""


class Ticker:
    """Lets answers go at their time; one for each server."""

    def __init__(self, quantum: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.quantum, self._clock = quantum, clock
        self.late = 0
        """How many answers left later than one quantum, for whatever reason: they were not ready,
        or the process was busy when they were due."""
        self.answers = 0
        self._waiting: list[tuple[float, int, float, asyncio.Future[None]]] = []
        self._number = count()
        self._departs = 0.0
        self._stopping = threading.Event()
        self._free = threading.Condition()
        self._thread: threading.Thread | None = None

    def due(self, arrival: float, ready: float | None = None) -> float:
        """When an answer leaves that is ready now: after one quantum, or two, four, eight."""
        ready = self._clock() if ready is None else ready
        wait = self.quantum
        while arrival + wait < ready:
            wait *= 2
        return arrival + wait

    async def hold(self, arrival: float) -> None:
        """Return when the answer to a request that came then may leave."""
        due = self.due(arrival)
        self.answers += 1
        waiter = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (due, next(self._number), arrival, waiter))
        await waiter

    def depart(self) -> None:
        """Return when the answers of the last tick leave, to the microsecond: nothing else runs."""
        while self._clock() < self._departs:
            pass

    def wait(self) -> None:
        """Return when the answers of the next tick have left; for threads with work to do.

        Work delays what leaves meanwhile. Begun here, it has the time until the next tick, so that
        a request that is timed well does not see how long another one took.
        """
        with self._free:
            self._free.wait(2 * GRID)

    def start(self) -> None:
        """Begin to tick, for the running loop."""
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._tick, args=(loop,), name="ticker", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Let go of whatever waits, and end."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        self._release(math.inf)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        start, number = self._clock(), 0
        while not self._stopping.is_set():
            number = max(number + 1, int((self._clock() - start) / GRID) + 1)
            tick = start + number * GRID
            time.sleep(max(0.0, tick - self._clock()))
            if self._waiting and self._waiting[0][0] <= tick:
                loop.call_soon_threadsafe(self._leave, loop, tick)
            else:
                self._left()

    def _leave(self, loop: asyncio.AbstractEventLoop, tick: float) -> None:
        self._release(tick)
        # One turn of the loop for the tasks that go on, and one for what they write.
        loop.call_soon(loop.call_soon, loop.call_soon, self._left)

    def _left(self) -> None:
        with self._free:
            self._free.notify_all()

    def _release(self, tick: float) -> None:
        part = int.from_bytes(os.urandom(4), "big") / 2**32
        self._departs = 0.0 if tick == math.inf else tick + _WRITING + part * _SPREAD
        while self._waiting and self._waiting[0][0] <= tick:
            _, _, arrival, waiter = heapq.heappop(self._waiting)
            self.late += self._clock() - arrival > self.quantum + _SLACK
            if not waiter.done():  # the client may have gone
                waiter.set_result(None)
