"""Plan tables: what errors to expect, and the epsilon for a wanted one; public numbers only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from winnow.core.checks import Real, positive
from winnow.core.notebook import Card, InNotebook, lines_card, ruled
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.tables.settings import TableRequest, TablesSettings, tables_settings

_SCOPE = (
    "Computed from public numbers: no data were read, nothing was spent. Errors are in rows. "
    "Standard errors are exact; 'largest' is the median of the largest error: of cells as if they "
    "were independent, which is no less, of ranges by a simulation of the noise."
)

_STEPS = 40
_MOST_EPSILON = 2.0**20


@dataclass(frozen=True)
class TableRow:
    """What to expect of one table."""

    table: str
    answers: int
    standard_error: float
    """The root of the mean squared error of its answers."""
    mean: float
    largest: float
    plain_largest: float
    """The largest error with plain noise on the cells."""


@dataclass(frozen=True)
class StrategyRow:
    """What to expect of all tables together, by one strategy."""

    strategy: str
    noise: str
    tables: int
    """How many tables are measured."""
    largest: float
    mean: float


@dataclass(frozen=True)
class TabulatePlan(InNotebook):
    """What to expect of tables, before they are paid for."""

    epsilon: float
    delta: float
    relation: str
    rows_per_person: int
    total: str
    """'public' or 'measured'."""
    strategy: str
    rows: tuple[TableRow, ...]
    strategies: tuple[StrategyRow, ...]
    """All that were looked at, the one that is taken first."""
    scope: str = _SCOPE

    @property
    def largest(self) -> float:
        """The largest error to expect, over all tables."""
        return self.strategies[0].largest

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return asdict(self)

    def table(self) -> list[list[str]]:
        """The plan as a table, its first line the headings."""
        lines = [["table", "answers", "standard error", "mean", "largest", "plain noise"]]
        lines += [
            [row.table, f"{row.answers:,}", f"{row.standard_error:,.3g}", f"{row.mean:,.3g}",
             f"{row.largest:,.3g}", f"{row.plain_largest:,.3g}"]
            for row in self.rows
        ]  # fmt: skip
        return lines

    def _title(self) -> str:
        return (
            f"epsilon={self.epsilon:.6g}, delta={self.delta:.6g}, "
            f"{Relation(self.relation).sentence}, the number of rows is {self.total}"
        )

    def _card(self) -> Card:
        return lines_card(self._title(), self.table(), f"by {self.strategy}", self.scope)

    def __str__(self) -> str:
        shown = ruled(self.table(), texts=())
        return "\n".join([self._title(), f"by {self.strategy}", "", *shown, "", self.scope])


@guarded
def tabulate(
    schema: Schema | Mapping[str, Any] | str | Path,
    by: Any,
    *,
    epsilon: Real | None = None,
    delta: Real = 0.0,
    error: Real | None = None,
    values: Sequence[str] = (),
    objective: str = "balanced",
    rows_per_person: int = 1,
    relation: str | Relation = Relation.SUBSTITUTION,
    public_total: bool = False,
    accountant: str = "best",
    memory: str | int = "4GB",
) -> TabulatePlan:
    """What ``winnow.tabulate`` would do: the errors of every table, without any data.

    Give ``epsilon``, or the largest ``error`` in rows that is to be expected over all tables:
    the plan is then for the least epsilon (to four digits) that brings it. ``public_total`` says
    that a public number of rows will be given; under substitution with one row per person it
    is public anyway. ``accountant`` is "pure" or "zcdp" where a shared budget will be charged,
    which adds up so: "best" is for a release by itself.
    """
    kind = Relation.parse(relation)
    known = public_total or (kind is Relation.SUBSTITUTION and rows_per_person == 1)
    declared = Schema.parse(schema)

    def planned(size: Real) -> TablesSettings:
        return tables_settings(
            TableRequest(
                schema=declared,
                by=by,
                epsilon=size,
                delta=delta,
                values=values,
                objective=objective,
                relation=kind,
                rows_per_person=rows_per_person,
                public_rows=1 if known else None,  # that it is known matters, not what it is
                accountant=accountant,
                memory=memory,
            )
        )

    if (epsilon is None) is (error is None):
        raise ParameterError("give epsilon, or the error that is wanted; one of the two")
    if epsilon is None:
        assert error is not None
        positive(error=error)
        epsilon = _least_epsilon(planned, float(error))
    plan = planned(epsilon)
    taken, plain = plan.strategy, plan.plain
    rows = tuple(
        TableRow(part.title, part.size, own.rms, own.mean, own.largest, noise.largest)
        for part, own, noise in zip(plan.parts, taken.each, plain.each, strict=True)
    )
    strategies = tuple(
        StrategyRow(each.name, each.mechanism.law, len(each.mechanism.measured),
                    each.errors.largest, each.errors.mean)
        for each in plan.strategies
    )  # fmt: skip
    return TabulatePlan(
        float(epsilon),
        float(delta),
        str(kind),
        int(rows_per_person),
        "public" if known else "measured",
        taken.name,
        rows,
        strategies,
    )


def _least_epsilon(planned: Any, error: float) -> float:
    """The least epsilon whose largest error is at most the wanted one."""

    def reached(epsilon: float) -> bool:
        return bool(planned(epsilon).strategy.errors.largest <= error)

    low, high = 2.0**-20, 1.0
    while not reached(high):
        low, high = high, 2 * high
        if high > _MOST_EPSILON:
            raise ParameterError(f"error={error:g} is not reached by any epsilon; allow more")
    for _ in range(_STEPS):
        if high / low < 1.0001:
            break
        middle = (low * high) ** 0.5
        low, high = (low, middle) if reached(middle) else (middle, high)
    return float(f"{high:.5g}") if reached(float(f"{high:.5g}")) else high
