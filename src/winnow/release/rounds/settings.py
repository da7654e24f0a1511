"""Everything of a release that is fixed before the data are looked at.

From public parameters to a closed plan: which queries, on which domain, how many rounds, how
much noise. ``winnow.release`` runs the plan, ``winnow.plan.release`` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive_float, probability
from winnow.core.measurement import MEASUREMENTS
from winnow.core.process import memory_text, parse_memory
from winnow.core.relation import Relation
from winnow.core.schema import Schema, cells_text
from winnow.core.unit import counted
from winnow.core.workloads.part import table_columns
from winnow.core.workloads.reductions import (
    Integers,
    group_columns,
    inside,
    on_points,
)
from winnow.core.workloads.workload import Workload, bound_workload
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.privacy import Event, Guarantee
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds, few_digits_up
from winnow.release.rounds.by_rows import RoundsByRows, follows_rows, rounds_by_rows
from winnow.release.rounds.crossing.rounds import SelectAndMeasure
from winnow.release.rounds.crossing.run_parts import event_before
from winnow.release.rounds.crossing.tables import TableNoise
from winnow.release.rounds.mechanism import MeasureMarginals
from winnow.release.rounds.mwem import TABLES, default_rounds, default_tables
from winnow.release.rounds.mwem_request import (
    MwemRequest,
    check_search,
    check_slack,
    measurement_of,
    public_total,
    strength,
    sub_universe,
)
from winnow.release.rounds.warm_start import MOST_NOISE, SHARE, first_multipliers, table_distance

BYTES_PER_CELL = 64
"""Of a distribution: weights, sums for the mean, tables, copies (measured: 50 to 65)."""

ROWS_WITHOUT_TOTAL = 20_000
"""The number of rounds is chosen for so many rows where their number is private."""

TOTAL_SHARE = 0.02
SELECTION_SHARE = 0.5
TABLE_SELECTION_SHARE: dict[str, Real] = {"gaussian": 0.2, "laplace": Fraction(1, 65)}
"""A fifth of a round's rho, and so much that it is a fifth of its epsilon: tables are few."""


@dataclass(frozen=True, eq=False)
class TaskSettings:
    """The queries about one group of columns, and the domain that they are fitted on."""

    columns: tuple[int, ...]
    workload: Workload
    """Over the group's own schema: what is counted and labelled."""
    fitted: Workload
    """The same queries over the domain of the distribution."""
    points: Integers | None
    rounds: int


@dataclass(frozen=True, eq=False)
class ReleaseSettings:
    """A closed plan: nothing in it depends on data."""

    schema: Schema
    workload: Workload
    """All queries that are measured, over the whole schema."""
    tasks: tuple[TaskSettings, ...]
    total: int | None
    """The public number of rows; None: it is measured first."""
    rows_per_person: int
    relation: Relation
    rounds: RoundsPlan
    mechanism: SelectAndMeasure | MeasureMarginals
    reason: str
    rests_on: str
    update: str
    by_rows: RoundsByRows | None = None
    """What is run for how many noisy rows, where that number is private."""

    def taken(self, rows: int | None) -> ReleaseSettings:
        """What is run once the noisy number of rows is known."""
        if self.by_rows is None:
            return self
        plan, rounds = self.by_rows.plan(rows or 0)
        pairs = zip(self.tasks, rounds, strict=True)
        tasks = tuple(replace(task, rounds=own) for task, own in pairs)
        return replace(self, tasks=tasks, rounds=plan, by_rows=None)

    @property
    def cell_noise(self) -> TableNoise:
        """The noise of one cell of a measured table."""
        assert isinstance(self.mechanism, MeasureMarginals)
        multiplier = self.mechanism.noise_multiplier
        return self.mechanism.noise(multiplier, self.relation, self.rows_per_person)

    @property
    def event(self) -> Event:
        """What the whole run is charged."""
        return self.rounds.event

    @property
    def guarantee(self) -> Guarantee:
        """What the accountant proved of the closed plan."""
        return self.rounds.guarantee


