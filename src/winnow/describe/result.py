"""A released description: what somebody wants to know first of every column of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from winnow.core.column import Column
from winnow.core.drawing import Plotted
from winnow.core.frames import Columns, plain_column
from winnow.core.notebook import MOST_ROWS, Card, Chart, columns_card, number_text
from winnow.core.saving import Saved
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.numbers.histogram.bins import Bins
from winnow.numbers.histogram.result import ReleasedHistogram, counted_bins
from winnow.release.tables.intervals import Estimates
from winnow.release.tables.result import ReleasedTable

if TYPE_CHECKING:
    from winnow.describe.request import Describe
    from winnow.numbers.expected import QuantileRow
    from winnow.numbers.moments.result import ReleasedMoments
    from winnow.numbers.result import ReleasedQuantiles

_BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Described:
    """A released number with its standard error and the ends of its interval."""

    value: Any
    """A number; of dates and times the mean is a text, and so are the ends of its interval."""
    standard_error: float
    low: Any
    high: Any

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f"{self.value} ({self.low} to {self.high})"
        if not self.standard_error:
            return f"{self.value:,.0f}"  # a public count
        reach = max(self.high - self.value, self.value - self.low)
        return f"{number_text(self.value)} ± {number_text(reach)}"


@dataclass(frozen=True)
class DescribedQuantile:
    """A released quantile, and by how many rows it is off."""

    quantile: float
    value: Any
    rank_error: float
    """In rows: the root mean square where rows lie close together."""
    bound: float
    """In rows: all quantiles of the column are within theirs with probability 0.95, whatever the
    rows are."""


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What a description says about one column."""

    name: str
    missing: Described | None = None
    """How many values are missing; None: the schema does not say that any can be."""
    mean: Described | None = None
    deviation: Described | None = None
    quantiles: tuple[DescribedQuantile, ...] = ()
    histogram: ReleasedHistogram | None = None
    """Of a column of numbers."""
    top: tuple[tuple[Any, Described], ...] = ()
    """Of other columns the most common values with their counts, the largest first."""
    values: int = 0
    """Of other columns: how many different values are declared."""

    @property
    def unit(self) -> str:
        """Of dates and times: what a deviation counts; empty: it is a column of numbers."""
        return "" if self.histogram is None else self.histogram.time_unit

    @property
    def shape(self) -> str:
        """The histogram as a line of blocks; empty: there is none."""
        if self.histogram is None:
            return ""
        counts = np.maximum(self.histogram.estimate[: len(self.histogram.starts)], 0)
        steps = np.ceil(8 * counts / max(1.0, float(counts.max(initial=0)))).astype(int)
        return "".join(_BLOCKS[step] for step in steps)

    def lines(self) -> Iterator[tuple[str, Any, float, float, float, float]]:
        """Statistic, value, standard error, interval, and by how many rows it is off."""
        none = float("nan")
        for name in ("missing", "mean", "deviation"):
            number = getattr(self, name)
            if number is not None:
                yield name, number.value, number.standard_error, number.low, number.high, none
        for each in self.quantiles:
            yield f"quantile {each.quantile:g}", each.value, none, none, none, each.rank_error
        for value, number in self.top:
            yield (
                f"rows with {value}",
                number.value,
                number.standard_error,
                number.low,
                number.high,
                none,
            )
        if self.histogram is not None:
            columns = self.histogram.to_columns()
            for row in zip(*(columns[name].tolist() for name in _OF_BINS), strict=True):
                if row[0] not in self.histogram.further:
                    yield f"rows in {row[0]}", *row[1:], none

    def _card(self) -> Card:
        if self.histogram is not None:
            return replace(self.histogram._card(), title=self.name)
        numbers = [number for _, number in self.top]
        columns: Columns = {
            "is": plain_column([value for value, _ in self.top]),
            "rows": np.array([number.value for number in numbers]),
            "low": np.array([number.low for number in numbers]),
            "high": np.array([number.high for number in numbers]),
        }
        left, title = self.values - len(self.top), self.name
        if left > 0:
            title = f"{self.name}: the {len(self.top)} most common of {self.values:,}"
        names = columns["is"].tolist()
        chart = partial(Chart, (names,), *(columns[name] for name in ("rows", "low", "high")))
        return replace(columns_card(title, columns, 1), chart=chart)

    def to_dict(self) -> dict[str, Any]:
        """This column as plain data, ready for JSON."""
        document: dict[str, Any] = {"name": self.name}
        for name in ("missing", "mean", "deviation"):
            number = getattr(self, name)
            if number is not None:
                document[name] = asdict(number)
        if self.quantiles:
            document["quantiles"] = [asdict(each) for each in self.quantiles]
        if self.histogram is not None:
            document["histogram"] = self.histogram.to_dict()
        else:
            document["values"] = self.values
            document["top"] = [{"is": value, **asdict(number)} for value, number in self.top]
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ColumnSummary:
        """The column that ``to_dict`` wrote."""
        numbers = {
            name: Described(**document[name])
            for name in ("missing", "mean", "deviation")
            if name in document
        }
        bins, top = document.get("histogram"), document.get("top", [])
        return cls(
            document["name"],
            **numbers,
            quantiles=tuple(DescribedQuantile(**each) for each in document.get("quantiles", [])),
            histogram=None if bins is None else ReleasedHistogram.from_dict(bins),
            top=tuple(
                (each["is"], Described(*(each[part] for part in ("value", *_OF_BINS[2:]))))
                for each in top
            ),
            values=document.get("values", 0),
        )


