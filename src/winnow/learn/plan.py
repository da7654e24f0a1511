"""Plan a private choice of a classifier: what is promised on new rows, for each mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive, probability
from winnow.core.notebook import Card, InNotebook, text_card
from winnow.core.relation import Relation
from winnow.core.utility import Utility
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.learn.bound import MECHANISMS, estimation_error, margin_in_rows, privacy_error, source
from winnow.select.margin_search import THRESHOLDS


@dataclass(frozen=True)
class LearnRow:
    """What one mechanism promises."""

    mechanism: str
    privacy: float
    """What privacy costs, in accuracy; 1: all of it."""
    excess: float
    """err(released) - min err over the class is at most this, at the confidence; 1 where nothing
    is promised."""
    margin: float | None
    """The assumption, in correct rows: at most `near` hypotheses lie within it of the best;
    None: nothing is assumed."""
    citation: str


@dataclass(frozen=True)
class LearnPlan(InNotebook):
    """What to expect of ``winnow.learn`` before anything is paid for."""

    hypotheses: int
    rows: int
    epsilon: float
    delta: float
    confidence: float
    relation: str
    estimation: float
    """What finitely many rows cost, with or without privacy."""
    table: tuple[LearnRow, ...]

    @property
    def best(self) -> LearnRow:
        """The row with the least excess among those that assume nothing.

        Where none promises anything, permute-and-flip, which needs no assumption to do well.
        """
        return min(
            (row for row in self.table if row.margin is None),
            key=lambda row: (row.excess, row.mechanism == "large-margin"),
        )

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {**vars(self), "table": [vars(row) for row in self.table]}

    def _card(self) -> Card:
        return text_card(str(self))

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:.6g} %"
        lines = [
            f"{self.hypotheses:,} hypotheses, {self.rows:,} rows, epsilon {self.epsilon:.6g}: at "
            f"{sure} the error rate exceeds the best of the class by at most",
        ]
        for row in self.table:
            words = "" if row.margin is None else f", if the next lies {row.margin:.0f} rows behind"
            promised = f"{row.excess:.4f}{words}" if row.excess < 1 else "nothing is promised"
            lines.append(f"{row.mechanism:<18}{promised}")
        return "\n".join(lines)


@guarded
def learn(
    *,
    hypotheses: int,
    rows: int,
    epsilon: Real,
    delta: Real = 0.0,
    near: int | None = None,
    thresholds: str = "tight",
    confidence: Real = 0.95,
    relation: str | Relation = Relation.SUBSTITUTION,
) -> LearnPlan:
    """Say what ``winnow.learn`` promises on new rows, from public numbers alone.

    ``hypotheses`` is the size of the class, ``rows`` the number of rows, one for each person.
    With ``near`` there is a further row for the large margin mechanism: what it promises if
    all but `near` hypotheses lie far enough behind the best, and how far that is.
    """
    count(hypotheses=hypotheses, rows=rows)
    positive(epsilon=epsilon)
    delta_range(delta=delta)
    probability(confidence=confidence)
    one_of(THRESHOLDS, thresholds=thresholds)
    utility = Utility.declare(1, monotone=True, relation=relation)
    half, miss = float(utility.half_width), 1.0 - float(confidence)
    first = estimation_error(hypotheses, rows, miss)
    approximate = exact("delta", delta) > 0
    if near is not None:
        count(near=near)
        if not approximate:
            raise ParameterError("near is for the large margin mechanism, which needs delta > 0")
        if near > hypotheses:
            raise ParameterError(f"near={near} exceeds {hypotheses} hypotheses; lower it")

    def row(mechanism: str, size: int, margin: float | None) -> LearnRow:
        cost = privacy_error(mechanism, size, half, epsilon, miss) / rows
        excess = min(first + cost, 1.0)  # an error rate is no higher
        return LearnRow(mechanism, min(cost, 1.0), excess, margin, source(mechanism))

    table = [row(name, hypotheses, None) for name in MECHANISMS[0 if approximate else 1 :]]
    if near is not None:
        margin = margin_in_rows(near, half, epsilon, delta, thresholds, miss)
        table.append(row("large-margin", near, margin))
    return LearnPlan(
        int(hypotheses),
        int(rows),
        float(epsilon),
        float(delta),
        float(confidence),
        str(utility.relation),
        min(first, 1.0),
        tuple(table),
    )
