"""Released tables: estimates, standard errors, intervals; all of it public."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.drawing import Plotted
from winnow.core.frames import Columns, Framed, labelled
from winnow.core.notebook import MOST_ROWS, Card, Chart, columns_card, number_text
from winnow.core.saving import Saved
from winnow.errors import ParameterError
from winnow.release.tables.estimates import Layer
from winnow.release.tables.fit import nonnegative
from winnow.release.tables.intervals import BinnedSums, Estimates, Means, Ratio
from winnow.release.tables.parts import TablePart
from winnow.release.tables.values import ValueColumn

Floats = NDArray[np.float64]


def _digits(errors: Floats, *, counts: bool) -> int:
    """How many decimals a number with such errors is worth: up to the second digit of the least."""
    least = min((error for error in errors.tolist() if error > 0), default=1.0)
    if counts and least >= 1:
        return 0
    return min(max(1 - math.floor(math.log10(least)), 0), 6)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedTable(Plotted, Framed, Estimates):
    """One released table; its answers are counts of rows, one axis for each column."""

    part: TablePart
    owner: ReleasedTables
    place: int
    """Its number among the owner's tables."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the axes."""
        return self.part.names

    @property
    def labels(self) -> list[tuple[Any, ...]]:
        """The labels along each axis."""
        return self.part.labels()

    @property
    def fitted(self) -> Floats:
        """A table without negative cells, near the estimates, and like them in every sum.

        For people who need such a table. It is biased: cells near 0 are lifted, and others
        lowered for it. Use ``estimate`` for anything that is computed further.
        """
        return self.owner._fitted[self.place]

    @cached_property
    def sums(self) -> dict[str, Estimates]:
        """The sums of the columns of values in each cell."""
        return {each.name: self._sum(number) for number, each in enumerate(self.owner.values)}

    @cached_property
    def means(self) -> dict[str, Means]:
        """The mean of each column of values in each cell, with the interval of a ratio.

        A mean lies in the range that the schema declares. Where there are too few rows for the
        noise it is the middle of that range and its interval the whole of it (``unknown``).
        """
        return {each.name: self._mean(number) for number, each in enumerate(self.owner.values)}

    def _sum(self, number: int) -> Estimates:
        values, layer = self.owner.values[number], self.owner.layers[number + 1]
        unit, middle = float(values.unit), float(values.middle)
        estimate = unit * layer.estimate(self.part) + middle * self.estimate
        error = np.hypot(unit * layer.deviation(self.place), middle * self.standard_error)
        if values.spread is not None:
            return BinnedSums(estimate, error, self.law, unit, counts=self,
                              means=self._mean(number), spread=values.spread)  # fmt: skip
        return Estimates(estimate, error, self.law, unit)

    def _mean(self, number: int) -> Means:
        values, layer = self.owner.values[number], self.owner.layers[number + 1]
        unit = float(values.unit)
        ratio = Ratio(
            unit * layer.estimate(self.part),
            unit * layer.deviation(self.place),
            unit,
            self.estimate,
            self.standard_error,
            unit * max(map(abs, values.values.weights)),
        )
        return Means.of(ratio, self.law, float(values.middle), values.spread)

    def to_columns(self, level: float = 0.95) -> Columns:
        """One row for each answer: its labels, estimate, standard error and interval."""
        shape = self.estimate.shape
        places = np.indices(shape).reshape(len(shape), -1)
        columns: dict[str, NDArray[Any]] = {}
        for name, names, codes in zip(self.columns, self.labels, places, strict=True):
            columns[name] = labelled(tuple(names), codes)
        for name, answers in self._answers():
            low, high = answers.interval(level)
            for what, values in (("", answers.estimate), ("standard_error", answers.standard_error),
                               ("low", low), ("high", high)):  # fmt: skip
                key = "_".join(filter(None, (name, what))) or "estimate"
                while key in columns:  # a column of the table may have this name
                    key += "_"
                whole = answers is self and not what and self.owner.layers[0].whole
                columns[key] = np.rint(values.ravel()).astype(np.int64) if whole else values.ravel()
        return columns

    def readable(self, level: float = 0.95) -> Columns:
        """Columns as texts for people: as many digits as the errors leave.

        Counts are whole where their error is 1 or more; the ends of intervals are rounded outwards.
        """
        columns = self.to_columns(level)
        names = list(columns)
        shown_columns = {name: columns[name].astype(str) for name in names[: len(self.columns)]}
        answers = names[len(self.columns) :]
        for start in range(0, len(answers), 4):
            each = answers[start : start + 4]
            estimate, error, low, high = (columns[name] for name in each)
            digits = _digits(error, counts=start == 0)
            unit = 10.0**digits
            for name, values in zip((each[0], *each[2:]),
                                  (estimate, np.floor(low * unit) / unit,
                                   np.ceil(high * unit) / unit), strict=True):  # fmt: skip
                rounded = np.round(values, digits) + 0.0  # no -0
                shown_columns[name] = np.array([f"{value:,.{digits}f}" for value in rounded])
            shown_columns[each[1]] = np.array([number_text(value) for value in error.tolist()])
        return {name: shown_columns[name] for name in names}

    def _answers(self) -> Iterator[tuple[str, Estimates]]:
        yield "", self
        for name, estimates in self.sums.items():
            yield f"sum_{name}", estimates
        for name, estimates in self.means.items():
            yield f"mean_{name}", estimates

    @property
    def counted(self) -> str:
        """What of each person was counted, where a bound may have left something out."""
        return self.owner.counted

    def _card(self) -> Card:
        title = f"{self.part.title}: {self.estimate.size:,} estimates"
        return replace(
            columns_card(title, self.readable(), len(self.columns)),
            picture=self._picture,
            chart=self.chart,
        )

    def chart(self) -> Chart:
        """Its numbers and their intervals, to be drawn."""
        return Chart(tuple(self.labels), self.estimate, *self.interval(0.95))

    def _picture(self, ending: str = ".png") -> bytes:
        """Bars with intervals, or a heat map."""
        from winnow.show.plots.tables import draw_table

        return draw_table(self, ending=ending)

    def __repr__(self) -> str:
        return f"<table of {self.part.title}: {self.estimate.size:,} estimates>"


