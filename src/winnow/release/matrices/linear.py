"""Answers from noisy linear numbers: Toeplitz, the explicit optimum, and the queries themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.core.process import one_thread
from winnow.core.schema import Schema, cells_text
from winnow.core.workloads.conjunction import ConjunctionPart
from winnow.core.workloads.forms import CodeRanges
from winnow.core.workloads.workload import Workload
from winnow.fit.tables import FitQuality
from winnow.privacy import Guarantee, guarantee_of
from winnow.privacy.calibration import sized_guarantee
from winnow.release.matrices.mechanism import MeasureLinear, moved
from winnow.release.matrices.observed_linear import MeasuredMatrix, MeasuredQueries, thinned
from winnow.release.matrices.optimum import optimal_matrix, query_matrix
from winnow.release.matrices.strategies import (
    MOST_TOEPLITZ,
    LinearStrategy,
    MatrixStrategy,
    QueriesStrategy,
    ToeplitzStrategy,
    root_of_prefixes,
)
from winnow.release.prediction import EXACT, Prediction
from winnow.release.rising import monotone
from winnow.release.tables.errors import Spread, predicted
from winnow.release.tables.simulation import MARGIN, fixed_normals
from winnow.release.terms import LARGE, ReleaseTerms

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Columns = tuple[int, ...]

MOST_EXPLICIT = 1_100
"""Cells over which an optimum is computed when it is asked for by name."""
PLANNED_EXPLICIT = 128
"""Cells up to which a plan computes it, too."""
MOST_FITTED = 10**7
"""Cells of a distribution that is fitted."""
_MOST_FITTED_ENTRIES = 2 * 10**7
"""Entries of the queries that a distribution is fitted to: of more, some are enough."""
_MOST_ENTRIES = 2 * 10**8
"""Entries of a matrix that is inverted, or of the lengths of ranges times codes."""
_MOST_RANGES = 5_000
"""Ranges whose largest error is simulated one by one; of more, a bound on all is."""


class Solution(Protocol):
    """How numbers become answers."""

    columns: Columns
    """The columns that the fit is over."""
    deviations: Floats
    """Of every answer, for noise of standard deviation 1."""
    largest: float | None
    """The median of the largest error, likewise, where it was simulated."""
    rising: bool
    """Whether the distribution has the prefixes of ``answers``, made to rise."""

    def answers(self, numbers: Floats, total: int | None) -> Floats:
        """Unbiased answers in rows."""

    def total(self, numbers: Floats) -> float:
        """The number of rows where it is private, estimated."""

    def distribution(
        self, numbers: Floats, deviation: float, rows: int
    ) -> tuple[Floats, FitQuality | None]:
        """The weights of the cells of ``columns`` that fit the numbers; sum 1; and how well."""


@dataclass(frozen=True, eq=False)
class LinearPlan:
    """A strategy with its noise, and the errors that follow."""

    mechanism: MeasureLinear
    solution: Solution
    prediction: Prediction
    guarantee: Guarantee

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one number."""
        if self.mechanism.law == "gaussian":
            return math.sqrt(self.mechanism.noise)
        q = math.exp(-1 / self.mechanism.noise)
        return math.sqrt(2 * q) / (1 - q)


@lru_cache(maxsize=4)
def plan_toeplitz(request: ReleaseTerms) -> LinearPlan | str:
    """For prefixes and ranges of one column; or why it is not for this workload."""
    forms = [part.form for part in request.workload.parts]
    ranges = [form for form in forms if isinstance(form, CodeRanges)]
    if len(ranges) < len(forms) or len({form.column for form in ranges}) != 1:
        return "it is for prefixes and ranges of one column"
    if request.pure:
        return "it has Gaussian noise, which needs a delta > 0"
    column = ranges[0].column
    size = request.schema.shape[column]
    if size > MOST_TOEPLITZ:
        return f"the column has {size:,} codes, more than {MOST_TOEPLITZ:,}"
    starts = np.concatenate([form.starts for form in ranges])
    stops = np.concatenate([form.stops for form in ranges])
    lengths = len(np.unique((stops - starts)[starts > 0]))
    if size * lengths > _MOST_ENTRIES:
        return "there are too many ranges of a long column"
    strategy = ToeplitzStrategy(request.schema.shape, column)
    solution = _Toeplitz(request.schema, strategy, starts, stops)
    return _planned("toeplitz", request, strategy, solution, 0.5 + 4e-9 * size * size)


