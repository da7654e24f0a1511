"""What all plans of a private table share, and the way from what is asked to a release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from winnow.core.notebook import Card, Printed, lines_card
from winnow.core.padding import Padding
from winnow.core.plan import Plan
from winnow.core.released import Released
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable, sealed_table

R = TypeVar("R", covariant=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class TablePlan(Printed, Plan[SealedTable, R]):
    """A plan of a release about a private table: it takes the table that it was made for."""

    asked: Any = field(repr=False)
    about: AboutTable = field(repr=False)
    """What is public of the table."""
    _texts: ClassVar[tuple[int, ...]] = (0, 1)
    """The columns of its table that are texts."""

    @property
    def epsilon(self) -> float:
        """The epsilon that was asked for, or found for a wanted error."""
        return float(self.asked.epsilon)

    def table(self) -> list[list[str]]:
        """What to expect, under headings; empty: ``lines`` say it."""
        return []

    def lines(self) -> list[str]:
        """What is said below the table."""
        return []

    def ready(self, data: Any) -> SealedTable:
        """The table; that of another plan is refused."""
        table = sealed_table(data)
        about = about_table(table)
        self.about.check(about)
        self.about.check_known(about)
        return table

    def _clock(self) -> Padding:
        clock: Padding = self.asked.running.padding()
        return clock

    def _card(self) -> Card:
        title, *lead = Plan.__str__(self).split("\n")
        notes = [line for line in self.lines() if line]
        if not self.table():
            return Card(title, lead=lead, notes=[("", line) for line in notes])
        texts = min(len(self._texts), len(self.table()[0]) - 1)
        return lines_card(title, self.table(), *notes, texts=texts, lead=lead)


class TableRequest(Protocol[R]):
    """What is asked of a verb about a table."""

    @property
    def budget(self) -> Any:
        """What pays for it."""

    @property
    def seed(self) -> Any:
        """Makes it repeatable, for tests."""

    def plan(self, about: Any, /) -> Plan[SealedTable, R]:
        """What is charged, drawn and promised, from what is public of the table."""


def released_of(table: SealedTable, asked: TableRequest[R]) -> Released[R]:
    """Plan what is asked of a table, and run it."""
    sealed = sealed_table(table)
    return asked.plan(sealed).run(sealed, budget=asked.budget, seed=asked.seed)
