"""What rounds of selection and measurement are made of, and what they release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real
from winnow.core.relation import Relation
from winnow.core.sealed import Sealed
from winnow.core.workloads.workload import Workload
from winnow.privacy import Compose, Event
from winnow.release.rounds.crossing.lazy_selection import Search
from winnow.release.rounds.crossing.tables import additive, first_event


@dataclass(frozen=True)
class Measurement:
    """What one round releases. All of it is public."""

    query: int
    """The number of the selected query in the workload."""
    sign: int
    """+1: selected because the data were said to have more than the distribution; -1: less."""
    count: int
    """The query's count in grid units, with noise."""


@dataclass(frozen=True)
class RowsChoice:
    """The rounds that are run from so many noisy rows on."""

    least_rows: int
    epsilon: Real
    """Of one selection."""
    noise_multiplier: Real
    rounds: tuple[int, ...]
    """Of each task."""


@dataclass(frozen=True)
class Task:
    """Queries, their true counts in grid units, and how many rounds they get."""

    counts: Sealed[NDArray[np.int64]]
    workload: Workload
    rounds: int
    search: Search | None = None
    """An index over these queries."""


def with_rounds(tasks: Sequence[Task], rounds: tuple[int, ...]) -> list[Task]:
    """The tasks with other numbers of rounds."""
    return [replace(task, rounds=own) for task, own in zip(tasks, rounds, strict=True)]


def event_before(
    total: Real | None, first: Sequence[Real], relation: Relation, measurement: str
) -> Event | None:
    """The event of what is measured before the first round, by multipliers; None: nothing is."""
    events: list[Event] = []
    if total is not None:
        events.append(additive(measurement, total, relation).event)
    if first:
        events.append(first_event(first, relation, measurement))
    if not events:
        return None
    return events[0] if len(events) == 1 else Compose(tuple(events))
