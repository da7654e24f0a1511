"""Rules for balanced accuracy: weights by the noisy sizes of the classes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.inside import Sealed
from reference.learning import learned
from reference.running import paid_key
from winnow import Relation
from winnow.learn.audit.balanced import BalancedModel, made
from winnow.learn.crossing.balanced import BalancedRule
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled
from winnow.learn.rules import rules_over

SCHEMA = {"a": 2, "y": 2}
OPTIONS: dict[str, Any] = {"method": "stumps", "epsilon": 1.0, "schema": SCHEMA}


def rare(rows: int = 4000) -> pd.DataFrame:
    """A tenth is positive, and a = 1 for all of them and a third of the others."""
    place = np.arange(rows)
    y = (place % 10 == 0).astype(int)
    return pd.DataFrame({"a": np.where(y == 1, 1, place % 3 == 0).astype(int), "y": y})


def test_a_rare_class_is_found_by_a_balanced_rule_and_not_by_plain_accuracy() -> None:
    plain = learned(rare(), "y", seed=1, **OPTIONS).value
    even = learned(rare(), "y", class_weights="balanced", seed=1, **OPTIONS)
    assert plain.text == "always 0"
    assert even.value.predict({"a": [0, 1]}).tolist() == [0, 1]
    assert str(even.guarantee) == "1-DP, protects each row (replace one)"
    assert "balanced" in even.receipt.mechanism and "1/10" in even.receipt.reason


def test_a_balanced_rule_is_charged_what_it_says_and_before_anything_is_drawn() -> None:
    budget = wn.Budget(1.0)
    how = OPTIONS | {"class_weights": "balanced", "relation": "add-remove", "budget": budget}
    learned(rare(), "y", **how)
    with pytest.raises(wn.BudgetExceeded):
        learned(rare(), "y", **how | {"epsilon": 0.01})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"with_accuracy": True}, "permute-and-flip"),
        ({"selection": "large-margin", "delta": 1e-6}, "permute-and-flip"),
        ({"thresholds": "tight"}, "permute-and-flip"),
        ({"epsilon": 0}, "not above 0"),
        ({"class_weights": "even"}, "not weights"),
        ({"class_weights": (1, 2), "with_accuracy": True}, "leave out one"),
    ],
)
def test_what_a_balanced_rule_cannot_do_is_refused_before_the_charge(
    how: Any, message: str
) -> None:
    budget = wn.Budget(1.0)
    request = OPTIONS | {"class_weights": "balanced", "relation": "add-remove"} | how
    with pytest.raises(wn.InputError, match=message):
        learned(rare(50), "y", budget=budget, **request)
    wn.select({"a": 3, "b": 1}, epsilon=1.0, budget=budget)  # all is left


@pytest.mark.parametrize("weights", [(1, 2), "balanced"])
def test_weights_are_for_rules_and_not_for_lists_of_predictions(weights: Any) -> None:
    with pytest.raises(wn.InputError, match="classes of rules"):
        learned(None, [0], predictions=[[0]], epsilon=1.0, class_weights=weights)


def test_a_class_that_is_hardly_there_weighs_no_more_than_its_noise_allows() -> None:
    rule = BalancedRule(Fraction(1, 10), Fraction(9, 10))
    held = SealedLabelled(
        Sealed(LabelledRows((), np.zeros(0, np.int32), np.zeros(0, np.int64)), "rows"),
        ("no", "yes"), Relation.SUBSTITUTION,
    )  # fmt: skip
    assert rule.weights([-5, 400], held) == (1000, 50)  # a size below 20 counts as 20


@pytest.mark.parametrize("relation", list(Relation))
def test_draws_follow_the_law_that_is_enumerated(relation: Relation) -> None:
    """A chi-square test of the four rules at a fixed seed; 99.99 % quantile of 3 degrees."""
    rule = replace(made(), epsilon=3)
    table = np.array([3, 1, 2, 2])  # value 0: no, yes; value 1: no, yes
    rows = LabelledRows(
        (np.array([0, 0, 1, 1], np.int32),), np.array([0, 1, 0, 1], np.int32),
        table.astype(np.int64),
    )  # fmt: skip
    held = SealedLabelled(Sealed(rows, "rows"), ("no", "yes"), relation)
    rules = rules_over("stumps", wn.Schema.parse({"a": 2}))
    said = [rules.rule(i).positive([np.array([0, 1], np.int32)], 2).tolist() for i in range(4)]
    order = [[True, True], [False, False], [False, True], [True, False]]
    model = replace(BalancedModel.of(rule, relation, 1), window=(-60, 68))
    law = np.exp(model.log_probabilities(table)).sum(axis=0)
    expected = (law / law.sum())[[order.index(each) for each in said]]
    draws = 600
    drawn = np.bincount(
        [rule.drawn(held, rules, paid_key(rule, relation, seed)) for seed in range(draws)],
        minlength=4,
    )
    assert ((drawn - draws * expected) ** 2 / (draws * expected)).sum() < 21.1
