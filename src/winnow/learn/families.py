"""What one rule is chosen among: a class of rules, predictions, or functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from winnow.core.options import AUTO
from winnow.errors import ParameterError
from winnow.learn.about import AboutRows
from winnow.learn.crossing.rows import function_scores, matrix_scores, rule_scores
from winnow.learn.labelled import Labelled
from winnow.learn.methods import OneRule
from winnow.learn.predictor import ListedPredictor, Predictor
from winnow.learn.ruled import RulePredictor
from winnow.learn.rules import RuleClass, rule_class
from winnow.learn.settings import longest_rules
from winnow.learn.weights import weighed
from winnow.learn.words import CONJUNCTIONS
from winnow.read.scores import SealedScores


@dataclass(frozen=True)
class HypothesisClass:
    """Public hypotheses, how rows score them, and how the number of one becomes a predictor."""

    size: int
    kind: str
    scores: Callable[[Labelled, Any], SealedScores]
    """By the weights of the classes."""
    predictor: Callable[[int], Predictor]
    rules: RuleClass | None = None


def family_of(method: OneRule, about: AboutRows, class_weights: Any) -> HypothesisClass:
    """The hypotheses that a method names, for rows of which this is public."""
    if about.predictions is None and not method.functions:
        return _rules(method, about)
    if about.predictions is not None and (method.of != AUTO or method.cuts is not None):
        about.features(None)  # refuses: there are no columns to test
    if class_weights is not None:
        raise ParameterError("class_weights are for classes of rules and additive models")
    if about.schema is not None:
        raise ParameterError(
            "functions of X need X as it is, and a schema or a table changes it to codes; name a "
            "class of rules such as 'stumps', or give X and y as arrays, without a schema"
        )
    if method.cuts is not None:
        raise ParameterError("cuts are for classes of rules; leave them out")
    return _functions(method, about) if method.functions else _predictions(about)


def _rules(method: OneRule, about: AboutRows) -> HypothesisClass:
    features = about.features(method.cuts)
    rules = (
        RuleClass(features, CONJUNCTIONS, longest_rules(features))
        if method.of == AUTO
        else rule_class(method.of, features)
    )

    def predictor(number: int) -> Predictor:
        rule = rules.rule(number)
        return RulePredictor(
            about.classes, number, len(rules), rules.name, features=rules.features, rule=rule
        )

    def scores(data: Labelled, class_weights: Any) -> SealedScores:
        return rule_scores(weighed(data.coded(features), class_weights), rules)

    return HypothesisClass(len(rules), rules.name, scores, predictor, rules)


def _predictions(about: AboutRows) -> HypothesisClass:
    size, kind = about.predictions or 0, "rows of predictions"

    def scores(data: Labelled, class_weights: None) -> SealedScores:
        return matrix_scores(data.labels, data.values(), size)

    return HypothesisClass(
        size, kind, scores, lambda i: ListedPredictor(about.classes, i, size, kind)
    )


def _functions(method: OneRule, about: AboutRows) -> HypothesisClass:
    functions, kind = method.functions, "functions"
    size = len(functions)

    def scores(data: Labelled, class_weights: None) -> SealedScores:
        return function_scores(data.labels, functions, data.values())

    def predictor(number: int) -> Predictor:
        return ListedPredictor(about.classes, number, size, kind, function=functions[number])

    return HypothesisClass(size, kind, scores, predictor)
