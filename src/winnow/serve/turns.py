"""Fair turns: places for each principal, a queue that serves principals in turn, and its timetable.

Whoever was served goes to the back. So nobody waits for more than one piece of work of each other
principal before a piece of their own begins, however much another one has ordered.
"""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from winnow.serve.problems import Refusal, log_failure

T = TypeVar("T")


class Rotation(Generic[T]):
    """What waits, by principal, in the order in which it is served."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()

    def add(self, who: str, item: T) -> None:
        """Put it behind what the principal has waiting already."""
        self._queues.setdefault(who, deque()).append(item)

    def next(self, allowed: Callable[[str], bool] = lambda _: True) -> tuple[str, T] | None:
        """Take what is served next, of the principals that are allowed; None: nothing waits."""
        for who, queue in self._queues.items():
            if allowed(who):
                item = queue.popleft()
                if queue:
                    self._queues.move_to_end(who)
                else:
                    del self._queues[who]
                return who, item
        return None

    def remove(self, who: str, wanted: Callable[[T], bool]) -> bool:
        """Take something of a principal out of the queue; whether it was there."""
        queue = self._queues.get(who, deque())
        for place, item in enumerate(queue):
            if wanted(item):
                del queue[place]
                if not queue:
                    del self._queues[who]
                return True
        return False


class Turns(Generic[T]):
    """Threads that serve principals in turn; work that may succeed later is put back.

    The threads do not keep a process alive: whatever they do may be cut off and done again.
    """

    def __init__(
        self, work: Callable[[T], None], threads: int, name: str, each: int | None = None
    ) -> None:
        self._work, self._each = work, threads if each is None else each
        """At most so many pieces of work of one principal are done at the same time."""
        self._waiting: Rotation[T] = Rotation()
        self._later: list[tuple[float, int, str, T]] = []
        self._running: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._closed, self._number = False, count()
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name} {number}", daemon=True)
            for number in range(threads)
        ]
        self._begun = False

    def put(self, who: str, item: T, pause: float = 0.0) -> bool:
        """Let it wait for its turn, or so many seconds first; False: nothing begins any more."""
        with self._changed:
            if self._closed:
                return False
            if pause:
                heapq.heappush(
                    self._later, (time.monotonic() + pause, next(self._number), who, item)
                )
            else:
                self._waiting.add(who, item)
            self._changed.notify()
            if not self._begun:
                self._begun = True
                for thread in self._threads:
                    thread.start()
            return True

    def remove(self, who: str, item: T) -> bool:
        """Take something out of the queue; False: its turn came, or it is waiting for later."""
        with self._changed:
            return self._waiting.remove(who, lambda each: each is item)

    def left(self) -> T | None:
        """Take out something that will not be done any more; None: nothing is left."""
        with self._changed:
            waiting = self._waiting.next()
            return None if waiting is None else waiting[1]

    def close(self, seconds: float | None = None) -> bool:
        """Begin nothing more, and wait so long for what runs; whether all of it ended."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads if self._begun else ():
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _serve(self) -> None:
        while (taken := self._taken()) is not None:
            who, item = taken
            try:
                self._work(item)
            except BaseException as error:  # a thread that ended would be missing for good
                log_failure("work was cut off", error)
            finally:
                with self._changed:
                    self._running -= Counter([who])
                    self._changed.notify_all()

    def _taken(self) -> tuple[str, T] | None:
        """What this thread does next, waited for; None: nothing more."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                while self._later and self._later[0][0] <= now:
                    _, _, who, item = heapq.heappop(self._later)
                    self._waiting.add(who, item)
                waiting = self._waiting.next(lambda who: self._running[who] < self._each)
                if waiting is not None:
                    self._running[waiting[0]] += 1
                    return waiting
                self._changed.wait(self._later[0][0] - now if self._later else None)
            return None


@dataclass
class _Booked:
    identity: str
    seconds: float
    accepted: float


@dataclass
class Timetable:
    """When everything would be ready if it took its planned time, in fair turns on some slots.

    It knows public numbers only: who ordered what when, and how long that is planned to take.
    """

    slots: int
    _busy: list[tuple[float, str]] = field(default_factory=list)
    """Until when each slot is taken, and by what."""
    _waiting: Rotation[_Booked] = field(default_factory=Rotation)

    def add(self, who: str, identity: str, seconds: float, now: float) -> float:
        """When something that is ordered now is ready."""
        self._advance(now)
        self._waiting.add(who, _Booked(identity, seconds, now))
        self._advance(now)
        ahead = deepcopy(self)
        while (end := ahead._end(identity)) is None:
            ahead._advance(min(until for until, _ in ahead._busy))
        return end

    def remove(self, who: str, identity: str, now: float) -> None:
        """Give a time back: what it was for does not happen."""
        if not self._waiting.remove(who, lambda each: each.identity == identity):
            self._busy = [(now, "") if name == identity else (t, name) for t, name in self._busy]
        self._advance(now)

    def _end(self, identity: str) -> float | None:
        return next((until for until, name in self._busy if name == identity), None)

    def _advance(self, now: float) -> None:
        """Begin, in turn, all that begins until now."""
        while True:
            full = len(self._busy) >= self.slots
            free = min(self._busy)[0] if full else 0.0
            begun = self._waiting.next() if free <= now else None
            if begun is None:
                return
            if full:
                self._busy.remove(min(self._busy))
            booked = begun[1]
            self._busy.append((max(free, booked.accepted) + booked.seconds, booked.identity))


class PrincipalPlaces:
    """So many at once of each principal, and so many of all unless others see to that."""

    def __init__(self, each: int, most: int | None, what: str) -> None:
        self._each, self._most, self._what = each, math.inf if most is None else most, what
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, who: str) -> Iterator[None]:
        """Have a place as long as this lasts, or be refused."""
        self.take(who)
        try:
            yield
        finally:
            self.leave(who)

    def until_done(self, who: str, begin: Callable[[], Future[T]]) -> Future[T]:
        """Have a place until a promise is kept, or be refused."""
        self.take(who)
        try:
            future = begin()
        except BaseException:
            self.leave(who)
            raise
        future.add_done_callback(lambda _: self.leave(who))
        return future

    def take(self, who: str) -> None:
        """Take a place, or be refused."""
        with self._lock:
            check_places(self._taken[who], self._each, self._taken.total(), self._most, self._what)
            self._taken[who] += 1

    def leave(self, who: str) -> None:
        """Give a place back."""
        with self._lock:
            self._taken -= Counter([who])


def check_places(mine: int, each: int, total: int, most: float, what: str) -> None:
    """Refuse one more of a principal who has so many, or of all."""
    if mine >= each:
        raise Refusal(
            "too-many",
            f"{mine:,} {what} of yours are waiting, the most that one analyst may have; wait for "
            "one of them",
        )
    if total >= most:
        raise Refusal("busy", f"too many {what} are waiting; try again later")
