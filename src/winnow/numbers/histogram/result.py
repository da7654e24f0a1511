"""A released histogram: counts of the rows in bins, with their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.drawing import Plotted
from winnow.core.frames import Columns
from winnow.core.notebook import Card, Chart, columns_card, number_text
from winnow.core.number_grid import place_at
from winnow.core.saving import Saved
from winnow.numbers.histogram.bins import Bins, between
from winnow.release.tables.intervals import Estimates
from winnow.release.tables.result import ReleasedTable


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedHistogram(Plotted, Saved, Estimates):
    """Counts of the rows in bins of a column of numbers, and of those without a number."""

    column: str
    starts: NDArray[Any]
    """The first number of each bin."""
    ends: NDArray[Any]
    """The last number of each bin."""
    step: float
    """How far apart the numbers of the grid are."""
    time_unit: str = ""
    """Of dates and times: of what a step has so many; empty: it is a column of numbers."""
    further: tuple[str, ...] = ()
    """What the counts after those of the bins are of: missing values, others."""

    @property
    def positions(self) -> NDArray[np.float64]:
        """The first number of each bin; of dates and times in units since 1970-01-01."""
        return self._placed(self.starts)

    @property
    def widths(self) -> NDArray[np.float64]:
        """From the first number of each bin to the first of the next."""
        return np.asarray(self._placed(self.ends) - self.positions + self.step, np.float64)

    def _placed(self, ends: NDArray[Any]) -> NDArray[np.float64]:
        placed = (
            [place_at(end, self.time_unit) for end in ends.tolist()] if self.time_unit else ends
        )
        return np.asarray(placed, np.float64)

    @property
    def labels(self) -> tuple[str, ...]:
        """What is counted, in words: '0 to 9', 'missing'."""
        pairs = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return (*(between(low, high) for low, high in pairs), *self.further)

    def to_columns(self, level: float = 0.95) -> Columns:
        """One row for each bin: its first and last number, its count, error and interval."""
        low, high = self.interval(level)
        names = np.empty(len(self.labels), object)
        names[:] = self.labels
        return {
            "bin": names,
            "from": self._padded(self.starts),
            "to": self._padded(self.ends),
            "count": self.estimate,
            "standard_error": self.standard_error,
            "low": low,
            "high": high,
        }

    def _padded(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """A number for each count; of those that are in no bin there is none."""
        if not self.further:
            return numbers
        if self.time_unit:
            return np.concatenate([numbers, np.full(len(self.further), "", object)])
        return np.concatenate([numbers.astype(np.float64), np.full(len(self.further), np.nan)])

    def to_dict(self) -> dict[str, Any]:
        """The histogram as plain data, ready for JSON."""
        columns = self.to_columns()
        lists = [[None if v != v else v for v in column.tolist()] for column in columns.values()]
        written = [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
        return {
            "column": self.column,
            "step": self.step,
            **({"unit": self.time_unit} if self.time_unit else {}),
            "law": self.law,
            "further": list(self.further),
            "bins": written,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ReleasedHistogram:
        """The histogram that ``to_dict`` wrote."""
        rows, further = document["bins"], tuple(document["further"])
        own, unit = rows[: len(rows) - len(further)], document.get("unit", "")
        kind = object if unit else None
        return cls(
            np.array([row["count"] for row in rows]),
            np.array([row["standard_error"] for row in rows], np.float64),
            document["law"],
            column=document["column"],
            starts=np.array([row["from"] for row in own], kind),
            ends=np.array([row["to"] for row in own], kind),
            step=document["step"],
            time_unit=unit,
            further=further,
        )

    def readable(self, level: float = 0.95) -> Columns:
        """Columns as texts for people: what is counted, the count, its error and interval."""
        columns = self.to_columns(level)
        digits = 0 if float(np.min(self.standard_error, initial=np.inf)) >= 1 else 1
        shown_columns: Columns = {"bin": columns["bin"].astype(str)}
        unit = 10.0**digits
        outward = {"low": np.floor, "high": np.ceil}
        for name in ("count", "standard_error", "low", "high"):
            column = columns[name]
            if name == "standard_error":
                shown_columns[name] = np.array([number_text(float(each)) for each in column])
                continue
            shown = (
                outward[name](column * unit) / unit if name in outward else np.round(column, digits)
            )
            whole = 0 if column.dtype == np.int64 else digits
            shown_columns[name] = np.array([f"{each + 0.0:,.{whole}f}" for each in shown.tolist()])
        return shown_columns

    def _card(self) -> Card:
        title = f"Histogram of {self.column}: {self.estimate.size:,} counts"
        card = columns_card(title, self.readable(), 1)
        return replace(card, picture=self._picture, chart=self._chart)

    def _chart(self) -> Chart:
        return Chart((self.labels,), self.estimate, *self.interval(0.95))

    def _picture(self, ending: str = ".png") -> bytes:
        from winnow.show.plots.histogram import draw_histogram

        return draw_histogram(self, ending=ending)

    def __repr__(self) -> str:
        return f"<histogram of {self.column}: {self.estimate.size:,} counts>"


def counted_bins(name: str, bins: Bins, counts: ReleasedTable) -> ReleasedHistogram:
    """The histogram that a released table of the codes of bins is; bins without points go."""
    kept = bins.kept()
    own = kept[kept < len(bins.stops)]
    estimate = counts.estimate[kept]
    whole = counts.owner.layers[0].whole
    return ReleasedHistogram(
        np.rint(estimate).astype(np.int64) if whole else estimate,
        counts.standard_error[kept],
        counts.law,
        column=name,
        starts=bins.grid.values(np.array(bins.starts, np.int64)[own]),
        ends=bins.grid.values(np.array(bins.stops, np.int64)[own] - 1),
        step=float(bins.grid.step),
        time_unit=bins.grid.unit,
        further=bins.further,
    )
