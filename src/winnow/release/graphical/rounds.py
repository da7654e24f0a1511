"""A graphical model of a wide table, round by round.

The loop of MWEM+PGM [McKenna-Miklau-Sheldon 2021] with the candidates, weights and penalties
of AIM [McKenna et al. 2022]: measure each column alone; then let the private rounds select a
table that the model gets wrong by more than its noise, measure it, and fit the model to all tables
released so far. The model may grow from round to round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from winnow.core.workloads.part import Part, table_columns
from winnow.core.workloads.workload import Workload
from winnow.fit.junction_tree import Columns, tree_cells
from winnow.fit.tables import Estimator, NoisyTable
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.graphical.settings import WideSettings
from winnow.release.graphical.synthetic import (
    RESTS_ON,
    TreeFactor,
    WideSynthetic,
    measured_marginal,
)
from winnow.release.rounds.mechanism import MarginalRun

REFRESHED = 20
"""With more columns, the model's tables that share none with the last measured one are kept: they
hardly change, and whatever public table a score is taken against, the guarantee is the same."""


def fit_wide(
    table: SealedTable,
    run: MarginalRun,
    planned: WideSettings,
    progress: Callable[[int, int], None] | None = None,
) -> WideSynthetic:
    """Ask for every paid round and fit the model.

    The table is handed on sealed; only what the rounds release is looked at.
    """
    released = [
        NoisyTable(_columns(part), counts, sigma)
        for part, counts, sigma in zip(
            planned.first.parts, run.first, planned.first_sigmas, strict=True
        )
    ]
    total = planned.terms.total if planned.terms.total is not None else _total(released)
    every = planned.mechanism.rounds
    kept = planned.worthwhile(total)
    estimator = Estimator(planned.schema.shape, total)
    fitted = estimator.fit(released, last=not kept)
    if kept:
        tables = tuple(planned.candidates.parts[i] for i in kept)
        candidates = Workload(planned.schema, tables)
        rounds = run.start(
            true_counts(table, candidates), candidates, [planned.weights[i] for i in kept]
        )
        stages = planned.mechanism.stage_of_rounds()
        penalties = [np.array(planned.penalties(stage))[kept] for stage in range(max(stages) + 1)]
        sets = [_columns(part) for part in tables]
        due = np.ones(len(sets), np.bool_)  # to be compared with the model before the next draw
        narrow = len(planned.schema.columns) <= REFRESHED
        with_column = _with_column(sets)
        room = ModelRoom(planned.schema.shape, planned.model_cells, sets)
        for done in range(every):
            stage = stages[done]
            share = math.sqrt((done + 1) / every)
            allowed = room.allowed(released, share, penalties[stage] < total)
            for i in allowed[due[allowed]]:
                rounds.look(i, total * fitted.model.marginal(sets[i]))
            due[allowed] = False
            measured = rounds.draw(allowed, penalties[stage][allowed])
            chosen = sets[measured.candidate]
            released.append(NoisyTable(chosen, measured.counts, planned.noises[stage].deviation))
            for column in chosen:
                due[with_column[column]] = True
            due |= narrow
            fitted = estimator.fit(released, last=done == every - 1)
            if progress is not None:
                progress(done + 1, every)
    factor = TreeFactor(fitted.model)
    return WideSynthetic(
        planned.schema,
        (factor,),  # type: ignore[arg-type]
        total,
        workload=planned.terms.workload,
        rests_on=RESTS_ON,
        marginals=tuple(measured_marginal(planned.schema, each) for each in released),
        fit=replace(fitted.quality, distance=0.0),  # its tables are the answers
    )


def _with_column(sets: Sequence[Columns]) -> dict[int, NDArray[np.int64]]:
    """For each column the tables that have it."""
    tables: dict[int, list[int]] = {}
    for i, columns in enumerate(sets):
        for column in columns:
            tables.setdefault(column, []).append(i)
    return {column: np.array(places, np.int64) for column, places in tables.items()}


@dataclass(frozen=True, eq=False)
class ModelRoom:
    """Which candidates a model within ``model_cells`` has room for: by public rule."""

    shape: tuple[int, ...]
    most: int
    sets: Sequence[Columns]

    @cached_property
    def _joined(self) -> NDArray[np.int64]:
        """The cells of each table without its largest column."""
        sizes = ([self.shape[c] for c in columns] for columns in self.sets)
        return np.array([math.prod(each) // max(each) for each in sizes], np.int64)

    def allowed(
        self,
        released: Sequence[NoisyTable],
        share: float = 1.0,
        worthwhile: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """The candidates that may be added to what was released.

        The model has room for a ``share`` of its cells. Where nothing fits into that, all of
        its cells are free, and where noise spares nothing, nothing is left out for noise.
        """
        if worthwhile is None:
            worthwhile = np.ones(len(self.sets), np.bool_)
        scopes = [each.columns for each in released]
        taken = tree_cells(self.shape, scopes)
        for most in (int(share * self.most), self.most):
            fits = self._fitting(scopes, taken, most)
            if (fits & worthwhile).any():
                return np.flatnonzero(fits & worthwhile)
        return np.flatnonzero(fits)

    def _fitting(self, scopes: Sequence[Columns], taken: int, most: int) -> NDArray[np.bool_]:
        """The candidates with which the model stays within so many cells.

        To join all columns of a table but the largest to every clique would be enough to hold
        the table; where even that stays within the bound, no tree has to be made to know it.
        """
        from winnow.release.graphical.kernels.elimination import within

        fits = self._joined <= most // taken
        left = np.flatnonzero(~fits).tolist()
        if left:
            fits[left] = within(self.shape, list(scopes), [self.sets[i] for i in left], most)
        return fits


def _columns(part: Part) -> tuple[int, ...]:
    columns = table_columns(part)
    if columns is None:
        raise TypeError("a candidate is a marginal table")
    return columns


def _total(first: list[NoisyTable]) -> int:
    """The number of rows, from the sums of the noisy tables, weighted by their accuracy."""
    sums = [float(table.counts.sum()) for table in first]
    weights = [1.0 / (table.counts.size * table.sigma**2) for table in first]
    return max(1, round(float(np.average(sums, weights=weights))))
