"""``winnow.release_wide``: a synthetic table with all columns, however wide the table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from winnow.core.checks import Real
from winnow.core.mechanism import grant_for, sizing_accountant
from winnow.core.padding import SPARE, Padding, PadTo
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.tape import Randomness
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.read.crossing import SealedTable, true_counts
from winnow.wide.rounds import fit_wide
from winnow.wide.settings import (
    FIRST_SHARE,
    MODEL_CELLS,
    SELECTION_SHARE,
    WideRequest,
    WideSettings,
    wide_settings,
)
from winnow.wide.synthetic import WideSynthetic


@guarded
def release_wide(
    table: SealedTable,
    workload: Any,
    *,
    epsilon: Real,
    delta: Real,
    rounds: int | None = None,
    share: Real = SELECTION_SHARE,
    first_share: Real = FIRST_SHARE,
    model_cells: int = MODEL_CELLS,
    relation: str | Relation | None = None,
    rows: int | None = None,
    accountant: str = "best",
    budget: Budget | None = None,
    memory: str | int = "4GB",
    progress: Callable[[int, int], None] | None = None,
    pad_to: PadTo = None,
    seed: int | None = None,
) -> Released[WideSynthetic]:
    """Release a graphical model of a table whose domain does not fit memory, privately.

    ``table`` is what ``wn.read_table`` made, of any width; ``workload`` the marginal tables to
    be accurate about, such as ``wn.marginals(3)``. Each column is measured alone first, with
    the part ``first_share`` of the budget. Each of ``rounds`` rounds (three for every two
    columns unless given) then selects a table of the workload, or of some columns of one, that the
    model gets wrong by more than noise (exponential mechanism, ``share`` of a round's budget),
    and measures it whole (discrete Gaussian noise). The whole is (epsilon, delta)-DP and
    charged once, before the first draw.

    The model is fitted by weighted least squares with a pull towards independent columns, which is
    post-processing; ``value.fit`` says how well, and proves how near the best. ``model_cells``
    bounds the cells of its junction tree: tables that would make it larger are not candidates.
    ``relation``, ``rows``, ``budget``, ``progress``, ``pad_to`` and ``seed`` are as in
    ``wn.release``; where the number of rows is not public it comes out of the first tables, at no
    further cost.
    """
    padding = Padding(pad_to)
    if not isinstance(table, SealedTable):
        raise ParameterError(
            f"the table is a {type(table).__name__}; read it with wn.read_table(source, schema=...)"
        )
    if progress is not None and not callable(progress):
        raise ParameterError("progress is not a function; give one of (rounds done, rounds in all)")
    if progress is not None and pad_to is not None:
        raise ParameterError(
            "progress tells the time that pad_to is to hide; leave out one of them"
        )
    if relation is not None:
        table = table.under(relation)
    randomness = Randomness(seed)
    planned = wide_settings(
        WideRequest(
            workload=workload,
            schema=table.schema,
            epsilon=epsilon,
            delta=delta,
            relation=table.relation,
            rows_per_person=table.rows_per_person,
            public_rows=table.n,
            rows=rows,
            rounds=rounds,
            share=share,
            first_share=first_share,
            model_cells=model_cells,
            accountant=_accountant(accountant, budget, delta),
            memory=memory,
        )
    )
    first = true_counts(table, planned.first)
    grant = grant_for(planned.rounds.event, budget)
    with padding.held(lambda: wide_seconds(planned)):
        run = planned.mechanism.open(
            first,
            planned.first,
            grant,
            randomness.tape(),
            relation=planned.relation,
            rows_per_person=planned.rows_per_person,
        )
        value = fit_wide(table, run, planned, progress)
    receipt = replace(
        run.receipt,
        mechanism=f"graphical model; {run.receipt.mechanism}",
        reason=planned.reason,
        held=padding.note,
    )
    return Released(value, planned.rounds.guarantee, receipt).about(table.unit)


def wide_seconds(planned: WideSettings) -> float:
    """The public time of a plan, with models of half the cells that they may have."""
    cells = sum(part.size for part in planned.candidates.parts)
    each = 0.3 + 2.5e-6 * planned.model_cells + 1e-7 * cells
    return SPARE * (4.0 + planned.rounds.rounds * each)


def _accountant(accountant: str, budget: Budget | None, delta: Real) -> str:
    """What sizes the plan: a shared budget counts in its own way."""
    if budget is None:
        return accountant
    sizing = sizing_accountant(budget, delta)
    if accountant not in ("best", sizing):
        raise ParameterError(
            f"accountant={accountant!r} does not count for a budget that adds up by "
            f"{budget.accountant!r}; leave it out"
        )
    return sizing
