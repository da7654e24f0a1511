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
    """Release private bounds of a column of numbers, within those that its schema declares.

    If you do not know how large the values are, declare a wide range and release bounds: the
    numbers beyond which only a few rows lie, upwards and downwards from zero (upwards only, for a
    range that starts at zero or above). The exponential mechanism draws one of a series of edges
    at growing distances from zero, and the bound is twice as far. ``wn.moments(...,
    bounds="auto")`` does this for you.

    With too few rows the bound is the declared one, or clips many values; the plan states this
    number of rows. Rows with a missing value, or with one outside the grid, do not count. The
    neighbour relation is the table's. ``run`` is ``wn.Run(pad_to=)``.
    """
    return released_of(table, asked)
