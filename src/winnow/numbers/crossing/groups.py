"""The rows of every group, and the quantiles of each: the part that opens private rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.key import Key
from winnow.core.relation import Relation
from winnow.core.sealed import PublicFact
from winnow.core.tape import Tape
from winnow.errors import DataError
from winnow.numbers.crossing.joint import JointTarget, drawn_lists
from winnow.numbers.crossing.segment import RankTarget, Segment, drawn
from winnow.numbers.tree import Node, QuantileTree
from winnow.read.crossing import SealedTable, number_of_rows, rows_for

Integers = NDArray[np.int64]

MOST_ROWS = 1 << 31
"""Rows are sorted one by one, 16 bytes each; and ranks times parts of a row stay in 64 bits."""


class Grouped(Protocol):
    """What a draw asks of any mechanism; all of it is public."""

    @property
    def size(self) -> int:
        """How many points the grid has."""

    @property
    def groups(self) -> int:
        """How many groups there are."""


class Halving(Grouped, Protocol):
    """What halving is asked for, too."""

    @property
    def tree(self) -> QuantileTree:
        """The order of the quantiles."""

    @property
    def level(self) -> object:
        """None: no ends of intervals are drawn."""

    def target(self, node: Node, relation: Relation, points: int, *, low_end: bool) -> RankTarget:
        """What is drawn in a segment of so many points."""


class Jointly(Grouped, Protocol):
    """What a draw of whole lists is asked for, too."""

    @property
    def parts(self) -> tuple[int, ...]:
        """The quantiles in ascending order."""

    def target(self, relation: Relation) -> JointTarget:
        """What is drawn of each group."""


@dataclass(frozen=True)
class DrawnQuantiles:
    """Codes: a row for each group, a column for each quantile in ascending order."""

    codes: Integers
    low: Integers | None = None
    high: Integers | None = None


def check_table(table: SealedTable, most: int = MOST_ROWS) -> None:
    """Refuse a table whose rows are too many to be sorted, before anything is charged."""

    def check(rows: int) -> None:
        if rows >= MOST_ROWS:
            raise DataError("the table has 2^31 rows or more; take quantiles of parts of it")
        if rows >= most:
            raise DataError(
                f"the table has {most:,} rows or more, too many for a joint draw of these "
                "quantiles with this epsilon; take wn.Halving()"
            )

    number_of_rows(table).publish(PublicFact.REFUSED_DATA, check)


def drawn_quantiles(
    halving: Halving, table: SealedTable, column: int, by: tuple[int, ...], key: Key, parts: int
) -> DrawnQuantiles:
    """All quantiles of all groups."""
    tape = key.tape
    groups = _groups(halving, table, column, by, key, parts)
    shape = (halving.groups, len(halving.tree.parts))
    codes, low, high = (np.zeros(shape, np.int64) for _ in range(3))
    last = halving.size - 1
    ends = halving.level is not None
    for number, segment in enumerate(groups):
        own = tape.child(f"group-{number}")
        draw = _Run(halving, table.relation, parts, own.child("quantiles"), low_end=False)
        draw.all_of(halving.tree.root, segment, codes[number])
        if ends:
            draw = _Run(halving, table.relation, parts, own.child("low"), low_end=True)
            draw.all_of(halving.tree.root, segment, low[number])
            draw = _Run(halving, table.relation, parts, own.child("high"), low_end=True)
            above = Segment(segment.stop - 1 - segment.rows[::-1], 0, segment.stop)
            draw.all_of(halving.tree.mirrored().root, above, high[number])
    if not ends:
        return DrawnQuantiles(codes)
    high = last - high[:, ::-1]
    return DrawnQuantiles(codes, np.minimum(low, codes), np.maximum(high, codes))


def drawn_jointly(
    jointly: Jointly, table: SealedTable, column: int, by: tuple[int, ...], key: Key, parts: int
) -> DrawnQuantiles:
    """All quantiles of all groups, each group's as one list."""
    tape, target = key.tape, jointly.target(table.relation)
    codes = np.zeros((jointly.groups, len(jointly.parts)), np.int64)
    for number, segment in enumerate(_groups(jointly, table, column, by, key, parts)):
        codes[number] = drawn_lists(segment, target, tape.child(f"group-{number}")) // parts
    return DrawnQuantiles(codes)


def quantiles_of_codes(
    halving: Halving, relation: Relation, rows: tuple[Integers, Integers], tape: Tape, parts: int
) -> Integers:
    """All quantiles of one group, of the codes and the weights of rows that were opened."""
    codes, weights = rows
    kept = codes < halving.size
    positions = np.sort(_spread(codes[kept], weights[kept], tape, parts))
    quantiles = np.zeros(len(halving.tree.parts), np.int64)
    run = _Run(halving, relation, parts, tape.child("quantiles"), low_end=False)
    run.all_of(halving.tree.root, Segment(positions, 0, halving.size * parts), quantiles)
    return quantiles


def _spread(codes: NDArray[np.integer], counts: Integers, tape: Tape, parts: int) -> Integers:
    """A position for every row: ties are broken at random, row by row."""
    positions = np.repeat(codes.astype(np.int64) * parts, counts)
    ties = tape.child("ties").words(0, len(positions))
    positions += (ties % np.uint32(parts)).astype(np.int64)
    return positions


@dataclass(frozen=True)
class _Run:
    """One quantile after another, over the segments that those before it left."""

    halving: Halving
    relation: Relation
    parts: int
    tape: Tape
    low_end: bool

    def all_of(self, node: Node, segment: Segment, values: Integers) -> None:
        """Draw a quantile, and those on both sides of it."""
        if node.leaf:  # nothing is split: ties may stay
            values[node.place] = self._one(node, segment.coarse(self.parts))
            return
        at = self._one(node, segment)
        values[node.place] = at // self.parts
        for side, rows in zip((node.before, node.after), segment.split(at), strict=True):
            if side is not None:
                self.all_of(side, rows, values)

    def _one(self, node: Node, segment: Segment) -> int:
        points = max(1, segment.stop - segment.start)
        target = self.halving.target(node, self.relation, points, low_end=self.low_end)
        return drawn(segment, target, self.tape.child(f"quantile-{node.place}"))


def _groups(
    halving: Grouped,
    table: SealedTable,
    column: int,
    by: tuple[int, ...],
    key: Key,
    parts: int,
) -> Iterator[Segment]:
    """The sorted positions of each group; ties are broken at random, row by row."""
    codes, weights = key.open(rows_for(table, [(*by, column)])).of((*by, column))
    kept = codes[column] < halving.size  # no missing values, and nothing beyond the grid
    number = np.zeros(int(kept.sum()), np.int64)
    for place in by:
        number = number * table.schema.shape[place] + codes[place][kept]
    counts = weights[kept]
    positions = _spread(codes[column][kept], counts, key.tape, parts)
    stop = halving.size * parts
    if halving.groups == 1:
        positions.sort()
        yield Segment(positions, 0, stop)
        return
    rows = np.repeat(number, counts)
    order = np.lexsort((positions, rows))
    positions = positions[order]
    ends = np.searchsorted(rows[order], np.arange(halving.groups + 1))
    for first, last in pairwise(ends.tolist()):
        yield Segment(positions[first:last], 0, stop)