_OF_BINS = ("bin", "count", "standard_error", "low", "high")


@dataclass(frozen=True, eq=False)
class Description(Plotted, Saved):
    """The number of rows, and what is known about every column."""

    rows: Described
    """A standard error of 0 where the number is public."""
    columns: tuple[ColumnSummary, ...]
    level: float
    """With what probability each interval holds what was counted."""

    @classmethod
    def of(cls, total: Estimates, columns: tuple[ColumnSummary, ...], level: float) -> Description:
        """The description that the released parts make."""
        return cls(_all_of(total, level)[0], columns, level)

    def column(self, name: str) -> ColumnSummary:
        """What a description says about one column."""
        for each in self.columns:
            if each.name == name:
                return each
        raise ParameterError(
            f"there is no column {shown(name)}; there are "
            f"{', '.join(repr(each.name) for each in self.columns)}"
        )

    def to_columns(self) -> Columns:
        """One row for each number: column, statistic, value, error and interval.

        Beside means and quantiles of dates and times, which are texts, all values are texts, too.
        """
        rows = self.rows
        lines: list[tuple[Any, ...]] = [
            ("", "rows", rows.value, rows.standard_error, rows.low, rows.high, float("nan"))
        ]
        lines += [(each.name, *line) for each in self.columns for line in each.lines()]
        heads = ("column", "statistic", "value", "standard_error", "low", "high", "rank_error")
        return {
            head: plain_column(_of_one_kind(values))
            for head, values in zip(heads, zip(*lines, strict=True), strict=True)
        }

    def table(self) -> tuple[list[str], list[list[str]]]:
        """One line of texts for each column, under headings, for people."""
        asked = next((each.quantiles for each in self.columns if each.quantiles), ())
        heads = ["column", "missing", "mean", "deviation"]
        heads += [_percent(each.quantile) for each in asked]
        heads += ["rank error", "most common values, or histogram"]
        lines = []
        for each in self.columns:
            told = ["" if h is None else str(h) for h in (each.missing, each.mean, each.deviation)]
            line = [each.name, *told[:2], f"{told[2]} {each.unit}s" if each.unit else told[2]]
            line += [number_text(q.value) for q in each.quantiles] or [""] * len(asked)
            most = max((q.rank_error for q in each.quantiles), default=None)
            line.append("" if most is None else f"{most:,.0f} rows")
            line.append(each.shape or ", ".join(f"{v}: {number}" for v, number in each.top[:3]))
            lines.append(line)
        return heads, lines

    @property
    def note(self) -> str:
        """What ± and a rank error mean."""
        return (
            f"± holds with probability {self.level:g}; a rank error says how many rows lie between "
            "a quantile and the true one, in root mean square"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, ready for JSON."""
        return {
            "rows": asdict(self.rows),
            "level": self.level,
            "columns": [each.to_dict() for each in self.columns],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Description:
        """The description that ``to_dict`` wrote."""
        columns = tuple(ColumnSummary.from_dict(each) for each in document["columns"])
        return cls(Described(**document["rows"]), columns, document["level"])

    def _card(self) -> Card:
        heads, lines = self.table()
        told = [i for i in range(len(heads)) if i == 0 or any(line[i] for line in lines)]
        heads, lines = [heads[i] for i in told], [[line[i] for i in told] for line in lines]
        title = f"{self.rows} rows, {len(self.columns)} columns"
        card = Card(title, heads, lines, 0, MOST_ROWS, picture=self._picture, parts=self._parts)
        return card.with_notes(("errors", self.note))

    def _parts(self) -> list[Card]:
        """All columns in a table, then one by one: a histogram, or the most common values."""
        every = replace(self._card(), title="Every column", picture=None, parts=None)
        return [every, *(each._card() for each in self.columns)]

    def _picture(self, ending: str = ".png") -> bytes:
        from winnow.show.plots.description import draw_description

        return draw_description(self, ending=ending)

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<description of {len(self.columns)} columns, {self.rows} rows>"


def summed_up(
    column: Column,
    bins: Bins | None,
    counts: ReleasedTable,
    moments: ReleasedMoments | None,
    ranks: tuple[ReleasedQuantiles, Sequence[QuantileRow]] | None,
    asked: Describe,
) -> ColumnSummary:
    """What the released parts tell of one column."""
    level = float(asked.level)
    if bins is not None:
        histogram = counted_bins(column.name, bins, counts)
        numbers = _all_of(histogram, level)
        missing = None
        if column.missing_label is not None:  # the first count after the bins
            missing = numbers[len(histogram.starts)]
        summary = ColumnSummary(column.name, missing=missing, histogram=histogram)
        if moments is not None:
            summary = replace(
                summary,
                mean=_moment(moments, column.name, "mean"),
                deviation=_moment(moments, column.name, "deviation"),
            )
        return summary if ranks is None else replace(summary, quantiles=_quantiles(*ranks))
    code = column.missing_code
    own = _all_of(counts, level)
    several = _all_of(counts, level, simultaneous=True)
    order = [i for i in np.argsort(-counts.estimate, kind="stable").tolist() if i != code]
    return ColumnSummary(
        column.name,
        missing=None if code is None else own[code],
        top=tuple((_label(column.labels[i]), several[i]) for i in order[: int(asked.top)]),
        values=column.cardinality - (code is not None),
    )


def _label(label: Any) -> Any:
    return label if isinstance(label, bool | int | float | str) else str(label)


def _all_of(estimates: Estimates, level: float, *, simultaneous: bool = False) -> list[Described]:
    low, high = estimates.interval(level, simultaneous=simultaneous)
    parts = (estimates.estimate, estimates.standard_error, low, high)
    rows = zip(*(np.atleast_1d(part).tolist() for part in parts), strict=True)
    return [Described(*row) for row in rows]


def _moment(moments: ReleasedMoments, column: str, statistic: str) -> Described:
    numbers = moments.of(column, statistic)
    value, low, high = (
        each if isinstance(each, str) else float(each)
        for each in (numbers.value, numbers.low, numbers.high)
    )
    return Described(value, float(numbers.standard_error), low, high)


def _quantiles(
    released: ReleasedQuantiles, expected: Sequence[QuantileRow]
) -> tuple[DescribedQuantile, ...]:
    errors = {row.quantile: (row.rank_error, row.bound) for row in expected}
    pairs = zip(released.quantiles, released.values.tolist(), strict=True)
    return tuple(DescribedQuantile(q, value, *errors[q]) for q, value in pairs)


def _of_one_kind(values: tuple[Any, ...]) -> list[Any]:
    """Numbers, or texts where one is a text; a file has one type for each column."""
    if not any(isinstance(value, str) for value in values):
        return list(values)
    return ["" if value != value else str(value) for value in values]


def _percent(quantile: float) -> str:
    return "median" if quantile == 0.5 else f"{100 * quantile:g} %"
