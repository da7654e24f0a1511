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
    """Release how many rows are in each bin of a column of numbers, with errors.

    ``table`` comes from ``wn.read_table``. Its schema declares ``column`` by ``{"type": "number",
    "low": ..., "high": ..., "step": ...}`` or by codes. ``bins`` is a number of bins of equal
    width, or a list of public edges. A bin includes its lower edge and excludes its upper one; the
    last bin includes both.

    ``split="quantiles"`` finds the edges privately, by ``wn.quantiles`` for half of epsilon, so
    that each bin has about as many rows; the counts get the other half. Bins are then narrow where
    rows are close together. A number that would fill several bins gets one of its own.
    ``split="adaptive"`` counts many cells with half of epsilon, and joins those in which rows are
    spread evenly: at most ``bins``, narrow where the density changes and wide elsewhere.

    Missing values, and other values that have a code in the schema, are counted beside the bins.
    Every count has a standard error and an interval (``to_columns(level=)``). Bins do not overlap,
    so all of them cost as much as one. The number of rows is used where it is public.

    The neighbour relation is the table's. ``wn.plan.histogram`` states the errors beforehand.
    """
    return released_of(table, asked)
