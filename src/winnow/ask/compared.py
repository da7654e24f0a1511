"""Methods beside each other: what each promises of its answers, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from winnow.ask.methods import Independent, MultiplicativeWeights
from winnow.ask.sizes import Sizes, WeightsSizes
from winnow.core.notebook import ruled

HYPOTHESIS, SINGLE, NEITHER = MultiplicativeWeights.word(), Independent.word(), "none"
WORDS = {
    HYPOTHESIS: "multiplicative weights",
    SINGLE: "independent Gaussian noise",
    NEITHER: "neither: nothing would be learned",
}


@dataclass(frozen=True, kw_only=True)
class AskRow:
    """What one method promises of its answers. Fractions are of the rows."""

    method: str
    bound: float
    """No answer is further off, but for the chance of failure; 1: nothing is promised."""
    usual: float
    """What answers usually keep to, and state themselves."""
    error: float
    """The mean error to expect."""
    fresh: float | None = None
    """Of a hypothesis: the bound on answers from the data."""
    updates: int | None = None
    """Of a hypothesis: how often it may learn."""
    deviation: float | None = None
    """Of independent noise: its standard deviation."""

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data, ready for JSON."""
        return asdict(self)


def row_of(sizes: Sizes) -> AskRow:
    """What a session of these sizes promises."""
    stated: dict[str, Any] = {
        "bound": sizes.bound,
        "usual": sizes.usual,
        "error": sizes.typical,
    }
    if isinstance(sizes, WeightsSizes):
        fresh, updates = min(1.0, sizes.rounds.noise), sizes.rounds.updates
        return AskRow(method=HYPOTHESIS, fresh=fresh, updates=updates, **stated)
    return AskRow(method=SINGLE, deviation=sizes.deviation, **stated)


def useless_row(method: str) -> AskRow:
    """A method that would learn nothing here."""
    return AskRow(method=method, bound=1.0, usual=1.0, error=1.0)


def the_better(rows: Sequence[AskRow]) -> str:
    """The method with the smaller mean error, if its errors are below all of the rows."""
    weights, single = rows
    if weights.usual >= 1 and single.bound >= 1:
        return NEITHER
    better = weights.error < single.error or single.bound >= 1
    return HYPOTHESIS if better and weights.updates is not None else SINGLE


def ruled_rows(rows: Sequence[AskRow]) -> list[str]:
    """The rows as lines of text, under their headings."""
    lines = [["method", "error bound", "usually", "mean error", "updates"]]
    for row in rows:
        more = ""
        if row.deviation is not None:
            more = f" (deviation {min(1.0, row.deviation):.3g})"
        elif row.fresh is not None:
            more = f" (fresh: {row.fresh:.3g})"
        updates = "-" if row.updates is None else f"{row.updates:,}"
        numbers = f"{row.bound:.3g}", f"{row.usual:.3g}{more}", f"{row.error:.3g}"
        lines.append([WORDS[row.method], *numbers, updates])
    return ruled(lines, texts=range(len(lines[0])))
