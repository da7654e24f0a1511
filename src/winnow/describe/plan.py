"""``winnow.plan.describe``: the plan that ``winnow.describe`` runs, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from winnow.core.checks import exact
from winnow.core.column import Column
from winnow.core.key import Key
from winnow.core.options import takes
from winnow.core.plan import Plan
from winnow.core.schema import Schema
from winnow.core.together import Together
from winnow.core.unit import counted
from winnow.describe.request import Describe, PlannedDescription
from winnow.describe.result import ColumnSummary, Description, summed_up
from winnow.errors import ParameterError
from winnow.numbers.histogram.bins import Bins, bins_column, even_bins
from winnow.numbers.histogram.crossing import Placed, binned
from winnow.numbers.moments.plan import MomentsPlan
from winnow.numbers.moments.request import Moments
from winnow.numbers.plan import QuantilesPlan
from winnow.numbers.request import Quantiles
from winnow.privacy import guarantee_of
from winnow.privacy.sizing import as_all_there_is
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import TablePlan
from winnow.release.tables.plan import TabulatePlan, planned_under
from winnow.release.tables.request import Tabulate

MOST_VALUES = 10**6
"""Of one column: all of its values are counted."""


@dataclass(frozen=True)
class DescribeRow:
    """What to expect of one kind of numbers of one column."""

    column: str
    what: str
    error: float | None
    """A standard error, of a mean for the public number of rows; None: that is not known. Of
    quantiles the largest rank error, in rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DescribePlan(TablePlan[Description]):
    """What ``winnow.describe`` charges, draws and promises, before rows are looked at."""

    asked: Describe = field(repr=False)
    counting: TabulatePlan = field(repr=False)
    """How the values and bins of all columns are counted."""
    moments: MomentsPlan | None = field(default=None, repr=False)
    """Means and deviations of all columns of numbers; None: there are none."""
    quantiles: tuple[QuantilesPlan, ...] = field(default=(), repr=False)
    """Of each column of numbers."""

    @cached_property
    def expected(self) -> tuple[DescribeRow, ...]:
        """What to expect of every column."""
        listed = [
            DescribeRow(row.table, "counts", row.standard_error) for row in self.counting.rows
        ]
        if self.moments is not None:
            listed += [
                DescribeRow(row.column, row.statistic, row.standard_error)
                for row in self.moments.expected
            ]
        listed += [
            DescribeRow(
                each.asked.column, "quantiles", max(row.rank_error for row in each.expected)
            )
            for each in self.quantiles
        ]
        return tuple(listed)

    @property
    def error(self) -> float:
        """The largest standard error of a count, in rows."""
        return max(row.standard_error for row in self.counting.rows)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "epsilon": self.epsilon,
            "relation": str(self.relation),
            "rows_per_person": self.about.rows_per_person,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "error": self.error,
            "rows": [asdict(row) for row in self.expected],
        }

    def table(self) -> list[list[str]]:
        """What to expect of each column, under headings."""
        lines = [["column", "what", "error"]]
        for row in self.expected:
            said = "depends on the rows" if row.error is None else f"{row.error:,.3g}"
            unit = "" if row.what not in ("counts", "quantiles") else " rows"
            lines.append([row.column, row.what, said + unit * (row.error is not None)])
        return lines


