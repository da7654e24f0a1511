"""Everything of a tabulation that is fixed before the data are looked at.

``winnow.tabulate`` runs the plan, ``winnow.plan.tabulate`` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from winnow.core.checks import Real, count, delta_range, exact, one_of, positive_float
from winnow.core.relation import Relation
from winnow.core.schema import Schema
from winnow.privacy import Guarantee, guarantee_of
from winnow.privacy.calibration import sized_guarantee
from winnow.release.tables.choice import OBJECTIVES, PLAIN, Strategy, TableSetting, choose, score
from winnow.release.tables.parts import TablePart, parts_of
from winnow.release.tables.values import ValueColumn, value_columns


@dataclass(frozen=True)
class TableRequest:
    """The public parameters of a tabulation."""

    schema: Schema
    by: Any
    epsilon: Real
    delta: Real = 0.0
    values: Sequence[str] = ()
    objective: str = "balanced"
    relation: Relation = Relation.SUBSTITUTION
    rows_per_person: int = 1
    public_rows: int | None = None
    """The number of rows, where the relation makes it public or a user states one."""
    accountant: str = "best"
    memory: str | int = "4GB"
    joint: bool = True
    """Whether tables of several tables' columns may be measured instead."""


@dataclass(frozen=True, eq=False)
class TablesSettings:
    """A closed plan: nothing in it depends on data."""

    parts: tuple[TablePart, ...]
    values: tuple[ValueColumn, ...]
    total: int | None
    strategies: tuple[Strategy, ...]
    """All that were looked at; the first is taken."""
    guarantee: Guarantee
    objective: str = "balanced"

    @property
    def strategy(self) -> Strategy:
        """The one that is taken."""
        return self.strategies[0]

    @property
    def plain(self) -> Strategy:
        """The better of plain Laplace and plain Gaussian noise on every cell."""
        noise = [each for each in self.strategies if each.name == PLAIN]
        return min(noise, key=lambda each: score(each, self.objective))

    @property
    def reason(self) -> str:
        """Why this strategy."""
        taken, plain = self.strategy.errors, self.plain.errors
        return (
            f"{self.strategy.name}: expected largest error {taken.largest:.3g} rows and mean "
            f"{taken.mean:.3g}, against {plain.largest:.3g} and {plain.mean:.3g} of plain noise"
        )


def tables_settings(request: TableRequest) -> TablesSettings:
    """Fix everything, or say what is impossible; nothing is charged here."""
    positive_float(epsilon=request.epsilon)
    delta_range(delta=request.delta)
    one_of(OBJECTIVES, objective=request.objective)
    count(rows_per_person=request.rows_per_person)
    parts = parts_of(request.schema, request.by, request.memory)
    values = value_columns(request.schema, request.values)
    total = request.public_rows
    epsilon, delta = exact("epsilon", request.epsilon), exact("delta", request.delta)
    setting = TableSetting(
        relation=request.relation,
        rows_per_person=int(request.rows_per_person),
        total_public=total is not None,
        epsilon=epsilon,
        delta=delta,
        accountant=request.accountant,
        objective=request.objective,
        values=tuple(each.values for each in values),
        joint=request.joint,
    )
    strategies = tuple(choose(parts, setting))
    guarantee = _guarantee(strategies[0], request, delta)
    return TablesSettings(parts, values, total, strategies, guarantee, request.objective)


def _guarantee(strategy: Strategy, request: TableRequest, delta: Fraction) -> Guarantee:
    promised = strategy.mechanism.promise(request.relation)
    if strategy.mechanism.law == "laplace":
        return guarantee_of(promised.event)
    return sized_guarantee(promised.event, request.epsilon, delta)
