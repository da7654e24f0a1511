"""``winnow.plan.quantiles``: the plan that ``winnow.quantiles`` runs, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from winnow.core.key import Key
from winnow.core.options import takes
from winnow.errors import ParameterError
from winnow.numbers.about import MOST_DRAWN, AskedColumn, asked_column
from winnow.numbers.choice import QuantileMechanism, chosen
from winnow.numbers.expected import MISSED, QuantileRow, expected_of
from winnow.numbers.request import PlannedQuantiles, Quantiles
from winnow.numbers.result import ReleasedQuantiles
from winnow.privacy.sizing import as_all_there_is
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import TablePlan

_SECONDS, _SECONDS_OF_DRAW, _SECONDS_OF_ROW = 0.05, 0.002, 2e-7
"""Measured on one core: a table of 10^7 rows in 2 s, a quantile in 1 to 2 ms."""


@dataclass(frozen=True, kw_only=True, eq=False)
class QuantilesPlan(TablePlan[ReleasedQuantiles]):
    """What ``winnow.quantiles`` charges, draws and promises, before rows are looked at."""

    mechanism: QuantileMechanism
    asked: Quantiles = field(repr=False)
    of: AskedColumn = field(repr=False)
    """The column and its groups."""
    _texts: ClassVar = ()

    @cached_property
    def expected(self) -> tuple[QuantileRow, ...]:
        """What to expect of each quantile, in ascending order."""
        return expected_of(self.mechanism, self.relation)

    @property
    def error(self) -> float:
        """The largest expected rank error of a quantile, in rows."""
        return max(row.rank_error for row in self.expected)

    @property
    def answers(self) -> int:
        """How many quantiles are released."""
        return self.of.groups * len(self.asked.parts[0])

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "column": self.asked.column,
            "by": list(self.asked.by),
            "groups": self.of.groups,
            "epsilon": self.epsilon,
            "delta": float(self.asked.delta),
            "level": None if self.asked.level is None else float(self.asked.level),
            "relation": str(self.relation),
            "rows_per_person": self.about.rows_per_person,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "error": self.error,
            "quantiles": [asdict(row) for row in self.expected],
        }

    def table(self) -> list[list[str]]:
        """What to expect of each quantile, under headings."""
        heads = ["quantile", "rank error (rows)", f"within, at {100 * (1 - MISSED):g} %"]
        rows = [
            [f"{row.quantile:g}", f"{row.rank_error:.3g}", f"{row.bound:.3g}"]
            for row in self.expected
        ]
        return [heads, *rows]


@takes(PlannedQuantiles)
def quantiles(about: AboutTable | SealedTable, asked: PlannedQuantiles) -> QuantilesPlan:
    """Predict what ``winnow.quantiles`` charges and how far off it is; nothing is read or spent.

    ``about`` is a sealed table, of which only what is public is looked at, or
    ``wn.plan.table(schema)`` where there is none yet. The plan says how far each quantile is from
    the true one, in rows; ``error=`` (in rows) finds the epsilon for it. ``plan.run(table,
    budget=)`` releases it.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Quantiles, about: Any) -> QuantilesPlan:
    """The plan of a request, by what is public of the table."""
    public = about_table(about)
    if public.schema is None:
        raise ParameterError("quantiles need the schema of the table; give wn.plan.table(schema)")
    of = asked_column(public.schema, asked.column, asked.by, dates=True)
    parts, _ = asked.parts
    runs = 1 if asked.level is None else 3
    drawn = of.groups * len(parts) * runs
    if drawn > MOST_DRAWN:
        raise ParameterError(
            f"{of.groups:,} groups of {len(parts)} quantiles are {drawn:,} draws, and at most "
            f"{MOST_DRAWN:,} are made; name fewer groups or quantiles"
        )
    taken = chosen(asked, public, of)
    mechanism = taken.mechanism
    return QuantilesPlan(
        mechanism=mechanism,
        relation=public.relation,
        guarantee=mechanism.guarantee(mechanism.promise(public.relation)),
        draw=_draw(asked, of, mechanism),
        check=mechanism.check,
        reason=taken.reason,
        seconds=_SECONDS + _SECONDS_OF_DRAW * drawn + _SECONDS_OF_ROW * (public.rows or 0),
        asked=asked,
        about=public,
        of=of,
    )


def _draw(
    asked: Quantiles, of: AskedColumn, mechanism: QuantileMechanism
) -> Callable[[SealedTable, Key], ReleasedQuantiles]:
    """The draw, with its codes as numbers of the grid and in the order that was asked for."""
    parts, whole = asked.parts
    order = np.argsort(np.argsort(parts, kind="stable"))
    names = of.schema.names
    labels = [of.schema.columns[place].labels for place in of.by]

    def draw(table: SealedTable, key: Key) -> ReleasedQuantiles:
        answered = mechanism.drawn(table, of.place, of.by, key)

        def numbers(codes: NDArray[np.int64] | None) -> NDArray[Any] | None:
            if codes is None:
                return None
            values = of.grid.values(codes[:, order])
            return values if of.by else values[0]

        values = numbers(answered.codes)
        assert values is not None
        return ReleasedQuantiles(
            column=asked.column,
            quantiles=tuple(part / whole for part in parts),
            values=values,
            low=numbers(answered.low),
            high=numbers(answered.high),
            level=None if asked.level is None else float(asked.level),
            by=tuple(names[place] for place in of.by),
            groups=tuple(product(*labels)) if of.by else (),
        )

    return draw
