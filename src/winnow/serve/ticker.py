"""One ticker that always runs: every answer leaves at arrival + quantum, whatever it is.

An answer that was computed early waits; one that is late leaves at twice the time, four times, and
so on, and is counted. A sleep for each request would not do: how much is going on in the process
moves when a sleeper wakes, and 2,000 timings tell a fresh answer from a repeated one (an area
under the curve of .42). So one task wakes on a grid of 4 ms whether there is anything to send or
not, spins over the last millisecond where something is due, and lets go of it. When something is
due follows from when it came, and from nothing else.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from itertools import count

GRID = 0.004
_SPIN = 0.001


class Ticker:
    """Lets answers go at their time; one for each server."""

    def __init__(self, quantum: float) -> None:
        self.quantum = quantum
        self.late = 0
        """How many answers came later than one quantum."""
        self.answers = 0
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._number = count()
        self._task: asyncio.Task[None] | None = None

    def due(self, arrival: float, ready: float | None = None) -> float:
        """When an answer leaves that is ready now: after one quantum, or two, four, eight."""
        ready = time.monotonic() if ready is None else ready
        wait = self.quantum
        while arrival + wait < ready:
            wait *= 2
        return arrival + wait

    async def hold(self, arrival: float) -> None:
        """Return when the answer to a request that came then may leave."""
        due = self.due(arrival)
        self.answers += 1
        self.late += due - arrival > 1.5 * self.quantum
        waiter = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (due, next(self._number), waiter))
        await waiter

    def start(self) -> None:
        """Begin to tick, in the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._tick())

    async def stop(self) -> None:
        """Let go of whatever waits, and end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._release(float("inf"))

    async def _tick(self) -> None:
        start = time.monotonic()
        number = 0
        while True:
            number = max(number + 1, int((time.monotonic() - start) / GRID) + 1)
            tick = start + number * GRID
            await asyncio.sleep(max(0.0, tick - _SPIN - time.monotonic()))
            while self._waiting and self._waiting[0][0] <= tick > time.monotonic():
                pass
            self._release(tick)

    def _release(self, tick: float) -> None:
        while self._waiting and self._waiting[0][0] <= tick:
            _, _, waiter = heapq.heappop(self._waiting)
            if not waiter.done():  # the client may have gone
                waiter.set_result(None)
