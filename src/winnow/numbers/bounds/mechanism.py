"""One edge for each side of a column, beyond which only a few rows lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.numbers.bounds.crossing import NONE, drawn_edges
from winnow.numbers.bounds.edges import EdgesOfSide
from winnow.numbers.crossing.groups import check_table
from winnow.numbers.crossing.segment import RankTarget
from winnow.numbers.mechanism import loss_passed
from winnow.privacy import Guarantee, Promise, promise
from winnow.privacy.calibration import sized_guarantee
from winnow.read.crossing import SealedTable, check_planned

MISSED = 0.01
"""With what probability an end may have more than twice the wanted rows beyond it, or be an edge
that no row is near."""
HEADROOM = 2
"""A bound is so many times as far from zero as the edge that was drawn. On seven families of
columns (exponential, three lognormal, uniform, half normal, Pareto) at epsilon 1 and .1 and 10^3 to
10^5 rows, 2 and 1.5 have the least geometric mean of the errors of means; the error with 2 is at
most 4.3 times that of the best of 1, 1.5, 2, 3, 4 and 8, with 1 up to 8 times."""


@dataclass(frozen=True)
class TailEdges:
    """An edge for each side, such that about T rows lie beyond it.

    Every side has public edges at growing distances from zero. One of them is drawn by the
    exponential mechanism, with the loss of ``numbers.crossing.segment`` for the rank n - T: how
    many rows too many, or too few, lie beyond the edge. One candidate more stands below all edges:
    where there are fewer than T rows it is the best, and the bound is the end of the grid.

    Formal guarantees
        Each draw is e-bounded range with e = epsilon/sides, so all of them are epsilon-DP: a row
        more moves the loss for the share 1 by at most 1, a row replaced by at most 1, and L rows by
        L; a point has a probability ~ exp(-e loss/(2 L)). A row without a number is in no side's
        data: to lose its number is to leave. [Smith 2011; Durfee-Rogers 2019; the sensitivity is
        proved in ``segment``]

    T is what a loss passes with probability at most MISSED over the number of sides: with the rest,
    between 0 and 2T rows lie beyond every edge, and some row lies beyond the one before it.
    """

    epsilon: Real
    """The total for the call."""
    sides: tuple[EdgesOfSide, ...]
    rows_per_person: int = 1

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        many = len(self.sides)
        return f"bounds, {many} end{'s' if many > 1 else ''} by the exponential mechanism"

    @property
    def rate(self) -> Fraction:
        """The exponent of one row."""
        each = exact("epsilon", self.epsilon) / len(self.sides)
        return each / (2 * self.rows_per_person)

    def beyond(self, side: EdgesOfSide) -> int:
        """T: how many rows are wanted beyond the edge."""
        points = len(side.distances) + 2
        return math.ceil(loss_passed(points, self.rate, MISSED / len(self.sides)))

    @property
    def least_rows(self) -> int:
        """With fewer rows than this an end is uninformative: 2T."""
        return 2 * max(self.beyond(side) for side in self.sides)

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        many = len(self.sides)
        return promise(Law.GUMBEL, "halving", relation, epsilon=self.epsilon, kappa=many)

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of all ends together."""
        return sized_guarantee(promised.event, self.epsilon, 0)

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_planned(table, self.rows_per_person)
        check_table(table)

    def drawn(self, table: SealedTable, key: Key) -> dict[str, tuple[int, int]]:
        """The first and the last code of each column within its bounds."""
        targets = [RankTarget(Fraction(1), self.rate, self.beyond(side)) for side in self.sides]
        places = drawn_edges(table, self.sides, targets, key)
        bounds: dict[str, tuple[int, int]] = {}
        for side, place in zip(self.sides, places, strict=True):
            distance = side.distances[-1]
            if place != NONE:
                distance = HEADROOM * side.distances[place]
            low, high = bounds.get(side.column, (side.origin, side.origin))
            code = side.code(distance)
            bounds[side.column] = (low, code) if side.upward else (code, high)
        return bounds
