"""``winnow.release_wide``: a synthetic table with all columns, however wide the table is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from winnow.core.checks import Real
from winnow.core.key import Key
from winnow.core.padding import Padding, PadTo, check_progress
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.released import Released
from winnow.errors import ParameterError
from winnow.foreign import guarded
from winnow.privacy import Budget
from winnow.privacy.sizing import sizing_accountant
from winnow.read.crossing import SealedTable, sealed_table, true_counts
from winnow.tables.estimates import layer_of
from winnow.wide.at_once import AtOnce, fit_at_once
from winnow.wide.request import WideRequest
from winnow.wide.rounds import fit_wide
from winnow.wide.rules import SELECTION_SHARE
from winnow.wide.settings import WideSettings, wide_settings
from winnow.wide.synthetic import WideSynthetic

Progress = Callable[[int, int], None] | None


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
    progress: Progress = None,
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
    plan = _at_once(planned, table) if isinstance(planned, AtOnce) else _rounds(planned, progress)
    return plan.run(table, budget=budget, seed=seed, padding=padding)


def _rounds(planned: WideSettings, progress: Progress) -> Plan[SealedTable, WideSynthetic]:
    """Rounds of selection and measurement, each followed by a fit."""
    mechanism = planned.mechanism

    def fitted(table: SealedTable, key: Key) -> WideSynthetic:
        run = mechanism.open(
            true_counts(table, planned.first),
            planned.first,
            key,
            relation=planned.relation,
            rows_per_person=planned.rows_per_person,
        )
        return fit_wide(table, run, planned, progress)

    return Plan(
        mechanism=mechanism,
        relation=planned.relation,
        guarantee=planned.rounds.guarantee,
        draw=fitted,
        check=lambda table: mechanism.check(table.relation, table.rows_per_person),
        title=f"graphical model; {mechanism.name}",
        reason=planned.reason,
        seconds=planned.seconds,
    )


def _at_once(planned: AtOnce, table: SealedTable) -> Plan[SealedTable, WideSynthetic]:
    """All tables in one measurement, then one fit."""
    strategy = planned.tables.strategy
    mechanism = strategy.mechanism

    def fitted(private: SealedTable, key: Key) -> WideSynthetic:
        numbers = mechanism.drawn(private, key)
        layer = layer_of(strategy.geometry, mechanism, numbers, total=planned.tables.total)
        return fit_at_once(planned, layer)

    return Plan(
        mechanism=mechanism,
        relation=table.relation,
        guarantee=planned.tables.guarantee,
        draw=fitted,
        check=mechanism.check,
        title=f"graphical model; {mechanism.name}",
        reason=planned.reason,
        seconds=planned.seconds,
    )


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
