"""Released quantiles: a value for each, in each group, and intervals where they were asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.frames import Columns, labelled
from winnow.core.notebook import Card, Chart, ReleasedValue, columns_card
from winnow.core.saving import Saved

Floats = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ReleasedQuantiles(ReleasedValue, Saved):
    """Quantiles of one column, of the whole table or of each group."""

    column: str
    quantiles: tuple[float, ...]
    """The shares of rows below each value, in the order in which they were asked for."""
    values: Floats
    """A number for each quantile; of groups a row of them for each."""
    low: Floats | None = None
    high: Floats | None = None
    """The ends of the intervals, in the shape of the values."""
    level: float | None = None
    """With what probability all intervals of a group hold."""
    by: tuple[str, ...] = ()
    groups: tuple[tuple[Any, ...], ...] = ()
    """The labels of each group."""

    def to_columns(self) -> Columns:
        """One row for each quantile of each group."""
        many, groups = len(self.quantiles), max(1, len(self.groups))
        columns: Columns = {}
        for place, name in enumerate(self.by):
            labels = tuple(group[place] for group in self.groups)
            columns[name] = labelled(labels, np.repeat(np.arange(groups), many))
        columns[self._own("quantile")] = np.tile(np.array(self.quantiles), groups)
        columns[self._own("value")] = self.values.ravel()
        if self.low is not None and self.high is not None:
            columns[self._own("low")] = self.low.ravel()
            columns[self._own("high")] = self.high.ravel()
        return columns

    def _own(self, name: str) -> str:
        """A column's name that no column of the groups has."""
        return f"{name}_" if name in self.by else name

    def to_dict(self) -> dict[str, Any]:
        """All quantiles as plain data, ready for JSON."""
        columns = self.to_columns()
        lists = [column.tolist() for column in columns.values()]
        return {
            "column": self.column,
            "by": list(self.by),
            **({} if self.level is None else {"level": self.level}),
            "quantiles": [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ReleasedQuantiles:
        """The quantiles that ``to_dict`` wrote."""
        rows, by = document["quantiles"], tuple(document["by"])
        groups = tuple(dict.fromkeys(tuple(row[name] for name in by) for row in rows))
        many = len(rows) // len(groups)
        shape = (len(groups), many) if by else (many,)

        def held(name: str) -> Floats | None:
            own = f"{name}_" if name in by else name
            return np.array([row[own] for row in rows]).reshape(shape) if own in rows[0] else None

        values, quantiles = held("value"), held("quantile")
        assert values is not None and quantiles is not None
        return cls(
            column=document["column"],
            quantiles=tuple(quantiles.ravel()[:many].tolist()),
            values=values,
            low=held("low"),
            high=held("high"),
            level=document.get("level"),
            by=by,
            groups=groups if by else (),
        )

    def _card(self) -> Card:
        title = f"Quantiles of {self.column}: {self.values.size:,} released"
        card = columns_card(title, self.to_columns(), len(self.by) + 1)
        if self.values.dtype != object:  # dates and times are not drawn
            card = replace(card, chart=self._chart)
        if self.level is None:
            return card
        return card.with_notes(("intervals", f"{100 * self.level:g} %, all of a group at once"))

    def _chart(self) -> Chart:
        labels = [", ".join(map(str, group)) for group in self.groups]
        axes = (labels, self.quantiles) if self.by else (self.quantiles,)
        return Chart(axes, self.values, self.low, self.high)

    def __repr__(self) -> str:
        of = f" by {', '.join(self.by)}" if self.by else ""
        return f"<{self.values.size:,} released quantiles of {self.column}{of}>"
