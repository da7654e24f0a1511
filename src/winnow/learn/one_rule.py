"""One hypothesis of a public class: how it is chosen, and what is promised of it on new rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from winnow.core.checks import Real, exact
from winnow.core.key import Key
from winnow.errors import ParameterError
from winnow.learn import bound as learning_bound
from winnow.learn.about import AboutRows
from winnow.learn.bound import GeneralisationBound, RuleBounds
from winnow.learn.crossing.rows import SealedLabelled
from winnow.learn.families import HypothesisClass, family_of
from winnow.learn.labelled import Labelled
from winnow.learn.methods import OneRule
from winnow.learn.plan import LearnPlan
from winnow.learn.predictor import Predictor
from winnow.learn.request import Learn
from winnow.learn.settings import SIZES, balanced_rule
from winnow.learn.weights import is_balanced, where_rare
from winnow.privacy import guarantee_of
from winnow.read.scores import SealedScores
from winnow.select.crossing.selection import Selection
from winnow.select.mechanisms.noisy_counts import WithCounts
from winnow.select.table import selection_named

_DEFAULT = "permute-and-flip"


def one_rule(method: OneRule, asked: Learn, about: AboutRows) -> LearnPlan:
    """One choice among all hypotheses of the class."""
    about.two_classes()
    family = family_of(method, about, asked.class_weights)
    if is_balanced(asked.class_weights):
        return _balanced(method, asked, about, family)
    nobody = about.nobody(asked.class_weights)
    by_class = nobody.class_weights is not None
    if by_class and method.with_accuracy:
        raise ParameterError(
            "with_accuracy counts rows and class_weights weigh them; leave out one of the two"
        )
    chosen = method.selection or (_DEFAULT if method.thresholds is None else "large-margin")
    share = exact("epsilon", asked.epsilon) / 2 if method.with_accuracy else asked.epsilon
    # A delta is allowed beside the default, which does not need it.
    needed = 0 if method.selection is None and chosen == _DEFAULT else asked.delta
    selection: Selection = selection_named(
        chosen, epsilon=share, delta=needed, thresholds=method.thresholds
    )
    mechanism: Selection = WithCounts(selection, share, 1) if method.with_accuracy else selection
    expected = None if by_class else _expected(method, asked, about, family.size, share)

    def predictor(data: SealedScores, key: Key) -> Predictor:
        (selected,) = mechanism.drawn(data, key)
        number, correct = selected if method.with_accuracy else (selected, None)
        bound = None
        if expected is not None:
            bound = _bound(expected, chosen, nobody, share, correct)
        made = family.predictor(number)
        return replace(made, correct=correct, rows=about.rows, bound=bound)

    def read(data: Labelled) -> SealedScores:
        return family.scores(data, asked.class_weights)

    table = () if expected is None else expected.table
    return LearnPlan(
        mechanism=mechanism,
        relation=about.relation,
        guarantee=mechanism.guarantee(mechanism.promise(about.relation)),
        draw=predictor,
        check=mechanism.check,
        reason=_reason(method),
        about=about,
        read=read,
        kind=family.kind,
        hypotheses=family.size,
        expected=expected,
        compared=table,
        error=next((row.excess for row in table if row.mechanism == chosen), None),
    )


def _reason(method: OneRule) -> str:
    if method.selection is not None:
        return ""
    if method.thresholds is not None:
        return "thresholds were given"
    return "it promises the least error: 2 Delta ln(|H|/eta)/epsilon, and needs no delta"


def _balanced(
    method: OneRule, asked: Learn, about: AboutRows, family: HypothesisClass
) -> LearnPlan:
    """The sizes of the classes, and a rule."""
    if (
        method.selection not in (None, _DEFAULT)
        or method.thresholds is not None
        or method.with_accuracy
    ):
        raise ParameterError(
            "a rule with class_weights='balanced' is chosen by permute-and-flip, and its "
            "accuracy is not released; leave out selection, thresholds and with_accuracy, or "
            "give a weight for each class"
        )
    rules = family.rules
    assert rules is not None  # others take no weights
    choice = balanced_rule(asked.epsilon, where_rare(asked.class_weights))

    def rule(data: SealedLabelled, key: Key) -> Predictor:
        return replace(family.predictor(choice.drawn(data, rules, key)), rows=about.rows)

    return LearnPlan(
        mechanism=choice,
        relation=about.relation,
        guarantee=guarantee_of(choice.promise(about.relation).event),
        draw=rule,
        check=choice.check,
        reason=f"{SIZES} of epsilon for the sizes of the classes, the rest for the choice",
        about=about,
        read=lambda data: data.coded(rules.features),
        kind=family.kind,
        hypotheses=family.size,
    )


def _expected(
    method: OneRule, asked: Learn, about: AboutRows, size: int, epsilon: Real
) -> RuleBounds | None:
    """What is promised, where the rows are one for each person and their number is public."""
    if about.rows is None or about.rows_per_person != 1:
        return None
    return learning_bound.learning_bound(
        size,
        rows=about.rows,
        epsilon=epsilon,
        delta=asked.delta,
        thresholds=method.thresholds or "tight",
        confidence=method.confidence,
        relation=about.relation,
    )


def _bound(
    expected: RuleBounds, mechanism: str, nobody: Any, epsilon: Real, correct: int | None
) -> GeneralisationBound:
    """The bound of the rule that was chosen, with its own error where that was paid for."""
    utility, rows, size = nobody.utility, expected.rows, expected.hypotheses
    miss = 1.0 - expected.confidence
    cost = learning_bound.privacy_error(mechanism, size, float(utility.half_width), epsilon, miss)
    error = None
    if correct is not None:
        scale = float(utility.one_sided / exact("epsilon", epsilon))
        error = learning_bound.error_bound(correct, scale, size, rows, miss)
    return GeneralisationBound(
        expected.confidence,
        rows,
        size,
        learning_bound.estimation_error(size, rows, miss),
        cost / rows,
        error,
        "sqrt(ln(3 |H|/eta)/(2n)) + sqrt(ln(3/eta)/(2n)) + E(eta/3)/n with "
        + learning_bound.statement(mechanism)
        + "; rows drawn independently from one distribution",
        "Hoeffding 1963; " + learning_bound.source(mechanism),
    )