@takes(PlannedDescription)
def describe(about: AboutTable | SealedTable, asked: PlannedDescription) -> DescribePlan:
    """Predict what ``winnow.describe`` charges and how far off it is; nothing is read or spent.

    ``about`` is a sealed table, of which only what is public is looked at, or
    ``wn.plan.table(schema)`` where there is none yet. ``error=`` (the largest standard error of a
    count, in rows) finds the epsilon for it. ``plan.run(table, budget=)`` releases it.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Describe, about: Any) -> DescribePlan:
    """The plan of a request, by what is public of the table.

    Every column gets a part of epsilon for its counts, and every column of numbers one for its
    moments and one for its quantiles; all parts are equal.
    """
    public = about_table(about)
    if public.schema is None:
        raise ParameterError("a description needs the schema; give wn.plan.table(schema)")
    schema = public.schema
    for column in schema.columns:
        if column.grid is None and column.cardinality > MOST_VALUES:
            raise ParameterError(
                f"the column {column.name!r} has {column.cardinality:,} values, and at most "
                f"{MOST_VALUES:,} are counted; leave it out (table.restrict, --columns)"
            )
    numbers = [column.name for column in schema.columns if column.grid is not None]
    wanted = tuple(asked.quantiles)
    parts = len(schema.columns) + len(numbers) * (2 if wanted else 1)
    part = exact("epsilon", asked.epsilon) / parts
    bins = {each.name: _bins(each, asked.bins) for each in schema.columns}
    counting = _counting(asked, public, bins, part * len(schema.columns))
    moments = None
    if numbers:
        moments = Moments(
            numbers, ("mean", "deviation"), epsilon=part * len(numbers), level=asked.level,
            budget=asked.budget,
        ).plan(public)  # fmt: skip
    quantiles = tuple(
        Quantiles(name, wanted, epsilon=part).plan(public) for name in numbers if wanted
    )
    steps: list[Plan[SealedTable, Any]] = [counting]
    named = [("counts", counting.mechanism)]
    if moments is not None:
        steps.append(moments)
        named.append(("means and deviations", moments.mechanism))
    steps += quantiles
    named += [(f"quantiles of {each.asked.column}", each.mechanism) for each in quantiles]
    mechanism = Together(f"describe, {counted(len(schema.columns), 'column')}", tuple(named))

    def check(table: SealedTable) -> None:
        for step in steps:
            step.check(table)

    return DescribePlan(
        mechanism=mechanism,
        relation=public.relation,
        guarantee=guarantee_of(mechanism.promise(public.relation).event),
        draw=_draw(asked, schema, bins, counting, moments, quantiles),
        check=check,
        seconds=sum(step.seconds for step in steps),
        asked=asked,
        about=public,
        counting=counting,
        moments=moments,
        quantiles=quantiles,
    )


def _bins(column: Column, most: int) -> Bins | None:
    """The bins of a column of numbers; None: its values are counted."""
    if column.grid is None:
        return None
    return even_bins(column, column.grid, most)


def _counting(
    asked: Describe, public: AboutTable, bins: dict[str, Bins | None], epsilon: Fraction
) -> TabulatePlan:
    """The plan of one table for each column, with numbers in their bins."""
    assert public.schema is not None
    schema = _counted(public.schema, bins)
    about = replace(public, schema=schema, cells=schema.cells, bound=None)
    tables = [[name] for name in schema.names]
    table = Tabulate(tables, epsilon=epsilon, budget=asked.budget, run=asked.run)
    return planned_under(table, about)


def _counted(schema: Schema, bins: dict[str, Bins | None]) -> Schema:
    """The columns with bins in the place of numbers."""
    pairs = ((column, bins[column.name]) for column in schema.columns)
    return Schema(tuple(c if bins is None else bins_column(c.name, bins.size) for c, bins in pairs))


def _draw(
    asked: Describe,
    schema: Schema,
    bins: dict[str, Bins | None],
    counting: TabulatePlan,
    moments: MomentsPlan | None,
    quantiles: tuple[QuantilesPlan, ...],
) -> Callable[[SealedTable, Key], Description]:
    """The draw: counts, moments, quantiles, each with random bits of its own."""
    counted = _counted(schema, bins)
    placed: list[Placed] = [(place, bins[name]) for place, name in enumerate(schema.names)]

    def draw(table: SealedTable, key: Key) -> Description:
        tables = counting.draw(binned(table, placed, counted), key.child("counts"))
        means = None if moments is None else moments.draw(table, key.child("moments"))
        ranks = {
            each.asked.column: (each.draw(table, key.child(f"quantiles-{place}")), each.expected)
            for place, each in enumerate(quantiles)
        }
        columns: list[ColumnSummary] = [
            summed_up(column, bins[column.name], counts, means, ranks.get(column.name), asked)
            for column, counts in zip(schema.columns, tables.tables, strict=True)
        ]
        assert tables.total is not None
        return Description.of(tables.total, tuple(columns), float(asked.level))

    return draw
