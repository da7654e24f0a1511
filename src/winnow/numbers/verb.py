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
    """Release quantiles of a column of numbers: numbers of its public grid.

    ``table`` is what ``wn.read_table`` made, ``column`` one that its schema declares by
    ``{"type": "number", "low": ..., "high": ..., "step": ...}`` or by codes. ``quantiles`` are
    numbers from 0 to 1: 0.5 is the median. With ``by`` there are quantiles of each cell of these
    columns; a row is in one group only, so groups do not share the budget.

    One quantile is drawn by the exponential mechanism. ``method`` says how several are: "auto"
    takes the least rank error that is predicted from public numbers.

    - ``wn.Halving(level=)``: the middle one first and then those of the rows on either side, for a
      part of epsilon on each level. A ``delta`` may allow more. ``level`` (0.95, say) asks for an
      interval beside each quantile. All intervals of a group hold the quantiles of its rows with
      this probability; where rows are too few for the noise they reach to the ends of the grid.
    - ``wn.Joint()``: all at once, as one list, with all of epsilon.
    - ``wn.Cumulative()``: from noisy counts of the rows up to each number, where these are few.

    Rows with a missing value, or another outside the grid, count nowhere.

    The neighbour relation is the table's. No number of rows is released, and an empty group
    answers by the same law as any other: any number of the grid. ``run`` is ``wn.Run(pad_to=)``.

    ``wn.plan.quantiles`` says beforehand by how many rows each is off.
    """
    return released_of(table, asked)
