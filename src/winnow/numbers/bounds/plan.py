"""``winnow.plan.bounds``: the plan that ``winnow.bounds`` runs, from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from winnow.core.key import Key
from winnow.core.options import takes
from winnow.errors import ParameterError
from winnow.numbers.about import AskedColumn, asked_column
from winnow.numbers.bounds.edges import sides_of
from winnow.numbers.bounds.mechanism import TailEdges
from winnow.numbers.bounds.request import Bounds, PlannedBounds
from winnow.numbers.bounds.result import ReleasedBounds
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import TablePlan

_SECONDS, _SECONDS_OF_ROW = 0.05, 1e-7


@dataclass(frozen=True, kw_only=True, eq=False)
class BoundsPlan(TablePlan[ReleasedBounds]):
    """What ``winnow.bounds`` charges, draws and promises, before rows are looked at."""

    mechanism: TailEdges
    asked: Bounds = field(repr=False)

    @property
    def error(self) -> float:
        """How many rows lie beyond an end at most, with probability 0.99."""
        return float(self.mechanism.least_rows)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "column": self.asked.column,
            "epsilon": self.epsilon,
            "relation": str(self.relation),
            "rows_per_person": self.about.rows_per_person,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "error": self.error,
            "ends": [
                {
                    "end": "high" if side.upward else "low",
                    "edges": len(side.distances),
                    "rows_beyond": self.mechanism.beyond(side),
                }
                for side in self.mechanism.sides
            ],
        }

    def lines(self) -> list[str]:
        """What to expect of each end."""
        sides = (
            f"{'high' if side.upward else 'low'}: about {self.mechanism.beyond(side):,} "
            f"rows beyond one of {len(side.distances)} edges, then twice as far from zero"
            for side in self.mechanism.sides
        )
        return [
            *sides,
            "",
            f"With probability 0.99 at most {self.error:,.0f} rows lie beyond an end. With "
            "fewer rows the bound is uninformative, or is the declared one.",
        ]


@takes(PlannedBounds)
def bounds(about: AboutTable | SealedTable, asked: PlannedBounds) -> BoundsPlan:
    """Predict what ``winnow.bounds`` charges and how far off it is; nothing is read or spent.

    The plan says how many rows may lie beyond a bound, and so below how many rows bounds are
    useless; ``error=`` finds the epsilon for that. ``plan.run(table, budget=)`` releases them.
    """
    return asked.plan(about)


def planned(asked: Bounds, about: Any) -> BoundsPlan:
    """The plan of a request, by what is public of the table."""
    public = about_table(about)
    if public.schema is None:
        raise ParameterError("bounds need the schema of the table; give wn.plan.table(schema)")
    of = asked_column(public.schema, asked.column, ())
    mechanism = TailEdges(
        asked.epsilon, sides_of(asked.column, of.place, of.grid), public.rows_per_person
    )
    return BoundsPlan(
        mechanism=mechanism,
        relation=public.relation,
        guarantee=mechanism.guarantee(mechanism.promise(public.relation)),
        draw=lambda table, key: _released(of, asked.column, mechanism, table, key),
        check=mechanism.check,
        seconds=_SECONDS + _SECONDS_OF_ROW * (public.rows or 0),
        asked=asked,
        about=public,
    )


def _released(
    of: AskedColumn, column: str, mechanism: TailEdges, table: SealedTable, key: Key
) -> ReleasedBounds:
    low, high = mechanism.drawn(table, key)[column]
    return ReleasedBounds(column, of.grid.value(low), of.grid.value(high), mechanism.least_rows)