def release_settings(request: MwemRequest) -> ReleaseSettings:
    """Fix everything, or say what is impossible; nothing is charged here."""
    positive_float(epsilon=request.epsilon)
    delta_range(delta=request.delta)
    if request.share is not None:
        probability(share=request.share)
    count(rows_per_person=request.rows_per_person)
    total = public_total(request)
    workload = bound_workload(request.workload, request.schema, request.memory)
    whole = request.update == TABLES
    if whole:
        _check_tables(request, workload)
    if request.index is not None or exact("slack", request.slack) != 0:
        check_search(request, workload)
    parts, rests_on = _reduced(request, workload, total)
    kept = Workload(request.schema, tuple(p for every, _, _, _ in parts for p in every.parts))
    share: Real
    if whole:
        rounds, reason = _tables(request, kept, total)
        share = TABLE_SELECTION_SHARE[measurement_of(request)]
    else:
        rounds, reason = _rounds(request, parts, total)
        share = SELECTION_SHARE
    law = measurement_of(request)
    one_of(tuple(MEASUREMENTS), measurement=law)
    multiplier = _total_multiplier(request) if total is None else None
    first = _first_tables(request, total)
    before = event_before(multiplier, first, request.relation, law)
    share = exact("share", request.share if request.share is not None else share)
    by_rows: RoundsByRows | None = None
    if follows_rows(request, total):
        assert before is not None
        by_rows = rounds_by_rows(
            request,
            lambda rows: _rounds(request, parts, rows)[0],
            delta=_delta_for(request),
            share=share,
            law=law,
            initial=before,
            usual=ROWS_WITHOUT_TOTAL,
        )
        plan, rounds = by_rows.whole, list(by_rows.usual)
        few, many = (sum(each.rounds) for each in (by_rows.choices[0], by_rows.choices[-1]))
        reason = f"{few} to {many} rounds, by the noisy number of rows; {sum(rounds)} as if there "
        reason += f"were {ROWS_WITHOUT_TOTAL:,}"
    else:
        plan = calibrate_rounds(
            sum(rounds),
            epsilon=request.epsilon,
            delta=_delta_for(request),
            relation=request.relation,
            share=share,
            measurement=law,
            accountant=request.accountant,
            initial=before,
        )
    mechanism: SelectAndMeasure | MeasureMarginals
    if whole:
        mechanism = MeasureMarginals(
            plan.selection_epsilon,
            plan.noise_multiplier,
            plan.rounds,
            () if multiplier is None else (multiplier,),
            plan.measurement,
        )
        rounds = [plan.rounds] * len(parts)
    else:
        check_slack(request.slack, plan.selection_epsilon)
        mechanism = SelectAndMeasure(
            plan.selection_epsilon, plan.noise_multiplier, plan.rounds, plan.measurement,
            multiplier, request.index, request.slack, first,
            () if by_rows is None else by_rows.choices,
        )  # fmt: skip
    tasks = []
    for (_, own, columns, points), each in zip(parts, rounds, strict=True):
        fitted = own if points is None else on_points(own, points, request.memory)
        tasks.append(TaskSettings(columns, own, fitted, points, each))
    if total is None:
        spent = float(request.total_share or TOTAL_SHARE)
        reason += f"; {100 * spent:g} % of the budget for the number of rows"
    if first:
        spent = float(SHARE if request.warm_start is None else request.warm_start)
        reason += f"; {100 * spent:g} % of the budget for the tables of single columns, a start"
    if request.index is not None:
        reason += "; an index as asked, which was slower than none at every size measured"
    reason += (
        f"; {plan.accountant} accountant: per round a selection at epsilon "
        f"{plan.selection_epsilon:g} and noise {plan.noise_multiplier:g} x sensitivity"
    )
    return ReleaseSettings(
        request.schema,
        kept,
        tuple(tasks),
        total,
        int(request.rows_per_person),
        request.relation,
        plan,
        mechanism,
        reason,
        rests_on,
        request.update,
        by_rows,
    )


def _check_tables(request: MwemRequest, workload: Workload) -> None:
    """Refuse whole tables where there are none."""
    if request.universe is not None or None in map(table_columns, workload.parts):
        raise ParameterError(
            "update='tables' measures whole tables; give a workload such as wn.marginals(3), and "
            "no universe"
        )
    if isinstance(request.rounds, Sequence):
        raise ParameterError(
            "update='tables' selects among the tables of all groups; give one number of rounds"
        )


_Part = tuple[Workload, Workload, tuple[int, ...], Integers | None]


def _reduced(
    request: MwemRequest, workload: Workload, total: int | None
) -> tuple[list[_Part], str]:
    """The domain as it is, in groups, or sampled; and what accuracy then rests on."""
    schema, limit = request.schema, parse_memory(request.memory)
    every = tuple(range(len(schema.columns)))
    if request.groups is not None and request.universe is not None:
        raise ParameterError("give groups or universe, not both")
    if request.universe is not None:
        points, text = sub_universe(request, workload.size, total)
        return [(workload, workload, every, points)], text
    if request.groups is None:
        _check_domain(schema, workload, limit, request.memory)
        return [(workload, workload, every, None)], ""
    parts: list[_Part] = []
    for columns in group_columns(schema, request.groups):
        found = inside(workload, columns)
        if found is None:
            names = ", ".join(schema.names[column] for column in columns)
            raise ParameterError(
                f"no query speaks of the columns {names} alone; add some, such as "
                "wn.marginals(1), or join the group with another"
            )
        _check_domain(found[1].schema, found[1], limit, request.memory)
        parts.append((*found, columns, None))
    left = workload.size - sum(whole.size for whole, _, _, _ in parts)
    crossing = f"; {left:,} queries across groups were not measured" if left else ""
    return parts, f"the groups of columns are taken to be independent{crossing}"


