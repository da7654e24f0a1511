"""Nobody tells a new answer from a repeated one by the clock; where answers sleep, one can."""

import asyncio
import math
import selectors
import sys
from collections.abc import Awaitable, Callable

import pytest

from serve.timing import AT_ONCE, SLEEPING, measured, probed, told_apart
from winnow.serve.ticker import GRID, Ticker

QUANTUM, SHORT = 20, 10
TOO_BUSY = 0.03


class MadeUpTime(selectors.SelectSelector):
    """Waits as epoll does, for whole milliseconds, or until something comes from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.coming: list[tuple[float, Callable[[], None]]] = []

    def select(self, timeout: float | None = None) -> list[object]:  # type: ignore[override]
        wait = 10.0 if timeout is None else math.ceil(timeout * 1000) / 1000
        self.coming.sort(key=lambda event: event[0])
        if self.coming and self.coming[0][0] <= self.now + wait:
            self.now, happens = max(self.now, self.coming[0][0]), self.coming.pop(0)[1]
            happens()
        else:
            self.now += wait
        return []


def leaves_after(work: float, hold: Callable[[Ticker, float], Awaitable[None]]) -> float:
    """Milliseconds from arrival to leaving, to the microsecond, of an answer that takes so long."""
    time = MadeUpTime()
    loop = asyncio.SelectorEventLoop(time)  # type: ignore[arg-type]
    loop.time = lambda: time.now  # type: ignore[method-assign]
    ticker, arrival = Ticker(QUANTUM / 1000, lambda: time.now), time.now + 0.0013
    for number in range(100 if hold is Ticker.hold else 0):
        tick = 1000.0 + number * GRID
        time.coming.append((tick, lambda tick=tick: ticker._release(tick)))

    async def answered() -> float:
        ready = loop.create_future()
        time.coming.append((arrival + work, lambda: ready.set_result(None)))
        await ready
        await hold(ticker, arrival)
        return 1000 * (time.now - arrival)

    try:
        return round(loop.run_until_complete(answered()), 3)
    finally:
        loop.close()


WORK = [0.0001, 0.0007, 0.0012, 0.00345, 0.0091, 0.0188]


def test_when_an_answer_leaves_does_not_depend_on_its_work() -> None:
    left = {leaves_after(work, Ticker.hold) for work in WORK}
    assert len(left) == 1 and QUANTUM <= left.pop() < QUANTUM + 1000 * GRID


def test_when_a_sleeping_answer_leaves_tells_its_work() -> None:
    async def sleep(ticker: Ticker, arrival: float) -> None:
        await asyncio.sleep(ticker.due(arrival) - asyncio.get_running_loop().time())

    left = [leaves_after(work, sleep) for work in WORK]
    beyond = [round(wait - QUANTUM, 3) for wait in left]
    assert beyond == [round(1000 * work % 1, 3) for work in WORK], "its work, but for whole ms"


@pytest.mark.extras
def test_over_http_the_clock_tells_new_answers_from_repeated_ones_by_nothing() -> None:
    """Two thousand timings, five numbers. False alarms: one in 250 squared, by shuffled labels."""
    slept = measured([sys.executable, "-c", SLEEPING], number=600, quantum_ms=SHORT)
    held = measured(None, number=2000, quantum_ms=SHORT)
    busy = max(slept.overslept, held.overslept)
    if busy > TOO_BUSY:
        pytest.skip(f"{busy:.0%} of short sleeps were late: this machine is too busy to say")
    assert len(told_apart(slept.on_time(2 * SHORT / 1000))) >= 2, "sleeping answers are told apart"
    on_time = held.on_time(2 * SHORT / 1000)
    assert len(on_time.fresh) > 0.98 * len(held.fresh)
    if told_apart(on_time):  # by chance once in 250 runs; a server that tells does so again
        held = measured(None, number=2000, quantum_ms=SHORT, seed=1)
        assert told_apart(held.on_time(2 * SHORT / 1000)) == []


@pytest.mark.extras
def test_over_http_no_answer_is_delayed_by_the_work_on_another() -> None:
    """Each time a probe leaves just after a question came, on another connection."""
    at_once = probed([sys.executable, "-c", AT_ONCE], number=300, quantum_ms=SHORT)
    waited = probed(None, number=400, quantum_ms=SHORT)
    busy = max(at_once.overslept, waited.overslept)
    if busy > TOO_BUSY:
        pytest.skip(f"{busy:.0%} of short sleeps were late: this machine is too busy to say")
    assert told_apart(at_once.on_time(GRID / 2)), "work that begins at once is told"
    if told_apart(waited.on_time(GRID / 2)):
        waited = probed(None, number=400, quantum_ms=SHORT, seed=1)
        assert told_apart(waited.on_time(GRID / 2)) == []
