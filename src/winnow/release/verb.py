"""MWEM: answers to many queries, and a synthetic table, by rounds of selection and measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, delta_range, exact, one_of, positive, probability
from winnow.core.key import Key
from winnow.core.padding import Padding, PadTo, check_progress
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.workload import Workload, bound_workload
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.inner_product.vectors import seal_vectors
from winnow.privacy import Budget
from winnow.privacy.sizing import sizing_accountant
from winnow.read.crossing import SealedTable, sealed_table, true_counts
from winnow.release.crossing.lazy_selection import Search
from winnow.release.crossing.rounds import SelectAndMeasure
from winnow.release.crossing.run_parts import Task
from winnow.release.mechanism import MeasureMarginals
from winnow.release.mwem import TABLES, UPDATES, Mwem
from winnow.release.plan import Promised
from winnow.release.request import ReleaseRequest, public_total
from winnow.release.settings import SELECTION_SHARE, ReleaseSettings, release_settings
from winnow.release.synthesis import synthesise
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.warm_start import single_columns
from winnow.release.whole_tables import synthesise_tables


@guarded
def release_mwem(
    table: SealedTable,
    workload: Any,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    rounds: int | Sequence[int] | None = None,
    alpha: Real | None = None,
    update: str = "gap",
    step: float | None = None,
    replay: int | None = None,
    result: str | None = None,
    measurement: str | None = None,
    share: Real | None = None,
    relation: str | Relation | None = None,
    rows: int | None = None,
    total_share: Real | None = None,
    warm_start: Real | None = None,
    groups: Sequence[Sequence[str]] | None = None,
    universe: Any = None,
    universe_seed: int = 0,
    smoothness: Real | None = None,
    phi: Real | str | None = None,
    index: str | None = None,
    slack: Real = 0,
    accountant: str = "best",
    budget: Budget | None = None,
    memory: str | int = "4GB",
    progress: Callable[[int, int], None] | None = None,
    pad_to: PadTo = None,
    seed: int | None = None,
) -> Released[SyntheticDistribution]:
    """``winnow.release`` with ``method="mwem"``: the multiplicative weights exponential mechanism.

    ``table`` is what ``wn.read_table`` made; ``workload`` what to be accurate about, such as
    ``wn.marginals(3)``. Each of ``rounds`` rounds selects a query that the distribution
    answers badly (exponential mechanism) and measures its count (discrete Gaussian noise;
    discrete Laplace with ``delta=0``); the distribution follows the measurements. The whole
    is (epsilon, delta)-DP and charged once, before the first draw.

    ``rounds`` is chosen from public numbers unless given. ``update`` is "gap", "hardt" or "sign"
    for rounds over single queries (with ``step``, ``replay`` and ``result``; see
    ``winnow.release.mwem``): post-processing, which costs nothing. With "tables" every round
    selects and measures a whole table (see ``winnow.release.whole_tables``). ``share`` of rho
    goes to selection: a half, or a fifth for whole tables.

    ``warm_start`` is the part of the budget that measures the table of every column before the
    first round; rounds then start from independent columns with these tables. Unless told it is
    a tenth for the gap update, where noise leaves something of the tables
    (``winnow.release.warm_start`` has the rule), and 0 for the others: the uniform distribution
    of the papers.

    ``alpha`` is a largest error, as a fraction of the rows, that is to be promised with probability
    .95: it takes the fewest rounds for it, with the sign update [FastMWEM, Thm 3.1, with
    constants].

    ``relation`` is the table's unless given. Under substitution, with one row per person, the
    number of rows is public. Otherwise give the public number ``rows`` that counts are taken
    of, or it is measured with the part ``total_share`` (2 % unless given) of the budget.

    When the domain does not fit ``memory``: ``groups`` makes an independent distribution for
    each group of columns, out of one budget, with ``rounds`` each (queries across groups are
    not measured); ``universe`` works on that many sampled cells, or on a public list of
    rows (labels in the order of the schema, or an array of codes), and ``value.rests_on`` says
    what accuracy then rests on: with ``smoothness``, the most that any cell holds, in numbers.
    ``phi`` is how far the data may lie from such a distribution, or "rows": as far as
    independent rows do.

    ``index`` ("flat", "lsh", "p-stable", "ivf", "hnsw") selects as the paper does: an index over
    the queries, written out over the cells, proposes some, and certified bounds cover what it
    leaves out (Algorithms 2 and 6 of FastMWEM). The law is the same as without it; where the bounds
    tell little, all queries are looked at. ``slack`` trusts an index further, by so many nats of
    each selection, which pays 2 slack of its epsilon for it (Algorithm 5).

    ``progress`` is called after each round with (rounds done, rounds in all). Interrupted, a
    release leaves nothing behind but its charge.

    ``pad_to`` holds the result back (and an error after the charge) until so many seconds after
    the call, or until a multiple of that if it takes longer: the time of lazy selection depends
    on the data. "plan" takes a public estimate of four times what it takes.
    """
    padding = Padding(pad_to)
    check_progress(progress, pad_to)
    table = sealed_table(table, relation)
    if alpha is not None:
        sized = {"rounds": rounds, "step": step, "groups": groups, "universe": universe}
        if update != "sign" or any(value is not None for value in sized.values()):
            raise ParameterError(
                "alpha= is promised for update='sign' with its own rounds and step, on all cells; "
                "leave out update, rounds, step, groups and universe"
            )
    mwem = _mwem(update, step, replay, result)
    request = ReleaseRequest(
        workload=workload,
        schema=table.schema,
        rows_per_person=table.rows_per_person,
        relation=table.relation,
        public_rows=table.n,
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        update=update,
        measurement=measurement,
        share=share,
        total_share=total_share,
        warm_start=warm_start,
        groups=groups,
        universe=universe,
        universe_seed=universe_seed,
        smoothness=smoothness,
        phi=phi,
        index=index,
        slack=slack,
        accountant=accountant if budget is None else accountant_of(budget, accountant, delta),
        memory=memory,
    )
    planned = release_settings(request if alpha is None else promising(request, alpha))
    plan = (
        _tables_plan(planned, progress) if mwem is None else _queries_plan(planned, mwem, progress)
    )
    return plan.run(table, budget=budget, seed=seed, padding=padding)


def promising(request: ReleaseRequest, alpha: Real) -> ReleaseRequest:
    """The request with the fewest rounds that promise an error [FastMWEM, Thm 3.1]."""
    probability(alpha=alpha)
    positive(epsilon=request.epsilon)
    delta_range(delta=request.delta)
    total = public_total(request)
    if total is None:
        raise ParameterError("alpha= needs a public number of rows; give rows=, or rounds=")
    bound = bound_workload(request.workload, request.schema, request.memory)
    share = exact("share", SELECTION_SHARE if request.share is None else request.share)
    promised = Promised(
        request.schema.cells, bound.size, float(alpha), BETA, int(request.rows_per_person),
        request.epsilon, request.delta, request.relation, share,
    )  # fmt: skip
    return replace(request, workload=bound, rounds=promised.fewest_rounds(total))


BETA = 0.05
"""With this probability an error that was aimed at may be missed."""

ReleasePlan = Plan[SealedTable, SyntheticDistribution]
Progress = Callable[[int, int], None] | None


def _mwem(update: str, step: float | None, replay: int | None, result: str | None) -> Mwem | None:
    """What follows from rounds over single queries; None: rounds are over whole tables."""
    one_of((*UPDATES, TABLES), update=update)
    if update != TABLES:
        return Mwem(update, step, replay, result)
    if step is not None or replay is not None or result is not None:
        raise ParameterError(
            "step, replay and result are for rounds over single queries; leave them out, or use "
            "update='gap'"
        )
    return None


def _queries_plan(planned: ReleaseSettings, mwem: Mwem, progress: Progress) -> ReleasePlan:
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


def _tables_plan(planned: ReleaseSettings, progress: Progress) -> ReleasePlan:
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


def accountant_of(budget: Budget, accountant: str, delta: Real) -> str:
    """The accountant of the budget, which another one must not be asked to replace."""
    sizing = sizing_accountant(budget, delta)
    if accountant not in ("best", sizing):
        raise ParameterError(
            f"accountant={accountant!r} does not size a release of delta={delta} for a budget "
            f"that adds up by {budget.accountant!r}; leave it out"
        )
    return sizing
