"""Results at a time that was fixed beforehand, so that the clock tells nothing of the data.

Lazy selection looks at as many queries, rows or itemsets as the data ask for, and so its time
depends on them. With ``pad_to`` a call holds its result back, and any error after the charge,
until so many seconds after it began; one that takes longer, until the next multiple. What is
left for the clock to tell is that number of multiples, which the receipt states.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from winnow.core.checks import Real, exact, positive
from winnow.core.threads import using
from winnow.errors import ParameterError
from winnow.foreign import shown

PadTo = Real | str | None
"""Seconds, "plan" for the public time of the plan, or None: nothing is held back."""

PLAN = "plan"
SPARE = 4.0
"""Public times of plans are so many times what the slowest of several shapes of data took on one
core of the machine of ``benchmarks/timing.json``. They follow from cells, queries, rounds, entries,
and rows where those are public. A slower machine, or a busy one, is late more often."""

_LONGEST = 10**7


class Padding:
    """The clock of one call, from its beginning, and on how many threads it draws."""

    def __init__(self, pad_to: PadTo, threads: int | None = None) -> None:
        self._threads = threads
        self._begun = time.monotonic()
        self._asked = checked(pad_to)
        self._step: float | None = None
        self._steps = 1

    @contextmanager
    def held(self, planned: Callable[[], float]) -> Iterator[None]:
        """What comes out of the block, a result or an error, comes at a multiple of the time.

        ``planned`` tells the public time of the plan, if that was asked for. Ctrl-C is not held.
        """
        if self._asked is None:
            if self._threads is None:
                yield
                return
            with using(self._threads):
                yield
            return
        step = planned() if self._asked == PLAN else float(self._asked)
        self._step = step
        try:
            with using(self._threads):
                yield
        except Exception:
            self._wait(step)
            raise
        self._wait(step)

    @property
    def late(self) -> bool:
        """Whether the time was not enough."""
        return self._steps > 1

    @property
    def note(self) -> str:
        """For the receipt: until when the result was held back; empty if it was not."""
        if self._step is None:
            return ""
        if not self.late:
            return f"until {self._step:.4g} s after the call"
        return f"late: {self._step:.4g} s were not enough, so until {self._steps} times as long"

    def _wait(self, step: float) -> None:
        self._steps = max(1, math.ceil((time.monotonic() - self._begun) / step))
        time.sleep(max(0.0, self._begun + self._steps * step - time.monotonic()))


def check_progress(progress: object, pad_to: PadTo) -> None:
    """Refuse what cannot be called, and what would tell the time that is to be hidden."""
    if progress is not None and not callable(progress):
        raise ParameterError(
            "progress is not a function; give one that takes (rounds done, rounds in all)"
        )
    if progress is not None and pad_to is not None:
        raise ParameterError(
            "progress tells the time that pad_to is to hide; leave out one of them"
        )


def checked(pad_to: PadTo) -> float | str | None:
    """Seconds as a float, "plan", or None."""
    if pad_to is None or pad_to == PLAN:
        return PLAN if pad_to == PLAN else None
    if isinstance(pad_to, str):
        raise ParameterError(f"pad_to={shown(pad_to)} is unknown; give seconds, or 'plan'")
    positive(pad_to=pad_to)
    if exact("pad_to", pad_to) > _LONGEST:
        raise ParameterError(f"pad_to={pad_to} is above {_LONGEST:,} seconds; give fewer")
    return float(pad_to)
