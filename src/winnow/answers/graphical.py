"""Whether a graphical model can answer a workload."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from winnow.answers.prediction import EXACT, THUMB, Prediction
from winnow.answers.request import AnswersRequest
from winnow.core.workloads.part import table_columns
from winnow.wide.at_once import AtOnce
from winnow.wide.rules import (
    ASSUMED_ROWS,
    TABLES_BETTER,
    mean_distance,
    model_cells,
    pair_noise,
    plain_distance,
    rounds_seconds,
    schedule,
)
from winnow.wide.settings import WideRequest, wide_settings

_NOTE = "for domains with too many cells for other methods; the largest error depends on the data"


def predict_graphical(request: AnswersRequest) -> Prediction | str:
    """The prediction, or why it cannot run. Of the largest error nothing is known."""
    sets = [table_columns(part) for part in request.workload.parts]
    if None in sets:
        return "it is for workloads of marginal tables"
    pairs = {pair for columns in sets for pair in combinations(sorted(columns or ()), 2)}
    if not pairs:
        return "no table of the workload has two columns"
    shape = request.schema.shape
    public: dict[str, Any] = {
        "epsilon": float(request.epsilon),
        "rho": request.rho,
        "people": request.relation.people,
        "rows_per_person": request.rows_per_person,
        "rows": request.total or ASSUMED_ROWS,
    }
    nu = pair_noise(shape, list(pairs), **public)
    far = mean_distance(nu, (len(columns or ()) for columns in sets))
    plain = plain_distance([part.size for part in request.workload.parts], **public)
    if plain <= TABLES_BETTER * far and isinstance(known := _at_once(request), Prediction):
        return known
    bound = model_cells(nu)
    rounds = schedule(len(shape), nu, pure=request.pure).rounds
    seconds = rounds_seconds(rounds, cells=request.workload.size, model_cells=bound)
    mean = 2.0 * (request.total or ASSUMED_ROWS) * far * len(sets) / request.workload.size
    return Prediction("graphical", None, mean, None, seconds, THUMB, _NOTE)


def _at_once(request: AnswersRequest) -> Prediction | None:
    """The prediction where all tables are measured and the model holds only some of them."""
    planned = wide_settings(
        WideRequest(
            request.workload,
            request.schema,
            request.epsilon,
            request.delta,
            request.relation,
            request.rows_per_person,
            rows=request.total,
            accountant=request.accountant,
            memory=request.memory,
        )
    )
    if not isinstance(planned, AtOnce) or planned.some is None:
        return None
    errors = planned.tables.strategy.errors
    note = "all tables at once, and a model of some"
    numbers = errors.largest, errors.mean, errors.rms
    return Prediction("graphical", *numbers, planned.seconds, EXACT, note)
