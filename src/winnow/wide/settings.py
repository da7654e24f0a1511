"""Everything of a wide release that is fixed before the data are looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from statistics import median
from typing import Any

from winnow.core.checks import (
    Real,
    count,
    delta_range,
    exact,
    one_of,
    positive_float,
    probability,
    rows_to_release,
)
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import table_columns
from winnow.core.workloads.workload import Maker, Workload
from winnow.errors import ParameterError
from winnow.privacy import zcdp_rho
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds, few_digits_up
from winnow.privacy.guarantee import CLOSED_ACCOUNTANTS
from winnow.release.crossing.tables import TableNoise, first_event
from winnow.release.mechanism import MeasureMarginals
from winnow.release.warm_start import first_parts
from winnow.tables.settings import TableRequest, TablesSettings, tables_settings
from winnow.wide.at_once import AtOnce, closure, noise_of
from winnow.wide.candidates import candidates, overlaps, tables_inside
from winnow.wide.junction_tree import Columns, tree_cells
from winnow.wide.rules import (
    ASSUMED_ROWS,
    FITTED,
    MODEL_CELLS,
    MOST_FIRST,
    ONCE,
    PAIRS_OF_TWO_CODES,
    PLAIN_WORSE,
    PURE_BETTER,
    SELECTION_SHARE,
    TABLES_BETTER,
    Schedule,
    mean_distance,
    model_cells,
    pair_noise,
    plain_distance,
    power,
    rounds_seconds,
    schedule,
)

_LARGEST_MODEL = 2**31 - 1


@dataclass(frozen=True)
class WideRequest:
    """The public parameters of a wide release."""

    workload: Any
    schema: Schema
    epsilon: Real
    delta: Real
    relation: Relation
    rows_per_person: int = 1
    public_rows: int | None = None
    rows: int | None = None
    rounds: int | None = None
    share: Real = SELECTION_SHARE
    first_share: Real | None = None
    model_cells: int | None = None
    accountant: str = "best"
    memory: str | int = "4GB"

    @cached_property
    def pure(self) -> bool:
        """Whether there is no delta to use: noise has the Laplace law, and epsilons add up."""
        return exact("delta", self.delta) == 0 or self.accountant == "pure"

    @property
    def left_to_rules(self) -> bool:
        """Whether nothing is said of rounds."""
        return self.rounds is None and self.first_share is None


@dataclass(frozen=True, eq=False)
class WideSettings:
    """A closed plan: nothing in it depends on data."""

    schema: Schema
    workload: Workload
    """What the release is for."""
    candidates: Workload
    """The tables that a round may select."""
    weights: tuple[int, ...]
    total: int | None
    """The public number of rows; None: it comes out of the first tables."""
    rows_per_person: int
    relation: Relation
    model_cells: int
    rounds: RoundsPlan
    mechanism: MeasureMarginals
    reason: str
    distance: float
    """About the mean total variation distance of the workload's tables: a rule of thumb."""

    @property
    def seconds(self) -> float:
        """The public time of the plan."""
        return rounds_seconds(
            self.rounds.rounds,
            cells=sum(part.size for part in self.candidates.parts),
            candidates=len(self.weights),
            model_cells=self.model_cells,
        )

    @cached_property
    def first(self) -> Workload:
        """The tables that are measured before the first round: of each column alone."""
        return _tables(self.schema, [(c,) for c in range(len(self.schema.columns))])

    @cached_property
    def noises(self) -> list[TableNoise]:
        """The noise of a count in a table that is measured in each stage."""
        return [self._noise(self.mechanism.multiplier(s)) for s in range(self.mechanism.stages)]

    @property
    def sigma(self) -> float:
        """The noise of a count in a table that is measured last, in rows."""
        return self.noises[-1].deviation

    @property
    def first_sigmas(self) -> list[float]:
        """The noise of a count in each first table, in rows."""
        return [self._noise(each).deviation for each in self.mechanism.first]

    def _noise(self, multiplier: Real) -> TableNoise:
        return self.mechanism.noise(multiplier, self.relation, self.rows_per_person)

    def penalties(self, stage: int) -> list[float]:
        """The expected l1 size of the noise of each candidate's table in a stage, in rows."""
        each = self.noises[stage].mean_size
        return [each * part.size for part in self.candidates.parts]

    def worthwhile(self, total: int) -> list[int]:
        """The candidates whose noise, summed over the table, at last stays below so many rows.

        Two tables of N rows differ by at most 2 N; one whose noise adds up to N or more says
        little, and is left out.
        """
        return [i for i, penalty in enumerate(self.penalties(-1)) if penalty < total]


