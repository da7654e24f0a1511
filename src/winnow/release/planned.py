"""Every method's plan: what is fixed before rows are looked at, and what then draws."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from winnow.core.key import Key
from winnow.core.plan import Plan
from winnow.read.crossing import SealedTable
from winnow.release.graphical.expected import expected_of
from winnow.release.graphical.model_plan import model_plan
from winnow.release.graphical.predicted import predict_graphical
from winnow.release.graphical.request import WideRequest
from winnow.release.graphical.rules import SELECTION_SHARE
from winnow.release.matrices.linear import LinearPlan
from winnow.release.methods import MWEM, Adaptive, Graphical, MeasuredOnce
from winnow.release.plan import ReleasePlan
from winnow.release.prediction import PROMISED, Prediction, unknown
from winnow.release.request import Release
from winnow.release.rounds.mwem import TABLES, Mwem
from winnow.release.rounds.mwem_request import MwemRequest
from winnow.release.rounds.predicted import predict_adaptive, predict_mwem
from winnow.release.rounds.rounds_plan import BETA, adaptive_plan, mwem_plan, promising
from winnow.release.settings import MethodChoice
from winnow.release.synthetic import SyntheticDistribution
from winnow.release.tables.answered import measure_linear, measure_tables
from winnow.release.terms import ReleaseTerms

_ANSWERED = (
    "answers are those of a distribution fitted to what was measured, each within an interval "
    "of its unbiased estimate"
)


def measured(method: MeasuredOnce, asked: Release, choice: MethodChoice) -> ReleasePlan:
    """One event of noise on whole numbers, then a fit."""
    terms = choice.request
    chosen = choice.tables if choice.method == "tables" else choice.linear[choice.method]

    def answered(private: SealedTable, key: Key) -> SyntheticDistribution:
        if isinstance(chosen, LinearPlan):
            return measure_linear(chosen, choice.tables.plain, terms, private, key)
        return measure_tables(chosen, terms, private, key)

    return ReleasePlan(
        mechanism=chosen.mechanism,
        relation=terms.relation,
        guarantee=chosen.guarantee,
        draw=answered,
        check=chosen.mechanism.check,
        reason=f"{choice.reason}; {_ANSWERED}",
        seconds=choice.taken.seconds,
        asked=asked,
        terms=terms,
        method=method,
        why=choice.reason,
    )


def mwem(method: MWEM, asked: Release, terms: ReleaseTerms) -> ReleasePlan:
    """Rounds over single queries."""
    request = MwemRequest(
        **_public(terms),
        rounds=method.rounds,
        update=method.update or ("gap" if method.alpha is None else "sign"),
        measurement=method.measurement,
        share=method.share,
        total_share=method.total_share,
        warm_start=method.warm_start,
        groups=method.groups,
        universe=method.universe,
        universe_seed=int(method.universe_seed),
        smoothness=method.smoothness,
        phi=method.phi,
        index=method.index,
        slack=method.slack,
    )
    step = None if method.step is None else float(method.step)
    rule = Mwem(request.update, step, method.replay, method.result)
    if method.alpha is not None:
        request = promising(request, method.alpha)
    settings, plan = mwem_plan(request, rule, asked.running.progress)
    return _released(plan, method, asked, terms, settings)


def adaptive(method: Adaptive, asked: Release, terms: ReleaseTerms) -> ReleasePlan:
    """Rounds over whole tables."""
    request = MwemRequest(
        **_public(terms),
        rounds=method.rounds,
        update=TABLES,
        measurement=method.measurement,
        share=method.share,
        total_share=method.total_share,
        groups=method.groups,
    )
    settings, plan = adaptive_plan(request, asked.running.progress)
    return _released(plan, method, asked, terms, settings)


def graphical(method: Graphical, asked: Release, terms: ReleaseTerms) -> ReleasePlan:
    """A graphical model."""
    request = WideRequest(
        **_public(terms),
        rounds=method.rounds,
        share=SELECTION_SHARE if method.share is None else method.share,
        first_share=method.first_share,
        model_cells=method.model_cells,
    )
    settings, plan = model_plan(request, asked.running.progress)
    return _released(plan, method, asked, terms, expected_of(request, settings))


def rounds_errors(method: MWEM | Adaptive | Graphical, terms: ReleaseTerms) -> Prediction:
    """What to expect of a method with its options: what is promised, or a rule of thumb."""
    word = method.word()
    if isinstance(method, MWEM) and method.alpha is not None and terms.total is not None:
        note = f"promised with probability {1 - BETA:g}"
        largest = float(method.alpha) * terms.total
        return Prediction(word, largest, None, None, 0.0, PROMISED, note)
    if method.told:
        return unknown(word, "nothing is known of the errors of these options beforehand")
    predicted = {MWEM: predict_mwem, Adaptive: predict_adaptive, Graphical: predict_graphical}
    made = predicted[type(method)](terms)
    return unknown(word, made) if isinstance(made, str) else made.capped(terms.total)


def _public(terms: ReleaseTerms) -> dict[str, Any]:
    """What every method goes by."""
    return {
        "workload": terms.workload,
        "schema": terms.schema,
        "epsilon": terms.epsilon,
        "delta": terms.delta,
        "relation": terms.relation,
        "rows_per_person": terms.rows_per_person,
        "rows": terms.total,
        "accountant": terms.accountant,
        "memory": terms.memory,
    }


def _released(
    plan: Plan[SealedTable, Any], method: Any, asked: Release, terms: ReleaseTerms, expected: Any
) -> ReleasePlan:
    """The plan of a draw, with what was asked and what to expect."""
    drawn = {each.name: getattr(plan, each.name) for each in fields(Plan)}
    return ReleasePlan(
        **drawn, asked=asked, terms=terms, method=method, why=plan.reason, expected=expected
    )
