"""Tables with noise, and a distribution fitted to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.core.key import Key
from winnow.core.process import parse_memory
from winnow.core.schema import cells_text
from winnow.core.workloads.forms import WholeTable
from winnow.core.workloads.marginal import MarginalPart
from winnow.core.workloads.workload import Workload
from winnow.errors import ParameterError
from winnow.privacy import Guarantee
from winnow.read.crossing import SealedTable
from winnow.release.after_fit import of_distribution, of_tables
from winnow.release.drawn import MethodPlan
from winnow.release.factors import Factor
from winnow.release.fitted_tables import fitted_factors, is_rising, uniform_factors
from winnow.release.graphical.at_once import AtOnce, fit_at_once
from winnow.release.graphical.synthetic import RESTS_ON
from winnow.release.graphical.whole_workload import MOST_WEIGHED, can_hold, model_of
from winnow.release.matrices.linear import (
    MOST_FITTED,
    LinearPlan,
    matrix_planned,
    plan_explicit,
    plan_queries,
    plan_toeplitz,
)
from winnow.release.model_distance import with_distance
from winnow.release.prediction import EXACT, Prediction, reason_for
from winnow.release.queries import cells_of, spoken_columns, squared_norms
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.tables.errors import Errors, Spread, predicted
from winnow.release.tables.estimates import layer_of
from winnow.release.tables.mechanism import MeasureTables
from winnow.release.tables.moved import reaches
from winnow.release.tables.parts import table_part
from winnow.release.tables.result import ReleasedTables
from winnow.release.tables.settings import TablesSettings, tables_settings
from winnow.release.tables.split import components
from winnow.release.terms import LARGE, ReleaseTerms
from winnow.release.value import AnsweredSynthetic, AnswerErrors

Floats = NDArray[np.float64]
Columns = tuple[int, ...]

_BYTES_PER_CELL = 64
"""Of a distribution over all cells, while it is fitted."""

_ANSWERED = (
    "answers are those of a distribution fitted to what was measured, each within an interval "
    "of its unbiased estimate"
)

PLAIN_CELLS, PLAIN_QUERIES = "noise on each cell", "noise on each query"


@dataclass(frozen=True, eq=False)
class TablesPlan:
    """Tables that answer a workload; or why they cannot; and what plain noise would do."""

    plain: Prediction
    settings: TablesSettings | None = None
    whole: bool = False
    """Whether the one table of all columns is measured, for queries that are no tables."""
    prediction: Prediction | None = None
    refused: str = ""
    model: AtOnce | None = None
    """The graphical model to fit where the domain is too large for a weight on each cell."""

    @property
    def mechanism(self) -> MeasureTables:
        """What is measured."""
        assert self.settings is not None
        return self.settings.strategy.mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        assert self.settings is not None
        return self.settings.guarantee


@lru_cache(maxsize=4)
def plan_tables(request: ReleaseTerms) -> TablesPlan:
    """The tables to measure, from public numbers only.

    Plain noise is the better one of what is possible.
    """
    if all(table_part(part) is not None for part in request.workload.parts):
        return _plan_parts(request)
    by_query = _noise_on_queries(request)
    columns = spoken_columns(request.workload)
    if cells_of(request.schema, columns) > MOST_FITTED:
        text = cells_text(cells_of(request.schema, columns))
        return TablesPlan(by_query, refused=f"the queries speak of {text} cells")
    whole = Workload(request.schema, (MarginalPart(request.schema, columns),))
    settings = tables_settings(replace(request, workload=whole))
    cell = float(settings.strategy.spreads[0].deviations.max())
    norms = squared_norms(request.workload, columns)
    spread = Spread(cell * np.sqrt(norms), 1)
    errors = predicted([spread], settings.strategy.mechanism.law)
    prediction = _prediction("tables", errors, _seconds(request, [columns]))
    plain = replace(prediction, method=PLAIN_CELLS)
    if plan_queries(request) is not None:
        plain = min(plain, by_query, key=lambda p: p.score)
    return TablesPlan(plain, settings, True, prediction)


def _plan_parts(request: ReleaseTerms) -> TablesPlan:
    forms = [part.form for part in request.workload.parts]
    tables = (table_part(part) for part in request.workload.parts)
    joined = components(each.columns for each in tables if each is not None)
    largest = max(cells_of(request.schema, columns) for columns in joined)
    unfit = largest > MOST_FITTED or _BYTES_PER_CELL * largest > parse_memory(request.memory)
    whole = all(isinstance(form, WholeTable) for form in forms)
    unfit = unfit or (whole and largest > MOST_WEIGHED and can_hold(request))
    if unfit and not (whole and can_hold(request)):
        reason = f"a distribution over {cells_text(largest)} cells is too large to fit"
        reason += "; wn.tabulate releases the tables alone" if whole else ""
        return TablesPlan(
            _noise_on_cells(request) if whole else _noise_on_queries(request), refused=reason
        )
    try:
        settings = tables_settings(request, joint=not unfit)
    except ParameterError as error:
        return TablesPlan(_noise_on_queries(request), refused=str(error))
    plain = _prediction(PLAIN_CELLS, settings.plain.errors, 0.1)
    model = model_of(request, settings) if unfit else None
    seconds = model.seconds if model is not None else _seconds(request, joined)
    prediction = _prediction("tables", settings.strategy.errors, seconds)
    if request.total is not None:
        prediction = of_tables(prediction, settings, request.total)
    return TablesPlan(plain, settings, False, prediction, model=model)


def _prediction(method: str, errors: Errors, seconds: float) -> Prediction:
    return Prediction(method, errors.largest, errors.mean, errors.rms, seconds, EXACT)


def _noise_on_queries(request: ReleaseTerms) -> Prediction:
    """Every query with its own noise; many of them as if one person moved each of m by L."""
    each_query = plan_queries(request)
    if each_query is not None:
        return replace(each_query.prediction, method=PLAIN_QUERIES, note="")
    people, queries = request.rows_per_person, request.workload.size
    return _noise(request, PLAIN_QUERIES, people * queries, people**2 * queries)


def _noise_on_cells(request: ReleaseTerms) -> Prediction:
    """Every cell of every table with the same noise: one row is in one cell of each."""
    people, moved = request.rows_per_person, request.relation.people * len(request.workload.parts)
    return _noise(request, PLAIN_CELLS, people * moved, people**2 * moved)


def _noise(request: ReleaseTerms, method: str, total: int, squared: int) -> Prediction:
    """The better of Laplace and Gaussian noise, when one person moves all answers by so much."""
    deviations = [math.sqrt(2) * total / float(request.epsilon)]
    law = "laplace"
    if not request.pure:
        ratio = float(request.squared_ratio(LARGE))
        deviations.append(math.sqrt(squared / ratio))
        law = "laplace" if deviations[0] < deviations[1] else "gaussian"
    spread = Spread(np.array([min(deviations)]), request.workload.size)
    return _prediction(method, predicted([spread], law), 0.1)


def _seconds(request: ReleaseTerms, joined: Sequence[Columns]) -> float:
    cells = sum(cells_of(request.schema, columns) for columns in joined)
    tables = len(request.workload.parts)
    return 0.3 + 200 * (2e-4 * tables + 2e-8 * cells * math.sqrt(tables))


def tables_start_from_it(request: ReleaseTerms) -> bool:
    """Whether the method "explicit" is noise on each count of whole tables, and nothing else.

    That is a strategy of the method "tables" (``tables.choice``), which takes the best of several.
    """
    forms = (part.form for part in request.workload.parts)
    return not matrix_planned(request) and all(isinstance(form, WholeTable) for form in forms)


def plain_noise(request: ReleaseTerms) -> Prediction:
    """The errors of plain noise."""
    return plan_tables(request).plain


def compared_errors(word: str, request: ReleaseTerms) -> Prediction | str:
    """What is predicted of "tables", "toeplitz" or "explicit", or why it cannot run."""
    made = _measurement(word, request, named=False)
    return made if isinstance(made, str) else _of_answers(made, request.total)


def noise_alone(word: str, request: ReleaseTerms) -> float:
    """The score of the noise of such a method, as if nothing were fitted; by exact formulas."""
    made = _measurement(word, request, named=False)
    assert not isinstance(made, str) and made.prediction is not None
    if isinstance(made, TablesPlan) and made.settings is not None and not made.whole:
        return _prediction(word, made.settings.strategy.errors, 0.0).score
    return made.prediction.score


def answered_errors(word: str, request: ReleaseTerms) -> Prediction:
    """What is predicted of a method that was asked for by its name."""
    return _of_answers(_asked_for(word, request), request.total)


def _of_answers(made: TablesPlan | LinearPlan, rows: int | None) -> Prediction:
    """What is predicted of the answers; of a distribution over all cells, after its fit."""
    assert made.prediction is not None
    fitted = made.whole if isinstance(made, TablesPlan) else not made.solution.rising
    return of_distribution(made.prediction, rows) if fitted else made.prediction


def answered_plan(word: str, request: ReleaseTerms) -> MethodPlan:
    """One event of noise on whole numbers, then a fit."""
    chosen, plain = _asked_for(word, request), plain_noise(request)

    def answered(private: SealedTable, key: Key) -> SyntheticDistribution:
        if isinstance(chosen, LinearPlan):
            return measure_linear(chosen, plain, request, private, key)
        return measure_tables(chosen, request, private, key)

    assert chosen.prediction is not None
    rows = request.total
    why = reason_for(_of_answers(chosen, rows).capped(rows), plain.capped(rows))
    return MethodPlan(
        mechanism=chosen.mechanism,
        relation=request.relation,
        guarantee=chosen.guarantee,
        draw=answered,
        check=chosen.mechanism.check,
        reason=f"{why}; {_ANSWERED}",
        seconds=chosen.prediction.seconds,
        why=why,
    )


def _asked_for(word: str, request: ReleaseTerms) -> TablesPlan | LinearPlan:
    made = _measurement(word, request, named=True)
    if isinstance(made, str):
        raise ParameterError(f"method={word!r} cannot run: {made}")
    return made


def _measurement(word: str, request: ReleaseTerms, *, named: bool) -> TablesPlan | LinearPlan | str:
    if word == "toeplitz":
        return plan_toeplitz(request)
    if word == "explicit":
        return plan_explicit(request, named=named)
    tables = plan_tables(request)
    return tables.refused if tables.prediction is None else tables


def measure_tables(
    plan: TablesPlan, request: ReleaseTerms, table: SealedTable, key: Key
) -> AnsweredSynthetic:
    """Measure the tables, and make answers and a distribution of them."""
    settings = plan.settings
    assert settings is not None
    numbers = plan.mechanism.drawn(table, key)
    layer = layer_of(settings.strategy.geometry, plan.mechanism, numbers, total=request.total)
    rows = max(1, round(float(layer.details[()])))
    tables = ReleasedTables(settings.parts, (layer,), plan.mechanism.law)
    if plan.model is None:
        factors, quality = fitted_factors(layer, request, rows)
    else:
        wide = fit_at_once(plan.model, layer)
        factors, quality = wide.factors, wide.fit
    estimates, errors = _answers(plan, request, tables, rows)
    value = AnsweredSynthetic(
        request.schema,
        factors,
        rows,
        rests_on=RESTS_ON if plan.model is not None else "",
        workload=request.workload,
        method="tables",
        estimates=estimates,
        standard_errors=errors,
        tables=tables,
        fit=quality,
    )
    rising = np.concatenate([np.full(p.size, is_rising(layer, p)) for p in settings.parts])
    rising = rising if not plan.whole else np.zeros(len(estimates), np.bool_)
    whole = plan.model is None and quality is not None and quality.ended
    return with_errors(value, plan.prediction, plan.plain, plan.mechanism.law, rising, whole=whole)


def measure_linear(
    plan: LinearPlan,
    plain: Prediction,
    request: ReleaseTerms,
    table: SealedTable,
    key: Key,
) -> AnsweredSynthetic:
    """Measure numbers that are no tables, and make answers and a distribution of them."""
    numbers = plan.mechanism.drawn(table, key).astype(np.float64)
    solution, workload = plan.solution, request.workload
    rows = request.total or max(1, round(solution.total(numbers)))
    columns, shape = solution.columns, request.schema.shape
    sizes = tuple(shape[c] for c in columns)
    weights, quality = solution.distribution(numbers, plan.deviation, rows)
    rising = np.full(workload.size, solution.rising)
    value = AnsweredSynthetic(
        request.schema,
        (Factor(columns, sizes, weights), *uniform_factors(shape, [columns])),
        rows,
        workload=workload,
        method=plan.prediction.method,
        estimates=solution.answers(numbers, request.total) / rows,
        standard_errors=plan.deviation * solution.deviations / rows,
        fit=quality,
    )
    return with_errors(value, plan.prediction, plain, plan.mechanism.law, rising)


def with_errors(
    value: AnsweredSynthetic,
    prediction: Prediction | None,
    plain: Prediction,
    law: str,
    rising: NDArray[np.bool_],
    *,
    whole: bool = False,
) -> AnsweredSynthetic:
    """The value with how far its answers are moved, and what is known of their errors.

    ``rising`` answers are those of the distribution: to make prefixes rise adds nothing to errors.
    So are all answers of a ``whole`` fit, which holds every measured table and came to its end. It
    is the nearest distribution to what was measured, but for a pull within the noise, and
    the data are one, too: the projection on a convex set is no further from any point of it than
    what was projected. On generated tables (``benchmarks/choice.py``) such answers had less error
    than those within an interval of the estimates, in the mean and at the worst.
    """
    assert prediction is not None and prediction.largest is not None and plain.largest is not None
    sizes = [part.size for part in value.workload.parts]
    reach = reaches(
        value._fitted - value.estimates,
        value.standard_errors,
        sizes,
        law,
        max(plain.largest, prediction.largest) / value.total,
    )
    fitted = rising | (whole & (value.standard_errors > 0.0))
    answered = replace(value, reach=np.where(fitted, np.inf, reach))
    distances = np.where(rising, 0.0, answered.distances)
    largest = prediction.largest / value.total
    known = replace(answered, errors=AnswerErrors(value.standard_errors, distances, largest, law))
    return with_distance(known, known.standard_errors)


def _answers(
    plan: TablesPlan, request: ReleaseTerms, tables: ReleasedTables, rows: int
) -> tuple[Floats, Floats]:
    """Estimates and standard errors, as fractions."""
    settings, workload = plan.settings, request.workload
    assert settings is not None
    if plan.whole:
        columns = settings.parts[0].columns
        cells = tables.tables[0].estimate
        spread = _spread_over(cells, columns, request.schema.shape)
        deviation = float(tables.tables[0].standard_error.max()) / rows
        errors = deviation * np.sqrt(squared_norms(workload, columns))
        return workload.answers(spread.ravel()) / rows, errors
    estimates = [table.estimate.ravel() / rows for table in tables.tables]
    errors_ = [table.standard_error.ravel() / rows for table in tables.tables]
    return np.concatenate(estimates), np.concatenate(errors_)


def _spread_over(cells: Floats, columns: Columns, shape: tuple[int, ...]) -> Floats:
    """A table of some columns as one of all: evenly over the others, which no query names."""
    sizes = [shape[c] if c in columns else 1 for c in range(len(shape))]
    rest = math.prod(shape) // math.prod(sizes)
    return np.ascontiguousarray(np.broadcast_to(cells.reshape(sizes) / rest, shape))
