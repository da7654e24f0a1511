"""``winnow.plan.regress``: the plan that ``winnow.regress`` runs, from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from winnow.core.key import Key
from winnow.core.options import takes
from winnow.errors import ParameterError
from winnow.numbers.moments.settings import box_scale, laws_for, variances
from winnow.numbers.regress.design import Design, designed
from winnow.numbers.regress.estimates import (
    LeastSquares,
    NoiseOnProducts,
    combinations,
    matrix_of,
    prediction_error,
    typical,
)
from winnow.numbers.regress.mechanism import NoisyProducts, largest_move, squared_move
from winnow.numbers.regress.request import PlannedRegression, Regression
from winnow.numbers.regress.result import INTERCEPT, ReleasedRegression
from winnow.privacy.sizing import as_all_there_is, sizing_accountant
from winnow.read.about import AboutTable, about_table
from winnow.read.crossing import SealedTable
from winnow.read.table_plan import TablePlan

_SECONDS, _SECONDS_OF_PRODUCT = 0.05, 2e-9


@dataclass(frozen=True)
class CoefficientRow:
    """How far a released coefficient is from the true one."""

    term: str
    standard_error: float | None
    """For features that are spread evenly and independent; None: it depends on the unknown number
    of rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionPlan(TablePlan[ReleasedRegression]):
    """What ``winnow.regress`` charges, draws and promises, before rows are looked at."""

    mechanism: NoisyProducts
    asked: Regression = field(repr=False)

    @cached_property
    def _fit(self) -> LeastSquares | None:
        """That of evenly spread rows; None: their number is not known."""
        if not self.about.rows:
            return None
        matrix = typical(self.mechanism.design, float(self.about.rows))
        return LeastSquares(matrix, NoiseOnProducts.of(self.mechanism), 1 - float(self.asked.level))

    @cached_property
    def expected(self) -> tuple[CoefficientRow, ...]:
        """What to expect of each coefficient."""
        design, fit = self.mechanism.design, self._fit
        rows, _ = combinations(design)
        errors = [None if fit is None else fit.error(row) for row in rows]
        names, levels = _named(design)
        texts = [n if v is None else f"{n} = {v}" for n, v in zip(names, levels, strict=True)]
        return tuple(CoefficientRow(*pair) for pair in zip(texts, errors, strict=True))

    @property
    def error(self) -> float | None:
        """By how much noise moves a prediction, in the unit of the target, in root mean square."""
        if self._fit is None:
            return None
        unit = self.mechanism.design.target.half
        return unit * prediction_error(self._fit, float(self.about.rows or 0))

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain data, ready for JSON."""
        return {
            "target": self.asked.target,
            "features": [column.name for column in self.mechanism.design.columns[:-1]],
            "epsilon": self.epsilon,
            "delta": float(self.asked.delta),
            "level": float(self.asked.level),
            "relation": str(self.relation),
            "rows_per_person": self.about.rows_per_person,
            "rows": self.about.rows,
            "mechanism": self.name,
            "guarantee": self.guarantee.to_dict(),
            "error": self.error,
            "coefficients": [asdict(row) for row in self.expected],
        }

    def table(self) -> list[list[str]]:
        """What to expect of each coefficient, under headings."""
        lines = [["term", "standard error"]]
        for row in self.expected:
            known = row.standard_error is not None
            lines.append([row.term, f"{row.standard_error:,.4g}" if known else "depends on rows"])
        return lines

    def lines(self) -> list[str]:
        """What these errors are about."""
        if self.error is None:
            return ["State the number of rows (rows=) to see the errors."]
        said = (
            "Errors are those of features that are spread evenly over their ranges and "
            "independent. Where values lie close together, coefficients are off by more. "
            f"Noise moves a prediction by about {self.error:,.3g}."
        )
        if self._fit is not None and self._fit.ridge:
            said += " The noise is too large for these rows: coefficients would be shrunk."
        return [said]


@takes(PlannedRegression)
def regress(about: AboutTable | SealedTable, asked: PlannedRegression) -> RegressionPlan:
    """Predict what ``winnow.regress`` charges and how far off it is; nothing is read or spent.

    ``about`` is a sealed table, of which only what is public is looked at, or
    ``wn.plan.table(schema, rows=)`` where there is none yet. ``error=`` (by how much noise may move
    a prediction, in the unit of the target) finds the epsilon for it. ``plan.run(table, budget=)``
    releases it.
    """
    return asked.plan(about)


@as_all_there_is
def planned(asked: Regression, about: Any) -> RegressionPlan:
    """The plan of a request, by what is public of the table."""
    public = about_table(about)
    if public.schema is None:
        raise ParameterError(
            "a regression needs the schema of the table; give wn.plan.table(schema)"
        )
    design = designed(public.schema, asked.target, asked.features)
    mechanism = _quietest(asked, public, design)
    return RegressionPlan(
        mechanism=mechanism,
        relation=public.relation,
        guarantee=mechanism.guarantee(mechanism.promise(public.relation)),
        draw=_draw(asked, public, mechanism),
        check=mechanism.check,
        seconds=_SECONDS + _SECONDS_OF_PRODUCT * len(design.terms) ** 2 * (public.rows or 0),
        asked=asked,
        about=public,
    )


def _quietest(asked: Regression, public: AboutTable, design: Design) -> NoisyProducts:
    """The law with the smaller error of a product, as the factor of its intervals sees it."""
    accountant = "best" if asked.budget is None else sizing_accountant(asked.budget, asked.delta)
    known = public.rows_are_public and not design.optional
    many, made = public.rows_per_person, []
    for law in laws_for(asked.delta, accountant):
        if law == "box":
            noise = box_scale(largest_move(design, public.relation, many), asked.epsilon)
        else:
            moved = squared_move(design, public.relation, many)
            (noise,) = variances(moved, [Fraction(1)], asked.epsilon, asked.delta, accountant)
        made.append(NoisyProducts(asked.epsilon, design, law, noise, known, many, asked.delta))
    return min(made, key=_width)


def _width(mechanism: NoisyProducts) -> float:
    noise = NoiseOnProducts.of(mechanism)
    return noise.largest * noise.factor(0.05)


def _named(design: Design) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Of each coefficient its column, and the value that it is for or None."""
    names, levels = [INTERCEPT], [None]
    for term in design.terms[1:-1]:
        assert term.column is not None
        column = design.columns[term.column]
        names.append(column.name)
        levels.append(column.labels[term.level] if column.grid is None else None)
    return tuple(names), tuple(levels)


