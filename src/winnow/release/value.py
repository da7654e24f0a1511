"""What the methods without rounds release: estimates, a distribution, and answers of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import probability
from winnow.core.frames import Columns
from winnow.core.workloads.forms import RangeTable
from winnow.core.workloads.part import Part, declared_width
from winnow.core.workloads.workload import Workload
from winnow.core.workloads.written import written_workload
from winnow.errors import ParameterError
from winnow.release.factors import Factor
from winnow.release.known import KnownAnswers, from_tables, released_place
from winnow.release.long_form import free_name, query_columns
from winnow.release.queries import spoken_columns
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.tables.errors import quantile
from winnow.release.tables.moved import moved, reaches
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.written import written_tables

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class AnswerErrors:
    """What is known of the errors of the answers, as fractions of the public total."""

    standard_errors: Floats
    """Of the unbiased estimates, exact."""
    distances: Floats
    """How far each answer lies from its estimate: 0 where the estimate is the answer."""
    largest: float
    """The predicted largest error of the estimates."""
    law: str

    @property
    def noise(self) -> float:
        """The root of the mean squared standard error."""
        return float(np.sqrt(np.mean(self.standard_errors**2)))

    @property
    def estimate(self) -> float:
        """About the largest error over the workload: predicted before anything was spent.

        Where an answer is fitted, its distance from the estimate comes on top.
        """
        return min(1.0, float(np.hypot(self.largest, self.distances.max(initial=0.0))))

    def bound(self, confidence: float = 0.95) -> float:
        """What the largest error over the workload stays below with this probability."""
        probability(confidence=confidence)
        missed = (1 - float(confidence)) / max(1, len(self.standard_errors))
        reach = quantile(missed, self.law) * self.standard_errors + self.distances
        return min(1.0, float(reach.max(initial=0.0)))

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain data."""
        return {"estimate": self.estimate, "bound_95": self.bound(0.95), "noise": self.noise}


