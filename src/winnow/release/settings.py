"""Everything of a release that is fixed before the data are looked at.

From public parameters to a closed plan: which queries, on which domain, how many rounds, how
much noise. ``winnow.release`` runs the plan, ``winnow.plan.release`` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, positive, probability
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
    sample_cells,
    sub_universe_alpha,
)
from winnow.core.workloads.workload import Maker, Workload
from winnow.errors import DataError, ParameterError
from winnow.foreign import shown
from winnow.privacy import DiscreteLaplace, Event, Gaussian, Guarantee, zcdp_rho
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds, few_digits_up
from winnow.release.crossing.rounds import SelectAndMeasure
from winnow.release.crossing.tables import TableNoise
from winnow.release.mechanism import MeasureMarginals
from winnow.release.mwem import TABLES, default_rounds, default_tables

BYTES_PER_CELL = 64
"""Of a distribution: weights, sums for the mean, tables, copies (measured: 50 to 65)."""

ROWS_WITHOUT_TOTAL = 20_000
"""The number of rounds is chosen for so many rows where their number is private."""

TOTAL_SHARE = 0.02
SELECTION_SHARE = 0.5
TABLE_SELECTION_SHARE: dict[str, Real] = {"gaussian": 0.2, "laplace": Fraction(1, 65)}
"""A fifth of a round's rho, and so much that it is a fifth of its epsilon: tables are few."""
_BETA = 0.05


@dataclass(frozen=True)
class ReleaseRequest:
    """The public parameters of a release."""

    workload: Any
    schema: Schema
    epsilon: Real
    delta: Real = 0.0
    relation: Relation = Relation.SUBSTITUTION
    rows_per_person: int = 1
    public_rows: int | None = None
    """The number of rows where the relation makes it public."""
    rows: int | None = None
    """A public number of rows that the user names."""
    rounds: int | Sequence[int] | None = None
    update: str = "gap"
    measurement: str | None = None
    share: Real | None = None
    total_share: Real | None = None
    groups: Sequence[Sequence[str]] | None = None
    universe: int | None = None
    universe_seed: int = 0
    accountant: str = "best"
    memory: str | int = "4GB"


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


def release_settings(request: ReleaseRequest) -> ReleaseSettings:
    """Fix everything, or say what is impossible; nothing is charged here."""
    positive(epsilon=request.epsilon)
    delta_range(delta=request.delta)
    if request.share is not None:
        probability(share=request.share)
    count(rows_per_person=request.rows_per_person)
    total = _total(request)
    workload = _bind(request)
    whole = request.update == TABLES
    if whole:
        _check_tables(request, workload)
    parts, rests_on = _reduced(request, workload)
    kept = Workload(request.schema, tuple(p for every, _, _, _ in parts for p in every.parts))
    share: Real
    if whole:
        rounds, reason = _tables(request, kept, total)
        share = TABLE_SELECTION_SHARE[_measurement(request)]
    else:
        rounds, reason = _rounds(request, [own for _, own, _, _ in parts], total)
        share = SELECTION_SHARE
    initial = None
    if total is None:
        initial = _first_measurement(request)
    plan = calibrate_rounds(
        sum(rounds),
        epsilon=request.epsilon,
        delta=_delta_for(request),
        relation=request.relation,
        share=exact("share", request.share if request.share is not None else share),
        measurement=_measurement(request),
        accountant=request.accountant,
        initial=initial,
    )
    first = None if initial is None else initial.noise_multiplier
    mechanism: SelectAndMeasure | MeasureMarginals
    if whole:
        mechanism = MeasureMarginals(
            plan.selection_epsilon,
            plan.noise_multiplier,
            plan.rounds,
            () if first is None else (first,),
            plan.measurement,
        )
        rounds = [plan.rounds] * len(parts)
    else:
        mechanism = SelectAndMeasure(
            plan.selection_epsilon, plan.noise_multiplier, plan.rounds, plan.measurement, first
        )
    tasks = []
    for (_, own, columns, points), each in zip(parts, rounds, strict=True):
        fitted = own if points is None else on_points(own, points, request.memory)
        tasks.append(TaskSettings(columns, own, fitted, points, each))
    if total is None:
        spent = float(request.total_share or TOTAL_SHARE)
        reason += f"; {100 * spent:g} % of the budget for the number of rows"
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
    )


def _check_tables(request: ReleaseRequest, workload: Workload) -> None:
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


