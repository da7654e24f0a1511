"""Rounds over whole tables: each selects a marginal table and measures all of its cells.

The cells of a table are disjoint, so a person moves one of them (two, if replaced), and all are
measured for what one costs. Selection is among tables, not among cells: by the l1 distance of a
table from what the distribution says, less what noise would make of it. The distribution of
maximum entropy follows the measurements (``winnow.fit``). ``mechanism`` has what a round draws,
and its proof. [MWEM: Hardt-Ligett-McSherry 2012; whole tables: McKenna-Miklau-Sheldon 2021]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.measurement import MEASUREMENTS
from winnow.core.sealed import Sealed
from winnow.core.unit import counted
from winnow.core.workloads.part import table_columns
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.fit.junction_tree import Columns
from winnow.fit.tables import Estimator, FitQuality, NoisyTable, together
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.drawn import MethodPlan, Progress
from winnow.release.factors import Factor
from winnow.release.prediction import THUMB, Prediction
from winnow.release.query_errors import QueryErrors, TableErrors
from winnow.release.rounds.crossing.run_parts import event_before
from winnow.release.rounds.crossing.tables import MeasuredTable
from winnow.release.rounds.domain import in_groups, whole_domain
from winnow.release.rounds.mechanism import MarginalRun, MeasureMarginals
from winnow.release.rounds.mwem import default_tables
from winnow.release.rounds.mwem_plan import calibrated, domain_refused
from winnow.release.rounds.prediction import predicted_table_errors
from winnow.release.rounds.settings import (
    ReleaseSettings,
    TaskSettings,
    everyone,
    noise_law,
    round_text,
    rows_text,
    sealed_total,
    total_multiplier,
    total_share,
)
from winnow.release.synthetic import MeasuredQuery, SyntheticDistribution
from winnow.release.terms import ASSUMED_ROWS, ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import Adaptive

Floats = NDArray[np.float64]

SELECTION_SHARE: dict[str, Real] = {"gaussian": 0.2, "laplace": Fraction(1, 65)}
"""A fifth of a round's rho, and so much that it is a fifth of its epsilon: tables are few."""


def adaptive_settings(method: Adaptive, terms: ReleaseTerms) -> ReleaseSettings:
    """Fix everything, or say what is impossible; nothing is charged here."""
    if None in map(table_columns, terms.workload.parts):
        raise ParameterError(
            "rounds over whole tables need tables; give a workload such as wn.marginals(3)"
        )
    parts, rests_on = whole_domain(terms), ""
    if method.groups is not None:
        parts, rests_on = in_groups(terms, method.groups)
    kept = Workload(terms.schema, tuple(p for each in parts for p in each.workload.parts))
    law = noise_law(terms, method)
    rounds, reason = _rounds(method, terms, kept, law)
    multiplier = total_multiplier(terms, method)
    share = exact("share", SELECTION_SHARE[law] if method.share is None else method.share)
    plan = calibrated(terms, rounds, share, law, event_before(multiplier, (), terms.relation, law))
    mechanism = MeasureMarginals(
        plan.selection_epsilon,
        plan.noise_multiplier,
        plan.rounds,
        () if multiplier is None else (multiplier,),
        plan.measurement,
    )
    tasks = [TaskSettings(each.columns, each.own, each.own, None, plan.rounds) for each in parts]
    if terms.total is None:
        reason += f"; {100 * total_share(method):g} % of the budget for the number of rows"
    return ReleaseSettings(
        terms=terms,
        workload=kept,
        tasks=tuple(tasks),
        rounds=plan,
        mechanism=mechanism,
        reason=f"{reason}; {round_text(plan)}",
        rests_on=rests_on,
    )


def _rounds(method: Adaptive, terms: ReleaseTerms, workload: Workload, law: str) -> tuple[int, str]:
    """How many tables are measured, all groups together, and why."""
    if method.rounds is not None:
        return int(method.rounds), f"{counted(int(method.rounds), 'round')} as asked"
    chosen = default_number(terms, workload, law)
    return chosen, (
        f"{counted(chosen, 'round')} over whole tables, chosen from public numbers: "
        f"{len(workload.parts):,} tables, {workload.size:,} cells, {rows_text(terms.total)}, "
        "the budget"
    )


