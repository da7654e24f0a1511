"""Boosted rules: weights, votes, the law of the rounds, audits, saved votes."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.learning import learned
from reference.running import paid_key
from winnow import Relation, Sealed
from winnow.learn.audit.balanced import RULES
from winnow.learn.audit.boosted import BoostedModel, boosted_enumerated, boosted_twins, made
from winnow.learn.boosted import GRID, step, still_wanted
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.crossing.rows import LabelledRows, SealedLabelled
from winnow.learn.rules import rules_over

SCHEMA = {
    "a": {"values": ["x", "y"]}, "b": {"values": ["x", "y"]}, "c": {"values": ["x", "y"]},
    "most": {"values": ["no", "yes"]},
}  # fmt: skip


def majority(rows: int = 3000) -> Any:
    """The class is what two of three columns say: no single rule has it, a vote of three does."""
    import pandas as pd

    bits = np.random.default_rng(0).integers(0, 2, (rows, 3))
    frame = pd.DataFrame(np.where(bits == 1, "y", "x"), columns=["a", "b", "c"])
    frame["most"] = np.where(bits.sum(axis=1) >= 2, "yes", "no")
    return frame


def test_a_vote_learns_what_no_rule_of_its_class_can_say() -> None:
    frame = majority()
    table = wn.read_table(frame, schema=SCHEMA)
    one = learned(table, "most", method="stumps", epsilon=5.0, seed=1)
    vote = learned(table, "most", method="boosted:1", epsilon=5.0, seed=1)
    assert one.value.score(frame, frame["most"]) < 0.8
    assert vote.value.score(frame, frame["most"]) == 1.0
    assert str(vote.guarantee) == "5-DP, protects each row (replace one)"
    assert "rounds" in vote.receipt.mechanism and "rules" in vote.receipt.reason


def test_a_row_weighs_all_until_the_vote_is_for_it_and_never_more() -> None:
    margins = np.array([-3000, -1, 0, 1, 700, 5000, 10**9])
    weights = still_wanted(margins, np.full(7, GRID))
    assert weights[:3].tolist() == [GRID] * 3 and weights[-1] == 0
    assert (np.diff(weights) <= 0).all() and weights.min() >= 0
    assert still_wanted(margins, np.ones(7, np.int64)).max() == 1


def test_the_second_and_third_rule_overrule_the_first_and_the_second_alone_does_not() -> None:
    assert step(1) < step(0) < step(1) + step(2)


def test_all_rounds_of_neighbours_are_as_close_as_was_charged() -> None:
    for result in boosted_enumerated():
        assert result.passed and result.measured > result.claimed / 3, result


def test_wrong_sensitivities_of_rounds_are_caught() -> None:
    assert all(result.passed for result in boosted_twins())


@pytest.mark.parametrize("selection", ["permute-and-flip", "exponential"])
def test_rounds_follow_the_law_that_is_enumerated(selection: str) -> None:
    """A chi-square test of 16 pairs of rules at a fixed seed; 99.99 % quantile of 15 degrees."""
    table = np.array([3, 1, 2, 2])  # value 0: no, yes; value 1: no, yes
    rows = LabelledRows(
        (np.array([0, 0, 1, 1], np.int32),), np.array([0, 1, 0, 1], np.int32),
        table.astype(np.int64),
    )  # fmt: skip
    held = SealedLabelled(Sealed(rows, "rows"), ("no", "yes"), Relation.ADD_REMOVE)
    rules = rules_over("stumps", wn.Schema.parse({"a": 2}))
    said = [rules.rule(i).positive([np.array([0, 1], np.int32)], 2).tolist() for i in range(4)]
    place = [said.index([bool(value) for value in rule]) for rule in RULES]
    mechanism = replace(made(selection), rounds=2, epsilon=1)
    model = BoostedModel.of(mechanism, Relation.ADD_REMOVE, 1)
    chances = np.exp(model.log_probabilities(table))
    law = dict(zip(product(place, repeat=2), chances, strict=True))
    assert abs(sum(law.values()) - 1) < 1e-12
    draws = 1600
    drawn = [
        mechanism.drawn(held, rules, paid_key(mechanism, held.relation, seed))
        for seed in range(draws)
    ]
    far = sum((drawn.count(key) - draws * p) ** 2 / (draws * p) for key, p in law.items())
    assert far < 44.3


def test_a_delta_composes_many_rounds_and_stays_unspent_for_few() -> None:
    table = wn.read_table(majority(), schema=SCHEMA)

    def guarantee(rounds: int) -> str:
        vote = learned(
            table, "most", method=wn.Boosted(rounds=rounds), epsilon=1.0, delta=1e-6, seed=1
        )
        return str(vote.guarantee)

    assert guarantee(3) == "1-DP, protects each row (replace one)"
    assert guarantee(30).startswith("(1, 1e-06)-DP")


def test_a_pure_budget_is_charged_pure_rounds() -> None:
    table = wn.read_table(majority(), schema=SCHEMA)
    with wn.Session(epsilon=1.0, relation="substitution") as session:
        vote = session.learn(table, "most", method=wn.Boosted(rounds=30), epsilon=1.0)
    assert str(vote.guarantee) == "1-DP, protects each row (replace one)"


@pytest.mark.parametrize("weights", ["balanced", {"no": 1, "yes": 5}, (1, 4)])
def test_votes_take_weights_of_classes(weights: Any) -> None:
    frame = majority(4000)
    kept = frame[(frame["most"] == "no") | (np.arange(len(frame)) % 5 == 0)]
    table = wn.read_table(kept, schema=SCHEMA)
    vote = learned(
        table, "most", method=wn.Boosted(rounds=3), epsilon=4.0, class_weights=weights, seed=2
    )
    said = vote.value.predict(frame)
    assert np.mean(said[frame["most"] == "yes"] == "yes") > 0.7
    assert ("balanced" in vote.receipt.mechanism) == (weights == "balanced")


def test_a_saved_vote_predicts_the_same(tmp_path: Path) -> None:
    frame = majority(500)
    vote = learned(frame, "most", schema=SCHEMA, method=wn.Boosted(rounds=5), epsilon=2.0, seed=3)
    path = tmp_path / "vote.json"
    path.write_text(json.dumps(vote.to_dict()))
    back = wn.load_predictor(path)
    assert back.kind == "boosted:2" and back.text == vote.value.text
    assert (back.predict(frame) == vote.value.predict(frame)).all()
    broken = json.loads(path.read_text())
    broken["value"]["rules"][0]["if"] = [{"feature": 9, "codes": [0, 1, False]}]
    path.write_text(json.dumps(broken))
    with pytest.raises(wn.InputError, match="not a saved model"):
        wn.load_predictor(path)


def test_three_classes_and_options_of_one_rule_are_refused() -> None:
    frame = majority(50)
    three = SCHEMA | {"most": {"values": ["no", "yes", "?"]}}
    with pytest.raises(wn.InputError, match="tells two apart"):
        learned(frame, "most", schema=three, method="boosted", epsilon=1.0)
    with pytest.raises(TypeError, match="with_accuracy"):
        wn.Boosted(with_accuracy=True)  # type: ignore[call-arg]
    with pytest.raises(wn.InputError, match="unknown"):
        learned(frame, "most", schema=SCHEMA, method="boosted:x", epsilon=1.0)
    with pytest.raises(wn.InputError, match="rounds"):
        wn.Boosted(rounds=0)
    with pytest.raises(wn.InputError, match="at most 1000"):
        wn.Boosted(rounds=10**6)
    with pytest.raises(wn.InputError, match="selection"):
        BoostedRules(3, Fraction(1, 2), "large-margin")