@dataclass(frozen=True, eq=False)
class ReleasedTables(Plotted, Saved):
    """All tables of one release; they agree where they overlap."""

    parts: tuple[TablePart, ...]
    layers: tuple[Layer, ...]
    """Of the counts, and of the sums of each column of values."""
    law: str
    values: tuple[ValueColumn, ...] = ()

    @cached_property
    def tables(self) -> tuple[ReleasedTable, ...]:
        """The tables in the order in which they were asked for."""
        return tuple(
            ReleasedTable(
                self.layers[0].estimate(part),
                self.layers[0].deviation(place),
                self.law,
                part=part,
                owner=self,
                place=place,
            )
            for place, part in enumerate(self.parts)
        )

    @property
    def total(self) -> Estimates | None:
        """The number of rows, with a standard error of 0 where it is public; None: no table."""
        if not self.layers:
            return None
        counts = self.layers[0]
        error = 1 / math.sqrt(counts.precision[()])
        return Estimates(np.array(float(counts.details[()])), np.array(error), self.law)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of sums and means has to know: middles of bins, means nobody knows."""
        bins = [each.note for each in self.values if each.note]
        return (*bins, *(note for each in self.values if (note := self._unknown(each.name))))

    def _unknown(self, name: str) -> str:
        """How many means of a column say nothing, and why; empty: all of them say something."""
        unknown = [table.means[name].unknown() for table in self.tables]
        many, size = sum(int(each.sum()) for each in unknown), sum(each.size for each in unknown)
        if not many:
            return ""
        return (
            f"{many:,} of {size:,} means of {name} have the whole declared range as their 95 % "
            "interval: too few rows for the noise. They carry no information; larger groups or a "
            "larger epsilon help."
        )

    def table(self, *columns: str) -> ReleasedTable:
        """The table of these columns; its axes are in the order in which it was asked for."""
        for table in self.tables:
            if set(table.columns) == set(columns) and len(columns) == len(table.columns):
                return table
        titles = ", ".join(repr(each.part.title) for each in self.tables[:20])
        raise ParameterError(
            f"there is no table of {', '.join(map(repr, columns))}; there is: {titles}"
        )

    @cached_property
    def _fitted(self) -> list[Floats]:
        return nonnegative(self.layers[0], self.parts)

    def to_columns(self, level: float = 0.95) -> Columns:
        """The rows of all tables; a column that a table does not have is None there."""
        parts = [(table.part.title, table.to_columns(level)) for table in self.tables]
        if not parts:  # no key reached the threshold
            return {"table": np.zeros(0, object)}
        if len(parts) == 1:
            return parts[0][1]
        attributes = dict.fromkeys(n for table in self.tables for n in table.columns)
        rest = dict.fromkeys(
            name for _, values in parts for name in values if name not in attributes
        )
        columns: dict[str, NDArray[Any]] = {
            "table": np.concatenate(
                [_objects([title] * _length(values)) for title, values in parts]
            )
        }
        for name in (*attributes, *rest):
            blocks = []
            for _, values in parts:
                column = values.get(name)
                blocks.append(_objects([None] * _length(values) if column is None else column))
            key = name if name != "table" else "table_"
            columns[key] = np.concatenate(blocks)
            if name in rest:
                whole = all(values[name].dtype == np.int64 for _, values in parts if name in values)
                columns[key] = columns[key].astype(np.int64 if whole else np.float64)
        return columns

    def _card(self) -> Card:
        notes = [("note", note) for note in self.notes]
        if len(self.parts) == 1:
            return self.tables[0]._card().with_notes(*notes)
        lines = [
            (table.part.title, f"{table.estimate.size:,}", number_text(_typical(table)))
            for table in self.tables
        ]
        heads = ("table", "answers", "standard error")
        return Card(f"{len(self.parts)} tables", heads, lines, 2, MOST_ROWS,
                    notes=[*self._means(), *notes],
                    picture=self._picture if self.parts else None,
                    parts=lambda: [table._card() for table in self.tables])  # fmt: skip

    def _means(self) -> list[tuple[str, str]]:
        """Which sums and means the tables have, for a card that lists tables alone."""
        names = ", ".join(each.name for each in self.values)
        return [("sums and means", f"{names}; show one table to see them")] if names else []

    def _picture(self, ending: str = ".png") -> bytes:
        from winnow.show.plots.tables import draw_tables

        return draw_tables(self, title="", ending=ending)

    def to_dict(self) -> dict[str, Any]:
        """All tables as plain data, ready for JSON."""
        total = self.total
        whole = None if total is None else {
            "estimate": float(total.estimate), "standard_error": float(total.standard_error)
        }  # fmt: skip
        return {
            "total": whole,
            "tables": [
                {
                    "table": table.part.title,
                    "columns": list(table.columns),
                    "rows": _rows(table.to_columns()),
                }
                for table in self.tables
            ],
            **({"notes": list(self.notes)} if self.notes else {}),
        }  # fmt: skip

    def __iter__(self) -> Iterator[ReleasedTable]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        titles = ", ".join(part.title for part in self.parts[:5])
        more = f" and {len(self.parts) - 5} more" if len(self.parts) > 5 else ""
        return f"<{len(self.parts)} released tables: {titles}{more}>"


def _typical(table: Estimates) -> float:
    return float(np.sqrt(np.mean(table.standard_error**2)))


def _length(columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> int:
    return len(next(iter(columns.values())))


def _objects(values: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    plain = values.tolist() if isinstance(values, np.ndarray) else values
    objects = np.empty(len(plain), object)
    objects[:] = plain
    return objects


def _rows(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    lists = [[_plain(value) for value in column.tolist()] for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
