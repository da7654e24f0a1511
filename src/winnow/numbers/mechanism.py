"""Quantiles by halving: the middle one by the exponential mechanism, then both sides."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.laws import Law
from winnow.core.relation import Relation
from winnow.numbers.crossing.groups import DrawnQuantiles, check_table, drawn_quantiles
from winnow.numbers.crossing.segment import RankTarget
from winnow.numbers.tree import Node, QuantileTree
from winnow.privacy import Guarantee, Promise, promise
from winnow.privacy.calibration import sized_guarantee
from winnow.read.crossing import SealedTable

PARTS = 1 << 10
"""Rows that are tied at a number get one of so many positions, at random, before they are split:
then at most about a thousandth of them goes to the wrong side."""


@dataclass(frozen=True)
class HalvingQuantiles:
    """m quantiles of a column: the middle one first, then those of the rows on either side.

    Each of ceil(log2(m + 1)) levels selects a point of the grid in every segment by the
    exponential mechanism, with the loss of ``crossing.segment``: how many rows lie between the
    point and the quantile. [Smith 2011; Kaplan-Schnapp-Stemmer 2022]

    Formal guarantees
        With e = ``per_round``, every level is e-bounded range, so all of them are (rounds e)-DP
        and rounds e^2/8-zCDP, under the relation of the table. Segments of a level, and groups,
        are disjoint. Let a person have at most L rows, each in one segment of the level, and let
        a point of a segment have probability ~ exp(-e loss/(2 U)).
        - add-remove, U = P L: a row more or less moves the losses of one segment by at most P, so
          every log ratio by at most e/L, and L rows all segments together by at most e.
        - substitution, U = 2 P L: a row leaves a segment and enters another: e/(2L) for each. One
          that stays inside moves losses by at most 1 <= 2P. Where there is only one segment, the
          whole table, U = L: a row replaced moves losses by at most 1.
        Log ratios of a level lie in an interval of length e: those of one segment do, because
        losses move by -U' .. U' there, and lengths of disjoint segments add up.
        Rows that are tied get independent uniform sub-positions before the first split. Given
        those of the common rows, and any of the other's, all of the above holds; so it holds for
        the mixture, too. Rows with a missing value, or another outside the grid, are in no
        segment: to become one of them is to leave.
        An empty table, or group, is drawn from by this law as any other: every point is as likely.

    With a ``level`` two more runs release an interval for each quantile. In the run of lower ends
    every target lies R rows below its share, R being what the loss passes with probability at
    most (1 - level)/(2m): then all ends lie at or below their quantiles, by induction over the
    levels, because a share of two ranks that are too low is too low. Upper ends mirror that.
    """

    epsilon: Real
    """The total for the call."""
    per_round: Fraction
    """The epsilon of one level: an equal part, or more where a delta allows it."""
    tree: QuantileTree
    size: int
    """How many points the grid has."""
    rows_per_person: int
    groups: int = 1
    level: Real | None = None
    delta: Real = 0

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        many = len(self.tree.parts)
        if self.rounds == 1:
            return "exponential mechanism, one quantile"
        what = f"{many} quantile{'s' if many > 1 else ''}"
        ends = "" if self.level is None else " with intervals"
        return f"halving, {what}{ends}, epsilon per level {float(self.per_round):.6g}"

    @property
    def runs(self) -> int:
        """One, or three with the ends of intervals."""
        return 1 if self.level is None else 3

    @property
    def rounds(self) -> int:
        """How many selections a row is in."""
        return self.runs * self.tree.levels

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        whole = self.per_round * self.rounds
        return promise(Law.GUMBEL, "halving", relation, epsilon=whole, kappa=self.rounds)

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of all levels together."""
        return sized_guarantee(promised.event, self.epsilon, self.delta)

    def unit(self, node: Node, relation: Relation) -> Fraction:
        """U: by how much a person moves the losses of a segment, counted as its levels are."""
        if relation is Relation.ADD_REMOVE:
            return node.spread * self.rows_per_person
        if node.whole and self.groups == 1:
            return Fraction(self.rows_per_person)
        return 2 * node.spread * self.rows_per_person

    def target(self, node: Node, relation: Relation, points: int, *, low_end: bool) -> RankTarget:
        """What is drawn in a segment of so many points."""
        rate = self.per_round / (2 * self.unit(node, relation))
        shift = self.passed(points + 1, rate) if low_end else None
        return RankTarget(node.share, rate, shift)

    def passed(self, candidates: int, rate: Fraction) -> int:
        """R: the loss passes it with probability at most (1 - level)/(2m)."""
        assert self.level is not None
        missed = (1 - float(self.level)) / (2 * len(self.tree.parts))
        return math.ceil(loss_passed(candidates, rate, missed))

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        check_table(table)

    def drawn(
        self, table: SealedTable, column: int, by: tuple[int, ...], key: Key
    ) -> DrawnQuantiles:
        """The codes of all quantiles in every group, and of the ends of their intervals."""
        return drawn_quantiles(self, table, column, by, key, PARTS)


def loss_passed(candidates: int, rate: Fraction, missed: float) -> float:
    """A loss that a draw passes with at most this probability: some candidate has loss 0.

    Each of those beyond R weighs e^(-rate R) of that one at most.
    """
    return (math.log(candidates) - math.log(missed)) / float(rate)
