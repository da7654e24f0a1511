"""Fit a synthetic distribution to released measurements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from winnow.core.measurement import MEASUREMENTS
from winnow.release.factors import Factor
from winnow.release.query_errors import QueryErrors, RunErrors
from winnow.release.rounds.crossing.lazy_selection import most_rows
from winnow.release.rounds.crossing.rounds import OpenRun, SelectAndMeasure
from winnow.release.rounds.kernels.distribution import Distribution
from winnow.release.rounds.mwem import Fit, Mwem
from winnow.release.rounds.settings import ReleaseSettings, TaskSettings
from winnow.release.rounds.warm_start import independent_start
from winnow.release.synthetic import MeasuredQuery, SyntheticDistribution


def synthesise(
    run: OpenRun,
    planned: ReleaseSettings,
    mwem: Mwem,
    progress: Callable[[int, int], None] | None = None,
) -> SyntheticDistribution:
    """Ask for every paid round and fit a distribution for each task.

    Post-processing: only what the rounds release is looked at.
    """
    planned = planned.taken(run.total)
    total = planned.total if planned.total is not None else _counted(run, planned)
    noise = noise_of(planned, total)
    every = planned.rounds.rounds
    factors, errors, measured = [], [], []
    done = first = 0
    for group, (task, rounds) in enumerate(zip(planned.tasks, run.tasks, strict=True)):
        distribution = Distribution(task.fitted, total, _start(run, planned, task, total))

        def report(finished: int, before: int = done) -> None:
            if progress is not None:
                progress(before + finished, every)

        fit = mwem.fit(rounds, distribution, task.fitted, noise, report)
        shape = task.workload.schema.shape
        factors.append(Factor(task.columns, shape, fit.weights, task.points))
        errors.append(_errors(planned, task, mwem, fit, noise, total))
        measured += _measured(task, fit, total, group, first)
        done += task.rounds
        first += task.workload.size
    return SyntheticDistribution(
        planned.schema,
        tuple(factors),
        total,
        tuple(measured),
        QueryErrors(tuple(errors)),
        planned.workload,
        planned.rests_on,
        tuple(tuple(counts.tolist()) for counts in run.first),
    )


def _counted(run: OpenRun, planned: ReleaseSettings) -> int:
    """The noisy number of rows, within what rounds can be compared with."""
    most = min(most_rows(task.fitted) for task in planned.tasks)
    return max(1, min(run.total or 1, most))


def _start(
    run: OpenRun, planned: ReleaseSettings, task: TaskSettings, total: int
) -> NDArray[np.float64] | None:
    """Independent columns as their tables say, where these were measured; None: uniform."""
    if not run.first:
        return None
    assert isinstance(planned.mechanism, SelectAndMeasure)
    noises = planned.mechanism.table_noises(planned.terms.relation, planned.terms.rows_per_person)
    return independent_start(
        [run.first[column] for column in task.columns],
        [noises[column].deviation for column in task.columns],
        total,
    )


def noise_of(planned: ReleaseSettings, total: int) -> float:
    """The standard deviation of one measurement, as a fraction of the total."""
    scale = planned.rounds.noise_multiplier * planned.terms.rows_per_person / total
    return scale * MEASUREMENTS[planned.rounds.measurement].deviation


def _errors(
    planned: ReleaseSettings, task: TaskSettings, mwem: Mwem, fit: Fit, noise: float, total: int
) -> RunErrors:
    return RunErrors(
        fit.gaps,
        noise,
        planned.rounds.measurement == "laplace",
        2 * planned.terms.rows_per_person / (planned.rounds.selection_epsilon * total),
        task.workload.size,
        mwem.result == "average",
        fit.drift,
    )


def _measured(
    task: TaskSettings, fit: Fit, total: int, group: int, first: int
) -> list[MeasuredQuery]:
    listed = []
    for measurement in fit.measurements:
        part, _ = task.workload.locate(measurement.query)
        listed.append(
            MeasuredQuery(
                task.workload.label(measurement.query),
                measurement.count,
                measurement.count / (task.workload.parts[part].grid * total),
                first + measurement.query,
                measurement.sign,
                group,
            )
        )
    return listed
