"""A synthetic distribution: answers to any workload over the schema, and rows to hand out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from winnow.core.checks import count
from winnow.core.drawing import Plotted
from winnow.core.frames import FRAMES, Columns, Framed, as_frame, labelled
from winnow.core.notebook import Card, columns_card
from winnow.core.saving import check_target, save_columns, write_json
from winnow.core.schema import Schema, cells_text
from winnow.core.tape import Randomness
from winnow.core.workloads.forms import (
    BitMatrix,
    CodeRanges,
    GridMatrix,
    Mask,
    ProductSets,
    RangeTable,
    WholeTable,
)
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.part import Part, declared, declared_width
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.fit.tables import FitQuality
from winnow.foreign import shown
from winnow.release.factors import Factor
from winnow.release.long_form import free_name, query_columns
from winnow.release.query_errors import KnownErrors, farthest

Floats = NDArray[np.float64]

_MOST_CELLS = 10**8


@dataclass(frozen=True)
class MeasuredQuery:
    """One released measurement: which query, and its noisy count. Public."""

    label: str
    count: int
    """In grid units, as it was released."""
    answer: float
    """The count as a fraction of the public total; noise may carry it below 0 or above 1."""
    query: int
    """Its number in the workload of its group."""
    sign: int
    group: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The measurement as plain data."""
        return {
            "query": self.label,
            "count": self.count,
            "answer": self.answer,
            "number": self.query,
            "sign": self.sign,
            "group": self.group,
        }


