"""Which tables the rounds of a wide release may select, and how much each weighs."""

from __future__ import annotations

import math
from collections import Counter
from functools import reduce
from itertools import combinations

from winnow.core.process import memory_text, parse_memory
from winnow.core.workloads.part import table_columns
from winnow.errors import ParameterError
from winnow.fit.junction_tree import Columns
from winnow.release.graphical.rules import MOST_CANDIDATES
from winnow.release.terms import ReleaseTerms

_BYTES_PER_CELL = 40
"""Of a candidate's table: true counts, the model's, both in grid steps, scratch."""
_BYTES_PER_MODEL_CELL = 320
"""Of the model: beliefs and maps of the cliques, and some thirty vectors of the fit."""


def column_sets(terms: ReleaseTerms) -> list[Columns]:
    """The columns of each table; none where something else is asked."""
    sets = [table_columns(part) for part in terms.workload.parts]
    return [] if None in sets else [tuple(each or ()) for each in sets]


def every_column(terms: ReleaseTerms) -> list[Columns]:
    """The columns of each table of the workload; others are tables of their own."""
    sets = column_sets(terms)
    if not sets:
        raise ParameterError(
            "a graphical release is for marginal tables; give a workload such as wn.marginals(3)"
        )
    spoken = {c for columns in sets for c in columns}
    return [*sets, *((c,) for c in range(len(terms.schema.columns)) if c not in spoken)]


def tables_inside(sets: list[Columns]) -> list[Columns]:
    """All sets of two or more columns inside a table of the workload, small ones first."""
    every: set[Columns] = set()
    for each in {tuple(sorted(columns)) for columns in sets}:
        for ways in range(2, len(each) + 1):
            every.update(combinations(each, ways))
    return sorted(sorted(every), key=len)


def candidates(
    shape: tuple[int, ...], memory: str | int, every: list[Columns], cells: int
) -> list[Columns]:
    """Those of two columns that a model of so many cells can hold, and larger ones, spread."""
    alone = sum(shape)

    def held(columns: Columns) -> int:  # by a model of this table and the other columns
        sizes = [shape[c] for c in columns]
        return alone - sum(sizes) + math.prod(sizes)

    pairs = [each for each in every if len(each) == 2 and held(each) <= cells]
    room = max(0, MOST_CANDIDATES - len(pairs))
    larger = [each for each in every if len(each) > 2 and held(each) <= cells] if room else []
    if not pairs:
        raise ParameterError(
            "there is no table of two or more columns to select: the workload has none, or all "
            f"have more than model_cells={cells:,}"
        )
    fitting = pairs + spread(larger, room)
    needed = _BYTES_PER_CELL * sum(math.prod(shape[c] for c in each) for each in fitting)
    needed += _BYTES_PER_MODEL_CELL * cells
    if needed > parse_memory(memory):
        raise ParameterError(
            f"the tables and the model need about {memory_text(needed)}, more than memory="
            f"{memory!r}; lower ways or model_cells, sample tables, or allow more"
        )
    return fitting


def spread(larger: list[Columns], room: int) -> list[Columns]:
    """So many of them, at even distances in their order; or all."""
    kept = min(len(larger), room)
    return [larger[i * len(larger) // kept] for i in range(kept)]


def overlaps(fitting: list[Columns], sets: list[Columns]) -> tuple[int, ...]:
    """A set weighs as much as it overlaps with the workload, in lowest terms.

    That is: the columns that it shares with each table, added up. [McKenna et al. 2022, AIM]
    """
    often = Counter(column for each in sets for column in each)
    weights = [sum(often[column] for column in columns) for columns in fitting]
    unit = reduce(math.gcd, weights)
    return tuple(weight // unit for weight in weights)
