"""Which bin each row is in: sealed again, so that the draw of a table of counts opens it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from winnow.core.schema import Schema
from winnow.core.workloads.part import bin_counts
from winnow.numbers.histogram.bins import Bins
from winnow.read.crossing import Rows, RowsFor, SealedTable, rows_for


def binned(table: SealedTable, column: int, bins: Bins, schema: Schema) -> SealedTable:
    """The table of the bins of a column. A row stays one row, so neighbours stay neighbours."""

    def placed(rows: RowsFor) -> Rows:
        codes, weights = rows.of((column,))
        counts = bin_counts(bins.places(codes[column]), weights, bins.size)
        held = np.flatnonzero(counts)
        return Rows((held.astype(np.int32),), counts[held])

    content = rows_for(table, [(column,)]).map(placed, "rows")
    return replace(table, schema=schema, rows=content)
