"""``winnow.plan.moments``: the plan that ``winnow.moments`` runs, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from winnow.core.checks import exact
from winnow.core.key import Key
from winnow.core.options import takes
from winnow.errors import ParameterError
from winnow.numbers.about import asked_column
from winnow.numbers.bounds.edges import sides_of
from winnow.numbers.bounds.mechanism import TailEdges
from winnow.numbers.moments.bounded import SHARE, BoundedSums
from winnow.numbers.moments.estimates import ColumnEstimates, MomentNumbers
from winnow.numbers.moments.measured import PARTS, ValuedColumn, measured_for
from winnow.numbers.moments.mechanism import NoisySums
from winnow.numbers.moments.noise import SumNoise
from winnow.numbers.moments.request import Moments, PlannedMoments
from winnow.numbers.moments.result import ReleasedMoments
from winnow.numbers.moments.sensitivity import Exchanged
from winnow.numbers.moments.settings import TYPICAL, MomentsTerms, chosen
from winnow.privacy.sizing import as_all_there_is, sizing_accountant
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import TablePlan

MOST_SUMS = 10**7
"""Of all groups: they are drawn one by one."""
_SECONDS, _SECONDS_OF_SUM, _SECONDS_OF_ROW = 0.05, 4e-6, 1e-7


@dataclass(frozen=True)
class MomentRow:
    """How far a released number is from the true one."""

    column: str
    statistic: str
    standard_error: float | None
    """Of a mean, a variance or a deviation for the public or stated number of rows, and values
    that are spread evenly; None: the number is not known, and the error is ``times_rows`` over it.
    """
    times_rows: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentsPlan(TablePlan[ReleasedMoments]):
    """What ``winnow.moments`` charges, draws and promises, before rows are looked at."""

    mechanism: NoisySums | BoundedSums
    asked: Moments = field(repr=False)
    columns: tuple[ValuedColumn, ...] = field(repr=False)
    groups: int = 1

    @property
    def sums(self) -> NoisySums:
        """The sums alone, where bounds are charged with them."""
        return self.mechanism.sums if isinstance(self.mechanism, BoundedSums) else self.mechanism

    @cached_property
    def expected(self) -> tuple[MomentRow, ...]:
        """What to expect of each statistic of each column."""
        rows = None if self.about.rows is None else max(1.0, self.about.rows / self.groups)
        noise = SumNoise.of(self.sums)
        return tuple(
            _expected(noise, column, statistic, rows)
            for column in self.columns
            for statistic in self.asked.statistics
        )

    @property
    def error(self) -> float | None:
        """The largest standard error, of means where they are asked for; None: it depends on n."""
        names = {"mean"} if "mean" in self.asked.statistics else set(self.asked.statistics)
        errors = [row.standard_error for row in self.expected if row.statistic in names]
        known = [each for each in errors if each is not None]
        return max(known) if len(known) == len(errors) else None

    @property
    def answers(self) -> int:
        """How many numbers are released."""
        return self.groups * len(self.columns) * len(self.asked.statistics)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "columns": [column.name for column in self.columns],
            "by": list(self.asked.by),
            "groups": self.groups,
            "epsilon": self.epsilon,
            "delta": float(self.asked.delta),
            "level": float(self.asked.level),
            "relation": str(self.relation),
            "rows_per_person": self.about.rows_per_person,
            "rows": self.about.rows,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "reason": self.reason,
            "error": self.error,
            "moments": [asdict(row) for row in self.expected],
            **({"bounds": self.about_bounds} if self.about_bounds else {}),
        }

    def table(self) -> list[list[str]]:
        """What to expect of each number, under headings."""
        lines = [["column", "statistic", "standard error"]]
        for row in self.expected:
            if row.standard_error is not None:
                error = f"{row.standard_error:,.4g}"
            else:
                error = f"{row.times_rows:,.4g} / rows"
            lines.append([row.column, row.statistic, error])
        return lines

    @property
    def about_bounds(self) -> str:
        """What private bounds do to these errors; empty: the declared range is taken."""
        if not isinstance(self.mechanism, BoundedSums):
            return ""
        ends = self.mechanism.ends
        return (
            f"These errors are those of the declared range: within private bounds they are smaller "
            f"in proportion. With fewer than {ends.least_rows:,} rows the bounds may be the "
            "declared range, or clip many values; intervals are about the clipped values."
        )

    def lines(self) -> list[str]:
        """What private bounds do, where they are asked for."""
        return [self.about_bounds] * bool(self.about_bounds)


@takes(PlannedMoments)
def moments(about: AboutTable | SealedTable, asked: PlannedMoments) -> MomentsPlan:
    """Predict what ``winnow.moments`` charges and how far off it is; nothing is read or spent.

    ``about`` is a sealed table, of which only what is public is looked at, or
    ``wn.plan.table(schema, rows=)`` where there is none yet. The plan says the standard error of
    every statistic; where the number of rows is not known, that of a mean is a number over it.
    ``error=`` finds the epsilon for a wanted error. ``plan.run(table, budget=)`` releases it.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Moments, about: Any) -> MomentsPlan:
    """The plan of a request, by what is public of the table."""
    public = about_table(about)
    if public.schema is None:
        raise ParameterError("moments need the schema of the table; give wn.plan.table(schema)")
    columns: list[ValuedColumn] = []
    by: tuple[int, ...] = ()
    for name in asked.values:
        column = asked_column(public.schema, name, asked.by, dates=True)
        declared = public.schema.columns[column.place]
        if column.grid.unit and ("sum" in asked.statistics or asked.bounds == "auto"):
            raise ParameterError(
                f"{name!r} holds dates or times, which have neither sums nor private "
                'bounds; name other statistics, such as ["mean", "deviation"]'
            )
        optional = declared.missing_code is not None or declared.other
        columns.append(ValuedColumn(name, column.place, column.grid, optional, declared.clip))
        by = column.by
    groups = math.prod(public.schema.shape[place] for place in by)
    known = public.rows_are_public and not by
    bounded = asked.bounds == "auto"
    measured = measured_for(columns, asked.statistics, rows_are_public=known, bounded=bounded)
    if not measured:
        raise ParameterError(
            "the number of rows is public, so there is nothing to count; ask for sums or means"
        )
    if groups * len(measured) > MOST_SUMS:
        raise ParameterError(
            f"{groups:,} groups of {len(measured)} sums are more than {MOST_SUMS:,} numbers; name "
            "fewer groups or columns"
        )
    epsilon = exact("epsilon", asked.epsilon)
    terms = MomentsTerms(
        epsilon * (1 - SHARE) if bounded else asked.epsilon,
        asked.delta,
        tuple(columns),
        tuple(asked.statistics),
        Exchanged(public.relation, groups if by else 1, public.rows_per_person),
        "best" if asked.budget is None else sizing_accountant(asked.budget, asked.delta),
    )
    sums = chosen(terms, measured)
    mechanism: NoisySums | BoundedSums = sums
    if bounded:
        sides = tuple(s for each in columns for s in sides_of(each.name, each.place, each.grid))
        ends = TailEdges(epsilon * SHARE, sides, public.rows_per_person)
        mechanism = BoundedSums(asked.epsilon, ends, sums)
    return MomentsPlan(
        mechanism=mechanism,
        relation=public.relation,
        guarantee=mechanism.guarantee(mechanism.promise(public.relation)),
        draw=_draw(asked, public, mechanism, tuple(columns), by),
        check=mechanism.check,
        seconds=_SECONDS
        + _SECONDS_OF_SUM * groups * len(measured)
        + _SECONDS_OF_ROW * (public.rows or 0),
        asked=asked,
        about=public,
        columns=tuple(columns),
        groups=groups,
    )


