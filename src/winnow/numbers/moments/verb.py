"""``winnow.moments``: counts, sums, means, variances, of a table or of its groups."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.numbers.moments.request import Moments
from winnow.numbers.moments.result import ReleasedMoments
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import released_of


@takes(Moments)
def moments(table: SealedTable, asked: Moments) -> Released[ReleasedMoments]:
    """Release counts, sums, means, variances and deviations of columns of numbers.

    ``table`` is what ``wn.read_table`` made, ``values`` one or more columns that its schema
    declares by ``{"type": "number", "low": ..., "high": ..., "step": ...}`` or by codes.
    ``statistics`` are any of "count", "sum", "mean", "variance" and "deviation". With ``by``
    there are those of each cell of these columns. Everything is charged once.

    Sums are whole numbers of the public grid and get integer noise. Box noise is drawn for all
    sums of a group at once, and costs what the largest of them costs; with a ``delta``, Gaussian
    noise is used where it is less. The number of rows is measured too, unless it is public:
    under substitution with one row per person, or where it was stated (``read_table(rows=)``).

    Rows with a missing value, or another outside the grid, count nowhere in that column. A
    variance is that of the rows that were counted: divided by their number.

    Each number has a standard error and an interval that holds with probability ``level``: for
    what was counted, so of values that the schema clips for the clipped ones. A mean of a group
    with too few rows for the noise has the whole range as its interval, and a note says so.

    The neighbour relation is the table's. ``run`` is ``wn.Run(pad_to=)``. ``wn.plan.moments``
    says the errors beforehand.
    """
    return released_of(table, asked)
