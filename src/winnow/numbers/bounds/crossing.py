"""The only part of bounds that sees private rows: which edge they reach, and one draw a side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from winnow.core.key import Key
from winnow.core.workloads.part import bin_counts
from winnow.numbers.bounds.edges import EdgesOfSide
from winnow.numbers.crossing.segment import RankTarget, Segment, drawn
from winnow.read.crossing import SealedTable, rows_for

NONE = -1
"""The answer that there are too few rows for a bound."""


def drawn_edges(
    table: SealedTable, sides: Sequence[EdgesOfSide], targets: Sequence[RankTarget], key: Key
) -> tuple[int, ...]:
    """The place of one edge for each side; ``NONE``: the bound is the end of the grid."""
    rows = key.open(rows_for(table, [(side.place,) for side in sides]))
    edges = []
    for number, (side, target) in enumerate(zip(sides, targets, strict=True)):
        codes, weights = rows.of((side.place,))
        own = codes[side.place].astype(np.int64)
        kept = own <= side.top  # no missing values, and nothing beyond the grid
        away = own[kept] - side.origin if side.upward else side.origin - own[kept]
        places = np.searchsorted(side.distances, away)  # 0: at the first edge, or before it
        counts = bin_counts(places, weights[kept], len(side.distances))
        positions = np.repeat(np.arange(len(counts)), counts)
        segment = Segment(positions, NONE, len(side.distances))
        edges.append(drawn(segment, target, key.tape.child(f"side-{number}")))
    return tuple(edges)
