"""The contract of the verb: what is planned is what is charged, drawn and promised."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.learning import learned
from winnow.core.options import options
from winnow.learn.labelled import Labelled
from winnow.learn.methods import LearnMethod
from winnow.learn.plan import LearnPlan
from winnow.learn.request import Learn

SCHEMA: dict[str, Any] = {"a": 3, "b": {"values": ["x", "y"]}, "y": {"values": ["no", "yes"]}}
THREE = SCHEMA | {"y": {"values": ["no", "some", "yes"]}}
GENERATOR = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "a": GENERATOR.integers(0, 3, 300),
        "b": GENERATOR.choice(["x", "y"], 300),
        "y": GENERATOR.choice(["no", "yes"], 300),
    }
)
X, Y = GENERATOR.normal(size=(300, 2)), GENERATOR.integers(0, 2, 300)
DELTA = 1e-6


def zeros(data: Any) -> Any:
    return np.zeros(len(data), int)


def high(data: Any) -> Any:
    return (data[:, 0] > 0).astype(int)


METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "auto, few rows": {"epsilon": 0.05},
    "auto, balanced": {"class_weights": "balanced"},
    "boosted": {"method": "boosted"},
    "boosted, rounds": {"method": wn.Boosted(rounds=12, size=1)},
    "boosted, with delta": {"method": wn.Boosted(rounds=40), "delta": DELTA},
    "boosted, balanced": {"method": wn.Boosted(rounds=3), "class_weights": "balanced"},
    "boosted, weights": {"method": "boosted:1", "class_weights": {"no": 1, "yes": 4}},
    "additive": {"method": "additive"},
    "additive, with delta": {"method": "additive", "delta": DELTA},
    "additive, balanced": {"method": wn.Additive(), "class_weights": "balanced"},
    "one rule": {"method": "one-rule"},
    "thresholds": {"method": "thresholds"},
    "stumps": {"method": "stumps", "delta": DELTA},
    "intervals": {"method": "intervals"},
    "conjunctions": {"method": "conjunctions:2"},
    "exponential": {"method": wn.OneRule(of="stumps", selection="exponential")},
    "large margin": {"method": wn.OneRule(selection="large-margin"), "delta": DELTA},
    "printed": {"method": wn.OneRule(thresholds="printed"), "delta": DELTA},
    "accuracy": {"method": wn.OneRule(of="stumps", with_accuracy=True)},
    "accuracy, large margin": {
        "method": wn.OneRule(with_accuracy=True, thresholds="tight"),
        "delta": DELTA,
    },
    "confidence": {"method": wn.OneRule(confidence=0.8)},
    "rule, weights": {"method": "stumps", "class_weights": (1, 3)},
    "rule, balanced": {"method": "stumps", "class_weights": "balanced"},
}


class Watched(wn.Budget):
    """A budget that keeps what it was charged."""

    def __init__(self, *said: Any, **more: Any) -> None:
        super().__init__(*said, **more)
        self.charged: list[Any] = []

    def charge(self, event: Any, **about: Any) -> Any:
        self.charged.append(event)
        return super().charge(event, **about)


def rows_of(relation: str, people: int) -> Labelled:
    frame = FRAME.assign(who=np.arange(300) // people)
    table = wn.read_table(frame, schema=SCHEMA, relation=relation, person="who", max_rows=people)
    return wn.labelled(table, "y")


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("name", METHODS)
def test_the_planned_event_is_charged_and_the_plan_runs(
    name: str, people: int, relation: str
) -> None:
    rows = rows_of(relation, people)
    asked = {"epsilon": 1.0, "seed": 5, **METHODS[name]}
    budget = Watched(5.0, 1e-4, relation=relation, delta_for_events=1e-5)
    plan = wn.plan.learn(rows, budget=budget, **asked)
    released = wn.learn(rows, budget=budget, **asked)
    assert budget.charged == [plan.event] == [released.receipt.event]
    assert released.guarantee.epsilon == plan.guarantee.epsilon <= asked["epsilon"]
    assert released.guarantee.delta == plan.guarantee.delta
    assert released.receipt.reason == plan.reason
    assert released.receipt.mechanism == plan.name
    kinds = plan.kind.split(" or ")  # a private choice takes one, or several added up
    if len(kinds) == 1:
        assert (released.value.kind, released.value.hypotheses) == (plan.kind, plan.hypotheses)
    assert released.value.hypotheses <= plan.hypotheses
    bound = released.value.bound
    assert plan.error == (None if bound is None else pytest.approx(bound.excess))
    again = plan.run(rows, seed=5)
    assert again.value.to_dict() == released.value.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_a_plan_without_rows_is_the_plan_of_the_rows(name: str) -> None:
    asked = {"epsilon": 1.0, **METHODS[name]}
    alone = wn.plan.learn(wn.plan.labelled(SCHEMA, "y", rows=300), **asked)
    rows = rows_of("substitution", 1)
    assert alone.event == wn.plan.learn(rows, **asked).event
    assert str(alone) == str(wn.plan.learn(rows, **asked))
    assert alone.run(rows, seed=1).receipt.event == alone.event


def test_every_option_of_every_method_is_planned_above() -> None:
    said: dict[str, set[str]] = {}
    for asked in METHODS.values():
        method = Learn(epsilon=1, method=asked.get("method", "auto")).method
        if isinstance(method, LearnMethod):
            changed = {
                f.name for f in options(type(method)) if getattr(method, f.name) != f.default
            }
            said.setdefault(type(method).word(), set()).update(changed)
    for method in (wn.Boosted, wn.Additive, wn.OneRule):
        assert said[method.word()] == {field.name for field in options(method)}


@pytest.mark.parametrize(
    "rows",
    [
        lambda: (wn.labelled(X, Y), wn.OneRule(of=[zeros, high], with_accuracy=True)),
        lambda: (wn.labelled(y=Y, predictions=[Y.tolist(), [0] * 300]), "auto"),
        lambda: (wn.labelled(X, Y, relation="add-remove", rows=290), wn.Boosted(cuts=[0, 1])),
        lambda: (wn.labelled(X, Y, classes=(0, 1, 2)), wn.Additive(cuts=[[0], [1]])),
    ],
    ids=["functions", "predictions", "declared rows", "three classes"],
)
def test_arrays_are_planned_and_charged_alike(rows: Any) -> None:
    data, method = rows()
    plan = wn.plan.learn(data, epsilon=1.0, method=method)
    released = wn.learn(data, epsilon=1.0, method=method, seed=2)
    assert released.receipt.event == plan.event and released.value.kind == plan.kind
    assert plan.run(data, seed=2).value.to_dict() == released.value.to_dict()


def test_labelled_rows_are_what_x_and_y_say() -> None:
    how: dict[str, Any] = {"epsilon": 1.0, "method": wn.Boosted(cuts=[0, 1]), "seed": 1}
    short, long = wn.learn(X, Y, **how), wn.learn(wn.labelled(X, Y), **how)
    assert short.value.to_dict() == long.value.to_dict()


@pytest.mark.parametrize(
    "verb", [wn.learn, wn.labelled, wn.plan.learn, wn.plan.learning_bound, wn.plan.labelled]
)
def test_no_verb_has_more_than_ten_parameters(verb: Any) -> None:
    assert len(signature(verb).parameters) <= 10


def test_neither_session_nor_estimator_nor_method_has_more_than_ten_parameters() -> None:
    for made in (wn.PrivateClassifier, wn.Session.learn, wn.Boosted, wn.Additive, wn.OneRule):
        assert len(signature(made).parameters) <= 10


@pytest.mark.parametrize(
    ("about", "asked", "message"),
    [
        ({}, {"method": "circles"}, "unknown"),
        ({}, {"method": wn.OneRule}, "not a method"),
        ({}, {"method": "boosted:5"}, "above 4"),
        ({}, {"method": "conjunctions:0"}, "below 1"),
        ({}, {"epsilon": 0}, "not above 0"),
        ({}, {"epsilon": float("inf")}, "epsilon"),
        ({}, {"delta": 1}, "not below 1"),
        ({}, {"delta": -1e-9}, "below 0"),
        ({}, {"method": wn.OneRule(selection="large-margin")}, "needs delta"),
        ({}, {"method": wn.OneRule(selection="exponential"), "delta": 0.1}, "leave out delta"),
        ({}, {"class_weights": (1, 2, 3)}, "3 class_weights for 2"),
        ({}, {"method": wn.Additive(cuts=[1])}, "leave out cuts"),
        ({"schema": THREE}, {"method": "boosted"}, "tells two apart"),
        ({"schema": THREE}, {"method": "stumps"}, "tells two apart"),
        ({"rows": 299}, {}, "there are 300 rows"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_the_charge(
    about: dict[str, Any], asked: dict[str, Any], message: str
) -> None:
    budget = Watched(5.0, 1e-2, relation="substitution")
    given = {"schema": SCHEMA, "epsilon": 1.0, "budget": budget, **about, **asked}
    with pytest.raises(wn.InputError, match=message):
        learned(FRAME, "y", **given)
    assert budget.charged == []


def test_values_that_cannot_be_read_are_refused_before_the_charge() -> None:
    budget = Watched(5.0, relation="substitution")
    strange = X.copy()
    strange[4, 1] = np.nan
    plan = wn.plan.learn(wn.labelled(strange, Y), epsilon=1.0, method=wn.Boosted(cuts=[0]))
    with pytest.raises(wn.InputError, match="column 2 of X"):
        plan.run(wn.labelled(strange, Y), budget=budget)
    assert budget.charged == []


def test_a_plan_runs_on_rows_that_it_was_made_for_only() -> None:
    rows = rows_of("substitution", 1)
    budget = Watched(5.0, relation="substitution")
    for about, message in (
        (wn.plan.labelled(SCHEMA, "y", rows=299), "299 rows, and there are 300"),
        (wn.plan.labelled(SCHEMA, "y", rows=300, max_rows=2), "rows per person"),
        (wn.plan.labelled(SCHEMA | {"a": 4}, "y", rows=300), "schema"),
        (wn.plan.labelled(THREE, "y", rows=300), "classes"),
    ):
        with pytest.raises(wn.InputError, match=message):
            wn.plan.learn(about, epsilon=1.0).run(rows, budget=budget)
    other = wn.plan.labelled(SCHEMA, "y", rows=300, relation="add-remove")
    with pytest.raises(wn.RelationMismatch, match="plan again"):
        wn.plan.learn(other, epsilon=1.0).run(rows, budget=budget)
    with pytest.raises(wn.InputError, match=r"wn\.labelled"):
        wn.plan.learn(rows, epsilon=1.0).run(FRAME, budget=budget)  # type: ignore[arg-type]
    assert budget.charged == []


def test_an_accuracy_that_is_paid_for_is_in_the_stated_bound() -> None:
    about = wn.plan.labelled(SCHEMA, "y", rows=300)
    alone = wn.plan.learn(about, epsilon=1.0, method="stumps")
    both = wn.plan.learn(about, epsilon=1.0, method=wn.OneRule(of="stumps", with_accuracy=True))
    assert alone.expected is not None and both.expected is not None
    assert both.expected.best.privacy == pytest.approx(2 * alone.expected.best.privacy)


def test_a_method_of_ones_own_is_planned_charged_and_run() -> None:
    class Cautious(LearnMethod):
        """One stump for half of epsilon."""

        def plan(self, asked: Learn, about: Any) -> LearnPlan:
            half = replace(asked, epsilon=asked.epsilon / 2, method="stumps")
            return half.plan(about)

    released = wn.learn(rows_of("substitution", 1), epsilon=1.0, method=Cautious())
    assert released.guarantee.epsilon == 0.5 and released.value.kind == "stumps"


def test_nothing_private_is_in_the_repr_of_rows_or_plan() -> None:
    rows = wn.labelled(np.full((41, 1), 0.12345), [1] * 41, relation="add-remove")
    plan = wn.plan.learn(rows, epsilon=1.0, method=wn.Boosted(cuts=[0.5]))
    for text in (repr(rows), repr(rows.about), repr(plan), str(plan)):
        assert "41" not in text and "0.12345" not in text
    with pytest.raises(wn.InputError, match="predictions of private rows"):
        wn.OneRule(of=np.zeros((2, 3), bool))
