"""Everything of a tabulation that is fixed before the data are looked at.

``winnow.tabulate`` runs the plan, ``winnow.plan.tabulate`` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from winnow.core.checks import one_of
from winnow.privacy import Guarantee, guarantee_of
from winnow.privacy.calibration import sized_guarantee
from winnow.release.tables.choice import OBJECTIVES, PLAIN, Aim, Strategy, choose, score
from winnow.release.tables.parts import TablePart, parts_of
from winnow.release.tables.values import ValueColumn, value_columns
from winnow.release.terms import ReleaseTerms


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


def tables_settings(
    terms: ReleaseTerms,
    *,
    values: Sequence[str] = (),
    objective: str = "balanced",
    joint: bool = True,
) -> TablesSettings:
    """Fix everything, or say what is impossible; nothing is charged here.

    ``joint``: whether tables of several tables' columns may be measured instead.
    """
    one_of(OBJECTIVES, objective=objective)
    parts = parts_of(terms.workload, terms.memory)
    summed = value_columns(terms.schema, values)
    aim = Aim(terms, objective, tuple(each.values for each in summed), joint)
    strategies = tuple(choose(parts, aim))
    mechanism = strategies[0].mechanism
    event = mechanism.promise(terms.relation).event
    if mechanism.law == "laplace":
        guarantee = guarantee_of(event)
    else:
        guarantee = sized_guarantee(event, terms.epsilon, terms.exact_delta)
    return TablesSettings(parts, summed, terms.total, strategies, guarantee, objective)
