"""A graphical model of all columns, however wide the table is: its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from winnow.core.key import Key
from winnow.read.crossing import SealedTable, true_counts
from winnow.release.drawn import MethodPlan, Progress
from winnow.release.graphical.at_once import AtOnce, fit_at_once
from winnow.release.graphical.expected import expected_of
from winnow.release.graphical.rounds import fit_wide
from winnow.release.graphical.settings import WideSettings, wide_settings
from winnow.release.graphical.synthetic import WideSynthetic
from winnow.release.tables.estimates import layer_of
from winnow.release.terms import ReleaseTerms

if TYPE_CHECKING:
    from winnow.release.methods import Graphical


def model_plan(method: Graphical, terms: ReleaseTerms, progress: Progress) -> MethodPlan:
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
    planned = wide_settings(method, terms)
    if isinstance(planned, AtOnce):
        return _at_once(planned, terms)
    return _rounds(planned, terms, progress)


def _rounds(planned: WideSettings, terms: ReleaseTerms, progress: Progress) -> MethodPlan:
    """Rounds of selection and measurement, each followed by a fit."""
    mechanism = planned.mechanism

    def fitted(table: SealedTable, key: Key) -> WideSynthetic:
        run = mechanism.open(
            true_counts(table, planned.first),
            planned.first,
            key,
            relation=terms.relation,
            rows_per_person=terms.rows_per_person,
        )
        return fit_wide(table, run, planned, progress)

    return MethodPlan(
        mechanism=mechanism,
        relation=terms.relation,
        guarantee=planned.rounds.guarantee,
        draw=fitted,
        check=lambda table: mechanism.check(table.relation, table.rows_per_person),
        title=f"graphical model; {mechanism.name}",
        reason=planned.reason,
        seconds=planned.seconds,
        expected=expected_of(terms, planned),
    )


def _at_once(planned: AtOnce, terms: ReleaseTerms) -> MethodPlan:
    """All tables in one measurement, then one fit."""
    strategy = planned.tables.strategy
    mechanism = strategy.mechanism

    def fitted(private: SealedTable, key: Key) -> WideSynthetic:
        numbers = mechanism.drawn(private, key)
        layer = layer_of(strategy.geometry, mechanism, numbers, total=planned.tables.total)
        return fit_at_once(planned, layer)

    return MethodPlan(
        mechanism=mechanism,
        relation=terms.relation,
        guarantee=planned.tables.guarantee,
        draw=fitted,
        check=mechanism.check,
        title=f"graphical model; {mechanism.name}",
        reason=planned.reason,
        seconds=planned.seconds,
        expected=expected_of(terms, planned),
    )