@lru_cache(maxsize=4)
def plan_explicit(request: ReleaseTerms, *, named: bool) -> LinearPlan | str:
    """The better of the optimal matrix and noise on each query; or why neither is possible."""
    each = plan_queries(request)
    plans = [] if each is None else [each]
    if matrix_planned(request, named=named):
        plans.append(_plan_matrix(request))
    if not plans:
        return (
            f"an optimum over {cells_text(request.schema.cells)} cells is not computed here "
            f"(method='explicit' does it up to {MOST_EXPLICIT:,}, with a delta)"
        )
    return min(plans, key=lambda plan: plan.prediction.score)


def matrix_planned(request: ReleaseTerms, *, named: bool = False) -> bool:
    """Whether the optimal matrix is computed."""
    cells, queries = request.schema.cells, request.workload.size
    limit = MOST_EXPLICIT if named else PLANNED_EXPLICIT
    return not request.pure and 1 < cells <= limit and cells * queries <= _MOST_ENTRIES // 4


@lru_cache(maxsize=4)
def plan_queries(request: ReleaseTerms) -> LinearPlan | None:
    """Noise on each query; None where the distribution to fit has too many cells."""
    if request.schema.cells > MOST_FITTED:
        return None
    asked = request.workload
    if request.total is None:
        asked = Workload(asked.schema, (*asked.parts, ConjunctionPart(asked.schema, ({},))))
    strategy = QueriesStrategy(asked)
    if strategy.unit >= 1 << 27:
        return None
    return _planned("explicit", request, strategy, _Queries(strategy, request.workload.size), 0.5)


def _plan_matrix(request: ReleaseTerms) -> LinearPlan:
    strategy, solution = _optimum(request.workload, request.total is not None)
    seconds = 0.3 + 1e-8 * request.schema.cells**3
    return _planned("explicit", request, strategy, solution, seconds)


@lru_cache(maxsize=2)
def _optimum(workload: Workload, known: bool) -> tuple[MatrixStrategy, _Matrix]:
    """The best matrix: the same for every budget."""
    schema = workload.schema
    queries = query_matrix(workload)
    every = queries if known else np.vstack([queries, np.ones((1, schema.cells))])
    matrix = optimal_matrix(every, centred=known)
    strategy = MatrixStrategy(schema.shape, tuple(range(len(schema.columns))), matrix)
    return strategy, _Matrix(strategy, queries, known)


def _planned(
    method: str,
    request: ReleaseTerms,
    strategy: LinearStrategy,
    solution: Solution,
    seconds: float,
) -> LinearPlan:
    people, best = request.rows_per_person, None
    for law in ("gaussian", "laplace"):
        if law == "gaussian" and request.pure:
            continue
        if law == "laplace" and not (
            isinstance(strategy, QueriesStrategy) and request.accountant != "zcdp"
        ):
            continue
        mechanism = MeasureLinear(strategy, _noise(request, strategy, law), law, people)
        event = mechanism.promise(request.relation).event
        guarantee = (
            guarantee_of(event)
            if law == "laplace"
            else sized_guarantee(event, request.epsilon, request.exact_delta)
        )
        unknown = Prediction(method, None, None, None, seconds, EXACT, strategy.title)
        plan = LinearPlan(mechanism, solution, unknown, guarantee)
        largest = None if solution.largest is None else plan.deviation * solution.largest
        errors = predicted([Spread(plan.deviation * solution.deviations, 1, largest)], law)
        told = Prediction(
            method, errors.largest, errors.mean, errors.rms, seconds, EXACT, strategy.title
        )
        made = LinearPlan(mechanism, solution, told, guarantee)
        if best is None or made.prediction.score < best.prediction.score:
            best = made
    assert best is not None
    return best