def _expected(
    noise: SumNoise, column: ValuedColumn, statistic: str, rows: float | None
) -> MomentRow:
    name, half = column.name, float(column.half)
    if statistic == "count":
        return MomentRow(name, statistic, noise.of_count(column))
    if statistic == "sum":
        return MomentRow(name, statistic, noise.of_sum(column))
    mean, variance = math.sqrt(TYPICAL), float(TYPICAL)
    if statistic == "mean":
        error, most = half * noise.of_mean(column, mean), half
    else:
        own = float(noise.of_variance(column, mean, variance))
        error, most = half**2 * own, half**2 / 2
        if statistic == "deviation":
            error, most = half * own / (2 * math.sqrt(variance)), half / 2
    return MomentRow(name, statistic, None if rows is None else min(error / rows, most), error)


def _draw(
    asked: Moments,
    public: AboutTable,
    mechanism: NoisySums | BoundedSums,
    columns: tuple[ValuedColumn, ...],
    by: tuple[int, ...],
) -> Callable[[SealedTable, Key], ReleasedMoments]:
    """The draw, and all that follows from its noisy sums."""
    assert public.schema is not None
    labels = [public.schema.columns[place].labels for place in by]
    level = float(asked.level)

    def draw(table: SealedTable, key: Key) -> ReleasedMoments:
        used = columns
        if isinstance(mechanism, BoundedSums):
            within, drawn, parts = mechanism.drawn_within(table, by, key)
            used = tuple(within[column.name] for column in columns)
        else:
            drawn, parts = mechanism, mechanism.drawn(table, by, key)
        noise = SumNoise.of(drawn)
        sums: dict[tuple[str, str | None], Any] = {}
        for each, part in zip(drawn.measured, parts.T, strict=True):
            name = None if each.column is None else each.column.name
            sums[each.kind, name] = part.astype(np.float64) / PARTS / each.times
        rows = None
        if public.rows_are_public and not by:
            rows = table.n if public.rows is None else public.rows
        shown, notes = {}, []
        for column in used:
            estimates = ColumnEstimates(column, sums, noise, 1 - level, rows)
            for statistic in asked.statistics:
                numbers = estimates.shown(statistic)
                shown[column.name, statistic] = numbers if by else _first(numbers)
            notes += _notes(column, asked, estimates)
        return ReleasedMoments(
            columns=tuple(asked.values),
            statistics=tuple(asked.statistics),
            held=shown,
            level=level,
            by=tuple(asked.by),
            groups=tuple(product(*labels)) if by else (),
            notes=tuple(notes),
        )

    return draw


