"""Everything of a wide release that is fixed before the data are looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

from winnow.core.checks import Real, exact
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.fit.junction_tree import Columns
from winnow.privacy.closed_plan import RoundsPlan, calibrate_rounds, few_digits_up
from winnow.release.graphical.at_once import AtOnce
from winnow.release.graphical.candidates import candidates, every_column, overlaps, tables_inside
from winnow.release.graphical.planned_at_once import (
    all_at_once,
    columns_alone,
    tables_of,
    too_many_to_hold,
)
from winnow.release.graphical.rules import (
    ASSUMED_ROWS,
    MODEL_CELLS,
    MOST_FIRST,
    PURE_BETTER,
    SELECTION_SHARE,
    Schedule,
    mean_distance,
    model_cells,
    pair_noise,
    power,
    rounds_seconds,
    schedule,
)
from winnow.release.rounds.crossing.tables import TableNoise, first_event
from winnow.release.rounds.mechanism import MeasureMarginals
from winnow.release.rounds.warm_start import first_parts
from winnow.release.terms import ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import Graphical


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
        return tables_of(self.schema, [(c,) for c in range(len(self.schema.columns))])

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


def wide_settings(method: Graphical, terms: ReleaseTerms) -> WideSettings | AtOnce:
    """Fix everything, or say what is impossible; nothing is charged here."""
    total, workload, sets = terms.total, terms.workload, every_column(terms)
    every = tables_inside(sets)
    cells = int(method.model_cells or MODEL_CELLS)
    fitting = candidates(terms.schema.shape, terms.memory, every, cells)
    columns = len(terms.schema.columns)
    rho = terms.rho
    noise = partial(
        pair_noise,
        terms.schema.shape,
        [each for each in fitting if len(each) == 2] or fitting,
        epsilon=float(terms.epsilon),
        people=terms.relation.people,
        rows_per_person=terms.rows_per_person,
        rows=total or ASSUMED_ROWS,
    )
    nu = noise(rho=rho)
    rule = schedule(columns, nu, pure=terms.pure, power=_power(terms, rho, total))
    left_to_rules = method.rounds is None and method.first_share is None
    if left_to_rules:
        pairs = [each for each in every if len(each) == 2]
        once = all_at_once(terms, workload, sets, pairs, total or ASSUMED_ROWS, rule, nu, cells)
        if once is not None:
            return once
        most = method.model_cells
        once = too_many_to_hold(terms, workload, sets, total or ASSUMED_ROWS, rho, nu, most)
        if once is not None:
            return once
        without = noise(rho=None) * math.sqrt(max(1, rule.rounds) / columns)
        free = terms.accountant in ("best", "summed") and not terms.pure
        if free and without <= PURE_BETTER * nu:
            return wide_settings(method, replace(terms, accountant="pure"))
    if method.model_cells is None:
        cells = model_cells(nu)
        fitting = candidates(terms.schema.shape, terms.memory, every, cells)
    rounds = _rounds(method, terms, workload, total, fitting, sets, rule, rho, nu, cells)
    if total is None or rounds.worthwhile(total):
        return rounds
    if left_to_rules:
        return columns_alone(terms, workload, sets, nu)
    raise ParameterError(
        f"with this budget and {total:,} rows the noise of every table of two or more columns "
        "exceeds its counts; ask for a larger epsilon, fewer rounds or fewer columns"
    )


def _power(terms: ReleaseTerms, rho: float | None, total: int | None) -> float:
    """How far selections see; without a delta the rule asks for noise alone."""
    if rho is None:
        return math.inf
    return power(
        len(terms.schema.columns),
        rho=rho,
        people=terms.relation.people,
        rows_per_person=terms.rows_per_person,
        rows=total or ASSUMED_ROWS,
    )


def _rounds(
    method: Graphical,
    terms: ReleaseTerms,
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
    columns = len(terms.schema.columns)
    rounds = max(1, rule.rounds) if method.rounds is None else int(method.rounds)
    stages = min(rule.stages, rounds)
    share = min(rule.first_share, MOST_FIRST)
    share = share if method.first_share is None else float(method.first_share)
    how = f"for {columns} columns and noise of {nu:.2g} in a pair"
    how = how if method.rounds is None else "as asked"
    law = "laplace" if rho is None else "gaussian"
    part = SELECTION_SHARE if method.share is None else method.share
    parts_of_first = first_parts(terms.schema.shape, pure=rho is None)
    if rho is None:
        spent = [share * float(terms.epsilon) * each for each in parts_of_first]
        first = tuple(few_digits_up(1 / each) for each in spent)
    else:
        spent = [share * rho * each for each in parts_of_first]
        first = tuple(few_digits_up(1 / math.sqrt(2 * each)) for each in spent)
    plan = calibrate_rounds(
        rounds,
        epsilon=terms.epsilon,
        delta=terms.delta,
        relation=terms.relation,
        share=_share_of_rho(exact("share", part)) if rho is None else part,
        measurement=law,
        accountant=terms.accountant,
        initial=first_event(first, terms.relation, law),
        stages=stages,
    )
    mechanism = MeasureMarginals(
        plan.selection_epsilon, plan.noise_multiplier, rounds, first, law, stages
    )
    planned = WideSettings(
        terms.schema,
        workload,
        tables_of(terms.schema, fitting),
        overlaps(fitting, sets),
        total,
        terms.rows_per_person,
        terms.relation,
        cells,
        plan,
        mechanism,
        f"{rounds} rounds {how}; {plan.accountant} accountant: per round a selection at epsilon "
        f"{plan.selection_epsilon:g} and noise {plan.noise_multiplier:g} x sensitivity"
        + (f", more precise in each of {stages} stages" if stages > 1 else ""),
        mean_distance(nu, map(len, sets)),
    )
    mechanism.check(terms.relation, terms.rows_per_person)
    return planned


def _share_of_rho(share: Fraction) -> Fraction:
    """What a share of a round's epsilon for the selection is as one of its rho.

    A share s of rho gives the selection 2 sqrt(s/(1-s)) times the epsilon of the measurement.
    """
    odds = (share / (1 - share)) ** 2 / 4
    return odds / (1 + odds)
