"""Whether a graphical model can answer a workload."""

from __future__ import annotations

from itertools import combinations

from winnow.answers.prediction import THUMB, Prediction
from winnow.answers.request import AnswersRequest
from winnow.core.workloads.part import table_columns
from winnow.wide.rules import (
    ASSUMED_ROWS,
    distance,
    model_cells,
    pair_noise,
    rounds_seconds,
    schedule,
)

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
    nu = pair_noise(
        shape,
        list(pairs),
        epsilon=float(request.epsilon),
        rho=request.rho,
        people=request.relation.people,
        rows_per_person=request.rows_per_person,
        rows=request.total or ASSUMED_ROWS,
    )
    bound = model_cells(nu)
    rounds = schedule(len(shape), nu, pure=request.pure).rounds
    seconds = rounds_seconds(rounds, cells=request.workload.size, model_cells=bound)
    moved = sum(distance(nu, len(columns or ())) for columns in sets)
    mean = 2.0 * (request.total or ASSUMED_ROWS) * moved / request.workload.size
    return Prediction("graphical", None, mean, None, seconds, THUMB, _NOTE)
