"""``winnow.release_wide``: a synthetic table with all columns, however wide the table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from winnow.core.checks import Real
from winnow.core.mechanism import grant_for, sizing_accountant
from winnow.core.padding import SPARE, Padding, PadTo, check_progress
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.core.tape import Randomness, Tape
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.read.crossing import SealedTable, sealed_table, true_counts
from winnow.tables.crossing import check_rows
from winnow.tables.estimates import layer_of
from winnow.wide.at_once import AtOnce, fit_at_once
from winnow.wide.request import WideRequest
from winnow.wide.rounds import fit_wide
from winnow.wide.rules import SELECTION_SHARE
from winnow.wide.settings import wide_settings
from winnow.wide.synthetic import WideSynthetic


@guarded
def release_wide(
    table: SealedTable,
    workload: Any,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    rounds: int | None = None,
    share: Real = SELECTION_SHARE,
    first_share: Real | None = None,
    model_cells: int | None = None,
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
    be accurate about, such as ``wn.marginals(3)``. What happens is fixed by public numbers (see
    ``winnow.wide.rules`` and ``wn.plan.release_wide``): if noise spares them and a model can hold
    them, all tables are measured at once, as ``wn.tabulate`` would; if it spares none of two
    columns, each column alone; else there are rounds. Then each column is measured alone first,
    with the part ``first_share`` of the budget; each of ``rounds`` rounds selects a table of the
    workload, or of some columns of one, that the model gets wrong by more than noise (exponential
    mechanism, ``share`` of a round's budget), and measures it whole (discrete Gaussian noise;
    without a delta discrete Laplace noise, and shares are shares of epsilon).
    Who gives ``rounds`` or ``first_share`` gets rounds. The whole is (epsilon, delta)-DP and
    charged once, before the first draw.

    The model is fitted by weighted least squares with a pull towards independent columns, which is
    post-processing; ``value.fit`` says how well, and proves how near the best. ``model_cells``
    bounds the cells of its junction tree: tables that would make it larger are not candidates.
    Unless told it is 100,000, and up to four times as many where noise is weak.
    ``relation``, ``rows``, ``budget``, ``progress``, ``pad_to`` and ``seed`` are as in
    ``wn.release``; where the number of rows is not public it comes out of the first tables, at no
    further cost.
    """
    padding = Padding(pad_to)
    check_progress(progress, pad_to)
    table = sealed_table(table, relation)
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
    if isinstance(planned, AtOnce):
        return _at_once(table, planned, budget, randomness.tape(), padding)
    first = true_counts(table, planned.first)
    grant = grant_for(planned.rounds.event, budget, table.unit)
    with padding.held(lambda: SPARE * planned.seconds):
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


def _at_once(
    table: SealedTable, planned: AtOnce, budget: Budget | None, tape: Tape, padding: Padding
) -> Released[WideSynthetic]:
    check_rows(table)
    mechanism = planned.tables.strategy.mechanism
    grant = grant_for(mechanism.promise(table.relation).event, budget, table.unit)
    with padding.held(lambda: SPARE * planned.seconds):
        noisy = mechanism.measure(table, grant, tape)
        geometry = planned.tables.strategy.geometry
        layer = layer_of(geometry, mechanism, noisy.numbers, total=planned.tables.total)
        value = fit_at_once(planned, layer)
    receipt = replace(
        noisy.receipt,
        mechanism=f"graphical model; {noisy.receipt.mechanism}",
        reason=planned.reason,
        held=padding.note,
    )
    return Released(value, planned.tables.guarantee, receipt).about(table.unit)


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
