"""``winnow.regress``: a column of numbers as a linear function of others."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.numbers.regress.request import Regression
from winnow.numbers.regress.result import ReleasedRegression
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import released_of


@takes(Regression)
def regress(table: SealedTable, asked: Regression) -> Released[ReleasedRegression]:
    """Release a linear regression: an intercept and coefficients, with errors and intervals.

    ``table`` is what ``wn.read_table`` made. ``target`` is a column that its schema declares by
    ``{"type": "number", ...}`` or by codes. ``features`` are such columns, with one coefficient for
    a step of 1, or columns of values or bins, with one for each value: the difference from rows
    with the first one. If none is named, all other columns are used.

    Sums of products of all columns are whole numbers, get integer noise once, and are charged as
    one event; everything follows from them. Ranges that the schema declares decide the noise:
    narrow ones help much. With a ``delta``, Gaussian noise is used where it is less. Where noise
    may hide a direction of the features, coefficients are shrunk by a ridge, and a note says so.

    Rows without a number in the target or in a feature of numbers are left out; a missing value of
    another feature is a value of its own.

    Each coefficient has a standard error and an interval that holds with probability ``level``:
    of the least squares of the rows that were counted. ``sampling_error`` is the usual standard
    error for those who take the rows for a sample of more; both together are
    ``hypot(standard_error, sampling_error)``.

    The neighbour relation is the table's. ``run`` is ``wn.Run(pad_to=)``. ``wn.plan.regress``
    says the errors beforehand.
    """
    return released_of(table, asked)
