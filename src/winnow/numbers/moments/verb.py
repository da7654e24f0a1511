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

    ``table`` comes from ``wn.read_table``. ``values`` are one or more columns that its schema
    declares by ``{"type": "number", "low": ..., "high": ..., "step": ...}`` or by codes.
    ``statistics`` are any of "count", "sum", "mean", "variance" and "deviation". ``by`` gives them
    for each cell of these columns. Everything is charged once.

    Sums are whole numbers of the public grid and get integer noise. All sums of a group share one
    vector of noise, which costs as much as the largest of them. With a ``delta``, Gaussian noise
    is used where it is smaller. The number of rows is measured too, unless it is public: under
    substitution with one row per person, or if you stated it (``read_table(rows=)``).

    Rows with a missing value, or with one outside the grid, do not count in that column. A
    variance is divided by the number of rows that were counted.

    Each number has a standard error and an interval that holds with probability ``level``. The
    interval is about what was counted: of values that the schema clips, about the clipped ones. If
    a group has too few rows for the noise, the interval of its mean is the whole range, and a note
    says so.

    The neighbour relation is the table's. ``run`` is ``wn.Run(pad_to=)``. ``wn.plan.moments``
    states the errors beforehand.
    """
    return released_of(table, asked)
