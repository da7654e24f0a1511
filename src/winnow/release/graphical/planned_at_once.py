"""Whether all tables are measured at once, or the columns alone: decided by public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from winnow.core.schema import Schema
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.workload import Workload
from winnow.fit.junction_tree import Columns, tree_cells
from winnow.release.after_fit import left_of
from winnow.release.graphical.at_once import AtOnce, closure, distances_of
from winnow.release.graphical.candidates import tables_inside
from winnow.release.graphical.rules import PLAIN_WORSE, model_cells
from winnow.release.graphical.situation import Situation, noise_of_tables
from winnow.release.tables.settings import TablesSettings, tables_settings
from winnow.release.terms import ReleaseTerms


def all_at_once(
    situation: Situation, pairs: Sequence[Columns], most: int, asked: int | None
) -> AtOnce | None:
    """All tables at once, or the columns alone; None: rounds are expected to be nearer the truth.

    At once where a fit to all tables is predicted to be no further off than rounds, or than the
    columns alone where rounds would be noise. A model holds them all where those of ``pairs`` have
    at most so many cells; otherwise some, and at most ``asked`` cells.
    """
    terms, sets, far = situation.terms, situation.sets, situation.expected
    cells = tree_cells(terms.schema.shape, pairs)
    wanted = closure(terms.schema, sets)
    if cells > most:
        every = [*(each for each in sets if len(each) == 1), *tables_inside(sets)]
        wanted = tables_of(terms.schema, every)
    if _least_distance(situation) <= far:
        planned = _tabulated(terms, wanted)
        noise, distance = distances_of(planned, terms.workload, situation.rows)
        if distance <= far:
            reason = f"noise moves a table by {noise:.2g} of its rows, and a fit leaves"
            reason += f" {distance:.2g}, no more than rounds: all are measured at once"
            if cells <= most:
                seconds = 3.0 + 2e-5 * cells * len(sets)
                return _planned(terms, planned, reason, seconds, distance)
            held = asked or model_cells(situation.noise)
            seconds = 3.0 + 6e-5 * held + 5e-3 * len(wanted.parts)
            reason += ", with a model of some"
            return _planned(terms, planned, reason, seconds, distance, held)
    return None if situation.schedule.rounds else columns_alone(situation)


def _least_distance(situation: Situation) -> float:
    """What a fit leaves of the least noise on all tables, without planning any."""
    shape, sets = situation.terms.schema.shape, situation.sets
    noise = noise_of_tables(situation.terms, [math.prod(shape[c] for c in each) for each in sets])
    least = noise / PLAIN_WORSE
    return least * left_of(2 * least, max(map(len, sets)))


def columns_alone(situation: Situation) -> AtOnce:
    """Every column, and nothing of how they depend on each other."""
    terms, schema = situation.terms, situation.terms.schema
    planned = _tabulated(terms, tables_of(schema, [(c,) for c in range(len(schema.columns))]))
    reason = "tables of two columns would be noise: each column alone"
    return _planned(terms, planned, reason, 3.0, situation.distance)


def tables_of(schema: Schema, sets: Sequence[Columns]) -> Workload:
    """The marginal tables of these columns."""
    return Workload(schema, tuple(MarginalPart(schema, columns) for columns in sets))


def _planned(
    terms: ReleaseTerms,
    tables: TablesSettings,
    reason: str,
    seconds: float,
    distance: float,
    some: int | None = None,
) -> AtOnce:
    """With the errors of the tables, unless noise on them is more than all rows that are said."""
    largest = max(each.errors.largest for each in (tables.strategy, tables.plain))
    if terms.total is None or largest < terms.total:
        reason = f"{reason}; {tables.reason}"
    return AtOnce(terms, tables, reason, seconds, distance, some)


def _tabulated(terms: ReleaseTerms, workload: Workload) -> TablesSettings:
    # no joint tables: the model is fitted to the tables themselves
    return tables_settings(replace(terms, workload=workload), joint=False)
