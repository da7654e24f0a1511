"""Released moments: a number, its standard error and its interval, for each statistic and group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.frames import Columns, labelled
from winnow.core.notebook import Card, Chart, ReleasedValue, columns_card
from winnow.core.saving import Saved
from winnow.errors import ParameterError
from winnow.foreign import shown
from winnow.numbers.moments.estimates import MomentNumbers

_PARTS = ("value", "standard_error", "low", "high")


@dataclass(frozen=True, eq=False)
class ReleasedMoments(ReleasedValue, Saved):
    """Statistics of columns of numbers, of the whole table or of each group."""

    columns: tuple[str, ...]
    statistics: tuple[str, ...]
    held: Mapping[tuple[str, str], MomentNumbers]
    """By column and statistic: an array of the groups, or a number of the whole table."""
    level: float
    """With what probability each interval holds what was counted."""
    by: tuple[str, ...] = ()
    groups: tuple[tuple[Any, ...], ...] = ()
    """The labels of each group."""
    notes: tuple[str, ...] = ()
    """What a reader has to know."""

    def of(self, column: str, statistic: str) -> MomentNumbers:
        """The numbers of one statistic: ``.value``, ``.standard_error``, ``.low`` and ``.high``.

        Numbers of the whole table, or arrays in the order of ``groups``.
        """
        numbers = self.held.get((column, statistic))
        if numbers is None:
            raise ParameterError(
                f"{shown(statistic)} of {shown(column)} was not released; there are "
                f"{', '.join(self.statistics)} of {', '.join(self.columns)}"
            )
        return numbers

    def to_columns(self) -> Columns:
        """One row for each group, column and statistic.

        Beside means of dates and times, which are texts, all numbers are texts, too.
        """
        groups = max(1, len(self.groups))
        each = [(column, name) for column in self.columns for name in self.statistics]
        columns: Columns = {}
        for place, name in enumerate(self.by):
            labels = tuple(group[place] for group in self.groups)
            columns[name] = labelled(labels, np.repeat(np.arange(groups), len(each)))
        for name, texts in zip(("column", "statistic"), zip(*each, strict=True), strict=True):
            columns[self._own(name)] = labelled(texts, np.tile(np.arange(len(each)), groups))
        for name in _PARTS:
            arrays = [_array(getattr(self.held[key], name)) for key in each]
            timed = any(part.dtype == object for part in arrays)
            stacked = np.stack(arrays, axis=1).ravel()
            if timed and any(part.dtype != object for part in arrays):  # one type for each column
                stacked = np.array([str(part) for part in stacked], object)
            columns[self._own(name)] = stacked
        return columns

    def _own(self, name: str) -> str:
        """A column's name that no column of the groups has."""
        return f"{name}_" if name in self.by else name

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data, ready for JSON."""
        columns = self.to_columns()
        lists = {name: column.tolist() for name, column in columns.items()}
        each = [(column, statistic) for column in self.columns for statistic in self.statistics]
        for part in _PARTS:
            texts = [_array(getattr(self.held[key], part)).tolist() for key in each]
            lists[self._own(part)] = [
                value for group in zip(*texts, strict=True) for value in group
            ]
        return {
            "columns": list(self.columns),
            "statistics": list(self.statistics),
            "by": list(self.by),
            "level": self.level,
            "moments": [
                dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)
            ],
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ReleasedMoments:
        """The numbers that ``to_dict`` wrote."""
        rows, by = document["moments"], tuple(document["by"])
        columns, statistics = tuple(document["columns"]), tuple(document["statistics"])
        each = [(column, name) for column in columns for name in statistics]
        groups = tuple(dict.fromkeys(tuple(row[name] for name in by) for row in rows))
        by_key = {}
        for place, key in enumerate(each):
            parts = []
            for name in _PARTS:
                own = f"{name}_" if name in by else name
                seen = [row[own] for row in rows[place :: len(each)]]
                numbers = np.array(seen, object if isinstance(seen[0], str) else np.float64)
                parts.append(numbers if by else numbers[0])
            by_key[key] = MomentNumbers(*parts)
        return cls(
            columns=columns,
            statistics=statistics,
            held=by_key,
            level=document["level"],
            by=by,
            groups=groups if by else (),
            notes=tuple(document.get("notes", ())),
        )

    def _card(self) -> Card:
        many = max(1, len(self.groups)) * len(self.held)
        title = f"Moments of {', '.join(self.columns)}: {many:,} released"
        card = columns_card(title, self.to_columns(), len(self.by) + 2)
        intervals = ("intervals", f"{100 * self.level:g} %, each by itself")
        card = card.with_notes(intervals, *(("note", note) for note in self.notes))
        return replace(card, parts=self._parts) if self.by else card

    def _parts(self) -> list[Card]:
        """A card for each column and statistic of the groups."""
        return [
            self._of_groups(f"{name.capitalize()} of {column}", numbers)
            for (column, name), numbers in self.held.items()
        ]

    def _of_groups(self, title: str, numbers: MomentNumbers) -> Card:
        columns: Columns = {
            name: labelled(
                tuple(group[place] for group in self.groups), np.arange(len(self.groups))
            )
            for place, name in enumerate(self.by)
        }
        for name in _PARTS:
            columns[self._own(name)] = _array(getattr(numbers, name))
        card = columns_card(title, columns, len(self.by))
        if _array(numbers.value).dtype == object:  # dates and times are not drawn
            return card
        names = [", ".join(map(str, group)) for group in self.groups]
        value, low, high = map(_array, (numbers.value, numbers.low, numbers.high))
        chart = partial(Chart, (names,), value, low, high, counts=False)
        return replace(card, chart=chart)

    def __repr__(self) -> str:
        of = f" by {', '.join(self.by)}" if self.by else ""
        many = max(1, len(self.groups)) * len(self.held)
        return f"<{many:,} released moments of {', '.join(self.columns)}{of}>"


def _array(value: Any) -> NDArray[Any]:
    """An array of the groups; of texts, one of objects."""
    if isinstance(value, str):
        return np.array([value], object)
    return np.atleast_1d(np.asarray(value))
