"""``winnow.histogram``: how many rows lie in each bin of a column of numbers."""

from __future__ import annotations

from winnow.core.options import takes
from winnow.core.released import Released
from winnow.numbers.histogram.request import Histogram
from winnow.numbers.histogram.result import ReleasedHistogram
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import released_of


@takes(Histogram)
def histogram(table: SealedTable, asked: Histogram) -> Released[ReleasedHistogram]:
    """Release how many rows lie in each bin of a column of numbers, with errors.

    ``table`` is what ``wn.read_table`` made, ``column`` one that its schema declares by
    ``{"type": "number", "low": ..., "high": ..., "step": ...}`` or by codes. ``bins`` is a number
    of bins of equal widths, or a list of public edges: a bin begins with its edge and ends before
    the next one, the last with its edge.

    ``split="quantiles"`` finds the edges privately, by ``wn.quantiles`` for half of epsilon,
    so that about as many rows are in each bin; counts get the other half. Bins are narrow where
    rows lie close together, and a number that would fill several bins gets one of its own.

    Missing values, and others that the schema gives a code, are counted beside the bins. Every
    count has a standard error and an interval (``to_columns(level=)``); bins do not overlap, so
    all are counted for the price of one. The number of rows is used where it is public.

    The neighbour relation is the table's. ``wn.plan.histogram`` says the errors beforehand.
    """
    return released_of(table, asked)
