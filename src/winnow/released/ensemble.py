"""A classifier that was released: a vote of public weak learners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ensemble:
    """The learners that boosting chose, in order; one may stand more than once."""

    learners: tuple[Any, ...]
    positions: tuple[int, ...]
    """Where each stands in the list of learners."""

    def vote(self, predictions: Any) -> NDArray[np.int8]:
        """The majority for each column; `predictions` has a row for every learner of the list.

        Ties go to 1.
        """
        table = np.asarray(predictions)
        total = np.zeros(table.shape[1], np.int64)
        for position in self.positions:
            total += table[position].astype(np.int64)
        return np.where(total >= 0, 1, -1).astype(np.int8)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {"learners": list(self.learners), "positions": list(self.positions)}