def _first(numbers: MomentNumbers) -> MomentNumbers:
    parts = (numbers.value, numbers.standard_error, numbers.low, numbers.high)
    return MomentNumbers(*(each[0] for each in parts))


def _notes(column: ValuedColumn, asked: Moments, of: ColumnEstimates) -> list[str]:
    """What a reader has to know of one column's numbers."""
    notes = []
    low, high = (
        end if column.grid.unit else f"{end:,}"
        for end in (column.grid.value(0), column.grid.value(column.top))
    )
    if column.declared is not None:
        notes.append(
            f"{column.name} was bounded privately to {low} .. {high}: values beyond count as "
            "these ends, and intervals are about the values that were counted."
        )
    elif column.clip:
        notes.append(
            f"Values of {column.name} below {low} or above {high} count as these; intervals "
            "are about the values that were counted."
        )
    if "mean" in asked.statistics:
        mean = of.of("mean")
        wide = np.atleast_1d(mean.high - mean.low >= 2 * float(column.half) * (1 - 1e-9))
        if wide.any():
            notes.append(
                f"{int(wide.sum()):,} of {wide.size:,} means of {column.name} have the whole "
                "range as their interval: too few rows for the noise. They carry "
                "no information; larger groups or a larger epsilon help."
            )
    return notes
