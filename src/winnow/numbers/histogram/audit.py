"""Audits of histograms over private edges: edges and counts of tiny neighbours, told together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

from winnow.audit.driver import largest
from winnow.audit.result import AuditResult, as_twin
from winnow.core.relation import Relation
from winnow.core.together import Together
from winnow.core.unit import counted
from winnow.numbers.audit.halving import HalvingModel, Rows, made, neighbours
from winnow.numbers.histogram.plan import planned
from winnow.numbers.histogram.request import Histogram
from winnow.privacy import Compose, Promise
from winnow.privacy.accountants import pure_cost
from winnow.read.about import table as about_table
from winnow.release.tables.mechanism import MeasureTables

_TOLERANCE = 1e-9
_MOST = 5
"""Rows of a table, on the three points of the grid."""


def histogram(relation: Relation, rows: int = 1) -> Together:
    """Two bins of three numbers, whose edge is a private median, as the verb plans it."""
    about = about_table({"x": {"codes": 3}}, relation=relation, max_rows=rows)
    mechanism = planned(Histogram("x", bins=2, split="quantiles", epsilon=2), about).mechanism
    assert isinstance(mechanism, Together)
    return mechanism


def histogram_enumerated() -> Iterator[AuditResult]:
    """The edge and all counts of neighbours are as close together as was charged."""
    for relation in Relation:
        for rows in (1, 2):
            yield enumerate_histogram(histogram(relation, rows), relation, rows)
            yield enumerate_adaptive(relation, rows)


def enumerate_histogram(
    mechanism: Together, relation: Relation, rows: int, scale: Fraction | None = None
) -> AuditResult:
    """The largest log ratio of an edge and two noisy counts, over all tables of a few rows.

    Noise of scale b on counts that differ by d tells d/b of neighbours, for a count beyond both.
    ``scale`` stands in the place of the noise that the mechanism says, where it is wrong.
    """
    (_, halving), (_, counts) = mechanism.parts
    assert isinstance(counts, MeasureTables)
    wanted = replace(made((5,), rows), per_round=getattr(halving, "per_round", Fraction(0)))
    model = HalvingModel(wanted, relation)
    law = cache(model.law)
    noise = float(scale or counts.measured[0].noise)
    claimed = float(pure_cost(mechanism.promise(relation).event).epsilon)

    def told(one: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> Iterator[float]:
        first, second = (tuple(sorted(code for _, code in each)) for each in (one, other))
        p, q = law(first), law(second)
        for edge in p:
            counted_at = zip(_counts(first, edge[0]), _counts(second, edge[0]), strict=True)
            moved = sum(abs(a - b) for a, b in counted_at)
            yield abs(math.log(p[edge] / q[edge])) + moved / noise

    pairs = neighbours([(0, code) for code in range(3)], rows, relation, _MOST)
    return largest(
        f"A histogram over private edges, a person with {counted(rows, 'row')}: edges and counts "
        "of neighbours are as close as charged.",
        mechanism,
        relation,
        claimed,
        (max(told(one, other)) for one, other in pairs),
        f"over {{}} pairs of neighbours, up to {rows} rows each",
        tolerance=_TOLERANCE,
    )


def enumerate_adaptive(relation: Relation, rows: int, scale: Fraction | None = None) -> AuditResult:
    """The largest log ratio of noisy cells and of noisy counts in any bins of them.

    The bins follow from the noisy cells, which tell no less. ``scale`` as before, of the cells.
    """
    about = about_table({"x": {"codes": 3}}, relation=relation, max_rows=rows)
    asked = Histogram("x", bins=2, split="adaptive", epsilon=2)
    mechanism = planned(asked, about).mechanism
    assert isinstance(mechanism, Together)
    (_, cells), (_, counts) = mechanism.parts
    assert isinstance(cells, MeasureTables) and isinstance(counts, MeasureTables)
    noises = float(scale or cells.measured[0].noise), float(counts.measured[0].noise)
    claimed = float(pure_cost(mechanism.promise(relation).event).epsilon)

    def told(one: Iterable[tuple[int, int]], other: Iterable[tuple[int, int]]) -> float:
        first, second = ([code for _, code in each] for each in (one, other))
        moved = [first.count(cell) - second.count(cell) for cell in range(3)]
        binned = max(abs(sum(moved[:edge])) + abs(sum(moved[edge:])) for edge in range(4))
        return sum(map(abs, moved)) / noises[0] + binned / noises[1]

    pairs = neighbours([(0, code) for code in range(3)], rows, relation, _MOST)
    return largest(
        f"An adaptive histogram, a person with {counted(rows, 'row')}: cells and counts of "
        "neighbours are as close as charged.",
        mechanism,
        relation,
        claimed,
        (told(one, other) for one, other in pairs),
        f"over {{}} pairs of neighbours, up to {rows} rows each",
        tolerance=_TOLERANCE,
    )


def _counts(rows: Rows, edge: int) -> list[int]:
    return [sum(low <= row < high for row in rows) for low, high in pairwise((0, edge, 3))]


class _EdgesForFree(Together):
    """A histogram that charges its counts alone."""

    def promise(self, relation: Relation) -> Promise:
        """What the counts are charged."""
        whole = super().promise(relation)
        assert isinstance(whole.event, Compose)
        return replace(whole, event=whole.event.events[-1])


def histogram_twins() -> Iterator[AuditResult]:
    """Edges that nobody pays for, and counts of which a replaced row moves one only, are caught."""
    relation = Relation.SUBSTITUTION
    right = histogram(relation)
    free = _EdgesForFree(right.title, right.parts)
    yield as_twin(
        "the edges of a histogram are not charged",
        "Enumeration",
        enumerate_histogram(free, relation, 1),
    )
    counts = right.parts[1][1]
    assert isinstance(counts, MeasureTables)
    half = enumerate_histogram(right, relation, 1, counts.measured[0].noise / 2)
    yield as_twin("a replaced row is taken to move one bin only", "Enumeration", half)
    cells = enumerate_adaptive(relation, 1, Fraction(1))
    yield as_twin("the cells of an adaptive histogram take the whole epsilon", "Enumeration", cells)
