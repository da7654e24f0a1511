"""What to expect of MWEM, over single queries and over whole tables."""

from __future__ import annotations

from winnow.core.process import memory_text, parse_memory
from winnow.core.schema import cells_text
from winnow.core.unit import counted
from winnow.core.workloads.part import table_columns
from winnow.release.prediction import THUMB, Prediction
from winnow.release.rounds.mwem import TABLES, default_rounds
from winnow.release.rounds.mwem_request import MwemRequest
from winnow.release.rounds.prediction import predicted_errors, predicted_table_errors
from winnow.release.rounds.rounds_plan import run_seconds
from winnow.release.rounds.settings import BYTES_PER_CELL, ROWS_WITHOUT_TOTAL, release_settings
from winnow.release.terms import ReleaseTerms


def predict_mwem(request: ReleaseTerms) -> Prediction | str:
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
    return Prediction("mwem", *found, seconds, THUMB, counted(rounds, "round"))


def predict_adaptive(request: ReleaseTerms) -> Prediction | str:
    """The prediction for rounds over whole tables, or why they cannot run."""
    workload = request.workload
    if None in map(table_columns, workload.parts):
        return "it is for workloads of marginal tables"
    if isinstance(refused := predict_mwem(request), str):
        return refused
    planned = release_settings(
        MwemRequest(
            workload,
            request.schema,
            request.epsilon,
            request.delta,
            request.relation,
            request.rows_per_person,
            rows=request.total,
            update=TABLES,
            accountant="pure" if request.pure else "zcdp",  # for its size, that is near enough
            memory=request.memory,
        )
    )
    rounds = planned.rounds.rounds
    found = predicted_table_errors(
        noise=planned.cell_noise.deviation,
        cells=workload.size,
        rows=request.total or ROWS_WITHOUT_TOTAL,
        measured=rounds / len(workload.parts),
    )
    return Prediction(
        "adaptive",
        *found,
        run_seconds(planned),
        THUMB,
        f"{counted(rounds, 'round')} over whole tables",
    )


def mwem_rounds(request: ReleaseTerms) -> int:
    """How many rounds MWEM takes unless told otherwise."""
    return default_rounds(
        cells=request.schema.cells,
        queries=request.workload.size,
        total=request.total or ROWS_WITHOUT_TOTAL,
        rows_per_person=request.rows_per_person,
        rho=request.rho,
        epsilon=float(request.epsilon),
    )
