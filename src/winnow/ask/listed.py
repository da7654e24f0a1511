"""A universe that is a public list of cells, beside one that is sampled."""

from __future__ import annotations

from typing import Any

import numpy as np

from winnow.ask.constants import Cells
from winnow.core.schema import Schema
from winnow.core.workloads.reductions import listed_cells
from winnow.errors import ParameterError


def universe_of(schema: Schema | None, given: Any) -> tuple[int | str | None, Cells | None]:
    """How many cells carry weight (as was asked), and which, where they are listed."""
    if given is None or isinstance(given, str | int):
        return given, None
    if isinstance(given, np.integer):
        return int(given), None
    if schema is None:
        raise ParameterError("universe= as a list of cells needs a schema, which names the columns")
    cells = tuple(map(tuple, listed_cells(schema, given).tolist()))
    return len(cells), cells
