"""Public classes of classifiers: which rules there are, before any data are looked at."""

from winnow.domain.hypotheses.feature import Feature
from winnow.domain.hypotheses.makers import (
    Hypotheses,
    conjunctions,
    intervals,
    parse,
    stumps,
    thresholds,
)
from winnow.domain.hypotheses.rule import Condition, Rule
from winnow.domain.hypotheses.rules import RuleClass

__all__ = [
    "Condition",
    "Feature",
    "Hypotheses",
    "Rule",
    "RuleClass",
    "conjunctions",
    "intervals",
    "parse",
    "stumps",
    "thresholds",
]
