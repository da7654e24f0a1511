"""Released bounds: two numbers of the grid, between which nearly all values lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from winnow.core.frames import Columns
from winnow.core.notebook import Card, ReleasedValue, columns_card, number_text
from winnow.core.saving import Saved


@dataclass(frozen=True, eq=False)
class ReleasedBounds(ReleasedValue, Saved):
    """The released ends of a column; a schema takes them as ``low`` and ``high``, with ``clip``."""

    column: str
    low: int | float
    high: int | float
    beyond: int
    """With probability 0.99 at most so many rows lie beyond each end that was drawn."""

    def to_columns(self) -> Columns:
        """One row."""
        return {
            "column": np.array([self.column], object),
            "low": np.array([self.low]),
            "high": np.array([self.high]),
            "beyond": np.array([self.beyond]),
        }

    def to_dict(self) -> dict[str, Any]:
        """The bounds as plain data, ready for JSON."""
        return {"column": self.column, "low": self.low, "high": self.high, "beyond": self.beyond}

    def _card(self) -> Card:
        card = columns_card(f"Bounds of {self.column}", self.to_columns(), 1)
        said = f"at most {self.beyond:,} rows each, with probability 0.99"
        return card.with_notes(("beyond", said))

    def __repr__(self) -> str:
        return f"<bounds of {self.column}: {number_text(self.low)} to {number_text(self.high)}>"
