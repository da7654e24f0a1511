"""A released solution of a linear program, with what is promised about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.frames import Columns, Framed, plain_column
from winnow.core.notebook import Card, InNotebook, columns_card


@dataclass(frozen=True)
class LpSolution(InNotebook, Framed):
    """x, and what may be said about it. All of it may be published."""

    x: NDArray[np.float64] = field(repr=False)
    objective: float
    """c'x."""
    opt: float
    """The value of the objective that was looked for."""
    violation: float
    """With probability `confidence` no row is violated by more than this (but see
    `exceptions`), if the program has a solution with this value."""
    confidence: float
    exceptions: int
    """So many rows at most may be violated by more; 0: none."""
    feasible: bool | None
    """What the private checks of a search said; None where no check was made."""
    measured: float | None
    """The largest violation with noise, where it was measured."""
    rounds: int
    selected: NDArray[np.int64] = field(repr=False)
    """The rows (scalar-private) in the order of selection; empty for constraint privacy."""
    names: Sequence[str] | None = field(default=None, repr=False)
    """Public names of the variables."""
    unmet: int | None = None
    """So many rows are violated by more than `tolerance`, with noise, where they were counted."""
    tolerance: float | None = None
    objective_misses: float = 0.0
    """c'x may miss `opt` by so much, with the same probability: 0 unless a bound was given."""

    def variables(self) -> list[tuple[str, float]]:
        """Each variable with its value."""
        names = self.names or [f"x{j}" for j in range(len(self.x))]
        return [(str(name), float(value)) for name, value in zip(names, self.x, strict=True)]

    def to_columns(self) -> Columns:
        """Each variable with its value, as columns."""
        pairs = self.variables()
        values = np.array([value for _, value in pairs], np.float64)
        return {"variable": plain_column([name for name, _ in pairs]), "value": values}

    def _card(self) -> Card:
        return columns_card(str(self), self.to_columns(), 1)

    def to_dict(self) -> dict[str, Any]:
        """The solution as plain data."""
        return {
            "x": dict(self.variables()),
            "objective": self.objective,
            "opt": self.opt,
            "violation": self.violation,
            "confidence": self.confidence,
            "exceptions": self.exceptions,
            "feasible": self.feasible,
            "measured": self.measured,
            "unmet": self.unmet,
            "tolerance": self.tolerance,
            "objective_misses": self.objective_misses,
            "rounds": self.rounds,
        }

    def __str__(self) -> str:
        rest = f", for all but {self.exceptions} rows" if self.exceptions else ""
        return (
            f"{len(self.x)} variables with c'x = {self.objective:.6g}; no row violated by more "
            f"than {self.violation:.4g} with probability {self.confidence:g}{rest}"
        )
