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
    Schedule,
    mean_distance,
    model_cells,
    plain_distance,
)
from winnow.release.tables.settings import TablesSettings, tables_settings
from winnow.release.terms import ReleaseTerms


def all_at_once(
    terms: ReleaseTerms,
    workload: Workload,
    sets: list[Columns],
    pairs: Sequence[Columns],
    rows: int,
    rule: Schedule,
    nu: float,
    most: int,
) -> AtOnce | None:
    """All tables at once if affordable, or the columns alone; ``pairs`` are those of all tables."""
    schema = terms.schema
    cells = tree_cells(schema.shape, pairs)
    if cells <= most and rule.rounds:
        planned = _tabulated(terms, closure(schema, sets))
        noise = noise_of(planned, workload, rows)
        if noise <= ONCE:
            reason = f"noise moves a table by {noise:.2g} of its rows: all at once"
            seconds = 3.0 + 2e-5 * cells * len(sets)
            reason = _with_errors(reason, planned, terms)
            return AtOnce(schema, workload, planned, reason, seconds, FITTED * noise)
    return None if rule.rounds else columns_alone(terms, workload, sets, nu)


def too_many_to_hold(
    terms: ReleaseTerms,
    workload: Workload,
    sets: list[Columns],
    rows: int,
    rho: float | None,
    nu: float,
    most: int | None,
) -> AtOnce | None:
    """All tables at once where noise on them is less than what a model of ``most`` cells misses."""
    schema = terms.schema
    plain = plain_distance(
        [math.prod(schema.shape[c] for c in columns) for columns in sets],
        epsilon=float(terms.epsilon),
        rho=rho,
        people=terms.relation.people,
        rows_per_person=terms.rows_per_person,
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
    planned = _tabulated(terms, tables_of(schema, every))
    noise = noise_of(planned, workload, rows)
    if noise > far:
        return None
    cells = most or model_cells(nu)
    less = f"noise moves a table by {noise:.2g} of its rows, less than a model would"
    reason = _with_errors(f"{less}: all at once, and a model of some", planned, terms)
    seconds = 3.0 + 6e-5 * cells + 5e-3 * len(every)
    return AtOnce(schema, workload, planned, reason, seconds, noise, cells)


def columns_alone(
    terms: ReleaseTerms, workload: Workload, sets: list[Columns], nu: float
) -> AtOnce:
    """Every column, and nothing of how they depend on each other."""
    schema = terms.schema
    planned = _tabulated(terms, tables_of(schema, [(c,) for c in range(len(schema.columns))]))
    reason = f"tables of two columns would be {'noise' if nu > 1 else 'found by chance'}"
    reason = f"{reason}: each column alone"
    far = mean_distance(nu, map(len, sets))
    return AtOnce(schema, workload, planned, _with_errors(reason, planned, terms), 3.0, far)


def tables_of(schema: Schema, sets: Sequence[Columns]) -> Workload:
    """The marginal tables of these columns."""
    return Workload(schema, tuple(MarginalPart(schema, columns) for columns in sets))


def _with_errors(reason: str, planned: TablesSettings, terms: ReleaseTerms) -> str:
    """The errors of the tables, too, unless noise on them is more than all rows that are said."""
    largest = max(each.errors.largest for each in (planned.strategy, planned.plain))
    if terms.total is not None and largest >= terms.total:
        return reason
    return f"{reason}; {planned.reason}"


def _tabulated(terms: ReleaseTerms, workload: Workload) -> TablesSettings:
    # no joint tables: the model is fitted to the tables themselves
    return tables_settings(replace(terms, workload=workload), joint=False)
