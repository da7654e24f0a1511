"""Plan a release: what error to expect of each method, from public numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from winnow.answers.prediction import Prediction
from winnow.answers.request import AnswersRequest
from winnow.answers.settings import MethodChoice, choose
from winnow.core.checks import Real, count, positive
from winnow.core.notebook import Card, InNotebook, lines_card, ruled
from winnow.core.relation import Relation
from winnow.core.schema import Schema, cells_text
from winnow.core.workloads.workload import Maker, Workload, bound_workload
from winnow.errors import ParameterError
from winnow.foreign import guarded

_SCOPE = (
    "Computed from public numbers: no data were read, nothing was spent. Errors are in rows, over "
    "all queries. 'exact formula': standard errors are exact, and 'largest' is the median of the "
    "largest error. 'rule of thumb': seen on other data, no promise."
)
_STEPS, _QUICK = 60, 8
"""So many tries at most; where so few do not do, every second one halves what is left."""
_LEAST_EPSILON, _MOST_EPSILON = 2.0**-20, 2.0**20
_CLOSE = 1e-4
_TINY = 1e-12
"""In rows: an error of 0 has no logarithm."""


@dataclass(frozen=True)
class MethodRow:
    """What to expect of one method; errors in rows, None where nothing is known."""

    method: str
    largest: float | None
    mean: float | None
    rms: float | None
    seconds: float
    """About how long it takes."""
    kind: str
    """Of the prediction: 'exact formula', 'rule of thumb' or 'unknown'."""
    note: str = ""


@dataclass(frozen=True)
class ReleasePlan(InNotebook):
    """What to expect of a release, before it is paid for; one row for each method."""

    cells: int
    queries: int
    n: int
    rows_per_person: int
    epsilon: float
    delta: float
    relation: str
    method: str
    """The one that ``winnow.release`` takes."""
    reason: str
    rows: tuple[MethodRow, ...]
    """The method that is taken first; plain noise, which is no method, last."""
    refused: tuple[tuple[str, str], ...]
    """Methods that cannot run, and why."""
    scope: str = _SCOPE

    def best(self) -> MethodRow:
        """The row of the method that is taken."""
        return self.rows[0]

    @property
    def plain(self) -> MethodRow:
        """Noise on each cell of the workload's tables, or on each query."""
        return self.rows[-1]

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return asdict(self)

    def table(self) -> list[list[str]]:
        """The plan as a table, its first line the headings."""
        lines = [["method", "largest", "mean", "rms", "seconds", "prediction", "note"]]
        for row in self.rows:
            errors = [error_text(each, self.n) for each in (row.largest, row.mean, row.rms)]
            lines.append([row.method, *errors, f"{row.seconds:.2g}", row.kind, row.note])
        return lines

    def _title(self) -> str:
        return (
            f"{self.queries:,} queries over {cells_text(self.cells)} cells, {self.n:,} rows, "
            f"epsilon={self.epsilon:.6g}, delta={self.delta:.6g}, "
            f"{Relation(self.relation).sentence}"
        )

    def _card(self) -> Card:
        return lines_card(self._title(), self.table(), f"taken: {self.reason}", self.scope)

    def __str__(self) -> str:
        lines = self.table()
        shown = ruled(lines, texts=range(len(lines[0])))
        refused = [f"{word} cannot run: {why}" for word, why in self.refused]
        return "\n".join(
            [self._title(), f"taken: {self.reason}", "", *shown, "", *refused, self.scope]
        )


def error_text(error: float | None, rows: int) -> str:
    """An error in rows; one as large as the table says nothing, and is not shown."""
    return "-" if error is None or error >= rows else f"{error:,.3g}"


@guarded
def release(
    schema: Schema | Mapping[str, Any] | str | Path,
    workload: Maker | Workload,
    *,
    n: int,
    epsilon: Real | None = None,
    delta: Real = 0.0,
    error: Real | None = None,
    method: str = "auto",
    rows_per_person: int = 1,
    relation: str | Relation = Relation.SUBSTITUTION,
    accountant: str = "best",
    memory: str | int = "4GB",
) -> ReleasePlan:
    """What ``winnow.release`` would do to n rows: the errors of every method, without any data.

    Give ``epsilon``, or the largest ``error`` in rows that is wanted: the plan is then for the
    least epsilon (to four digits) that brings it. ``method`` is the one to take, as in
    ``winnow.release``.
    """
    count(n=n)
    kind = Relation.parse(relation)
    declared = Schema.parse(schema)
    bound = bound_workload(workload, declared, memory)

    def chosen(size: Real) -> MethodChoice:
        request = AnswersRequest(
            bound, size, delta, kind, int(rows_per_person), int(n), accountant, memory
        )
        return choose(request, method)

    if (epsilon is None) is (error is None):
        raise ParameterError("give epsilon, or the error that is wanted; one of the two")
    if epsilon is None:
        assert error is not None
        positive(error=error)
        epsilon = _least_epsilon(chosen, float(error))
    choice = chosen(epsilon)
    rows = [_row(each) for each in choice.predictions]
    return ReleasePlan(
        declared.cells,
        bound.size,
        int(n),
        int(rows_per_person),
        float(epsilon),
        float(delta),
        str(kind),
        choice.method,
        choice.reason,
        (*rows, _row(choice.plain)),
        choice.refused,
    )


def _row(made: Prediction) -> MethodRow:
    return MethodRow(
        made.method, made.largest, made.mean, made.rms, made.seconds, made.kind, made.note
    )


def _least_epsilon(chosen: Callable[[float], MethodChoice], error: float) -> float:
    """The least epsilon, to four digits, whose largest error is at most the wanted one.

    Errors fall about as one over epsilon, so that the slope between two tries leads there.
    """

    def largest(epsilon: float) -> float:
        found = chosen(epsilon).taken.largest
        if found is None:
            raise ParameterError(
                "nothing is known of the error of this method beforehand; give epsilon"
            )
        return max(found, _TINY)

    low, high, size, slope = _LEAST_EPSILON, math.inf, 1.0, -1.0
    before: tuple[float, float] | None = None
    for step in range(_STEPS):
        here = largest(size)
        low, high = (low, size) if here <= error else (size, high)
        if high / low < 1 + _CLOSE:
            break
        if before is not None and here != before[1]:
            found = math.log(here / before[1]) / math.log(size / before[0])
            slope = min(max(found, -4.0), -0.25)
        before = size, here
        aside = 1 - _CLOSE / 3 if here <= error else 1 + _CLOSE / 3  # to the other side of it
        size *= aside * (error / here) ** (1 / slope)
        if not low < size < high or (step > _QUICK and step % 2):
            size = math.sqrt(low * high) if high < math.inf else 2 * low
        if size > _MOST_EPSILON:
            raise ParameterError(f"error={error:g} is not reached by any epsilon; allow more")
    short = float(f"{high:.5g}")
    return short if largest(short) <= error else high