def _noise(request: ReleaseTerms, strategy: LinearStrategy, law: str) -> int:
    """The least noise that the budget allows."""
    people = request.rows_per_person
    if law == "laplace":
        return max(1, math.ceil(strategy.size * people * strategy.reach / request.exact_epsilon))
    size = people**2 * moved(strategy, request.relation, people)
    careful = request.squared_ratio(Fraction(1))
    first = max(1, math.ceil(size / careful))
    lowered = math.floor(first * careful / request.squared_ratio(LARGE))
    return max(1, math.ceil(size / request.squared_ratio(Fraction(max(1, lowered)))))


class _Toeplitz:
    """Ranges of one column from the root of its prefixes."""

    rising = True

    def __init__(
        self, schema: Schema, strategy: ToeplitzStrategy, starts: Integers, stops: Integers
    ) -> None:
        self._schema = schema
        self._strategy, self._starts, self._stops = strategy, starts, stops
        self.columns: Columns = (strategy.column,)
        self._inverse = _inverse_root(strategy.size, strategy.bits)
        self.deviations = np.sqrt(self._variances())
        self.largest: float | None = self._simulated()

    def _variances(self) -> Floats:
        """Of every range: the noise of a prefix is ``prefix`` of all numbers before its end."""
        prefix, lengths = np.cumsum(self._inverse), self._stops - self._starts
        variances: Floats = np.concatenate([[0.0], np.cumsum(prefix**2)])[lengths]
        inner = np.flatnonzero(self._starts)
        inner = inner[np.argsort(lengths[inner], kind="stable")]
        for same in np.split(inner, np.flatnonzero(np.diff(lengths[inner])) + 1):
            if len(same) and (length := int(lengths[same[0]])):
                starts = self._starts[same]
                last = int(starts.max())
                apart = prefix[length : length + last] - prefix[:last]
                variances[same] += np.cumsum(apart * apart)[starts - 1]
        return variances

    def _simulated(self) -> float:
        """The median of the largest error: ranges that overlap have errors alike."""
        size, length = len(self._inverse), 2 * len(self._inverse)
        draws = max(16, min(200, (1 << 18) // size))
        noise = fixed_normals(0, size * draws).reshape(draws, size)
        shown = np.fft.rfft(np.cumsum(self._inverse), length)
        sums = np.fft.irfft(np.fft.rfft(noise, length) * shown, length)[:, :size]
        sums = np.concatenate([np.zeros((draws, 1)), sums], axis=1)
        if not self._starts.any():
            worst = np.abs(sums[:, self._stops]).max(axis=1)
        elif len(self._starts) > _MOST_RANGES:  # no range has more than lies between two prefixes
            worst = sums.max(axis=1) - sums.min(axis=1)
        else:
            worst = np.abs(sums[:, self._stops] - sums[:, self._starts]).max(axis=1)
        return MARGIN * float(np.median(worst))

    def answers(self, numbers: Floats, total: int | None) -> Floats:
        """Sums of the column that the numbers tell."""
        sums = np.concatenate([[0.0], np.cumsum(self._cells(numbers))])
        return np.asarray(sums[self._stops] - sums[self._starts])

    def total(self, numbers: Floats) -> float:
        """The sum of the column."""
        return float(self._cells(numbers).sum())

    def _cells(self, numbers: Floats) -> Floats:
        return np.convolve(self._inverse, numbers)[: len(numbers)]

    def distribution(
        self, numbers: Floats, deviation: float, rows: int
    ) -> tuple[Floats, FitQuality | None]:
        """Of the column: its prefixes, made to rise."""
        return monotone(np.cumsum(self._cells(numbers)), rows), None


@lru_cache(maxsize=8)
def _inverse_root(size: int, bits: int) -> Floats:
    """The first column of the inverse of the rounded root of the prefixes."""
    unit = float(1 << bits)
    inverse = _series_inverse(root_of_prefixes(size, bits) / unit) / unit
    inverse.flags.writeable = False
    return inverse


def _series_inverse(f: Floats) -> Floats:
    """The coefficients of one over a power series, by Newton's iteration."""
    inverse = np.array([1.0 / f[0]])
    while True:
        known = len(inverse)
        size = min(2 * known, len(f))
        wrong = _product(f[:size], inverse)
        wrong[0] -= 1.0
        inverse = np.pad(inverse, (0, size - known)) - _product(inverse, wrong)[:size]
        if known == len(f):  # a last step takes off what rounding left
            return inverse


def _product(f: Floats, g: Floats) -> Floats:
    """The first coefficients of the product of two power series, as many as the longer has."""
    size = max(len(f), len(g))
    length = 2 * size
    return np.asarray(np.fft.irfft(np.fft.rfft(f, length) * np.fft.rfft(g, length), length)[:size])


class _Matrix:
    """Any queries over few cells, by least squares; a public total is used."""

    rising = False

    @one_thread()
    def __init__(self, strategy: MatrixStrategy, queries: Floats, known: bool) -> None:
        self._matrix, self._queries, self._known = strategy.matrix, queries, known
        self.columns = strategy.columns
        a = strategy.matrix.astype(np.float64)
        self._inverse = np.linalg.pinv(a)
        cover = self._inverse @ self._inverse.T
        if known:
            ones = cover.sum(axis=1)
            self._shift = ones / ones.sum()
            cover = cover - np.outer(ones, ones) / ones.sum()
        variances = np.einsum("ij,ij->i", queries @ cover, queries)
        self.deviations = np.sqrt(np.maximum(variances, 0.0))
        self.largest: float | None = None

    def answers(self, numbers: Floats, total: int | None) -> Floats:
        """The queries of the least-squares cells."""
        cells = self._inverse @ numbers
        if self._known and total is not None:
            cells = cells + self._shift * (total - cells.sum())
        return np.asarray(self._queries @ cells)

    def total(self, numbers: Floats) -> float:
        """The sum of the least-squares cells."""
        return float((self._inverse @ numbers).sum())

    def distribution(
        self, numbers: Floats, deviation: float, rows: int
    ) -> tuple[Floats, FitQuality | None]:
        """Of maximum entropy."""
        return MeasuredMatrix(self._matrix, numbers, deviation, rows).fitted()


class _Queries:
    """Every query with its own noise, and last, where it is private, the number of rows."""

    rising = False

    def __init__(self, strategy: QueriesStrategy, asked: int) -> None:
        self._strategy, self._asked = strategy, asked
        self.columns = tuple(range(len(strategy.workload.schema.columns)))
        self.deviations = np.full(asked, 1.0 / strategy.unit)
        self.largest: float | None = None

    def answers(self, numbers: Floats, total: int | None) -> Floats:
        """The numbers in rows."""
        return numbers[: self._asked] / self._strategy.unit

    def total(self, numbers: Floats) -> float:
        """The last number counts all rows."""
        return float(numbers[-1]) / self._strategy.unit

    def distribution(
        self, numbers: Floats, deviation: float, rows: int
    ) -> tuple[Floats, FitQuality | None]:
        """Of maximum entropy; of very many queries some are enough."""
        unit = self._strategy.unit
        some, numbers_kept = thinned(self._strategy.workload, numbers / unit, _MOST_FITTED_ENTRIES)
        return MeasuredQueries(some, numbers_kept, deviation / unit, rows).fitted()
