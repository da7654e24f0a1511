"""A bound on what each person counts for that a release chose, and what it went by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from winnow.core.notebook import Card, InNotebook, lines_card, ruled
from winnow.core.unit import counted


@dataclass(frozen=True)
class BoundRow:
    """One bound that was compared; what is said of data comes from a look with noise."""

    bound: int
    noise: float
    """The error from noise under this bound: of all answers together, or of one."""
    left_out: float
    """Items or rows of people beyond the bound, by the look."""
    error: float
    """What was compared: the least is taken."""


@dataclass(frozen=True)
class ChosenBound(InNotebook):
    """The bound that a release chose by a look at how many items or rows people have."""

    who: str
    """The column of people."""
    what: str
    """What is bounded: 'row', or the column of items."""
    bound: int
    epsilon: float
    """What the look cost, of the epsilon of the release."""
    error: str
    """What the column of errors says."""
    rows: tuple[BoundRow, ...]

    def __str__(self) -> str:
        taken = next(row for row in self.rows if row.bound == self.bound)
        return (
            f"at most {counted(self.bound, self.what)} of each {self.who}, chosen by a look for "
            f"epsilon {self.epsilon:.4g}: about {max(0.0, taken.left_out):,.0f} {self.what}s are "
            "left out"
        )

    def table(self) -> list[list[str]]:
        """The bounds that were compared as a table, its first line the headings."""
        lines = [["bound", "noise", "left out", "error"]]
        for row in self.rows:
            mark = " *" if row.bound == self.bound else ""
            cells = [f"{each:,.4g}" for each in (row.noise, row.left_out, row.error)]
            lines.append([f"{row.bound:,}{mark}", *cells])
        return lines

    def describe(self) -> str:
        """The sentence and the table."""
        return "\n".join([str(self), *ruled(self.table(), texts=()), f"error: {self.error}"])

    def _card(self) -> Card:
        return lines_card(str(self), self.table(), f"error: {self.error}")

    def to_dict(self) -> dict[str, Any]:
        """The bounds as plain data, ready for JSON, and the sentence."""
        return {**asdict(self), "says": str(self)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ChosenBound:
        """The bound that ``to_dict`` wrote."""
        said = {name: value for name, value in document.items() if name != "says"}
        return cls(**{**said, "rows": tuple(BoundRow(**row) for row in said["rows"])})
