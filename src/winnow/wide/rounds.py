"""A graphical model of a wide table, round by round.

The loop of MWEM+PGM [McKenna-Miklau-Sheldon 2021] with the candidates, weights and penalties
of AIM [McKenna et al. 2022]: measure each column alone; then let the private rounds select a
table that the model gets wrong by more than its noise, measure it, and fit the model to all
tables released so far.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from winnow.core.workloads.part import Part, table_columns
from winnow.core.workloads.workload import Workload
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.mechanism import MarginalRun
from winnow.wide.fit import Estimator, NoisyTable
from winnow.wide.junction_tree import tree_cells
from winnow.wide.settings import WideSettings
from winnow.wide.synthetic import MeasuredMarginal, TreeFactor, WideSynthetic


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
        NoisyTable(_columns(part), counts, planned.first_sigma)
        for part, counts in zip(planned.first.parts, run.first, strict=True)
    ]
    total = planned.total if planned.total is not None else _total(released)
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
        penalties = [planned.penalties()[i] for i in kept]
        for done in range(every):
            allowed = allowed_candidates(planned, candidates, released)
            found = rounds.next(
                allowed,
                [total * fitted.model.marginal(_columns(tables[i])) for i in allowed],
                [penalties[i] for i in allowed],
            )
            chosen = _columns(tables[found.candidate])
            released.append(NoisyTable(chosen, found.counts, planned.sigma))
            fitted = estimator.fit(released, last=done == every - 1)
            if progress is not None:
                progress(done + 1, every)
    factor = TreeFactor(fitted.model)
    return WideSynthetic(
        planned.schema,
        (factor,),  # type: ignore[arg-type]
        total,
        workload=planned.workload,
        rests_on=(
            "a graphical model fitted to the measured tables: columns that no measured table "
            "joins are independent given the others"
        ),
        marginals=tuple(_measured(planned, each) for each in released),
        fit=fitted.quality,
    )


def allowed_candidates(
    planned: WideSettings, candidates: Workload, released: list[NoisyTable]
) -> list[int]:
    """The candidates with which the model stays within ``model_cells``: by public rule."""
    held = [each.columns for each in released]
    shape = planned.schema.shape
    return [
        i
        for i, part in enumerate(candidates.parts)
        if tree_cells(shape, [*held, _columns(part)]) <= planned.model_cells
    ]


def _columns(part: Part) -> tuple[int, ...]:
    columns = table_columns(part)
    if columns is None:
        raise TypeError("a candidate is a marginal table")
    return columns


def _total(first: list[NoisyTable]) -> int:
    """The number of rows, from the sums of the noisy tables, weighted by their accuracy."""
    sums = [float(table.counts.sum()) for table in first]
    weights = [1.0 / table.counts.size for table in first]
    return max(1, round(float(np.average(sums, weights=weights))))


def _measured(planned: WideSettings, table: NoisyTable) -> MeasuredMarginal:
    names = tuple(planned.schema.names[c] for c in table.columns)
    shape = planned.schema.subset(names).shape
    return MeasuredMarginal(names, table.counts.reshape(shape), table.sigma)