def wide_settings(request: WideRequest) -> WideSettings | AtOnce:
    """Fix everything, or say what is impossible; nothing is charged here."""
    _check(request)
    total = rows_to_release(request.rows, request.public_rows)
    workload, sets = _bind(request)
    every = tables_inside(sets)
    cells = int(request.model_cells or MODEL_CELLS)
    fitting = candidates(request.schema.shape, request.memory, every, cells)
    columns = len(request.schema.columns)
    rho = None if request.pure else float(zcdp_rho(request.epsilon, request.delta))
    noise = partial(
        pair_noise,
        request.schema.shape,
        [each for each in fitting if len(each) == 2] or fitting,
        epsilon=float(request.epsilon),
        people=request.relation.people,
        rows_per_person=int(request.rows_per_person),
        rows=total or ASSUMED_ROWS,
    )
    nu = noise(rho=rho)
    rule = schedule(columns, nu, pure=request.pure, power=_power(request, rho, total))
    if request.left_to_rules:
        pairs = [each for each in every if len(each) == 2]
        once = _at_once(request, workload, sets, pairs, total or ASSUMED_ROWS, rule, nu, cells)
        if once is not None:
            return once
        once = _too_many_to_hold(request, workload, sets, total or ASSUMED_ROWS, rho, nu)
        if once is not None:
            return once
        without = noise(rho=None) * math.sqrt(max(1, rule.rounds) / columns)
        if request.accountant == "best" and not request.pure and without <= PURE_BETTER * nu:
            return wide_settings(replace(request, accountant="pure"))
    if request.model_cells is None:
        cells = model_cells(nu)
        fitting = candidates(request.schema.shape, request.memory, every, cells)
    rounds = _rounds(request, workload, total, fitting, sets, rule, rho, nu, cells)
    if total is None or rounds.worthwhile(total):
        return rounds
    if request.left_to_rules:
        return _columns_alone(request, workload, sets, nu)
    raise ParameterError(
        f"with this budget and {total:,} rows the noise of every table of two or more columns "
        "exceeds its counts; ask for a larger epsilon, fewer rounds or fewer columns"
    )


def _power(request: WideRequest, rho: float | None, total: int | None) -> float:
    """How far selections see; without a delta the rule asks for noise alone."""
    if rho is None:
        return math.inf
    return power(
        len(request.schema.columns),
        rho=rho,
        people=request.relation.people,
        rows_per_person=int(request.rows_per_person),
        rows=total or ASSUMED_ROWS,
    )


def _check(request: WideRequest) -> None:
    positive_float(epsilon=request.epsilon)
    delta_range(delta=request.delta)
    one_of(("best", *CLOSED_ACCOUNTANTS), accountant=request.accountant)
    probability(share=request.share)
    if request.first_share is not None:
        probability(first_share=request.first_share)
    if request.rounds is not None:
        count(rounds=request.rounds)
    count(rows_per_person=request.rows_per_person)
    if request.model_cells is not None:
        count(model_cells=request.model_cells)
    if request.model_cells is not None and int(request.model_cells) > _LARGEST_MODEL:
        raise ParameterError(
            f"model_cells={request.model_cells:,} is more than cells are numbered; give at most "
            f"{_LARGEST_MODEL:,}"
        )


def _at_once(
    request: WideRequest,
    workload: Workload,
    sets: list[Columns],
    pairs: Sequence[Columns],
    rows: int,
    rule: Schedule,
    nu: float,
    most: int,
) -> AtOnce | None:
    """All tables at once if affordable, or the columns alone; ``pairs`` are those of all tables."""
    schema = request.schema
    cells = tree_cells(schema.shape, pairs)
    if cells <= most and rule.rounds:
        planned = _tabulated(request, closure(schema, sets))
        noise = noise_of(planned, workload, rows)
        if noise <= ONCE:
            reason = f"noise moves a table by {noise:.2g} of its rows: all at once"
            seconds = 3.0 + 2e-5 * cells * len(sets)
            reason = _with_errors(reason, planned, request)
            return AtOnce(schema, workload, planned, reason, seconds, FITTED * noise)
    return None if rule.rounds else _columns_alone(request, workload, sets, nu)


def _too_many_to_hold(
    request: WideRequest,
    workload: Workload,
    sets: list[Columns],
    rows: int,
    rho: float | None,
    nu: float,
) -> AtOnce | None:
    """All tables at once where noise on them is less than what a model of some would miss."""
    schema = request.schema
    plain = plain_distance(
        [math.prod(schema.shape[c] for c in columns) for columns in sets],
        epsilon=float(request.epsilon),
        rho=rho,
        people=request.relation.people,
        rows_per_person=int(request.rows_per_person),
        rows=rows,
    )
    two_codes = median(schema.shape) <= 2
    if two_codes and max(map(len, sets)) > 2:
        return None
    better = PAIRS_OF_TWO_CODES if two_codes else TABLES_BETTER
    far = better * mean_distance(nu, map(len, sets))
    if plain > PLAIN_WORSE * far:
        return None
    every = [*(each for each in sets if len(each) == 1), *tables_inside(sets)]
    planned = _tabulated(request, _tables(schema, every))
    noise = noise_of(planned, workload, rows)
    if noise > far:
        return None
    cells = int(request.model_cells or model_cells(nu))
    less = f"noise moves a table by {noise:.2g} of its rows, less than a model would"
    reason = _with_errors(f"{less}: all at once, and a model of some", planned, request)
    seconds = 3.0 + 6e-5 * cells + 5e-3 * len(every)
    return AtOnce(schema, workload, planned, reason, seconds, noise, cells)


