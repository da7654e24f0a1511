"""Whether all tables are measured at once, or the columns alone: decided by public numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from winnow.core.schema import Schema
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.workload import Workload
from winnow.fit.junction_tree import Columns, tree_cells
from winnow.release.graphical.at_once import AtOnce, closure, noise_of
from winnow.release.graphical.candidates import tables_inside
from winnow.release.graphical.rules import (
    FITTED,
    ONCE,
    PAIRS_OF_TWO_CODES,
    PLAIN_WORSE,
    TABLES_BETTER,
    model_cells,
)
from winnow.release.graphical.situation import Situation, noise_of_tables
from winnow.release.tables.settings import TablesSettings, tables_settings
from winnow.release.terms import ReleaseTerms


def all_at_once(situation: Situation, pairs: Sequence[Columns], most: int) -> AtOnce | None:
    """All tables at once if affordable, or the columns alone; ``pairs`` are those of all tables."""
    terms, rounds = situation.terms, situation.schedule.rounds
    cells = tree_cells(terms.schema.shape, pairs)
    if cells <= most and rounds:
        planned = _tabulated(terms, closure(terms.schema, situation.sets))
        noise = noise_of(planned, terms.workload, situation.rows)
        if noise <= ONCE:
            reason = f"noise moves a table by {noise:.2g} of its rows: all are measured at once"
            seconds = 3.0 + 2e-5 * cells * len(situation.sets)
            return _planned(terms, planned, reason, seconds, FITTED * noise)
    return None if rounds else columns_alone(situation)


def too_many_to_hold(situation: Situation, most: int | None) -> AtOnce | None:
    """All tables at once where noise on them is less than what a model of ``most`` cells misses."""
    terms, sets = situation.terms, situation.sets
    shape = terms.schema.shape
    two_codes = median(shape) <= 2
    if two_codes and max(map(len, sets)) > 2:
        return None
    far = (PAIRS_OF_TWO_CODES if two_codes else TABLES_BETTER) * situation.distance
    sizes = [math.prod(shape[c] for c in columns) for columns in sets]
    if noise_of_tables(terms, sizes) > PLAIN_WORSE * far:
        return None
    every = [*(each for each in sets if len(each) == 1), *tables_inside(sets)]
    planned = _tabulated(terms, tables_of(terms.schema, every))
    noise = noise_of(planned, terms.workload, situation.rows)
    if noise > far:
        return None
    cells = most or model_cells(situation.noise)
    reason = f"noise moves a table by {noise:.2g} of its rows, less than a model would"
    reason += ": all are measured at once, with a model of some"
    seconds = 3.0 + 6e-5 * cells + 5e-3 * len(every)
    return _planned(terms, planned, reason, seconds, noise, cells)


def columns_alone(situation: Situation) -> AtOnce:
    """Every column, and nothing of how they depend on each other."""
    terms, schema = situation.terms, situation.terms.schema
    planned = _tabulated(terms, tables_of(schema, [(c,) for c in range(len(schema.columns))]))
    why = "noise" if situation.noise > 1 else "found by chance"
    reason = f"tables of two columns would be {why}: each column alone"
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
