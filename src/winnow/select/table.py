"""The mechanism of a method of selection, built from public numbers."""

from __future__ import annotations

from typing import Any

from winnow.core.checks import Real
from winnow.core.laws import Law
from winnow.core.options import Methods
from winnow.core.plan import Plan
from winnow.core.relation import Relation
from winnow.core.utility import declared
from winnow.errors import GuaranteeError, ParameterError
from winnow.mechanisms import CLASSES as CLASS_ROWS
from winnow.mechanisms import row_named
from winnow.select.about import AboutClasses, AboutScores
from winnow.select.crossing import FromClasses, Selection
from winnow.select.large_margin import LargeMargin as LargeMarginMechanism
from winnow.select.mechanism import LipschitzMechanism, NoisyTopWithLeads
from winnow.select.methods import (
    CLASSES,
    PRIVATE_LABELS,
    SCORES,
    SELECT_METHODS,
    Choosing,
    LargeMargin,
    Lipschitz,
    PickMethod,
    Sizes,
    bound_on_growth,
    check_delta,
    check_kind,
)


def selection_of(
    method: PickMethod, about: AboutScores, sizes: Sizes, with_leads: bool = False
) -> Selection:
    """The mechanism of a method for scores of a public list; what it cannot do is refused."""
    check_kind(method, PRIVATE_LABELS if about.private else SCORES, SELECT_METHODS)
    if with_leads and method.needs_delta:
        raise ParameterError(f"{method.word()} has no leads to release; use noisy-max")
    check_delta(method, sizes.delta, SELECT_METHODS)
    chosen = method.mechanism(about, sizes)
    check_built(method, chosen)
    if not with_leads:
        return chosen
    if not isinstance(chosen, LipschitzMechanism):
        raise ParameterError(f"{method.word()} has no leads to release; use noisy-max")
    return NoisyTopWithLeads(sizes.epsilon, chosen.noise, sizes.k)


def selection_named(
    word: str, *, epsilon: Real, delta: Real = 0.0, thresholds: str | None = None
) -> LipschitzMechanism | LargeMarginMechanism:
    """The mechanism that takes one candidate, by the word of its method."""
    said = {} if thresholds is None else {"thresholds": thresholds}
    method = Methods("", SELECT_METHODS, auto=False).build(word, said)
    assert isinstance(method, PickMethod)
    about = AboutScores(utility=declared(1, False, Relation.ADD_REMOVE))
    chosen = selection_of(method, about, Sizes(epsilon=epsilon, delta=delta))
    assert isinstance(chosen, LipschitzMechanism | LargeMarginMechanism)
    return chosen


def check_built(method: PickMethod, mechanism: object) -> None:
    """Refuse what a method of somebody's own built, where it is no mechanism of ours."""
    if not isinstance(mechanism, Selection):
        raise ParameterError(
            f"{type(method).__name__}.mechanism() returned a {type(mechanism).__name__}; return a "
            "mechanism that derives from winnow.select.crossing.Selection"
        )


def check_promised(method: PickMethod, plan: Plan[Any, Any], epsilon: Real, delta: Real) -> None:
    """Refuse a mechanism of somebody's own that would spend more than it was given."""
    stated = plan.guarantee
    if stated.epsilon > float(epsilon) * (1 + 1e-9) or stated.delta > float(delta) * (1 + 1e-9):
        raise GuaranteeError(
            f"{type(method).__name__}.mechanism() promises {stated}, which is more than "
            f"epsilon={float(epsilon):g}, delta={float(delta):g}; build it from sizes.epsilon and "
            "sizes.delta"
        )


def one_of_classes(method: PickMethod, about: AboutClasses, sizes: Sizes) -> FromClasses:
    """The mechanism of a method that takes one candidate from given classes."""
    check_kind(method, CLASSES, SELECT_METHODS)
    row = row_named(CLASS_ROWS, method.word())
    check_delta(method, sizes.delta, SELECT_METHODS)
    asked: dict[str, Any] = {
        "epsilon": sizes.epsilon,
        "delta": sizes.delta,
        "noise": Law.parse(
            row.noise or (method.noise if isinstance(method, Lipschitz) else None) or "exponential"
        ),
        "thresholds": method.thresholds if isinstance(method, LargeMargin) else "tight",
    }
    if isinstance(method, Choosing):
        asked["growth"] = bound_on_growth(method.growth, about.max_items)
    return FromClasses(row.build(asked))