def _draw(
    asked: Regression, public: AboutTable, mechanism: NoisyProducts
) -> Callable[[SealedTable, Key], ReleasedRegression]:
    """The draw, and all that follows from its noisy sums."""
    design = mechanism.design

    def draw(table: SealedTable, key: Key) -> ReleasedRegression:
        sums = mechanism.drawn(table, key)
        known = None
        if mechanism.rows_are_public:
            known = table.n if public.rows is None else public.rows
        matrix = matrix_of(sums, mechanism, known)
        fit = LeastSquares(matrix, NoiseOnProducts.of(mechanism), 1 - float(asked.level))
        rows, added = combinations(design)
        values = rows @ fit.coefficients
        ends = [fit.interval(row, value) for row, value in zip(rows, values.tolist(), strict=True)]
        low, high = np.array(ends).T
        names, levels = _named(design)
        features = design.columns[:-1]
        return ReleasedRegression(
            asked.target,
            tuple(column.name for column in features),
            names,
            levels,
            coefficient=values + added,
            standard_error=np.array([fit.error(row) for row in rows]),
            low=low + added,
            high=high + added,
            sampling_error=np.array([fit.sampling_error(row) for row in rows]),
            rows=float(matrix[0, 0]),
            level=float(asked.level),
            firsts={each.name: each.labels[0] for each in features if each.grid is None},
            notes=tuple(_notes(design, fit, bool(np.isinf(low).any()))),
        )

    return draw


def _notes(design: Design, fit: LeastSquares, endless: bool) -> list[str]:
    """What a reader has to know."""
    notes = []
    for column in design.columns:
        if column.clip and column.grid is not None:
            low, high = (column.grid.value(code) for code in (0, column.grid.size - 1))
            notes.append(f"Values of {column.name} below {low:,} or above {high:,} count as these.")
        if column.grid is None:
            notes.append(f"{column.name}: differences from rows with {column.labels[0]}.")
    left_out = [column.name for column in design.columns if column.optional]
    if left_out:
        notes.append(f"Rows without a number in {', '.join(left_out)} are left out.")
    if fit.ridge:
        notes.append(
            "Coefficients are shrunk: the noise may hide a direction of the features. More rows, "
            "fewer features, narrower ranges or a larger epsilon help."
        )
    if endless:
        notes.append("Intervals without ends: these rows cannot tell the coefficients apart.")
    return notes
