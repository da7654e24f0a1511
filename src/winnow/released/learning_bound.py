"""What a released classifier promises about new rows, as plain numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class GeneralisationBound:
    """How far the classifier is from the best of its class, on new rows of the same source.

    It holds with probability `confidence` over the draw of the rows and of the noise, if the
    rows are independent draws from one distribution, one for each person.
    """

    confidence: float
    rows: int
    hypotheses: int
    estimation: float
    """What finitely many rows cost: Hoeffding's inequality over the class."""
    privacy: float
    """What privacy costs, in accuracy."""
    error: float | None
    """A bound on the error rate itself, at the same confidence, if a noisy accuracy was paid
    for; else None."""
    statement: str
    citation: str

    @property
    def excess(self) -> float:
        """err(released) - min err over the class is at most this."""
        return self.estimation + self.privacy

    def to_dict(self) -> dict[str, Any]:
        """The bound as plain data, ready for JSON."""
        return {**asdict(self), "excess": self.excess}

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:.6g} %"
        about = f"at {sure}, the error rate exceeds the best of the class by {self.excess:.4g}"
        if self.error is not None:
            about += f" at most, and is {min(self.error, 1.0):.4g}"
        return f"{about} at most"