def _columns_alone(
    request: WideRequest, workload: Workload, sets: list[Columns], nu: float
) -> AtOnce:
    schema = request.schema
    planned = _tabulated(request, _tables(schema, [(c,) for c in range(len(schema.columns))]))
    reason = f"tables of two columns would be {'noise' if nu > 1 else 'found by chance'}"
    reason = f"{reason}: each column alone"
    far = mean_distance(nu, map(len, sets))
    return AtOnce(schema, workload, planned, _with_errors(reason, planned, request), 3.0, far)


def _tables(schema: Schema, sets: Sequence[Columns]) -> Workload:
    return Workload(schema, tuple(MarginalPart(schema, columns) for columns in sets))


def _with_errors(reason: str, planned: TablesSettings, request: WideRequest) -> str:
    """The errors of the tables, too, unless noise on them is more than all rows that are said."""
    largest = max(each.errors.largest for each in (planned.strategy, planned.plain))
    if request.rows is not None and largest >= request.rows:
        return reason
    return f"{reason}; {planned.reason}"


def _tabulated(request: WideRequest, workload: Workload) -> TablesSettings:
    return tables_settings(
        TableRequest(
            schema=request.schema,
            by=workload,
            epsilon=request.epsilon,
            delta=request.delta,
            relation=request.relation,
            rows_per_person=int(request.rows_per_person),
            public_rows=request.public_rows,
            rows=request.rows,
            accountant=request.accountant,
            memory=request.memory,
            joint=False,  # the model is fitted to the tables themselves
        )
    )


def _rounds(
    request: WideRequest,
    workload: Workload,
    total: int | None,
    fitting: list[Columns],
    sets: list[Columns],
    rule: Schedule,
    rho: float | None,
    nu: float,
    cells: int,
) -> WideSettings:
    """Columns alone, then rounds of selection and measurement."""
    columns = len(request.schema.columns)
    rounds = max(1, rule.rounds) if request.rounds is None else int(request.rounds)
    stages = min(rule.stages, rounds)
    share = min(rule.first_share, MOST_FIRST)
    share = share if request.first_share is None else float(request.first_share)
    how = f"for {columns} columns and noise of {nu:.2g} in a pair"
    how = how if request.rounds is None else "as asked"
    law = "laplace" if rho is None else "gaussian"
    parts_of_first = first_parts(request.schema.shape, pure=rho is None)
    if rho is None:
        spent = [share * float(request.epsilon) * each for each in parts_of_first]
        first = tuple(few_digits_up(1 / each) for each in spent)
    else:
        spent = [share * rho * each for each in parts_of_first]
        first = tuple(few_digits_up(1 / math.sqrt(2 * each)) for each in spent)
    plan = calibrate_rounds(
        rounds,
        epsilon=request.epsilon,
        delta=request.delta,
        relation=request.relation,
        share=_share_of_rho(exact("share", request.share)) if rho is None else request.share,
        measurement=law,
        accountant=request.accountant,
        initial=first_event(first, request.relation, law),
        stages=stages,
    )
    mechanism = MeasureMarginals(
        plan.selection_epsilon, plan.noise_multiplier, rounds, first, law, stages
    )
    planned = WideSettings(
        request.schema,
        workload,
        _tables(request.schema, fitting),
        overlaps(fitting, sets),
        total,
        int(request.rows_per_person),
        request.relation,
        cells,
        plan,
        mechanism,
        f"{rounds} rounds {how}; {plan.accountant} accountant: per round a selection at epsilon "
        f"{plan.selection_epsilon:g} and noise {plan.noise_multiplier:g} x sensitivity"
        + (f", more precise in each of {stages} stages" if stages > 1 else ""),
        mean_distance(nu, map(len, sets)),
    )
    mechanism.check(request.relation, int(request.rows_per_person))
    return planned


def _share_of_rho(share: Fraction) -> Fraction:
    """What a share of a round's epsilon for the selection is as one of its rho.

    A share s of rho gives the selection 2 sqrt(s/(1-s)) times the epsilon of the measurement.
    """
    odds = (share / (1 - share)) ** 2 / 4
    return odds / (1 + odds)


def _bind(request: WideRequest) -> tuple[Workload, list[Columns]]:
    """The workload, and the columns of each of its tables; others are tables of their own."""
    given = request.workload
    if isinstance(given, Maker):
        given = given.over(request.schema, memory=request.memory)
    sets = [table_columns(part) for part in given.parts] if isinstance(given, Workload) else [None]
    if not isinstance(given, Workload) or None in sets:
        raise ParameterError(
            "a graphical release is for marginal tables; give a workload such as wn.marginals(3)"
        )
    if given.schema != request.schema:
        raise ParameterError(
            "the workload is over another schema than the table; bind it to that one"
        )
    spoken = {c for columns in sets for c in columns or ()}
    silent = [(c,) for c in range(len(request.schema.columns)) if c not in spoken]
    return given, [*(columns for columns in sets if columns is not None), *silent]
