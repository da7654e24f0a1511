"""What the figures and the page of a release say in numbers; all from public quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.workload import Workload
from winnow.release.query_errors import farthest
from winnow.release.synthetic import SyntheticDistribution

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PartErrors:
    """How far the distribution lies from what was measured in one part of the workload."""

    name: str
    queries: int
    measurements: int
    distances: tuple[float, ...]
    """Of each measured query: distribution minus the mean of its measurements, in fractions."""
    estimate: float
    """The largest error estimate of a measured query; of the whole workload if there is none."""

    @property
    def largest(self) -> float:
        """The largest distance, whatever its sign; 0 if nothing was measured."""
        return max((abs(distance) for distance in self.distances), default=0.0)


@dataclass(frozen=True)
class MeasuredRow:
    """One measurement beside what the distribution says in the end."""

    round: int
    label: str
    count: int
    """Noisy, as it was released."""
    grid: int
    answer: float
    """The noisy count as a fraction of the total."""
    fitted: float
    """What the distribution answers, as a fraction."""


def fitted_fractions(synthetic: SyntheticDistribution) -> Floats:
    """The answers to the workload that was released for, in [0, 1]."""
    workload: Workload = synthetic.workload
    answers = synthetic.answers().copy()
    for part, start, stop in zip(
        workload.parts, workload.offsets[:-1], workload.offsets[1:], strict=True
    ):
        if part.bound is not None:  # declared in [-bound, bound]
            answers[start:stop] = (answers[start:stop] / float(part.bound) + 1) / 2
    return answers


def measured_rows(synthetic: SyntheticDistribution) -> list[MeasuredRow]:
    """Every measurement in order, beside the final answer to its query."""
    fitted, grids = fitted_fractions(synthetic), synthetic.workload.grids
    return [
        MeasuredRow(
            number,
            measured.label,
            measured.count,
            int(grids[measured.query]),
            measured.answer,
            float(fitted[measured.query]),
        )
        for number, measured in enumerate(synthetic.measurements, 1)
    ]


@dataclass(frozen=True)
class PartAccuracy:
    """What is known of the errors of one part of the workload, for methods without rounds."""

    name: str
    queries: int
    error: float | None
    """The largest standard error of an answer, as a fraction; None: nothing is known."""


def accuracy_by_part(synthetic: SyntheticDistribution) -> list[PartAccuracy]:
    """One entry for each part of the workload, in its order."""
    workload: Workload = synthetic.workload
    known = None if synthetic.errors is None else np.array(synthetic.error_estimates())
    parts: dict[str, PartAccuracy] = {}
    pairs = zip(workload.offsets[:-1], workload.offsets[1:], strict=True)
    for part, (start, stop) in zip(workload.parts, pairs, strict=True):
        error = None if known is None else float(known[start:stop].max())
        old = parts.get(part.title, PartAccuracy(part.title, 0, error))
        if error is not None and old.error is not None:
            error = max(error, old.error)
        parts[part.title] = PartAccuracy(part.title, old.queries + part.size, error)
    return list(parts.values())


def errors_by_part(synthetic: SyntheticDistribution) -> list[PartErrors]:
    """One entry for each part of the workload, the one with the largest distance first."""
    workload: Workload = synthetic.workload
    assert synthetic.errors is not None
    fitted = fitted_fractions(synthetic)
    noise, overall = synthetic.errors.noise, synthetic.errors.estimate
    seen: dict[int, list[float]] = {}
    for measured in synthetic.measurements:
        seen.setdefault(measured.query, []).append(measured.answer)
    by_part: dict[str, dict[str, Any]] = {}
    for part in workload.parts:
        entry = by_part.setdefault(
            part.title, {"queries": 0, "measured": 0, "distances": [], "estimates": []}
        )
        entry["queries"] += part.size
    for query, values in sorted(seen.items()):
        entry = by_part[workload.parts[workload.locate(query)[0]].title]
        distance = float(fitted[query] - np.mean(values))
        entry["measured"] += len(values)
        entry["distances"].append(distance)
        estimate = float(np.hypot(distance, noise / np.sqrt(len(values))))
        entry["estimates"].append(min(estimate, float(farthest(fitted[query]))))
    parts = [
        PartErrors(
            name,
            entry["queries"],
            entry["measured"],
            tuple(entry["distances"]),
            max(entry["estimates"], default=overall),
        )
        for name, entry in by_part.items()
    ]
    return sorted(parts, key=lambda part: (-part.largest, part.name))