def default_number(terms: ReleaseTerms, workload: Workload, law: str) -> int:
    """How many tables are measured unless told, all groups together."""
    once = 1 / float(terms.epsilon) if terms.rho is None else 1 / math.sqrt(2 * terms.rho)
    norm = terms.relation.people if law == "laplace" else math.sqrt(terms.relation.people)
    return default_tables(
        cells=workload.size,
        tables=len(workload.parts),
        total=terms.total or ASSUMED_ROWS,
        rows_per_person=terms.rows_per_person,
        noise=once * norm * MEASUREMENTS[law].deviation,
        pure=terms.rho is None,
    )


def predict_adaptive(method: Adaptive, terms: ReleaseTerms) -> Prediction | str:
    """The prediction for rounds over whole tables, or why they cannot run."""
    workload = terms.workload
    if None in map(table_columns, workload.parts):
        return "it is for workloads of marginal tables"
    if (too_large := domain_refused(terms)) is not None:
        return too_large
    near = "pure" if terms.pure else "zcdp"  # quick, and near enough for the size of noise
    planned = adaptive_settings(method, replace(terms, accountant=near))
    rounds = planned.rounds.rounds
    predicted = predicted_table_errors(
        noise=planned.cell_noise.deviation,
        cells=workload.size,
        rows=terms.total or ASSUMED_ROWS,
        measured=rounds / len(workload.parts),
    )
    note = f"{counted(rounds, 'round')} over whole tables"
    return Prediction("adaptive", *predicted, planned.seconds, THUMB, note)


def selections_pay(terms: ReleaseTerms) -> bool:
    """Whether rounds over whole tables measure fewer than half of the tables.

    Who measures most of them anyway gains nothing by selecting, and pays for it: on 61 generated
    settings (``benchmarks/choice.py``) .90 of the choices were within 1.15 of the best by this
    rule, and .87 to .89 where rounds might take as many tables as there are.
    """
    workload, law = terms.workload, "laplace" if terms.pure else "gaussian"
    if None in map(table_columns, workload.parts):
        return False
    return 2 * default_number(terms, workload, law) < len(workload.parts)


def adaptive_plan(method: Adaptive, terms: ReleaseTerms, progress: Progress) -> MethodPlan:
    """The rounds with all that is fixed of them, and what runs them."""
    planned = adaptive_settings(method, terms)
    mechanism = planned.mechanism
    assert isinstance(mechanism, MeasureMarginals)

    @lru_cache(maxsize=1)  # counted once, for the check and for the draw
    def counts_of(table: SealedTable) -> Sealed[NDArray[np.int64]]:
        return true_counts(table, planned.workload)

    def check(table: SealedTable) -> None:
        counts_of(table)
        mechanism.check(terms.relation, table.rows_per_person)

    def synthesised(table: SealedTable, key: Key) -> SyntheticDistribution:
        total = sealed_total(table, planned)
        run = mechanism.open(
            total,
            None if total is None else everyone(table.schema),
            key,
            relation=terms.relation,
            rows_per_person=table.rows_per_person,
        )
        return synthesise_tables(run, counts_of(table), planned, progress)

    return MethodPlan(
        mechanism=mechanism,
        relation=terms.relation,
        guarantee=planned.guarantee,
        draw=synthesised,
        check=check,
        title=f"MWEM over whole tables; {mechanism.name}",
        reason=planned.reason,
        seconds=planned.seconds,
        expected=planned,
    )


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
        measured_table = rounds.next(places, [total * each for each in said], penalties)
        fitting.take(measured_table, said[measured_table.candidate], last=done == every - 1)
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

    def take(self, measured_table: MeasuredTable, said: Floats, *, last: bool) -> None:
        """Learn a measured table."""
        place, workload = measured_table.candidate, self.planned.workload
        answers = measured_table.counts / self.total
        gaps = answers - said
        worst = int(np.abs(gaps).argmax())
        self.gaps.append(float(gaps[worst]))
        first = int(workload.offsets[place])
        for inside, (count, answer) in enumerate(zip(measured_table.counts, answers, strict=True)):
            label, task = workload.parts[place].label(inside), self._tasks[place]
            self.measured.append(
                MeasuredQuery(label, int(count), float(answer), first + inside, 0, task)
            )
        number, deviation = self._tasks[place], self.planned.cell_noise.deviation
        self._tables[number].append(
            NoisyTable(self._columns[place], measured_table.counts, deviation)
        )
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
        quality = together(list(self._qualities.values()))
        return SyntheticDistribution(
            planned.schema,
            tuple(factors),
            self.total,
            tuple(self.measured),
            QueryErrors((errors,)),
            planned.workload,
            planned.rests_on,
            fit=quality and replace(quality, distance=0.0),  # its tables are the answers
        )
