"""What a session is sized by: public numbers only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from winnow.ask.methods import MultiplicativeWeights
from winnow.ask.sizes import Cells
from winnow.core.checks import Real
from winnow.core.relation import Relation


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The table, the promise and the method, as sizes follow from them."""

    cells: int
    rows: int
    epsilon: Real
    delta: Real
    max_queries: int = 10_000
    beta: Real = 0.05
    relation: Relation = Relation.SUBSTITUTION
    rows_per_person: int = 1
    shape: tuple[int, ...] | None = None
    """The sizes of the columns, where all cells are held in memory."""
    accountant: str = "tight"
    lost: Real | None = None
    """The part of delta that the rounds may lose, where a budget says it."""
    method: MultiplicativeWeights = field(
        default_factory=lambda: MultiplicativeWeights(warm_start=0, fallback=0)
    )
    universe: int | str | None = None
    """How many cells carry weight; None: all."""
    listed: Cells | None = None
    """The cells of a public list, where the universe is one; ``universe`` counts them."""
    phi_beta: float = 0.0
    """What of beta pays for a phi that follows from the rows."""

    def by(self, **options: Any) -> Terms:
        """Terms with other options of the method."""
        return replace(self, method=replace(self.method, **options))
