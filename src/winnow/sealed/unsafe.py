"""The way around the seal, for the owner of the data: true answers without any noise.

Nothing here is private. It exists so that an owner can see how far a synthetic table lies from
the data (``winnow release --unsafe-show-private``); what it returns must not be published, and
choosing parameters by it is a release without noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow.domain.workloads import Workload
from winnow.sealed.opening import open_sealed
from winnow.sealed.tables import SealedTable, true_counts


def unsafe_true_answers(table: SealedTable, workload: Workload) -> NDArray[np.float64]:
    """The true answers of a workload as fractions of the true number of rows: NOT private."""
    rows = max(1, int(open_sealed(table.rows).weights.sum()))
    counts = open_sealed(true_counts(table, workload))
    return np.asarray(counts / (workload.grids * rows), np.float64)
