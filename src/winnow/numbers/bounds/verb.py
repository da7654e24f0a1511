"""``winnow.bounds``: between which numbers nearly all values of a column lie."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.numbers.bounds.request import Bounds
from winnow.numbers.bounds.result import ReleasedBounds
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import released_of


@takes(Bounds)
def bounds(table: SealedTable, asked: Bounds) -> Released[ReleasedBounds]:
    """Release private bounds of a column of numbers, within the ones that its schema declares.

    Who knows little of a column declares a wide range, and asks for bounds: the number beyond which
    only a few rows lie, upwards and downwards from zero; of a range that begins at zero or above,
    upwards only. Edges stand at growing distances from zero, and the exponential mechanism draws
    one of them; the bound is twice as far. ``wn.moments(..., bounds="auto")`` does this by itself.

    Where there are too few rows the bound is the declared one, or cuts away much: the plan says
    below how many. Rows with a missing value, or another outside the grid, count nowhere. The
    neighbour relation is the table's. ``run`` is ``wn.Run(pad_to=)``.
    """
    return released_of(table, asked)