@dataclass(frozen=True, eq=False, repr=False)
class AnsweredSynthetic(SyntheticDistribution):
    """Answers to a workload with known errors, and a distribution fitted to what was measured.

    ``estimates`` are unbiased, with ``standard_errors``. ``answers``, ``counts``, ``marginal``,
    ``table`` and frames give one number for one question, however it is asked: what the
    distribution says, but no further from the estimate than ``reach``
    (``winnow.release.tables.moved``): less noise, and some bias, of at most that much. So it is for
    the workload that was released
    for, and for all tables and ranges of columns that a released table has. Other queries, rows
    and ``fitted()`` come from the distribution alone, which has no negative cells and is
    biased. Where the domain is too large for
    a weight on each cell, it is a graphical model. A file keeps all of it (``from_dict``).
    """

    method: str = ""
    """The method by its word."""
    estimates: Floats = field(default_factory=lambda: np.zeros(0))
    """The unbiased answers to the workload, as fractions of the total; maybe below 0 or above 1."""
    standard_errors: Floats = field(default_factory=lambda: np.zeros(0))
    """Of the estimates, as fractions of the total: exact, and known before anything was spent."""
    reach: Floats = field(default_factory=lambda: np.zeros(0))
    """How far each answer may lie from its estimate; 0: it is the estimate; infinite: it is what
    the distribution says."""
    tables: ReleasedTables | None = None
    """The tables as ``wn.tabulate`` releases them, where these were measured."""

    @property
    def from_fit(self) -> Mask:
        """Which answers of the workload the distribution may move."""
        return np.asarray(self.reach > 0.0)

    def _fractions(self, bound: Any) -> Floats:
        if not len(self.estimates):
            return super()._fractions(bound)
        if bound is self.workload:
            return self._moved
        known = self._known(bound).answers
        missing = np.isnan(known)
        return np.where(missing, self._model_fractions(bound), known) if missing.any() else known

    def _known(self, bound: Any) -> KnownAnswers:
        """What was released of the queries of a workload, part by part."""
        if bound is self.workload:
            return KnownAnswers(self.estimates, self.standard_errors, self._moved)
        parts = [self._known_part(part) for part in bound.parts]
        return KnownAnswers(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _known_part(self, part: Part) -> KnownAnswers:
        if (own := released_place(self.workload, part)) is not None:
            place, turned = own
            inside = slice(*self.workload.offsets[place : place + 2])
            numbers = self.estimates[inside], self.standard_errors[inside], self._moved[inside]
            if turned is None:
                return KnownAnswers(*numbers)
            form: Any = self.workload.parts[place].form
            sizes = self.schema.shape
            products = isinstance(form, RangeTable)
            shape = form.shape if products else [sizes[column] for column in form.columns]
            return KnownAnswers(
                *(each.reshape(shape).transpose(turned).reshape(-1) for each in numbers)
            )
        told = None if self.tables is None else from_tables(self.tables, part)
        if told is None or not isinstance(self.errors, AnswerErrors):
            return KnownAnswers(*np.full((3, part.size), np.nan))
        estimates, errors = (each / self.total for each in told)
        model = self._model_fractions(Workload(self.schema, (part,)))
        if self._rises(part):
            return KnownAnswers(estimates, errors, model)
        reach = reaches(
            model - estimates, errors, [part.size], self.errors.law, self.errors.largest
        )
        return KnownAnswers(estimates, errors, moved(estimates, model, reach))

    def _rises(self, part: Part) -> bool:
        """Whether the distribution has the estimates of the one column of a part, made to rise."""
        columns = set(spoken_columns(Workload(self.schema, (part,))))
        asked = [
            bool(np.isinf(self.reach[slice(*self.workload.offsets[place : place + 2])]).all())
            for place, each_part in enumerate(self.workload.parts)
            if columns & set(spoken_columns(Workload(self.schema, (each_part,))))
        ]
        return bool(asked) and all(asked)

    @cached_property
    def _moved(self) -> Floats:
        if not self.from_fit.any():
            return self.estimates
        return moved(self.estimates, self._fitted, self.reach)

    @cached_property
    def _fitted(self) -> Floats:
        return self._model_fractions(self.workload)

    def _whole(self) -> Floats | None:
        return super()._whole() if isinstance(self.factors[0], Factor) else None

    @property
    def distances(self) -> Floats:
        """How far each answer lies from its estimate, as a fraction of the total."""
        return np.abs(self._moved - self.estimates)

    def error_estimates(self) -> list[float]:
        """The error column of ``table``: standard errors; of moved answers with their distance."""
        if self.workload is None or not len(self.estimates):
            raise ParameterError("nothing is known about the errors of this distribution")
        return [float(each) for each in self._errors_of(self.workload)]

    def _errors_of(self, bound: Any) -> Floats:
        """The errors of all queries, as fractions; not a number where only the model speaks."""
        known = self._known(bound)
        widths = [np.full(p.size, declared_width(p.bound)) for p in bound.parts]
        distances = np.abs(known.answers - known.estimates)
        return np.asarray(np.hypot(distances, known.standard_errors) * np.concatenate(widths))

    def table(self, workload: Any = None) -> list[dict[str, Any]]:
        """A row for each query: label, answer, count, error, and what the distribution says.

        The error is None where only the distribution speaks of a query.
        """
        bound = self._bound(workload)
        rows, fitted = super().table(bound), self.fitted(bound)
        if len(self.estimates):
            errors = self._errors_of(bound).tolist()
            rows = [
                row | {"error": None if error != error else error}
                for row, error in zip(rows, errors, strict=True)
            ]
        return [row | {"fitted": float(f)} for row, f in zip(rows, fitted, strict=True)]

    def to_columns(self, workload: Any = None, *, level: float = 0.95) -> Columns:
        """The answers in long form: attributes, answer, standard error, interval; in rows.

        ``standard_error`` is that of the unbiased estimate, and an interval holds the truth with
        probability ``level`` or more, each for itself: it lies around the unbiased estimate, which
        is the column ``unbiased`` where answers were moved, and reaches to the answer. Of queries
        that no released number speaks of there is what the distribution says, and the other columns
        are not a number.
        """
        probability(level=level)
        bound = self._bound(workload)
        columns = query_columns(bound)
        answer = self.counts(bound)
        columns[free_name("estimate", columns)] = answer
        if not isinstance(self.errors, AnswerErrors):
            return columns
        known = self._known(bound)
        if np.isnan(known.answers).all():
            return columns
        widths = [np.full(p.size, self.total * declared_width(p.bound)) for p in bound.parts]
        width = np.concatenate(widths)
        error = width * known.standard_errors
        reach = quantile(1 - float(level), self.errors.law) * error + np.where(error > 0, 0.5, 0.0)
        unbiased = answer + width * (known.estimates - known.answers)
        numbers = {"standard_error": error, "low": np.minimum(unbiased - reach, answer),
                   "high": np.maximum(unbiased + reach, answer)}  # fmt: skip
        if self.from_fit.any():
            numbers = {"unbiased": unbiased, **numbers}
        for name, values in numbers.items():
            columns[free_name(name, columns)] = values
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The distribution and the answers as plain data; ``from_dict`` reads all of it back."""
        document = super().to_dict() | {
            "method": self.method,
            "estimates": self.estimates.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "answers": self._moved.tolist(),
            **({} if isinstance(self.factors[0], Factor) else {"marginals": []}),
        }
        parts = None if self.workload is None else written_workload(self.workload)
        if parts is None or not isinstance(self.errors, AnswerErrors):
            return document
        reach = [None if np.isinf(each) else each for each in self.reach.tolist()]
        kept = {
            "workload": parts,
            "reach": reach,
            "distances": self.errors.distances.tolist(),
            "largest": self.errors.largest,
            "law": self.errors.law,
        }
        if self.tables is not None:
            kept["tables"] = written_tables(self.tables)
        return document | {"released": kept}
