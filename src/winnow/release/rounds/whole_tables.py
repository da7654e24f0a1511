"""MWEM over whole tables: each round selects a marginal table and measures all of its cells.

The cells of a table are disjoint, so a person moves one of them (two, if replaced), and all are
measured for what one costs. Selection is among tables, not among cells: by the l1 distance of a
table from what the distribution says, less what noise would make of it. The distribution of
maximum entropy follows the measurements (``winnow.fit``). [MWEM: Hardt-Ligett-McSherry 2012;
whole tables: McKenna-Miklau-Sheldon 2021]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow.core.sealed import Sealed
from winnow.core.workloads.part import table_columns
from winnow.fit.junction_tree import Columns
from winnow.fit.tables import Estimator, FitQuality, NoisyTable, together
from winnow.release.factors import Factor
from winnow.release.query_errors import QueryErrors, TableErrors
from winnow.release.rounds.crossing.tables import MeasuredTable
from winnow.release.rounds.mechanism import MarginalRun
from winnow.release.rounds.settings import ReleaseSettings
from winnow.release.synthetic import MeasuredQuery, SyntheticDistribution

Floats = NDArray[np.float64]


def synthesise_tables(
    run: MarginalRun,
    counts: Sealed[NDArray[np.int64]],
    planned: ReleaseSettings,
    progress: Callable[[int, int], None] | None = None,
) -> SyntheticDistribution:
    """Ask for every paid round, and fit a distribution for each group of columns.

    ``counts`` are handed on sealed; only what the rounds release is looked at.
    """
    total = max(1, planned.total if planned.total is not None else int(run.first[0][0]))
    fitting = _TableFitting(planned, total)
    workload, every = planned.workload, planned.rounds.rounds
    rounds = run.start(counts, workload, [1] * len(workload.parts))
    places = range(len(workload.parts))
    penalties = [planned.cell_noise.mean_size * part.size for part in workload.parts]
    for done in range(every):
        said = fitting.tables()
        found = rounds.next(places, [total * each for each in said], penalties)
        fitting.take(found, said[found.candidate], last=done == every - 1)
        if progress is not None:
            progress(done + 1, every)
    return fitting.synthetic()


@dataclass
class _TableFitting:
    """The public state of the rounds."""

    planned: ReleaseSettings
    total: int
    gaps: list[float] = field(default_factory=list)
    measured: list[MeasuredQuery] = field(default_factory=list)

    def __post_init__(self) -> None:
        tasks = self.planned.tasks
        self._noise = self.planned.cell_noise.deviation / self.total
        shapes = [task.workload.schema.shape for task in tasks]
        self._fits = [Estimator(shape, self.total) for shape in shapes]
        self._tables: list[list[NoisyTable]] = [[] for _ in tasks]
        self._weights = [np.full(math.prod(shape), 1.0 / math.prod(shape)) for shape in shapes]
        self._qualities: dict[int, FitQuality] = {}
        self._tasks: list[int] = []
        self._columns: list[Columns] = []
        for number, task in enumerate(tasks):
            for part in task.workload.parts:
                self._tasks.append(number)
                self._columns.append(table_columns(part) or ())

    def tables(self) -> list[Floats]:
        """What the distributions say of every table, as fractions, in the workload's order."""
        pairs = zip(self.planned.tasks, self._weights, strict=True)
        answers = np.concatenate([task.workload.answers(weights) for task, weights in pairs])
        return np.split(answers, self.planned.workload.offsets[1:-1])

    def take(self, found: MeasuredTable, said: Floats, *, last: bool) -> None:
        """Learn a measured table."""
        place, workload = found.candidate, self.planned.workload
        answers = found.counts / self.total
        gaps = answers - said
        worst = int(np.abs(gaps).argmax())
        self.gaps.append(float(gaps[worst]))
        first = int(workload.offsets[place])
        for inside, (count, answer) in enumerate(zip(found.counts, answers, strict=True)):
            label, task = workload.parts[place].label(inside), self._tasks[place]
            self.measured.append(
                MeasuredQuery(label, int(count), float(answer), first + inside, 0, task)
            )
        number, deviation = self._tasks[place], self.planned.cell_noise.deviation
        self._tables[number].append(NoisyTable(self._columns[place], found.counts, deviation))
        for task in range(len(self._fits)) if last else [number]:
            self._fit(task, last=last)

    def _fit(self, task: int, *, last: bool) -> None:
        if tables := self._tables[task]:
            fitted = self._fits[task].fit(tables, last=last)
            columns = range(len(fitted.model.tree.shape))
            self._weights[task] = fitted.model.marginal(columns).reshape(-1)
            self._qualities[task] = fitted.quality

    def synthetic(self) -> SyntheticDistribution:
        """What came out."""
        planned = self.planned
        factors = [
            Factor(task.columns, task.workload.schema.shape, weights)
            for task, weights in zip(planned.tasks, self._weights, strict=True)
        ]
        errors = TableErrors(np.array(self.gaps), self._noise)
        return SyntheticDistribution(
            planned.schema,
            tuple(factors),
            self.total,
            tuple(self.measured),
            QueryErrors((errors,)),
            planned.workload,
            planned.rests_on,
            fit=together(list(self._qualities.values())),
        )
