"""What the methods without rounds release: estimates, a distribution, and answers of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import probability
from winnow.core.frames import Columns
from winnow.core.workloads.part import declared, declared_width
from winnow.errors import ParameterError
from winnow.release.factors import Factor
from winnow.release.long_form import free_name, query_columns
from winnow.release.synthetic import SyntheticDistribution
from winnow.tables.errors import quantile
from winnow.tables.moved import moved
from winnow.tables.result import ReleasedTables

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

    ``estimates`` are unbiased, with ``standard_errors``. ``answers()``, ``counts()`` and
    ``table()`` give, for the workload that was released for, what the distribution says, but no
    further from the estimates than ``reach`` (``winnow.tables.moved``): less noise, and some bias,
    of at most that much. Everything else comes from the distribution, which has no negative cells
    and is biased: rows, marginals, other workloads, ``fitted()``. Where the domain is too large for
    a weight on each cell, it is a graphical model, and ``WideSynthetic.from_dict`` reads its file.
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

    def fitted(self, workload: Any = None) -> Floats:
        """The answers of the distribution itself, as fractions: biased, never negative."""
        bound = self._bound(workload)
        parts = np.split(super()._fractions(bound), bound.offsets[1:-1])
        pairs = zip(bound.parts, parts, strict=True)
        return np.concatenate([declared(part.bound, answers) for part, answers in pairs])

    def _fractions(self, bound: Any) -> Floats:
        if bound is not self.workload or not len(self.estimates):
            return super()._fractions(bound)
        return self._moved

    @cached_property
    def _moved(self) -> Floats:
        if not self.from_fit.any():
            return self.estimates
        return moved(self.estimates, self._fitted, self.reach)

    @cached_property
    def _fitted(self) -> Floats:
        return super()._fractions(self.workload)

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
        widths = [np.full(p.size, declared_width(p.bound)) for p in self.workload.parts]
        found = np.hypot(self.distances, self.standard_errors) * np.concatenate(widths)
        return [float(each) for each in found]

    def table(self, workload: Any = None) -> list[dict[str, Any]]:
        """A row for each query: label, answer, count, error, and what the distribution says."""
        rows = super().table(workload)
        fitted = self.fitted(workload)
        return [row | {"fitted": float(f)} for row, f in zip(rows, fitted, strict=True)]

    def to_columns(self, workload: Any = None, *, level: float = 0.95) -> Columns:
        """The answers in long form: attributes, answer, standard error, interval; in rows.

        ``standard_error`` is that of the unbiased estimate, and an interval holds the truth with
        probability ``level`` or more, each for itself: it lies around the unbiased estimate, which
        is the column ``unbiased`` where answers were moved, and reaches to the answer. Of a
        workload that was not released for there are estimates only.
        """
        probability(level=level)
        bound = self._bound(workload)
        found = query_columns(bound)
        answer = self.counts(bound)
        found[free_name("estimate", found)] = answer
        if bound is not self.workload or not isinstance(self.errors, AnswerErrors):
            return found
        widths = [np.full(p.size, self.total * declared_width(p.bound)) for p in bound.parts]
        width = np.concatenate(widths)
        error = width * self.standard_errors
        reach = quantile(1 - float(level), self.errors.law) * error + np.where(error > 0, 0.5, 0.0)
        unbiased = answer + width * (self.estimates - self._moved)
        numbers = {"standard_error": error, "low": np.minimum(unbiased - reach, answer),
                   "high": np.maximum(unbiased + reach, answer)}  # fmt: skip
        if self.from_fit.any():
            numbers = {"unbiased": unbiased, **numbers}
        for name, held in numbers.items():
            found[free_name(name, found)] = held
        return found

    def to_dict(self) -> dict[str, Any]:
        """The distribution and the answers as plain data, ready for JSON."""
        return super().to_dict() | {
            "method": self.method,
            "estimates": self.estimates.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "answers": self._moved.tolist(),
            **({} if isinstance(self.factors[0], Factor) else {"marginals": []}),
        }
