"""Sums within private bounds: both are charged as one event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.numbers.bounds.mechanism import TailEdges
from winnow.numbers.moments.crossing import Integers
from winnow.numbers.moments.measured import OF_KIND, MeasuredSum, ValuedColumn
from winnow.numbers.moments.mechanism import NoisySums
from winnow.privacy import Compose, Guarantee, Promise
from winnow.privacy.calibration import sized_guarantee
from winnow.read.crossing import SealedTable

SHARE = Fraction(1, 3)
"""Of epsilon, for the bounds: with a fifth or a half the errors of means on the families of
``bounds.mechanism`` are no less in their geometric mean."""


@dataclass(frozen=True)
class BoundedSums:
    """Bounds of every column, and sums of values that are clipped to them.

    Formal guarantee: the composition of both, which is what is charged. What a row adds to a sum is
    measured in parts of the most that one within the bounds can add, so the noise in parts, and its
    charge, are the same whatever the bounds are.
    """

    epsilon: Real
    """The total for the call."""
    ends: TailEdges
    sums: NoisySums

    @property
    def name(self) -> str:
        """What the receipt calls it."""
        return f"{self.ends.name}; {self.sums.name}"

    def promise(self, relation: Relation) -> Promise:
        """What one release is charged, and why."""
        ends, sums = self.ends.promise(relation), self.sums.promise(relation)
        return Promise(
            Compose((ends.event, sums.event)),
            f"{ends.citation}; {sums.citation}",
            f"{ends.statement} {sums.statement}",
        )

    def guarantee(self, promised: Promise) -> Guarantee:
        """Of both together."""
        return sized_guarantee(promised.event, self.epsilon, 0)

    def check(self, table: SealedTable) -> None:
        """Refuse what cannot be released, before anything is charged."""
        self.ends.check(table)
        self.sums.check(table)

    def drawn_within(
        self, table: SealedTable, by: tuple[int, ...], key: Key
    ) -> tuple[dict[str, ValuedColumn], NoisySums, Integers]:
        """The columns within their bounds, the sums that are measured of them, and these."""
        ends = self.ends.drawn(table, key.child("bounds"))
        columns = {
            each.column.name: each.column.within(*ends[each.column.name])
            for each in self.sums.measured
            if each.column is not None
        }
        measured = tuple(_within(each, columns) for each in self.sums.measured)
        sums = replace(self.sums, measured=measured)
        return columns, sums, sums.drawn(table, by, key.child("sums"))


def _within(each: MeasuredSum, columns: Mapping[str, ValuedColumn]) -> MeasuredSum:
    if each.column is None:
        return each
    return replace(OF_KIND[each.kind](columns[each.column.name]), times=each.times)
