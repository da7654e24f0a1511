"""Whether a graphical model can answer a workload."""

from __future__ import annotations

from winnow.answers.prediction import UNKNOWN, Prediction
from winnow.answers.request import AnswersRequest
from winnow.core.workloads.part import table_columns
from winnow.wide.settings import MODEL_CELLS, default_rounds

_NOTE = "for domains with too many cells for other methods; its error depends on the data"


def predict_graphical(request: AnswersRequest) -> Prediction | str:
    """The prediction, or why it cannot run. Its errors depend on the data: nothing is known."""
    if request.pure:
        return "it measures whole tables with Gaussian noise, which needs a delta > 0"
    sets = [table_columns(part) for part in request.workload.parts]
    if None in sets:
        return "it is for workloads of marginal tables"
    spoken = {column for columns in sets for column in columns or ()}
    if len(spoken) < len(request.schema.columns):
        return "the workload does not speak of every column"
    if all(len(columns or ()) < 2 for columns in sets):
        return "no table of the workload has two columns"
    each = 0.3 + 1.2e-6 * MODEL_CELLS + 1e-7 * request.workload.size
    seconds = 1.0 + default_rounds(len(request.schema.columns)) * each
    return Prediction("graphical", None, None, None, seconds, UNKNOWN, _NOTE)
