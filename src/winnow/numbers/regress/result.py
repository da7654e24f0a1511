"""A released regression: coefficients with standard errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.frames import Columns
from winnow.core.notebook import Card, ReleasedValue, columns_card
from winnow.core.saving import Saved
from winnow.errors import ParameterError
from winnow.foreign import instead, shown

Floats = NDArray[np.float64]

_PARTS = ("coefficient", "standard_error", "low", "high", "sampling_error")
INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False)
class ReleasedRegression(ReleasedValue, Saved):
    """A column of numbers as a linear function of others."""

    target: str
    features: tuple[str, ...]
    """The columns."""
    columns: tuple[str, ...]
    """Of each coefficient the column that it is for; "intercept" is the first."""
    levels: tuple[Any, ...]
    """Of each coefficient the value that it is for, where its column has values; else None."""
    coefficient: Floats
    standard_error: Floats
    """What noise makes."""
    low: Floats
    high: Floats
    sampling_error: Floats
    """The usual standard error, for those who take the rows for a sample of more."""
    rows: float
    """How many rows were counted, as far as is known."""
    level: float
    """With what probability each interval holds the coefficient of the rows that were counted."""
    firsts: Mapping[str, Any]
    """Of each feature with values the first one, with which the others are compared."""
    notes: tuple[str, ...] = ()
    """What a reader has to know."""

    @property
    def terms(self) -> tuple[str, ...]:
        """What each coefficient is for, in words: 'age', 'region = south'."""
        pairs = zip(self.columns, self.levels, strict=True)
        return tuple(name if level is None else f"{name} = {level}" for name, level in pairs)

    def predict(self, rows: Any) -> Floats:
        """What the regression says of public rows: a frame, or a mapping of columns to lists.

        A feature with values takes those that the schema declares; another one is an error.
        """
        columns = [np.asarray(_column(rows, name)) for name in self.features]
        found = np.full(len(columns[0]), self.coefficient[0])
        for name, values in zip(self.features, columns, strict=True):
            own = [place for place, column in enumerate(self.columns) if column == name]
            if name not in self.firsts:
                found += self.coefficient[own[0]] * values.astype(np.float64)
                continue
            known = {str(self.levels[place]): self.coefficient[place] for place in own}
            known[str(self.firsts[name])] = 0.0
            texts = [
                "missing" if each is None or each != each else str(each) for each in values.tolist()
            ]
            wrong = next((each for each in texts if each not in known), None)
            if wrong is not None:
                raise ParameterError(
                    f"{shown(wrong)} is no value of {name!r}; there are {', '.join(known)}"
                )
            found += np.array([known[each] for each in texts])
        return found

    def to_columns(self) -> Columns:
        """One row for each coefficient."""
        names = np.empty(len(self.columns), object)
        names[:] = self.terms
        return {"term": names, **{name: getattr(self, name) for name in _PARTS}}

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain data, ready for JSON; an end that is infinite is null."""
        rows = []
        for place, (column, level) in enumerate(zip(self.columns, self.levels, strict=True)):
            numbers = {name: _finite(getattr(self, name)[place]) for name in _PARTS}
            rows.append({"column": column, "value": level, **numbers})
        return {
            "target": self.target,
            "features": list(self.features),
            "firsts": dict(self.firsts),
            "rows": self.rows,
            "level": self.level,
            "coefficients": rows,
            **({"notes": list(self.notes)} if self.notes else {}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ReleasedRegression:
        """The regression that ``to_dict`` wrote."""
        rows = document["coefficients"]
        ends = {"low": -math.inf, "high": math.inf}
        parts = {
            name: np.array([ends[name] if row[name] is None else row[name] for row in rows], float)
            for name in _PARTS
        }
        return cls(
            document["target"],
            tuple(document["features"]),
            tuple(row["column"] for row in rows),
            tuple(row["value"] for row in rows),
            **parts,
            rows=document["rows"],
            level=document["level"],
            firsts=document["firsts"],
            notes=tuple(document.get("notes", ())),
        )

    def _card(self) -> Card:
        title = f"Linear regression of {self.target}: {len(self.columns)} coefficients"
        card = columns_card(title, self.to_columns(), 1)
        intervals = ("intervals", f"{100 * self.level:g} %, each by itself, of the rows counted")
        return card.with_notes(intervals, *(("note", note) for note in self.notes))

    def __repr__(self) -> str:
        return f"<linear regression of {self.target} on {', '.join(self.features)}>"


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _column(rows: Any, name: str) -> Any:
    missing = ParameterError(f"the rows have no column {name!r}; give every feature")
    with instead(missing, KeyError, TypeError, IndexError):
        return rows[name]