def _bind(request: ReleaseRequest) -> Workload:
    given = request.workload
    if isinstance(given, Maker):
        return given.over(request.schema, memory=request.memory)
    if not isinstance(given, Workload):
        raise ParameterError(
            f"the workload is a {type(given).__name__}; give one such as wn.marginals(3)"
        )
    if given.schema != request.schema:
        raise ParameterError(
            "the workload is over another schema than the table; bind it to that one"
        )
    return given


def _total(request: ReleaseRequest) -> int | None:
    if request.total_share is not None:
        probability(total_share=request.total_share)
    if request.rows is not None:
        count(rows=request.rows)
        if request.public_rows is not None and int(request.rows) != request.public_rows:
            raise ParameterError(
                f"rows={request.rows} is not the number of rows of the table, which is public "
                "under substitution; leave rows out"
            )
    known = request.rows if request.rows is not None else request.public_rows
    if known is None:
        return None
    if request.total_share is not None:
        raise ParameterError("the number of rows is public here; leave out total_share")
    if int(known) < 1:
        raise DataError("the table has no rows; there is nothing to release")
    return int(known)


_Part = tuple[Workload, Workload, tuple[int, ...], Integers | None]


def _reduced(request: ReleaseRequest, workload: Workload) -> tuple[list[_Part], str]:
    """The domain as it is, in groups, or sampled; and what accuracy then rests on."""
    schema, limit = request.schema, parse_memory(request.memory)
    every = tuple(range(len(schema.columns)))
    if request.groups is not None and request.universe is not None:
        raise ParameterError("give groups or universe, not both")
    if request.universe is not None:
        points = sample_cells(schema, request.universe, request.universe_seed)
        alpha = sub_universe_alpha(sampled=len(points), queries=workload.size, beta=_BETA)
        text = (
            f"the fit is on {len(points):,} of {cells_text(schema.cells)} cells, sampled "
            f"uniformly; with probability {1 - _BETA:g} they carry a distribution within phi + "
            f"{alpha:.3g} sqrt(c) of the data on every query, if some distribution within phi of "
            "the data puts at most c/cells on any cell [PMW, Lemma V.2]"
        )
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
            "to sample, keep all columns with wn.release_wide, or allow more"
        )


def _rounds(
    request: ReleaseRequest, workloads: list[Workload], total: int | None
) -> tuple[list[int], str]:
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
    rho, pure = _strength(request)
    chosen = [
        default_rounds(
            cells=min(each.schema.cells, request.universe or each.schema.cells),
            queries=each.size,
            total=total or ROWS_WITHOUT_TOTAL,
            rows_per_person=int(request.rows_per_person),
            rho=None if rho is None else rho / len(workloads),
            epsilon=pure / len(workloads),
        )
        for each in workloads
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


def _tables(
    request: ReleaseRequest, workload: Workload, total: int | None
) -> tuple[list[int], str]:
    """How many tables are measured, all groups together."""
    if request.rounds is not None:
        assert not isinstance(request.rounds, Sequence)
        count(rounds=request.rounds)
        return [int(request.rounds)], f"{counted(int(request.rounds), 'round')} as asked"
    rho, epsilon = _strength(request)
    law = _measurement(request)
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


def _strength(request: ReleaseRequest) -> tuple[float | None, float]:
    """rho where there is one to spend, and epsilon."""
    if exact("delta", request.delta) == 0 or request.accountant == "pure":
        return None, float(request.epsilon)
    return float(zcdp_rho(request.epsilon, request.delta)), float(request.epsilon)


def _measurement(request: ReleaseRequest) -> str:
    """Gaussian noise wherever it can be accounted for."""
    if request.measurement is not None:
        return request.measurement
    no_delta = exact("delta", request.delta) == 0 or request.accountant == "pure"
    return "laplace" if no_delta else "gaussian"


def _delta_for(request: ReleaseRequest) -> Real:
    """Pure sums of laplace noise have no use for a delta."""
    return 0.0 if request.accountant == "pure" else request.delta


def _first_measurement(request: ReleaseRequest) -> Gaussian | DiscreteLaplace:
    share = float(request.total_share if request.total_share is not None else TOTAL_SHARE)
    rho, epsilon = _strength(request)
    if rho is None:
        return DiscreteLaplace(few_digits_up(1 / (share * epsilon)), request.relation)
    multiplier = few_digits_up(1 / math.sqrt(2 * share * rho))
    kind = Gaussian if _measurement(request) == "gaussian" else DiscreteLaplace
    return kind(multiplier, request.relation)
