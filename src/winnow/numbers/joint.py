"""Several quantiles at once, by one draw of the exponential mechanism over all lists of points."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.numbers.crossing.groups import MOST_ROWS, DrawnQuantiles, check_table, drawn_jointly
from winnow.numbers.crossing.joint import JointTarget, most_tries
from winnow.numbers.mechanism import PARTS
from winnow.privacy import Guarantee, Promise, promise
from winnow.privacy.calibration import sized_guarantee
from winnow.read.crossing import SealedTable

_MOST_TRIES = 50
"""Proposed lists for one that is kept: each takes as long as the draw itself, or less."""


@dataclass(frozen=True)
class JointQuantiles:
    """m quantiles of a column, as one list of points that is drawn with all of epsilon.

    Of an ascending list, let n_j rows lie between neighbours and s_j = p_j n be how many should,
    p_j being the shares between the quantiles and at both ends. The loss is sum_j |n_j - s_j|.
    [Gillenwater-Joseph-Kulesza 2021]

    Formal guarantees
        epsilon-bounded range under the relation of the table, with probability ~
        exp(-epsilon loss/width). Let p be the least share, and L the most rows of a person.
        - add-remove, width = 4 (1 - p) L: a row more between two neighbours moves |n_j - s_j| by
          at most 1 - p_j there, and each other one by at most its own share; in all by at most
          2 (1 - p_j), up or down. Each row of a person does so.
        - substitution, width = 4 L: n stays, and two of the n_j move by 1. A row that becomes a
          missing value is one less: 4 (1 - p) at most. With groups, width = 8 (1 - p) L: the row
          leaves one group and enters another, whose lists are independent; 8 (1 - p) >= 4.
        Log ratios lie in an interval as long as the width allows, because losses do.
        Rows that are tied get independent uniform sub-positions first. Given those of the common
        rows, and any of the other's, this holds; divergences are convex, so it holds for the
        mixture, too. Rows with a missing value, or another outside the grid, count nowhere.
        An empty table, or group, is drawn from by this law as any other.
    """

    epsilon: Real
    """The total for the call."""
    parts: tuple[int, ...]
    """The quantiles in ascending order, of ``whole``."""
    whole: int
    size: int
    """How many points the grid has."""
    rows_per_person: int
    groups: int = 1

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"joint exponential mechanism, {len(self.parts)} quantiles"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        return promise(Law.GUMBEL, "joint-quantiles", relation, epsilon=exact("e", self.epsilon))

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of the whole list."""
        return sized_guarantee(promised.event, self.epsilon, 0)

    def width(self, relation: Relation) -> Fraction:
        """The length of the interval in which a person moves the losses of all lists."""
        ends = (0, *self.parts, self.whole)
        least = Fraction(min(b - a for a, b in pairwise(ends)), self.whole)
        added = 4 * (1 - least)
        if relation is Relation.SUBSTITUTION:
            added = 2 * added if self.groups > 1 else Fraction(4)
        return added * self.rows_per_person

    def target(self, relation: Relation) -> JointTarget:
        """What is drawn of each group."""
        rate = exact("epsilon", self.epsilon) / self.width(relation)
        return JointTarget(self.parts, self.whole, rate)

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_table(table, self._most_rows(table.relation))

    def _most_rows(self, relation: Relation) -> int:
        """Beyond so many rows rounding would keep too few proposed lists."""
        target, most = self.target(relation), MOST_ROWS
        while most_tries(most, self.size * PARTS, target) > _MOST_TRIES:
            most //= 2
        return most

    def drawn(
        self, table: SealedTable, column: int, by: tuple[int, ...], key: Key
    ) -> DrawnQuantiles:
        """The codes of all quantiles in every group."""
        return drawn_jointly(self, table, column, by, key, PARTS)
