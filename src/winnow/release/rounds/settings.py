"""What is fixed of rounds before the data are looked at: queries, domain, rounds, noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from winnow.core.checks import one_of
from winnow.core.measurement import MEASUREMENTS
from winnow.core.schema import Schema
from winnow.core.sealed import Sealed
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.reductions import Integers
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.privacy import Event, Guarantee
from winnow.privacy.closed_plan import RoundsPlan, few_digits_up
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.rounds.by_rows import RoundsByRows
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.tables import Counts, TableNoise
from winnow.release.rounds.mechanism import MeasureMarginals
from winnow.release.terms import ASSUMED_ROWS, ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import MWEM, Adaptive

TOTAL_SHARE = 0.02
"""The part of the budget for the number of rows, where it is private."""


@dataclass(frozen=True, eq=False)
class TaskSettings:
    """The queries about one group of columns, and the domain that they are fitted on."""

    columns: tuple[int, ...]
    workload: Workload
    """Over the group's own schema: what is counted and labelled."""
    fitted: Workload
    """The queries over the domain of the distribution."""
    points: Integers | None
    rounds: int


@dataclass(frozen=True, eq=False)
class ReleaseSettings:
    """A closed plan: nothing in it depends on data."""

    terms: ReleaseTerms
    """What the release is for. A private number of rows is measured first."""
    workload: Workload
    """All queries that are measured, over the whole schema."""
    tasks: tuple[TaskSettings, ...]
    rounds: RoundsPlan
    mechanism: SelectAndMeasure | MeasureMarginals
    reason: str
    rests_on: str
    by_rows: RoundsByRows | None = None
    """What is run for how many noisy rows, where that number is private."""

    @property
    def schema(self) -> Schema:
        """Of the table."""
        return self.terms.schema

    @property
    def total(self) -> int | None:
        """The public number of rows; None: it is private."""
        return self.terms.total

    def taken(self, rows: int | None) -> ReleaseSettings:
        """What is run once the noisy number of rows is known."""
        if self.by_rows is None:
            return self
        plan, rounds = self.by_rows.plan(rows or 0)
        pairs = zip(self.tasks, rounds, strict=True)
        tasks = tuple(replace(task, rounds=own) for task, own in pairs)
        return replace(self, tasks=tasks, rounds=plan, by_rows=None)

    @property
    def whole_tables(self) -> bool:
        """Whether a round measures a table, and not one query."""
        return isinstance(self.mechanism, MeasureMarginals)

    @property
    def cell_noise(self) -> TableNoise:
        """The noise of one cell of a measured table."""
        assert isinstance(self.mechanism, MeasureMarginals)
        multiplier = self.mechanism.noise_multiplier
        return self.mechanism.noise(multiplier, self.terms.relation, self.terms.rows_per_person)

    @property
    def event(self) -> Event:
        """What the whole run is charged."""
        return self.rounds.event

    @property
    def guarantee(self) -> Guarantee:
        """What the accountant proved of the closed plan."""
        return self.rounds.guarantee

    @property
    def seconds(self) -> float:
        """About how long the rounds take; a private number of rows counts as a million."""
        total = 0.1 + 1e-7 * (self.total or 10**6)
        for task in self.tasks:
            cells = task.fitted.schema.cells if task.points is None else len(task.points)
            queries = task.workload.size
            total += 5e-8 * cells + 1e-6 * queries
            if self.whole_tables:  # a round goes over all tables so far
                again = min(task.rounds, len(task.workload.parts))
                total += (2 * task.rounds + 30) * again * (2e-4 + 2e-8 * cells)
            total += task.rounds * (1e-3 + 2e-9 * cells + 1e-7 * queries)
        return total


def noise_law(terms: ReleaseTerms, method: MWEM | Adaptive) -> str:
    """Gaussian noise wherever it can be accounted for."""
    law = method.measurement or ("laplace" if terms.pure else "gaussian")
    one_of(tuple(MEASUREMENTS), measurement=law)
    return law


def total_multiplier(terms: ReleaseTerms, method: MWEM | Adaptive) -> float | None:
    """The noise of a private number of rows; None: it is public."""
    if terms.total is not None:
        if method.total_share is not None:
            raise ParameterError("the number of rows is public here; leave out total_share")
        return None
    share = float(total_share(method))
    if terms.rho is None:
        return few_digits_up(1 / (share * float(terms.epsilon)))
    return few_digits_up(1 / math.sqrt(2 * share * terms.rho))


def total_share(method: MWEM | Adaptive) -> float:
    """The part of the budget that measures a private number of rows."""
    return TOTAL_SHARE if method.total_share is None else float(method.total_share)


def rows_text(total: int | None) -> str:
    """The number of rows that a number of rounds was chosen for."""
    if total is not None:
        return f"{total:,} rows"
    return f"as if there were {ASSUMED_ROWS:,} rows (their number is private)"


def round_text(plan: RoundsPlan) -> str:
    """What a round spends."""
    return (
        f"{plan.accountant} accountant: per round a selection at epsilon "
        f"{plan.selection_epsilon:g} and noise {plan.noise_multiplier:g} x sensitivity"
    )


def sealed_total(table: SealedTable, planned: ReleaseSettings) -> Sealed[Counts] | None:
    """The number of rows, where it is to be measured."""
    return None if planned.total is not None else true_counts(table, everyone(table.schema))


def everyone(schema: Schema) -> Workload:
    """The query that holds for every row."""
    return Workload(schema, (ConjunctionPart(schema, ({},)),))
