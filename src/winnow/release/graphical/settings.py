"""Everything of a wide release that is fixed before the data are looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from winnow.core.checks import Real, exact
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
)
from winnow.release.graphical.rules import (
    MODEL_CELLS,
    MOST_FIRST,
    SELECTION_SHARE,
    model_cells,
    rounds_seconds,
    schedule,
)
from winnow.release.graphical.situation import Situation, noise_of_pair
from winnow.release.rounds.crossing.tables import TableNoise, first_event
from winnow.release.rounds.mechanism import MeasureMarginals
from winnow.release.rounds.warm_start import first_parts
from winnow.release.terms import ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import Graphical


@dataclass(frozen=True, eq=False)
class WideSettings:
    """A closed plan: nothing in it depends on data."""

    terms: ReleaseTerms
    """What the release is for. A private number of rows comes out of the first tables."""
    candidates: Workload
    """The tables that a round may select."""
    weights: tuple[int, ...]
    model_cells: int
    rounds: RoundsPlan
    mechanism: MeasureMarginals
    reason: str
    distance: float
    """About the mean total variation distance of the workload's tables: a rule of thumb."""

    @property
    def schema(self) -> Schema:
        """Of the table."""
        return self.terms.schema

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
        return self.mechanism.noise(multiplier, self.terms.relation, self.terms.rows_per_person)

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
    situation, pairs = situation_of(method, terms)
    nu, rule = situation.noise, situation.schedule
    left_to_rules = method.rounds is None and method.first_share is None
    if left_to_rules:
        once = at_once(method, situation)
        if once is not None:
            return once
        pure = replace(terms, accountant="pure")
        without = noise_of_pair(pure, pairs)
        without *= math.sqrt(max(1, rule.rounds) / len(terms.schema.columns))
        if terms.accountant == "best" and not terms.pure and without < nu:
            return wide_settings(method, pure)
    cells = method.model_cells or model_cells(nu)
    every = tables_inside(situation.sets)
    fitting = candidates(terms.schema.shape, terms.memory, every, int(cells))
    rounds = _rounds(method, situation, fitting, int(cells))
    if terms.total is None or rounds.worthwhile(terms.total):
        return rounds
    if left_to_rules:
        return columns_alone(situation)
    raise ParameterError(
        f"with this budget and {terms.total:,} rows the noise of every table of two or more "
        "columns exceeds its counts; ask for a larger epsilon, fewer rounds or fewer columns"
    )


def situation_of(method: Graphical, terms: ReleaseTerms) -> tuple[Situation, list[Columns]]:
    """What the rules of thumb say, and the pairs of columns that they look at."""
    sets = every_column(terms)
    most = int(method.model_cells or MODEL_CELLS)
    fitting = candidates(terms.schema.shape, terms.memory, tables_inside(sets), most)
    pairs: list[Columns] = [each for each in fitting if len(each) == 2] or fitting
    nu, columns = noise_of_pair(terms, pairs), len(terms.schema.columns)
    rule = schedule(columns, nu, pure=terms.pure)
    return Situation(terms, sets, nu, rule), pairs


def at_once(method: Graphical, situation: Situation) -> AtOnce | None:
    """All tables at once, or columns alone, where rounds are expected to be further off."""
    pairs = [each for each in tables_inside(situation.sets) if len(each) == 2]
    most = int(method.model_cells or MODEL_CELLS)
    return all_at_once(situation, pairs, most, method.model_cells)


def _rounds(
    method: Graphical, situation: Situation, fitting: list[Columns], cells: int
) -> WideSettings:
    """Columns alone, then rounds of selection and measurement."""
    terms, rule, rho = situation.terms, situation.schedule, situation.terms.rho
    columns = len(terms.schema.columns)
    rounds = max(1, rule.rounds) if method.rounds is None else int(method.rounds)
    stages = min(rule.stages, rounds)
    share = min(rule.first_share, MOST_FIRST)
    share = share if method.first_share is None else float(method.first_share)
    how = f"for {columns} columns and noise of {situation.noise:.2g} in a pair"
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
    reason = (
        f"{rounds} rounds {how}; {plan.accountant} accountant: per round a selection at epsilon "
        f"{plan.selection_epsilon:g} and noise {plan.noise_multiplier:g} x sensitivity"
    )
    planned = WideSettings(
        terms=terms,
        candidates=tables_of(terms.schema, fitting),
        weights=overlaps(fitting, situation.sets),
        model_cells=cells,
        rounds=plan,
        mechanism=mechanism,
        reason=reason + (f", more precise in each of {stages} stages" if stages > 1 else ""),
        distance=situation.distance,
    )
    mechanism.check(terms.relation, terms.rows_per_person)
    return planned


def _share_of_rho(share: Fraction) -> Fraction:
    """What a share of a round's epsilon for the selection is as one of its rho.

    A share s of rho gives the selection 2 sqrt(s/(1-s)) times the epsilon of the measurement.
    """
    odds = (share / (1 - share)) ** 2 / 4
    return odds / (1 + odds)
