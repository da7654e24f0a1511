"""``winnow.quantiles``: medians, quartiles and other quantiles, of a table or of its groups."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.numbers.request import Quantiles
from winnow.numbers.result import ReleasedQuantiles
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import released_of


@takes(Quantiles)
def quantiles(table: SealedTable, asked: Quantiles) -> Released[ReleasedQuantiles]:
    """Release quantiles of a column of numbers.

    ``table`` comes from ``wn.read_table``. Its schema declares ``column`` by ``{"type": "number",
    "low": ..., "high": ..., "step": ...}`` or by codes; released quantiles are numbers of this
    grid. ``quantiles`` are numbers from 0 to 1; 0.5 is the median. ``by`` gives quantiles for each
    cell of these columns. A row is in one group only, so groups do not share the budget.

    One quantile is drawn by the exponential mechanism. For several, ``method="auto"`` takes the
    way with the least rank error, predicted from public numbers:

    - ``wn.Halving(level=)`` draws the middle quantile first and then those on either side, with a
      part of epsilon for each level. A ``delta`` may allow more. ``level`` (such as 0.95) adds an
      interval to each quantile. With this probability all intervals of a group contain its
      quantiles. If a group has too few rows for the noise, they reach to the ends of the grid.
    - ``wn.Joint()`` draws all quantiles together, with all of epsilon.
    - ``wn.Cumulative()`` reads them off noisy counts of the rows up to each number, for columns of
      few numbers.

    Rows with a missing value, or with one outside the grid, do not count.

    The neighbour relation is the table's. The number of rows is not released. In an empty group
    every number of the grid is equally likely. ``run`` is ``wn.Run(pad_to=)``.
    ``wn.plan.quantiles`` states beforehand by how many rows each quantile is off.
    """
    return released_of(table, asked)