def _check_domain(schema: Schema, workload: Workload, limit: int, memory: str | int) -> None:
    needed = BYTES_PER_CELL * schema.cells + workload.memory()
    if needed > limit:
        raise ParameterError(
            f"the domain has {cells_text(schema.cells)} cells and needs about "
            f"{memory_text(needed)}, more than memory={shown(memory)}; name fewer columns "
            "(table.restrict), coarser bins, groups=[[...], [...]] of columns, universe= cells "
            "to sample, keep all columns with method=wn.Graphical(), or allow more"
        )


def _rounds(request: MwemRequest, parts: list[_Part], total: int | None) -> tuple[list[int], str]:
    workloads = [own for _, own, _, _ in parts]
    given = request.rounds
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) != len(workloads):
            raise ParameterError(
                f"rounds={list(given)} has {len(given)} numbers for {len(workloads)} groups; give "
                "one for each, or one number for all"
            )
        for each in given:
            count(rounds=each)
        asked = [int(each) for each in given]
        return asked, f"{_sum(asked)} rounds as asked"
    if given is not None:
        count(rounds=given)
        asked = [int(given)] * len(workloads)
        return asked, f"{_sum(asked)} rounds as asked"
    rho, pure = strength(request)
    chosen = [
        default_rounds(
            cells=each.schema.cells if points is None else len(points),
            queries=each.size,
            total=total or ROWS_WITHOUT_TOTAL,
            rows_per_person=int(request.rows_per_person),
            rho=None if rho is None else rho / len(workloads),
            epsilon=pure / len(workloads),
        )
        for _, each, _, points in parts
    ]
    return chosen, (
        f"{_sum(chosen)} rounds chosen from public numbers: "
        f"{cells_text(request.schema.cells)} cells, {sum(w.size for w in workloads):,} queries, "
        f"{_rows(total)}, the budget"
    )


def _rows(total: int | None) -> str:
    if total is not None:
        return f"{total:,} rows"
    return f"as if there were {ROWS_WITHOUT_TOTAL:,} rows (their number is private)"


def _tables(request: MwemRequest, workload: Workload, total: int | None) -> tuple[list[int], str]:
    """How many tables are measured, all groups together."""
    if request.rounds is not None:
        assert not isinstance(request.rounds, Sequence)
        count(rounds=request.rounds)
        return [int(request.rounds)], f"{counted(int(request.rounds), 'round')} as asked"
    rho, epsilon = strength(request)
    law = measurement_of(request)
    once = 1 / epsilon if rho is None else 1 / math.sqrt(2 * rho)
    norm = request.relation.people if law == "laplace" else math.sqrt(request.relation.people)
    chosen = default_tables(
        cells=workload.size,
        tables=len(workload.parts),
        total=total or ROWS_WITHOUT_TOTAL,
        rows_per_person=int(request.rows_per_person),
        noise=once * norm * MEASUREMENTS[law].deviation,
        pure=rho is None,
    )
    return [chosen], (
        f"{counted(chosen, 'round')} over whole tables, chosen from public numbers: "
        f"{len(workload.parts):,} tables, {workload.size:,} cells, {_rows(total)}, the budget"
    )


def _sum(rounds: list[int]) -> str:
    """How the budget is split between groups: rounds cost the same in each."""
    return " + ".join(map(str, rounds))


def _delta_for(request: MwemRequest) -> Real:
    """Pure sums of laplace noise have no use for a delta."""
    return 0.0 if request.accountant == "pure" else request.delta


def _total_multiplier(request: MwemRequest) -> float:
    """The noise of a private number of rows."""
    share = float(request.total_share if request.total_share is not None else TOTAL_SHARE)
    rho, epsilon = strength(request)
    return few_digits_up(1 / (share * epsilon) if rho is None else 1 / math.sqrt(2 * share * rho))


def _first_tables(request: MwemRequest, total: int | None) -> tuple[float, ...]:
    """The noise of the tables of single columns that are measured before the rounds, if any.

    The updates and the indexes of papers start as they do there, from the uniform distribution.
    """
    plain = request.update == "gap" and request.universe is None and request.index is None
    shape, given = request.schema.shape, request.warm_start
    if given is None and (not plain or len(shape) < 2):
        return ()
    share = exact("warm_start", SHARE if given is None else given)
    if share == 0:
        return ()
    if request.update == TABLES or request.universe is not None:
        raise ParameterError(
            "warm_start= is for rounds over single queries on all cells; leave it out for whole "
            "tables and for a sampled universe"
        )
    probability(warm_start=share)
    rho, epsilon = strength(request)
    found = first_multipliers(shape, float(share), epsilon=epsilon, rho=rho)
    rows, people = total or ROWS_WITHOUT_TOTAL, int(request.rows_per_person)
    far = table_distance(shape, found, measurement_of(request), request.relation, people, rows)
    return () if given is None and far > MOST_NOISE else found
