"""The numbers of people for each value of one column of a sealed table."""

from __future__ import annotations

import numpy as np

from winnow.domain.utility import Utility
from winnow.domain.workloads.part import bin_counts
from winnow.sealed.opening import open_sealed
from winnow.sealed.scores import Scores, SealedScores
from winnow.sealed.seal import Sealed
from winnow.sealed.sealed_counts import SealedCounts
from winnow.sealed.tables import SealedTable


def column_counts(table: SealedTable, column: str) -> SealedCounts | SealedScores:
    """How many rows have each declared value of a column; the list of values is public.

    With one row per person a person is in one count. With up to L rows a person can move one
    count by L, which is then the sensitivity.
    """
    (place,) = table.schema.positions([column])
    labels = table.schema.columns[place].labels
    codes, weights = open_sealed(table.rows)
    counted = bin_counts(codes[place].astype(np.int64), weights, len(labels))
    counted.flags.writeable = False
    values: Sealed[Scores] = Sealed(counted, f"counts of {len(labels)} values")
    utility = Utility.declare(table.rows_per_person, monotone=True, relation=table.relation)
    if table.rows_per_person == 1:
        return SealedCounts(values, labels, utility, max_items_per_user=1)
    return SealedScores(values, len(labels), labels, utility)
