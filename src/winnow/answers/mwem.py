"""What to expect of MWEM."""

from __future__ import annotations

from winnow.answers.prediction import THUMB, Prediction
from winnow.answers.request import AnswersRequest
from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import cells_text
from winnow.release.mwem import default_rounds
from winnow.release.prediction import predicted_errors
from winnow.release.settings import BYTES_PER_CELL, ROUNDS_WITHOUT_TOTAL


def predict_mwem(request: AnswersRequest) -> Prediction | str:
    """The prediction, or why it cannot run."""
    schema, workload = request.schema, request.workload
    needed = BYTES_PER_CELL * schema.cells + workload.memory()
    if needed > parse_memory(request.memory):
        return (
            f"the domain has {cells_text(schema.cells)} cells and needs about "
            f"{memory_text(needed)}, more than the memory that is allowed"
        )
    rounds = mwem_rounds(request)
    found = predicted_errors(
        queries=workload.size,
        rounds=rounds,
        rows_per_person=request.rows_per_person,
        rho=request.rho,
        epsilon=float(request.epsilon),
    )
    seconds = 0.1 + 5e-8 * schema.cells + 1e-6 * workload.size
    seconds += rounds * (1e-3 + 2e-9 * schema.cells + 1e-7 * workload.size)
    return Prediction("mwem", *found, seconds, THUMB, f"{rounds} rounds")


def mwem_rounds(request: AnswersRequest) -> int:
    """How many rounds MWEM takes unless told otherwise."""
    if request.total is None:
        return ROUNDS_WITHOUT_TOTAL
    return default_rounds(
        cells=request.schema.cells,
        queries=request.workload.size,
        total=request.total,
        rows_per_person=request.rows_per_person,
        rho=request.rho,
        epsilon=float(request.epsilon),
    )
