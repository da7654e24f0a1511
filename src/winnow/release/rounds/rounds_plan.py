"""MWEM: answers to many queries, and a synthetic table, by rounds of selection and measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, delta_range, exact, positive, probability
from winnow.core.key import Key
from winnow.core.plan import Plan
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.workload import Workload, bound_workload
from winnow.errors import ParameterError
from winnow.inner_product.vectors import seal_vectors
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.rounds.crossing.lazy_selection import Search
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import Task
from winnow.release.rounds.mechanism import MeasureMarginals
from winnow.release.rounds.mwem import TABLES, Mwem
from winnow.release.rounds.mwem_request import MwemRequest, public_total
from winnow.release.rounds.plan import Promised
from winnow.release.rounds.settings import SELECTION_SHARE, ReleaseSettings, release_settings
from winnow.release.rounds.synthesis import synthesise
from winnow.release.rounds.warm_start import single_columns
from winnow.release.rounds.whole_tables import synthesise_tables
from winnow.release.synthetic import SyntheticDistribution

BETA = 0.05
"""With this probability an error that was aimed at may be missed."""

Progress = Callable[[int, int], None] | None
RoundsRelease = tuple[ReleaseSettings, Plan[SealedTable, SyntheticDistribution]]
"""All that is fixed of the rounds, and the plan that runs them."""


def mwem_plan(request: MwemRequest, mwem: Mwem, progress: Progress) -> RoundsRelease:
    """Rounds that select a badly answered query and measure its count.

    The multiplicative weights exponential mechanism: the distribution follows the measurements.
    """
    planned = release_settings(request)
    return planned, _queries_plan(planned, mwem, progress)


def adaptive_plan(request: MwemRequest, progress: Progress) -> RoundsRelease:
    """Rounds that select a badly answered table and measure it whole."""
    planned = release_settings(request)
    return planned, _tables_plan(planned, progress)


def promising(request: MwemRequest, alpha: Real) -> MwemRequest:
    """The request with the fewest rounds that promise an error [FastMWEM, Thm 3.1]."""
    probability(alpha=alpha)
    positive(epsilon=request.epsilon)
    delta_range(delta=request.delta)
    total = public_total(request)
    if total is None:
        raise ParameterError(
            "alpha= needs a public number of rows; state one with rows= where the table is read, "
            "or give rounds="
        )
    bound = bound_workload(request.workload, request.schema, request.memory)
    share = exact("share", SELECTION_SHARE if request.share is None else request.share)
    promised = Promised(
        request.schema.cells, bound.size, float(alpha), BETA, int(request.rows_per_person),
        request.epsilon, request.delta, request.relation, share,
    )  # fmt: skip
    return replace(request, workload=bound, rounds=promised.fewest_rounds(total))


def _queries_plan(
    planned: ReleaseSettings, mwem: Mwem, progress: Progress
) -> Plan[SealedTable, SyntheticDistribution]:
    """Rounds over single queries."""
    mechanism = planned.mechanism
    assert isinstance(mechanism, SelectAndMeasure)

    @lru_cache(maxsize=1)  # counted once, for the check and for the draw
    def tasks_of(table: SealedTable) -> list[Task]:
        return [
            Task(
                true_counts(table, task.workload),
                task.fitted,
                task.rounds,
                _search(table, task.workload, mechanism.index),
            )
            for task in planned.tasks
        ]

    def synthesised(table: SealedTable, key: Key) -> SyntheticDistribution:
        tables = single_columns(table.schema) if mechanism.first else None
        run = mechanism.open(
            tasks_of(table),
            key,
            relation=planned.relation,
            rows_per_person=table.rows_per_person,
            total=_sealed_total(table, planned),
            first=None if tables is None else true_counts(table, tables),
            tables=tables,
        )
        return synthesise(run, planned, mwem, progress)

    return Plan(
        mechanism=mechanism,
        relation=planned.relation,
        guarantee=planned.guarantee,
        draw=synthesised,
        check=lambda table: mechanism.check(tasks_of(table), table.rows_per_person, planned.total),
        title=f"{mwem.name}; {mechanism.name}",
        reason=planned.reason,
        seconds=run_seconds(planned),
    )


def _search(table: SealedTable, workload: Workload, index: str | None) -> Search | None:
    """The index over public queries, made before anything is charged."""
    if index is None:
        return None
    schema = workload.schema
    every = Workload(schema, (MarginalPart(schema, tuple(range(len(schema.columns)))),))
    vectors = seal_vectors(workload.matrix(), index=index, copy=False)
    return Search(vectors, true_counts(table, every))


def _tables_plan(
    planned: ReleaseSettings, progress: Progress
) -> Plan[SealedTable, SyntheticDistribution]:
    """Rounds over whole tables."""
    mechanism = planned.mechanism
    assert isinstance(mechanism, MeasureMarginals)

    @lru_cache(maxsize=1)  # counted once, for the check and for the draw
    def counts_of(table: SealedTable) -> Sealed[NDArray[np.int64]]:
        return true_counts(table, planned.workload)

    def check(table: SealedTable) -> None:
        counts_of(table)
        mechanism.check(planned.relation, table.rows_per_person)

    def synthesised(table: SealedTable, key: Key) -> SyntheticDistribution:
        total = _sealed_total(table, planned)
        run = mechanism.open(
            total,
            None if total is None else _everyone(table.schema),
            key,
            relation=planned.relation,
            rows_per_person=table.rows_per_person,
        )
        return synthesise_tables(run, counts_of(table), planned, progress)

    return Plan(
        mechanism=mechanism,
        relation=planned.relation,
        guarantee=planned.guarantee,
        draw=synthesised,
        check=check,
        title=f"MWEM over whole tables; {mechanism.name}",
        reason=planned.reason,
        seconds=run_seconds(planned),
    )


def run_seconds(planned: ReleaseSettings) -> float:
    """About how long a plan takes; a private number of rows counts as a million."""
    total = 0.1 + 1e-7 * (planned.total or 10**6)
    for task in planned.tasks:
        cells = task.fitted.schema.cells if task.points is None else len(task.points)
        queries = task.workload.size
        total += 5e-8 * cells + 1e-6 * queries
        if planned.update == TABLES:  # every round goes over all tables so far
            again = min(task.rounds, len(task.workload.parts))
            total += (2 * task.rounds + 30) * again * (2e-4 + 2e-8 * cells)
        total += task.rounds * (1e-3 + 2e-9 * cells + 1e-7 * queries)
    return total


def _sealed_total(table: SealedTable, planned: ReleaseSettings) -> Sealed[NDArray[np.int64]] | None:
    """The number of rows, where it is to be measured."""
    return None if planned.total is not None else true_counts(table, _everyone(table.schema))


def _everyone(schema: Schema) -> Workload:
    """The query that holds for every row."""
    return Workload(schema, (ConjunctionPart(schema, ({},)),))
