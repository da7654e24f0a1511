"""Selection mechanisms by the words that users write."""

from __future__ import annotations

from typing import Any

from winnow.core.checks import Real, exact, kept
from winnow.core.laws import Law
from winnow.core.plan import Plan, plan_of
from winnow.core.relation import Relation
from winnow.core.utility import Utility, declared
from winnow.errors import ParameterError
from winnow.mechanisms import CLASSES, SELECT, row_named
from winnow.read.scores import SealedScores
from winnow.select.crossing import FromClasses
from winnow.select.large_margin import LargeMargin
from winnow.select.mechanism import LipschitzMechanism, NoisyTopWithLeads


def selection_named(
    mechanism: str,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    k: int = 1,
    noise: str | Law | None = None,
    thresholds: str | None = None,
    with_leads: bool = False,
) -> LipschitzMechanism | LargeMargin:
    """The selection mechanism of this name; options that it does not have are refused."""
    row = row_named(SELECT, mechanism)
    if with_leads and row.needs_delta:
        raise ParameterError(f"{mechanism} has no leads to release; use noisy-max")
    if row.needs_delta and k != 1:
        raise ParameterError(f"k={k}: {mechanism} selects one candidate; leave out k")
    row.refuse_unused(exact("delta", delta), {"noise": noise, "thresholds": thresholds})
    if "noise" in row.options and noise is None:
        raise ParameterError(f"{mechanism} needs noise=; choose one of: {', '.join(Law)}")
    asked = {
        "epsilon": epsilon,
        "delta": delta,
        "k": k,
        "noise": None if noise is None else Law.parse(noise),
        "thresholds": thresholds or "tight",
    }
    chosen: LipschitzMechanism | LargeMargin = row.build(asked)
    if with_leads and isinstance(chosen, LipschitzMechanism):
        return NoisyTopWithLeads(epsilon, chosen.noise, k)
    return chosen


def from_classes_named(
    mechanism: str,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    noise: str | Law | None = None,
    thresholds: str | None = None,
    growth: int | None = None,
) -> FromClasses:
    """The mechanism of this name that takes one candidate from given classes."""
    row = row_named(CLASSES, mechanism)
    if "k" in row.takes:
        raise ParameterError(f"{mechanism} is for several candidates; use winnow.top_k(..., k=)")
    said = {"noise": noise, "thresholds": thresholds, "growth": growth}
    row.refuse_unused(exact("delta", delta), said)
    for option in ("noise", "growth"):
        if option in row.options and said[option] is None:
            raise ParameterError(f"{mechanism} needs {option}=")
    asked = {
        "epsilon": epsilon,
        "delta": delta,
        "noise": Law.parse(row.noise or noise or Law.EXPONENTIAL),
        "thresholds": thresholds or "tight",
        "growth": growth,
    }
    return FromClasses(row.build(asked))


Prepared = tuple[Utility, LipschitzMechanism | LargeMargin, Plan[SealedScores, list[Any]]]
"""All of a selection that follows from its parameters: utility, mechanism and plan."""


@kept(Relation, Law)
def prepared(
    mechanism: str,
    epsilon: Real,
    delta: Real,
    k: int,
    noise: str | Law | None,
    thresholds: str | None,
    sensitivity: Real | tuple[Real, Real],
    monotone: bool,
    relation: str | Relation,
    with_leads: bool = False,
) -> Prepared:
    """A selection before it sees any scores; no parameter of it is private."""
    utility = declared(sensitivity, monotone, relation)
    chosen = selection_named(
        mechanism,
        epsilon=epsilon,
        delta=delta,
        k=k,
        noise=noise,
        thresholds=thresholds,
        with_leads=with_leads,
    )
    return utility, chosen, plan_of(chosen, utility.relation)
