"""Where a number or an instant falls, in SQL: in which bin, or on which point of a public grid."""

from __future__ import annotations

from sqlglot import exp

from winnow.core.column import Column
from winnow.core.number_grid import NumberGrid

INSTANTS = "TIMESTAMPNTZ"
NEVER = "-infinity"
"""What DuckDB reads where a text file has no date or time: outside every schema."""


def instant(text: str) -> exp.Expression:
    """A date and time without a zone."""
    return exp.cast(exp.Literal.string(text.replace("T", " ")), INSTANTS)


def place_of(
    column: Column, value: exp.Expression, *, as_text: bool = False, nan_is_itself: bool = True
) -> exp.Expression:
    """The bin or the point of the grid, or -1; NaN is outside in every engine.

    Missing values get the code after the others where that is declared, and so does NaN, which
    pandas writes for them; in a text file NaN stands for what is no number. Not every engine
    takes NaN for equal to itself.
    """
    outer = (0, column.codes - 1) if column.clip else (-1, -1)
    nothing = exp.Literal.number(-1 if column.missing_code is None else column.missing_code)
    timed = column.content == "time"
    beyond: exp.Expression
    if column.grid is not None and timed:
        last = column.grid.value(column.codes)  # a day ends where the next one begins
        ends = instant_edge(column.grid.value(0)), instant_edge(last)
        inside = _instant_point(column.grid, value)
        beyond = exp.GTE(this=value.copy(), expression=ends[1])
    elif column.grid is not None:
        ends = double(float(column.grid.low)), double(float(column.grid.high))
        inside = _point(column.grid, value)
        beyond = exp.GT(this=value.copy(), expression=ends[1])
    else:
        edge = instant_edge if timed else double
        ends = edge(column.edges[0]), edge(column.edges[-1])
        inside = _bin(column, value)
        beyond = exp.GT(this=value.copy(), expression=ends[1])
    missing = exp.Is(this=value.copy(), expression=exp.Null())
    case = exp.Case().when(missing, nothing)
    if as_text or not timed:
        never = instant(NEVER) if timed else double("NaN")
        unordered: exp.Condition = exp.EQ(this=value.copy(), expression=never)
        if not nan_is_itself:
            unordered = exp.or_(unordered, exp.NEQ(this=value.copy(), expression=value.copy()))
        case = case.when(unordered, exp.Literal.number(-1) if as_text else nothing)
    under = exp.LT(this=value.copy(), expression=ends[0])
    return (
        case.when(under, exp.Literal.number(outer[0]))
        .when(beyond, exp.Literal.number(outer[1]))
        .else_(inside)
    )


def _bin(column: Column, value: exp.Expression) -> exp.Expression:
    """By halving the edges."""
    edge = instant_edge if column.content == "time" else double

    def among(low: int, high: int) -> exp.Expression:
        if low == high:
            return exp.Literal.number(low)
        middle = (low + high + 1) // 2
        below = exp.LT(this=value.copy(), expression=edge(column.edges[middle]))
        return exp.Case().when(below, among(low, middle - 1)).else_(among(middle, high))

    return among(0, column.codes - 1)


def _point(grid: NumberGrid, value: exp.Expression) -> exp.Expression:
    """The nearest point: the floor of (value - low) / step + 1/2, in float64 in every engine."""
    above = exp.paren(exp.Sub(this=value.copy(), expression=double(float(grid.low))))
    steps = exp.paren(exp.Div(this=above, expression=double(float(grid.step)), typed=True))
    nearest = exp.Floor(this=exp.Add(this=steps, expression=double(0.5)))
    return exp.cast(nearest, "BIGINT")


def _instant_point(grid: NumberGrid, value: exp.Expression) -> exp.Expression:
    """The last point that is not after an instant: whole numbers of seconds, in every engine."""
    start = exp.cast(exp.Literal.string("1970-01-01"), "DATE")
    day = exp.cast(value.copy(), "DATE")
    passed: exp.Expression = exp.DateDiff(this=day, expression=start, unit=exp.var("DAY"))
    for part, seconds in (("HOUR", 24), ("MINUTE", 60), ("SECOND", 60)):
        own: exp.Expression = exp.Extract(this=exp.var(part), expression=value.copy())
        whole = exp.cast(exp.Floor(this=own), "BIGINT")
        larger = exp.Mul(this=exp.paren(passed), expression=exp.Literal.number(seconds))
        passed = exp.Add(this=larger, expression=whole)
    first = exp.Literal.number(int(grid.low) * grid.seconds // int(grid.step))
    away = exp.cast(exp.paren(exp.Sub(this=exp.paren(passed), expression=first)), "DOUBLE")
    steps = exp.Div(this=away, expression=double(float(grid.seconds)), typed=True)
    return exp.cast(exp.Floor(this=steps), "BIGINT")


def instant_edge(value: object) -> exp.Expression:
    """An edge such as 2026-11-30, which is midnight, or 2026-11-30T08:15:00."""
    text = str(value)
    return instant(text if "T" in text else f"{text}T00:00:00")


def double(value: object) -> exp.Expression:
    """A number as every engine reads it alike: its shortest text, cast."""
    return exp.cast(exp.Literal.string(str(value)), "DOUBLE")
