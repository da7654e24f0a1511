"""``winnow.describe``: a first look at every column of a table, in one charge."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.describe.request import Describe
from winnow.describe.result import Description
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import released_of


@takes(Describe)
def describe(table: SealedTable, asked: Describe) -> Released[Description]:
    """Describe every column of a table in one charge, with errors: a good first release.

    ``table`` comes from ``wn.read_table``. The description has the number of rows, and for each
    column the number of missing values. Columns of numbers (``{"type": "number", ...}``) also get
    mean, deviation, ``quantiles`` and a histogram of ``bins`` equal bins. Other columns get their
    ``top`` most common values with counts. ``table.restrict([...])`` leaves columns out.

    All of it is one closed plan, charged once. Each column has an equal part of epsilon for its
    counts. Columns of numbers have one more part for mean and deviation, and one for quantiles.

    Every number has a standard error and an interval that holds with probability ``level``. Those
    of the most common values hold for all values of the column together, because the listed values
    were chosen by their noisy counts. The error of a quantile is a number of rows.

    The neighbour relation is the table's. ``wn.plan.describe`` states the errors beforehand.
    """
    return released_of(table, asked)