@dataclass(frozen=True, eq=False)
class SyntheticDistribution(Plotted, Framed):
    """Public weights over the cells of a schema, as a product of factors.

    It was fitted to released measurements only, so whatever is computed from it is free.
    """

    schema: Schema
    factors: tuple[Factor, ...]
    total: int
    """The public number of rows that counts refer to."""
    measurements: tuple[MeasuredQuery, ...] = ()
    """Every released measurement, in order."""
    errors: KnownErrors | None = None
    """What is known about the errors over the workload; None: nothing."""
    workload: Any = field(default=None, repr=False)
    """The workload that it was released for."""
    rests_on: str = ""
    """What the accuracy rests on beside the noise; empty: nothing else."""
    first_tables: tuple[tuple[int, ...], ...] = ()
    """The noisy counts of each column that the rounds started from; empty: they started uniform."""
    fit: FitQuality | None = None
    """How well the distribution fits what was measured; None: it was not fitted to tables."""

    def __post_init__(self) -> None:
        covered = sorted(column for factor in self.factors for column in factor.columns)
        if covered != list(range(len(self.schema.columns))):
            raise ParameterError("the factors do not cover every column of the schema once")
        count(total=self.total)
        object.__setattr__(self, "total", int(self.total))

    # -- answers ---------------------------------------------------------------------------

    def answers(self, workload: Any = None) -> Floats:
        """The answers to a workload over the schema, as fractions of all rows.

        ``workload`` may be unbound, as ``wn.marginals(2)``; None: the one released for.
        Queries declared in [-c, c] are answered there.
        """
        bound = self._bound(workload)
        parts = np.split(self._fractions(bound), bound.offsets[1:-1])
        pairs = zip(bound.parts, parts, strict=True)
        return np.concatenate([declared(part.bound, answers) for part, answers in pairs])

    def counts(self, workload: Any = None) -> Floats:
        """Answers as numbers of rows: fractions times the public total."""
        return self.total * self.answers(workload)

    def marginal(self, *columns: str | Sequence[str]) -> Floats:
        """The table of some columns, one axis each, in the order of their names.

        ``marginal("a", "b")`` and ``marginal(["a", "b"])`` are the same.
        """
        listed = len(columns) == 1 and not isinstance(columns[0], str)
        names: Any = columns[0] if listed else columns
        part = MarginalPart(self.schema, self.schema.positions(names))
        size = math.prod(self.schema.shape[column] for column in part.columns)
        if size > _MOST_CELLS:
            raise ParameterError(
                f"a table of {cells_text(size)} cells does not fit; name fewer columns"
            )
        answers = self._fractions(Workload(self.schema, (part,)))
        return answers.reshape([self.schema.shape[column] for column in part.columns])

    def fitted(self, workload: Any = None) -> Floats:
        """The answers of the distribution itself, as fractions: what ``sample`` draws from.

        They are never negative. Where released tables tell more, ``answers`` says what these do.
        """
        bound = self._bound(workload)
        parts = np.split(self._model_fractions(bound), bound.offsets[1:-1])
        pairs = zip(bound.parts, parts, strict=True)
        return np.concatenate([declared(part.bound, answers) for part, answers in pairs])

    def to_columns(self, workload: Any = None) -> Columns:
        """The answers in long form: one column for each attribute, and the estimate in rows.

        For the workload that was released for (``workload=None``) there is an ``error`` beside
        it: an estimate, see ``table``. Nothing is known about the errors of others.
        """
        bound = self._bound(workload)
        columns = query_columns(bound)
        columns[free_name("estimate", columns)] = self.counts(bound)
        if bound is self.workload and self.errors is not None:
            columns[free_name("error", columns)] = self.total * np.array(self.error_estimates())
        return columns

    def _card(self) -> Card:
        asked = self.workload
        if asked is None:  # the first column says more than nothing
            asked = Workload(self.schema, (MarginalPart(self.schema, (0,)),))
        columns = self.to_columns(asked)
        del columns["query"]
        named = sum(name in columns for name in self.schema.names)
        card = columns_card(f"Synthetic table of {self.total:,} rows", columns, named)
        card = card.with_notes(("fit", self.fit_note)) if self.fit_note else card
        return replace(card, picture=self._picture)

    @property
    def fit_note(self) -> str:
        """What a person has to know before synthetic rows are used; empty: nothing."""
        return "" if self.fit is None else self.fit.note

    def _picture(self, ending: str = ".png") -> bytes:
        from winnow.show.plots.release import draw_columns

        return draw_columns(self, ending=ending)

    def weights(self) -> Floats:
        """The weight of every cell, in C order; only for domains that fit memory."""
        if self.schema.cells > _MOST_CELLS:
            raise ParameterError(
                f"the domain has {cells_text(self.schema.cells)} cells and its weights do not "
                "fit; ask for marginals or sample rows"
            )
        return self._marginal(tuple(range(len(self.schema.columns)))).ravel()

    def table(self, workload: Any = None) -> list[dict[str, Any]]:
        """A row for each query: its label, answer, count, and an estimate of its error.

        The error is a fraction of all rows. For a measured query it is its distance from the
        mean of its measurements and their noise together (root of the sum of squares); for
        the others the estimate of the largest error over the workload (``errors.estimate``).
        It is None for a workload that was not released for: nothing is known there.
        """
        bound = self._bound(workload)
        answers = self.answers(bound)
        known = bound is self.workload and self.errors is not None
        errors: list[float | None] = [None] * bound.size
        if known:
            errors = list(self.error_estimates())
        return [
            {
                "query": bound.label(i),
                "answer": float(answers[i]),
                "count": float(self.total * answers[i]),
                "error": errors[i],
            }
            for i in range(bound.size)
        ]

    def error_estimates(self) -> list[float]:
        """The error column of ``table`` for the workload that was released for."""
        if self.errors is None or self.workload is None:
            raise ParameterError("nothing is known about the errors of this distribution")
        fractions = self._fractions(self.workload)
        estimates = np.full(len(fractions), self.errors.estimate)
        seen: dict[int, list[float]] = {}
        for measured in self.measurements:
            seen.setdefault(measured.query, []).append(measured.answer)
        for query, values in seen.items():
            distance = float(np.mean(values)) - fractions[query]
            estimates[query] = math.hypot(distance, self.errors.noise / math.sqrt(len(values)))
        estimates = np.minimum(estimates, farthest(fractions))
        first = 0
        for part in self.workload.parts:
            estimates[first : first + part.size] *= declared_width(part.bound)
            first += part.size
        return [float(estimate) for estimate in estimates]

    def _bound(self, workload: Any) -> Any:
        if workload is None:
            workload = self.workload
        if workload is None:
            raise ParameterError("no workload was given; name one, such as wn.marginals(2)")
        bound = workload.over(self.schema) if hasattr(workload, "over") else workload
        if not hasattr(bound, "parts"):
            raise ParameterError(
                f"a {type(workload).__name__} is not a workload; give one such as wn.marginals(2)"
            )
        if bound.schema != self.schema:
            raise ParameterError(
                "the workload is over a different schema from that of the distribution"
            )
        return bound

    def _fractions(self, bound: Any) -> Floats:
        """The best known answers as fractions, before they are declared in [-c, c]."""
        return self._model_fractions(bound)

    def _model_fractions(self, bound: Any) -> Floats:
        """Those of the distribution, in [0, 1]; stored weights share the sums of all marginals."""
        whole = self._whole()
        if whole is not None:
            return np.asarray(bound.answers(whole))
        return np.concatenate([self._answers(part) for part in bound.parts])

    def _answers(self, part: Part) -> Floats:
        match part.form:
            case WholeTable(columns):
                return self._marginal(columns).ravel()
            case CodeRanges(column=column) as ranges:
                return np.asarray(np.maximum(ranges.sums(self._marginal((column,))), 0.0))
            case RangeTable() as products:
                sums = products.sums(self._marginal(products.columns))
                return np.asarray(np.maximum(sums.ravel(), 0.0))
            case ProductSets(sets):
                return np.array([self._product_set(masks) for masks in sets])
            case BitMatrix() | GridMatrix():
                return part.answers(self.weights())
            case never:
                assert_never(never)

    def _whole(self) -> Floats | None:
        """The weights of all cells, where they are stored as such."""
        factor = self.factors[0]
        in_order = factor.columns == tuple(range(len(self.schema.columns)))
        return factor.weights if in_order and factor.points is None else None

    def _product_set(self, masks: Mapping[int, Mask]) -> float:
        return math.prod(factor.product_set(masks) for factor in self.factors)

    def _marginal(self, columns: tuple[int, ...]) -> Floats:
        size = math.prod(self.schema.shape[column] for column in columns)
        if size > _MOST_CELLS:
            raise ParameterError(
                f"a table of {cells_text(size)} cells does not fit; name fewer columns"
            )
        order: list[int] = []
        table: Floats = np.ones(())
        for factor in self.factors:
            own = [column for column in columns if column in factor.columns]
            if own:
                table = np.multiply.outer(table, factor.marginal(own))
                order += own
        return np.ascontiguousarray(np.transpose(table, [order.index(c) for c in columns]))

    # -- rows ------------------------------------------------------------------------------

    def sample(self, n: int | None = None, *, seed: int | None = None, frame: str = "dict") -> Any:
        """n rows drawn from the distribution, with the labels of the schema.

        n is the public total unless given. ``frame`` is "dict" (an array for each column),
        "pandas", "polars" or "arrow", where that package is installed. Bins come out as their
        labels. Drawing costs no privacy; ``seed`` makes it repeatable.
        """
        if frame not in FRAMES:
            raise ParameterError(
                f"frame={shown(frame)} is unknown; choose one of: {', '.join(FRAMES)}"
            )
        rows = self.total if n is None else n
        count(n=rows)
        randomness = Randomness(seed)
        columns: dict[int, NDArray[Any]] = {}
        for factor in self.factors:
            codes = factor.draw(int(rows), randomness.tape())
            columns.update(zip(factor.columns, codes, strict=True))
        named = {
            column.name: labelled(column.labels, columns[place])
            for place, column in enumerate(self.schema.columns)
        }
        return named if frame == "dict" else as_frame(named, frame)

    def save(
        self,
        path: str | Path,
        *,
        rows: int | None = None,
        seed: int | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        """Save whole or not at all: sampled rows as CSV or Parquet, everything as JSON.

        ``about`` (for example ``released.to_dict()`` without its value) goes into the
        metadata of a Parquet file and beside the document in JSON; beside a CSV file it gets a
        file of its own, FILE.receipt.json.
        """
        target = Path(path)
        check_target(target)
        if target.suffix.lower() == ".json":
            if rows is not None:
                raise ParameterError(
                    "JSON holds the distribution itself, not rows; leave out rows="
                )
            write_json(target, self.to_dict() | ({"about": about} if about else {}))
        else:
            save_columns(target, self.sample(rows, seed=seed), about)

    def to_dict(self) -> dict[str, Any]:
        """The distribution as plain data, ready for JSON; ``from_dict`` reads it back."""
        document: dict[str, Any] = {
            "schema": self.schema.to_dict(),
            "total": self.total,
            "factors": [factor.to_dict(self.schema.names) for factor in self.factors],
            "measurements": [measured.to_dict() for measured in self.measurements],
        }
        if self.errors is not None:
            document["errors"] = self.errors.to_dict()
        if self.fit is not None:
            document["fit"] = self.fit.to_dict()
        return document | ({"rests_on": self.rests_on} if self.rests_on else {})

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> SyntheticDistribution:
        """The distribution that ``to_dict`` wrote, of the kind that was written.

        Where it had released tables, it answers with these again, with their errors and for the
        workload that it was released for. Of a distribution without them the workload is no part
        of the file.
        """
        from winnow.release.reading import read_distribution

        return read_distribution(document)

    def __repr__(self) -> str:
        return (
            f"<synthetic distribution over {len(self.schema.columns)} columns, "
            f"{cells_text(self.schema.cells)} cells, {len(self.measurements)} measurements>"
        )
