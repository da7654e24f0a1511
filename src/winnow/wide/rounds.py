"""A graphical model of a wide table, round by round.

The loop of MWEM+PGM [McKenna-Miklau-Sheldon 2021] with the candidates, weights and penalties
of AIM [McKenna et al. 2022]: measure each column alone; then let the private rounds select a
table that the model gets wrong by more than its noise (in the first ones, of two columns), measure
it, and fit the model to all tables released so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from winnow.core.workloads.part import Part, table_columns
from winnow.core.workloads.workload import Workload
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.mechanism import MarginalRun
from winnow.wide.fit import Estimator, Floats, NoisyTable
from winnow.wide.junction_tree import tree_cells
from winnow.wide.rules import pairs_first
from winnow.wide.settings import WideSettings
from winnow.wide.synthetic import RESTS_ON, TreeFactor, WideSynthetic, measured_marginal

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
        every_penalty = planned.penalties()
        penalties = [every_penalty[i] for i in kept]
        said: dict[int, Floats] = {}
        changed: set[int] = set()
        early = pairs_first(len(planned.schema.columns), every)
        narrow = len(planned.schema.columns) <= REFRESHED
        for done in range(every):
            allowed = allowed_candidates(planned, candidates, released)
            if done < early:
                allowed = [i for i in allowed if len(_columns(tables[i])) == 2] or allowed
            for i in allowed:
                columns = _columns(tables[i])
                if i not in said or narrow or changed.intersection(columns):
                    said[i] = total * fitted.model.marginal(columns)
            found = rounds.next(
                allowed, [said[i] for i in allowed], [penalties[i] for i in allowed]
            )
            chosen = _columns(tables[found.candidate])
            released.append(NoisyTable(chosen, found.counts, planned.sigma))
            changed = set(chosen)
            fitted = estimator.fit(released, last=done == every - 1)
            if progress is not None:
                progress(done + 1, every)
    factor = TreeFactor(fitted.model)
    return WideSynthetic(
        planned.schema,
        (factor,),  # type: ignore[arg-type]
        total,
        workload=planned.workload,
        rests_on=RESTS_ON,
        marginals=tuple(measured_marginal(planned.schema, each) for each in released),
        fit=fitted.quality,
    )


def allowed_candidates(
    planned: WideSettings, candidates: Workload, released: list[NoisyTable]
) -> list[int]:
    """The candidates with which the model stays within ``model_cells``: by public rule.

    To join all columns of a table but the largest to every clique would be enough to hold the
    table; where even that stays within the bound, no tree has to be made to know it.
    """
    from winnow.wide.kernels.elimination import within

    held, shape = [each.columns for each in released], planned.schema.shape
    now, most = tree_cells(shape, held), planned.model_cells
    sets = [_columns(part) for part in candidates.parts]
    sizes = [sorted(shape[c] for c in columns) for columns in sets]
    found = {i for i, each in enumerate(sizes) if now * math.prod(each[:-1]) <= most}
    left = [i for i in range(len(sets)) if i not in found]
    fits = within(shape, held, [sets[i] for i in left], most)
    return sorted(found.union(i for i, each in zip(left, fits, strict=True) if each))


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
