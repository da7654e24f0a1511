"""What is learned if nothing is said: by public numbers, with a reason, and as the plan says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
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


@pytest.mark.parametrize(
    ("rows", "epsilon", "options", "kind"),
    [
        (1500, 1.0, {}, "boosted:2"),
        (1500, 1.0, {"delta": 1e-6}, "boosted:2"),
        (1500, 1.0, {"class_weights": "balanced"}, "boosted:2"),
        (1500, 1.0, {"class_weights": {"no": 1, "yes": 2}}, "boosted:2"),
        (100, 0.5, {}, "conjunctions:2"),
        (100, 0.5, {"class_weights": "balanced"}, "conjunctions:2"),
        (1500, 1.0, {"schema": THREE}, "additive"),
        (1500, 1.0, {"schema": THREE, "delta": 1e-6}, "additive"),
        (1500, 1.0, {"schema": THREE, "class_weights": "balanced"}, "additive"),
        (1500, 1.0, {"hypotheses": "stumps"}, "stumps"),
        (1500, 1.0, {"hypotheses": "boosted"}, "boosted:2"),
        (1500, 1.0, {"hypotheses": wn.boosted(1, rounds=5)}, "boosted:1"),
        (1500, 1.0, {"hypotheses": "additive"}, "additive"),
    ],
)
def test_the_plan_says_what_is_learned(
    rows: int, epsilon: float, options: dict[str, Any], kind: str
) -> None:
    given = {"schema": SCHEMA, "epsilon": epsilon, **options}
    plan = wn.plan.learn(target="rich", rows=rows, **given)
    released = wn.learn(people(rows), "rich", seed=1, **given)
    assert plan.model is not None and plan.model.kind == released.value.kind == kind
    assert plan.model.mechanism == released.receipt.mechanism
    assert plan.model.guarantee.epsilon == released.guarantee.epsilon
    assert plan.model.guarantee.delta == released.guarantee.delta
    if "hypotheses" not in options:
        assert released.receipt.reason.startswith(plan.model.reason) and plan.model.reason
    assert plan.hypotheses == released.value.hypotheses
    assert kind in str(plan) and plan.to_dict()["model"]["kind"] == kind
    assert bool(plan.table) == (released.value.bound is not None)


def test_the_choice_of_neighbours_is_the_same() -> None:
    other = people(400)
    other.loc[0, "age"] = 99
    for relation in ("substitution", "add-remove"):
        first, second = (
            wn.learn(frame, "rich", schema=SCHEMA, epsilon=1.0, relation=relation, seed=3)
            for frame in (people(400), other)
        )
        assert first.receipt.reason == second.receipt.reason
        assert first.receipt.mechanism == second.receipt.mechanism


def test_a_number_of_rows_that_is_not_public_is_not_used() -> None:
    reasons = {
        wn.learn(
            people(rows), "rich", schema=SCHEMA, epsilon=1.0, relation="add-remove", seed=1
        ).receipt.reason
        for rows in (50, 5000)
    }
    assert len(reasons) == 1 and f"{ASSUMED:,} rows (assumed)" in reasons.pop()
    said = wn.learn(
        people(50), "rich", schema=SCHEMA, epsilon=1.0, relation="add-remove", rows=60, seed=1
    )
    assert "60 rows" in said.receipt.reason


def test_rounds_grow_with_rows_and_epsilon_up_to_a_limit() -> None:
    def rounds(rows: int, epsilon: float) -> int:
        plan = wn.plan.learn(
            schema=SCHEMA, target="rich", hypotheses="boosted", rows=rows, epsilon=epsilon
        )
        assert plan.model is not None
        return int(plan.model.mechanism.split("boosting, ")[1].split()[0])

    found = [rounds(rows, 1.0) for rows in (10, 300, 3000, 30_000, 10**7)]
    assert found == sorted(found) and found[0] == 1 and found[-1] == MOST_ROUNDS
    assert 2 not in {rounds(rows, 1.0) for rows in range(50, 400, 10)}
    assert rounds(300, 10.0) == rounds(3000, 1.0)


def test_what_is_about_one_rule_chooses_one_rule() -> None:
    table = wn.read_table(people(1500), schema=SCHEMA)
    for options in ({"mechanism": "exponential"}, {"with_accuracy": True}):
        found = wn.learn(table, "rich", epsilon=1.0, seed=1, **options)
        assert found.value.kind == "conjunctions:2" and "asked for" in found.receipt.reason
    three = wn.read_table(people(1500), schema=THREE)
    with pytest.raises(wn.InputError, match="there are 3"):
        wn.learn(three, "rich", epsilon=1.0, with_accuracy=True)


def test_pairs_of_tests_that_are_too_many_leave_single_tests() -> None:
    wide = {f"c{i}": {"values": list(range(900))} for i in range(12)} | {"y": 2}
    plan = wn.plan.learn(schema=wide, target="y", rows=10**5, epsilon=1.0)
    assert plan.model is not None and plan.model.kind == "boosted:1"


def test_plans_in_words_and_in_numbers_are_not_mixed() -> None:
    with pytest.raises(wn.InputError, match="give schema= and target="):
        wn.plan.learn(rows=100, epsilon=1.0)
    with pytest.raises(wn.InputError, match="in words"):
        wn.plan.learn(hypotheses=5, rows=100, epsilon=1.0, schema=SCHEMA, target="rich")
    vote = wn.plan.learn(rows=10**4, epsilon=1.0, schema=SCHEMA, target="rich")
    with pytest.raises(wn.InputError, match="nothing is promised"):
        _ = vote.best
    one = {"rich": {"values": ["no"]}}
    with pytest.raises(wn.InputError, match="has 1 label"):
        wn.plan.learn(rows=10, epsilon=1.0, schema=SCHEMA | one, target="rich")


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
        (3, "no weights"),
    ],
)
def test_weights_that_are_none_are_refused_before_the_charge(weights: Any, said: str) -> None:
    with wn.Session(epsilon=1.0, relation="substitution") as session:
        with pytest.raises(wn.InputError, match=said):
            session.learn(people(60), "rich", schema=SCHEMA, epsilon=1.0, class_weights=weights)
        session.learn(people(60), "rich", schema=SCHEMA, epsilon=1.0)
