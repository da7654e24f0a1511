"""A graphical model of all columns, however wide the table is: its plan."""

from __future__ import annotations

from collections.abc import Callable

from winnow.core.key import Key
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.graphical.at_once import AtOnce, fit_at_once
from winnow.release.graphical.request import WideRequest
from winnow.release.graphical.rounds import fit_wide
from winnow.release.graphical.settings import WideSettings, wide_settings
from winnow.release.graphical.synthetic import WideSynthetic
from winnow.release.tables.estimates import layer_of

Progress = Callable[[int, int], None] | None


def model_plan(
    request: WideRequest, progress: Progress
) -> tuple[WideSettings | AtOnce, Plan[SealedTable, WideSynthetic]]:
    """What is measured for a graphical model, and the plan that does it.

    Public numbers decide (see ``winnow.release.graphical.rules``): if noise spares them and a model
    can hold them, all tables are measured at once, as ``wn.tabulate`` would; if it spares none of
    two columns, each column alone; else there are rounds. Then each column is measured alone first,
    with the part ``first_share`` of the budget; each round selects a table of the workload, or of
    some columns of one, that the model gets wrong by more than noise (exponential mechanism,
    ``share`` of a round's budget), and measures it whole (discrete Gaussian noise; without a delta
    discrete Laplace noise, and shares are shares of epsilon). Who gives ``rounds`` or
    ``first_share`` gets rounds. Where the number of rows is not public it comes out of the first
    tables, at no further cost.

    The model is fitted by weighted least squares with a pull towards independent columns, which is
    post-processing. Tables that would make it larger than ``model_cells`` are not candidates.
    """
    planned = wide_settings(request)
    if isinstance(planned, AtOnce):
        return planned, _at_once(planned, request.relation)
    return planned, _rounds(planned, progress)


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


def _at_once(planned: AtOnce, relation: Relation) -> Plan[SealedTable, WideSynthetic]:
    """All tables in one measurement, then one fit."""
    strategy = planned.tables.strategy
    mechanism = strategy.mechanism

    def fitted(private: SealedTable, key: Key) -> WideSynthetic:
        numbers = mechanism.drawn(private, key)
        layer = layer_of(strategy.geometry, mechanism, numbers, total=planned.tables.total)
        return fit_at_once(planned, layer)

    return Plan(
        mechanism=mechanism,
        relation=relation,
        guarantee=planned.tables.guarantee,
        draw=fitted,
        check=mechanism.check,
        title=f"graphical model; {mechanism.name}",
        reason=planned.reason,
        seconds=planned.seconds,
    )
