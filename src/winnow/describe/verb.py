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
    """Describe every column of a table in one charge, with errors: what to run first.

    ``table`` is what ``wn.read_table`` made. Released are the number of rows; of each column how
    many values are missing; of columns of numbers (``{"type": "number", ...}``) mean, deviation,
    ``quantiles`` and a histogram of ``bins`` equal bins; of the others the ``top`` most common
    values with their counts. ``table.restrict([...])`` leaves columns out.

    All of it is one closed plan, charged once: each column has an equal part of epsilon for its
    counts, and columns of numbers one more for their mean and deviation and one for quantiles.

    Every number has a standard error and an interval that holds with probability ``level``; those
    of the most common values hold for all values of the column at once, as the listed ones were
    chosen by their noisy counts. Of a quantile it is said by how many rows it may be off.

    The neighbour relation is the table's. ``wn.plan.describe`` says the errors beforehand.
    """
    return released_of(table, asked)
