"""A graphical model of all tables of a workload, where a weight on each cell does not fit."""

from __future__ import annotations

from itertools import combinations

from winnow.release.graphical.at_once import AtOnce
from winnow.release.graphical.candidates import column_sets
from winnow.release.graphical.rules import model_cells
from winnow.release.graphical.situation import noise_of_pair
from winnow.release.tables.settings import TablesSettings
from winnow.release.terms import ReleaseTerms

Columns = tuple[int, ...]

MOST_WEIGHED = 10**6
"""Cells with a weight of their own: with more, a fit of many tables takes minutes, and a model of
them seconds."""
MOST_TABLES, MOST_CELLS = 2_000, 10**7
"""Of a workload: more are not measured all at once for a model."""


def pairs_of(sets: list[Columns]) -> list[Columns]:
    """All pairs of columns that some table joins."""
    return sorted({pair for each in sets for pair in combinations(sorted(each), 2)})


def can_hold(terms: ReleaseTerms) -> bool:
    """Whether a model can be fitted to all tables at once."""
    parts = terms.workload.parts
    return len(parts) <= MOST_TABLES and terms.workload.size <= MOST_CELLS and any(
        len(each) > 1 for each in column_sets(terms)
    )  # fmt: skip


def model_of(terms: ReleaseTerms, settings: TablesSettings) -> AtOnce:
    """The model that is fitted to the released tables, and about how long that takes."""
    sets = column_sets(terms)
    cells = model_cells(noise_of_pair(terms, pairs_of(sets)))
    seconds = 3.0 + 2e-4 * cells + 5e-3 * len(sets)
    return AtOnce(terms, settings, "", seconds, 0.0, cells)
