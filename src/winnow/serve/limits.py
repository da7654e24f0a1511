"""A token bucket for each principal: so many requests at once, then so many a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from winnow.serve.problems import Refusal

_MOST_BUCKETS = 10_000


class Buckets:
    """Buckets by name; a full one is forgotten."""

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._held: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """Take one request out of a bucket, or refuse it."""
        with self._lock:
            now = self._clock()
            tokens, since = self._held.get(name, (float(self._burst), now))
            tokens = min(self._burst, tokens + (now - since) * self._rate)
            if tokens < 1:
                wait = max(1, int((1 - tokens) / self._rate + 1))
                raise Refusal("too-many", f"wait {wait} s", headers={"retry-after": str(wait)})
            if len(self._held) >= _MOST_BUCKETS and name not in self._held:
                self._forget(now)
            self._held[name] = (tokens - 1, now)

    def _forget(self, now: float) -> None:
        """Those that are full again say nothing; if all are in use, the oldest go."""
        kept = {
            name: (tokens, since)
            for name, (tokens, since) in self._held.items()
            if tokens + (now - since) * self._rate < self._burst
        }
        latest = sorted(kept.items(), key=lambda item: item[1][1])
        self._held = dict(latest[-_MOST_BUCKETS // 2 :])
