"""What is learned if nothing is said: by public numbers, with a reason, and as the plan says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.learning import learned
from winnow.learn.crossing.boosted import BoostedRules
from winnow.learn.settings import ASSUMED, MOST_ROUNDS

SCHEMA: dict[str, Any] = {
    "age": {"edges": [0, 30, 50, 80, 100]},
    "sex": {"values": ["f", "m"]},
    "rich": {"values": ["no", "yes"]},
}
THREE = SCHEMA | {"rich": {"values": ["no", "some", "yes"]}}


def people(rows: int, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    age, sex = generator.integers(0, 100, rows), generator.choice(["f", "m"], rows)
    rich = np.where((age >= 50) & (sex == "m") | (age >= 80), "yes", "no")
    return pd.DataFrame({"age": age, "sex": sex, "rich": rich})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "epsilon", "options", "kind"),
    [
        (1500, 1.0, {}, "boosted:2 or additive"),
        (1500, 1.0, {"delta": 1e-6}, "boosted:2 or additive"),
        (1500, 1.0, {"class_weights": "balanced"}, "boosted:2 or additive"),
        (1500, 1.0, {"class_weights": {"no": 1, "yes": 2}}, "boosted:2 or additive"),
        (100, 0.5, {}, "conjunctions:2"),
        (100, 0.5, {"class_weights": "balanced"}, "conjunctions:2"),
        (1500, 1.0, {"schema": THREE}, "additive"),
        (1500, 1.0, {"schema": THREE, "delta": 1e-6}, "additive"),
        (1500, 1.0, {"schema": THREE, "class_weights": "balanced"}, "additive"),
        (1500, 1.0, {"method": "stumps"}, "stumps"),
        (1500, 1.0, {"method": "boosted"}, "boosted:2"),
        (1500, 1.0, {"method": wn.Boosted(size=1, rounds=5)}, "boosted:1"),
        (1500, 1.0, {"method": "additive"}, "additive"),
    ],
)
def test_the_plan_says_what_is_learned(
    rows: int, epsilon: float, options: dict[str, Any], kind: str
) -> None:
    schema = options.get("schema", SCHEMA)
    asked = {"epsilon": epsilon} | {name: options[name] for name in options if name != "schema"}
    plan = wn.plan.learn(wn.plan.labelled(schema, "rich", rows=rows), **asked)
    released = learned(people(rows), "rich", seed=1, schema=schema, **asked)
    assert plan.kind == kind
    assert set(released.value.kind.split(" and ")) <= set(kind.split(" or "))
    assert plan.name == released.receipt.mechanism
    assert plan.guarantee.epsilon == released.guarantee.epsilon
    assert plan.guarantee.delta == released.guarantee.delta
    assert plan.reason == released.receipt.reason
    assert plan.hypotheses >= released.value.hypotheses
    assert kind in str(plan) and plan.to_dict()["kind"] == kind
    bound = released.value.bound
    assert plan.error == (None if bound is None else pytest.approx(bound.excess))


def test_the_choice_of_neighbours_is_the_same() -> None:
    other = people(400)
    other.loc[0, "age"] = 99
    for relation in ("substitution", "add-remove"):
        first, second = (
            learned(frame, "rich", schema=SCHEMA, epsilon=1.0, relation=relation, seed=3)
            for frame in (people(400), other)
        )
        assert first.receipt.reason == second.receipt.reason
        assert first.receipt.mechanism == second.receipt.mechanism


def test_a_number_of_rows_that_is_not_public_is_not_used() -> None:
    reasons = {
        learned(
            people(rows), "rich", schema=SCHEMA, epsilon=1.0, relation="add-remove", seed=1
        ).receipt.reason
        for rows in (50, 5000)
    }
    assert len(reasons) == 1 and f"{ASSUMED:,} rows (assumed)" in reasons.pop()
    said = learned(
        people(50), "rich", schema=SCHEMA, epsilon=1.0, relation="add-remove", rows=60, seed=1
    )
    assert "60 rows" in said.receipt.reason


def test_rounds_grow_with_rows_and_epsilon_up_to_a_limit() -> None:
    def rounds(rows: int, epsilon: float) -> int:
        about = wn.plan.labelled(SCHEMA, "rich", rows=rows)
        plan = wn.plan.learn(about, method="boosted", epsilon=epsilon)
        assert isinstance(plan.mechanism, BoostedRules)
        return plan.mechanism.rounds

    found = [rounds(rows, 1.0) for rows in (10, 300, 3000, 30_000, 10**7)]
    assert found == sorted(found) and found[0] == 1 and found[-1] == MOST_ROUNDS
    assert 2 not in {rounds(rows, 1.0) for rows in range(50, 400, 10)}
    assert rounds(300, 10.0) == rounds(3000, 1.0)


def test_one_rule_of_no_class_is_one_of_two_tests() -> None:
    table = wn.read_table(people(1500), schema=SCHEMA)
    for how in ({"selection": "exponential"}, {"with_accuracy": True}):
        found = wn.learn(table, "rich", epsilon=1.0, seed=1, method=wn.OneRule(**how))
        assert found.value.kind == "conjunctions:2"
    three = wn.read_table(people(1500), schema=THREE)
    with pytest.raises(wn.InputError, match="there are 3"):
        wn.learn(three, "rich", epsilon=1.0, method=wn.OneRule(with_accuracy=True))


def test_pairs_of_tests_that_are_too_many_leave_single_tests() -> None:
    wide = {f"c{i}": {"values": list(range(900))} for i in range(12)} | {"y": 2}
    about = wn.plan.labelled(wide, "y", rows=10**5)
    assert wn.plan.learn(about, epsilon=1.0).kind == "boosted:1 or additive"
    assert wn.plan.learn(about, epsilon=1.0, method="one-rule").kind == "conjunctions:1"


def test_nothing_is_promised_of_a_vote_and_one_class_is_none() -> None:
    vote = wn.plan.learn(wn.plan.labelled(SCHEMA, "rich", rows=10**4), epsilon=1.0)
    assert vote.expected is None and vote.error is None and vote.compared == ()
    with pytest.raises(wn.InputError, match="nothing is promised"):
        vote.near(3)
    with pytest.raises(wn.InputError, match="has 1 label"):
        wn.plan.labelled(SCHEMA | {"rich": {"values": ["no"]}}, "rich")
    with pytest.raises(wn.InputError, match="does not describe rows"):
        wn.plan.learn(SCHEMA, epsilon=1.0)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"no": 1}, "lack 'yes'"),
        ({"no": 1, "yes": 2, "maybe": 3}, "name 'maybe'"),
        ([1, 2, 3], "3 class_weights for 2 classes"),
        ([1, float("nan")], "not finite"),
        ([1, float("inf")], "not finite"),
        ([1, -1], "not positive"),
        ([0, 1], "not positive"),
        (3, "not weights"),
    ],
)
def test_weights_that_are_none_are_refused_before_the_charge(weights: Any, said: str) -> None:
    table = wn.read_table(people(60), schema=SCHEMA)
    with wn.Session(epsilon=1.0, relation="substitution") as session:
        with pytest.raises(wn.InputError, match=said):
            session.learn(table, "rich", epsilon=1.0, class_weights=weights)
        session.learn(table, "rich", epsilon=1.0)
