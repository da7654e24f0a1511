"""A graphical model of all tables of a workload, where a weight on each cell does not fit."""

from __future__ import annotations

from itertools import combinations

from winnow.core.workloads.part import table_columns
from winnow.release.graphical.at_once import AtOnce
from winnow.release.graphical.rules import ASSUMED_ROWS, model_cells, pair_noise
from winnow.release.tables.settings import TablesSettings
from winnow.release.terms import ReleaseTerms

Columns = tuple[int, ...]

MOST_WEIGHED = 10**6
"""Cells with a weight of their own: with more, a fit of many tables takes minutes, and a model of
them seconds."""
MOST_TABLES, MOST_CELLS = 2_000, 10**7
"""Of a workload: more are not measured all at once for a model."""


def column_sets(request: ReleaseTerms) -> list[Columns]:
    """The columns of each table; none where something else is asked."""
    sets = [table_columns(part) for part in request.workload.parts]
    return [] if None in sets else [tuple(sorted(each or ())) for each in sets]


def pairs_of(sets: list[Columns]) -> list[Columns]:
    """All pairs of columns that some table joins."""
    return sorted({pair for each in sets for pair in combinations(each, 2)})


def noise_of_pair(request: ReleaseTerms, pairs: list[Columns]) -> float:
    """What the rules of graphical models go by: see ``winnow.release.graphical.rules``."""
    return pair_noise(
        request.schema.shape,
        pairs,
        epsilon=float(request.epsilon),
        rho=request.rho,
        people=request.relation.people,
        rows_per_person=request.rows_per_person,
        rows=request.total or ASSUMED_ROWS,
    )


def can_hold(request: ReleaseTerms) -> bool:
    """Whether a model can be fitted to all tables at once."""
    parts = request.workload.parts
    return len(parts) <= MOST_TABLES and request.workload.size <= MOST_CELLS and any(
        len(each) > 1 for each in column_sets(request)
    )  # fmt: skip


def model_of(request: ReleaseTerms, settings: TablesSettings) -> AtOnce:
    """The model that is fitted to the released tables, and about how long that takes."""
    sets = column_sets(request)
    cells = model_cells(noise_of_pair(request, pairs_of(sets)))
    seconds = 3.0 + 2e-4 * cells + 5e-3 * len(sets)
    return AtOnce(request.schema, request.workload, settings, "", seconds, 0.0, cells)
