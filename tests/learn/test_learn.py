"""``wn.learn`` and ``wn.PrivateClassifier``: what they release, refuse and never show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import winnow as wn
from reference.inside import open_sealed
from winnow.learn.crossing.rows import labelled_table, rule_scores
from winnow.learn.rules import parse

GENERATOR = np.random.default_rng(5)
X = GENERATOR.normal(size=(4000, 3))
Y = ((X[:, 0] > 0.5) & (X[:, 2] < 1)).astype(int)
CUTS = [-1, -0.5, 0, 0.5, 1]
SCHEMA: dict[str, Any] = {
    "age": {"edges": [0, 30, 50, 100]},
    "sex": {"values": ["f", "m"]},
    "rich": {"values": ["no", "yes"]},
}


def people(n: int = 2000) -> pd.DataFrame:
    generator = np.random.default_rng(6)
    age, sex = generator.integers(0, 100, n), generator.choice(["f", "m"], n)
    rich = np.where((age >= 50) & (sex == "m"), "yes", "no")
    return pd.DataFrame({"age": age, "sex": sex, "rich": rich})


@pytest.mark.parametrize("mechanism", ["large-margin", "permute-and-flip", "exponential"])
def test_a_clear_rule_is_found_by_every_mechanism(mechanism: str) -> None:
    delta = 1e-6 if mechanism == "large-margin" else 0
    found = wn.learn(
        X, Y, hypotheses=wn.conjunctions(2, cuts=CUTS), epsilon=2, delta=delta,
        mechanism=mechanism, seed=1,
    )  # fmt: skip
    assert found.value.text == "1 if x0 >= 0.5 and x2 < 1, else 0"
    assert found.value.score(X, Y) == 1.0
    assert found.receipt.mechanism.startswith(mechanism) and found.receipt.reason == ""
    assert found.guarantee.epsilon == 2 and found.guarantee.delta == delta


def test_the_default_is_permute_and_flip_and_leaves_a_delta_unspent() -> None:
    options: dict[str, Any] = {"hypotheses": wn.stumps(cuts=CUTS), "epsilon": 1, "seed": 0}
    with_delta, without = wn.learn(X, Y, delta=1e-6, **options), wn.learn(X, Y, **options)
    assert with_delta.receipt.mechanism == without.receipt.mechanism == "permute-and-flip"
    assert with_delta.guarantee.delta == 0 and "least error" in with_delta.receipt.reason
    assert with_delta.value.number == without.value.number
    printed = wn.learn(X, Y, delta=1e-6, thresholds="printed", **options)
    assert printed.receipt.mechanism == "large-margin (printed thresholds)"


def test_a_person_moves_the_counts_natively_under_each_relation() -> None:
    table = wn.read_table(people(50), schema=SCHEMA)
    rules = parse("stumps").over(table.schema.subset(["age", "sex"]))
    assert rule_scores(labelled_table(table, "rich"), rules).utility.half_width == 1
    added = table.under("add-remove")
    utility = rule_scores(labelled_table(added, "rich"), rules).utility
    assert (utility.down, utility.up, utility.half_width) == (0, 1, wn.Utility.declare().up / 2)
    frame = people(50).assign(who=np.arange(50) // 3)
    several = wn.read_table(frame, schema=SCHEMA, person="who", max_rows_per_person=3)
    assert rule_scores(labelled_table(several, "rich"), rules).utility.half_width == 3


@pytest.mark.parametrize("source", ["table", "pandas", "polars", "file"])
def test_tables_are_read_from_everywhere(source: str, tmp_path: Path) -> None:
    frame = people()
    options: dict[str, Any] = {"hypotheses": "conjunctions:2", "epsilon": 3, "seed": 3}
    if source == "table":
        found = wn.learn(wn.read_table(frame, schema=SCHEMA), "rich", **options)
    else:
        data: Any = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(source)
        if data is None:
            data = tmp_path / "people.csv"
            frame.to_csv(data, index=False)
        found = wn.learn(data, "rich", schema=SCHEMA, **options)
    assert found.value.text == "yes if age >= 50 and sex = m, else no"
    assert set(found.value.predict(frame)) == {"yes", "no"}
    assert found.value.score(frame, frame["rich"]) == 1.0
    assert found.value.predict({"age": [70, 20], "sex": ["m", "m"]}).tolist() == ["yes", "no"]


def test_an_array_or_frame_with_a_schema_takes_labels_beside_it() -> None:
    frame = people()
    schema = {name: SCHEMA[name] for name in ("age", "sex")}
    found = wn.learn(
        frame, frame["rich"], hypotheses="conjunctions:2", schema=schema, classes=("no", "yes"),
        epsilon=3, seed=0,
    )  # fmt: skip
    assert found.value.text == "yes if age >= 50 and sex = m, else no"
    assert found.value.predict([[70, "m"], [70, "f"]]).tolist() == ["yes", "no"]


def test_named_columns_take_cuts_by_name() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = wn.learn(frame, Y, hypotheses=wn.stumps(cuts={"a": CUTS}), epsilon=5, seed=0)
    assert found.value.text == "1 if a >= 0.5, else 0"
    assert found.value.predict(frame[["a"]]).tolist() == (X[:, 0] >= 0.5).astype(int).tolist()
    with pytest.raises(wn.InputError, match="no column 'a'"):
        found.value.predict(frame[["b"]])


def test_predictions_and_functions_serve_as_hypotheses() -> None:
    rows = np.stack([X[:, j] > c for j in range(3) for c in CUTS])
    found = wn.learn(None, Y, hypotheses=rows, epsilon=5, seed=0)
    assert found.value.number == 3 and found.value.text == "hypothesis 3"
    assert found.value.predict(rows[:, :9]).tolist() == rows[3, :9].astype(int).tolist()
    with pytest.raises(wn.InputError, match="all 15 hypotheses"):
        found.value.predict(X)

    def above(data: Any) -> Any:
        return (data[:, 0] > 0.5).astype(int)

    functions = [lambda data: np.zeros(len(data), int), above]
    chosen = wn.learn(X, Y, hypotheses=functions, epsilon=5, seed=0)
    assert chosen.value.text == "hypothesis 1 (above)"
    assert chosen.value.score(X, Y) == pytest.approx(np.mean(above(X) == Y))


def test_the_noisy_accuracy_costs_half_and_gives_a_bound_on_the_error() -> None:
    found = wn.learn(
        X, Y, hypotheses=wn.conjunctions(2, cuts=CUTS), epsilon=2, with_accuracy=True, seed=2
    )
    assert found.guarantee.epsilon == 2
    assert found.value.correct is not None and abs(found.value.correct - 4000) < 40
    bound = found.value.bound
    assert bound is not None and bound.error is not None
    assert 0 < bound.error < 0.1 and bound.excess == bound.estimation + bound.privacy
    assert str(bound).startswith("at 95 %, the error rate exceeds the best of the class by")


def test_the_bound_needs_a_public_number_of_rows() -> None:
    options: dict[str, Any] = {"hypotheses": wn.stumps(cuts=CUTS), "epsilon": 1, "seed": 2}
    hidden = wn.learn(X, Y, relation="add-remove", **options)
    assert hidden.value.bound is None and hidden.value.rows is None
    told = wn.learn(X, Y, relation="add-remove", rows=4000, **options)
    assert told.value.bound is not None and told.value.bound.rows == 4000
    public = wn.learn(X, Y, **options)
    assert public.value.bound is not None
    # half the sensitivity under add-remove
    assert told.value.bound.privacy == pytest.approx(public.value.bound.privacy / 2)
    with pytest.raises(wn.InputError, match="there are 4000 rows"):
        wn.learn(X, Y, rows=4001, **options)


def test_a_saved_predictor_predicts_the_same(tmp_path: Path) -> None:
    frame = people()
    found = wn.learn(
        frame, "rich", schema=SCHEMA, hypotheses="conjunctions:2", epsilon=1, seed=3,
        with_accuracy=True,
    )  # fmt: skip
    path = tmp_path / "model.json"
    path.write_text(found.to_json())
    loaded = wn.load_predictor(path)
    assert loaded.to_dict() == json.loads(json.dumps(found.value.to_dict()))
    assert (loaded.predict(frame) == found.value.predict(frame)).all()
    assert loaded.bound == found.value.bound
    for text in ("nonsense", "{}", "[1]", '{"value": {"classes": [1]}}'):
        path.write_text(text)
        with pytest.raises(wn.InputError, match="not a saved model"):
            wn.load_predictor(path)
    with pytest.raises(wn.InputError, match="cannot be read"):
        wn.load_predictor(tmp_path / "missing.json")


def test_a_budget_and_a_session_are_charged() -> None:
    budget = wn.Budget(epsilon=1, relation="substitution")
    wn.learn(X, Y, hypotheses=wn.stumps(cuts=CUTS), epsilon=0.75, budget=budget)
    with pytest.raises(wn.BudgetExceeded):
        wn.learn(X, Y, hypotheses=wn.stumps(cuts=CUTS), epsilon=0.75, budget=budget)
    with pytest.raises(wn.RelationMismatch):
        wn.learn(
            X, Y, hypotheses=wn.stumps(cuts=CUTS), epsilon=0.1, budget=budget,
            relation="add-remove",
        )  # fmt: skip
    table = wn.read_table(people(), schema=SCHEMA)
    session = wn.Session(table, epsilon=1)
    found = session.learn(table, "rich", hypotheses="stumps", epsilon=0.5)
    assert found.guarantee.relation == wn.Relation.SUBSTITUTION


NAN = X.copy()
NAN[7, 1] = np.nan


@pytest.mark.parametrize(
    "hypotheses",
    [wn.stumps(cuts=[0.5]), [[], []], np.zeros((2, 0), bool), [lambda x: np.zeros(len(x), int)]],
    ids=["cut points", "lists", "an array", "functions"],
)
def test_nobody_at_all_is_learned_from_where_that_is_private(hypotheses: Any) -> None:
    """Under add-remove an error would tell it; under substitution it is public."""
    nobody = {"X": np.zeros((0, 1)), "y": [], "hypotheses": hypotheses, "epsilon": 1, "seed": 4}
    released = wn.learn(**nobody, relation="add-remove")
    assert released.guarantee.epsilon == 1
    with pytest.raises(wn.InputError, match="no rows"):
        wn.learn(**nobody, relation="substitution")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hypotheses": "stumps"}, "public cut points"),
        ({"hypotheses": "trees"}, "unknown"),
        ({"hypotheses": []}, "list of functions"),
        ({"hypotheses": [1, 2]}, "list of functions"),
        ({"hypotheses": np.zeros((3, 5), bool)}, "one column for each label"),
        ({"hypotheses": np.zeros((0, 4000), bool)}, "one row for each hypothesis"),
        ({"hypotheses": np.zeros((2, 4000))}, "float64"),
        ({"hypotheses": np.full((2, 4000), 2)}, "neither 0 nor 1"),
        ({"hypotheses": np.zeros((2, 4000), bool), "schema": {"x": 2}}, "leave it out"),
        ({"hypotheses": [lambda x: 1 / 0]}, "hypothesis 0 failed with ZeroDivisionError"),
        ({"hypotheses": [lambda x: x[:, 0]]}, "hypothesis 0 does not return one of"),
        ({"hypotheses": [lambda x: np.zeros(3)]}, "one class for each row"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 1e-6, "mechanism": "exponential"}, "leave out delta"),
        ({"mechanism": "noisy-max"}, "choose one of"),
        ({"mechanism": "large-margin"}, "needs delta"),
        ({"thresholds": "tight"}, "large-margin"),
        ({"with_accuracy": 1}, "True or False"),
        ({"confidence": 1}, "confidence"),
        ({"rows": 0}, "rows"),
        ({"relation": "other"}, "relation"),
        ({"classes": (1, 1)}, "not two"),
        ({"classes": "ab"}, "not a pair"),
        ({"classes": ("a", "b")}, "neither 'a' nor 'b'"),
        ({"y": Y[:-1]}, "different lengths"),
        ({"y": Y.reshape(-1, 1)}, "dimensions"),
        ({"y": []}, "no rows"),
        ({"y": "target", "hypotheses": "stumps"}, "public schema"),
        ({"X": NAN}, "column 2 of X holds a value that was not declared, or a missing one"),
        ({"X": X[:, 0]}, "dimensions"),
        ({"X": [[1, 2, 3], [1]]}, "ragged"),
        ({"X": np.full((4000, 3), "a")}, "does not hold numbers"),
        ({"schema": {"x": 2}}, "both given"),
    ],
)
def test_bad_input_is_refused_before_anything_is_charged(
    change: dict[str, Any], message: str
) -> None:
    budget = wn.Budget(epsilon=1, delta=1e-5, relation="substitution", accountant="pure")
    options: dict[str, Any] = {
        "X": X, "y": Y, "hypotheses": wn.stumps(cuts=CUTS), "epsilon": 0.5, "budget": budget,
    }  # fmt: skip
    with pytest.raises(wn.InputError, match=message):
        wn.learn(**(options | change))
    assert str(budget) == str(
        wn.Budget(epsilon=1, delta=1e-5, relation="substitution", accountant="pure")
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": "age"}, "3 labels"),
        ({"y": "height"}, "no column 'height'"),
        ({"classes": (0, 1)}, "leave out classes"),
        ({"hypotheses": wn.stumps(cuts=[1])}, "leave out cuts"),
        ({"schema": SCHEMA}, "its schema already"),
        ({"hypotheses": np.zeros((2, 5), bool)}, "ndarray"),
        ({"y": [0, 1]}, "name their column"),
    ],
)
def test_bad_requests_about_a_table_are_refused(change: dict[str, Any], message: str) -> None:
    table = wn.read_table(people(20), schema=SCHEMA)
    options: dict[str, Any] = {"X": table, "y": "rich", "hypotheses": "stumps", "epsilon": 1}
    with pytest.raises(wn.InputError, match=message):
        wn.learn(**(options | change))
    alone = table.restrict(["rich"])
    with pytest.raises(wn.InputError, match="no column beside"):
        wn.learn(alone, "rich", hypotheses="stumps", epsilon=1)


def test_nothing_private_is_shown() -> None:
    table = wn.read_table(people(1234), schema=SCHEMA, relation="add-remove")
    sealed = labelled_table(table, "rich")
    scores = rule_scores(sealed, parse("stumps").over(table.schema.subset(["age", "sex"])))
    best = str(int(open_sealed(scores.values).max()))
    found = wn.learn(table, "rich", hypotheses="stumps", epsilon=1, seed=1)
    shown = [repr(sealed), repr(scores), repr(found), str(found), found.to_json()]
    assert not any("1234" in text or best in text for text in shown)
    assert sealed.n is None
    secret = X.copy().astype(object)
    secret[3, 1] = "SECRET"
    with pytest.raises(wn.InputError) as caught:
        wn.learn(secret, Y, hypotheses=wn.stumps(cuts=CUTS), epsilon=1)
    assert "SECRET" not in str(caught.value) and caught.value.__context__ is None

    def leaking(data: Any) -> Any:
        raise ValueError("SECRET")

    with pytest.raises(wn.InputError) as caught:
        wn.learn(X, Y, hypotheses=[leaking], epsilon=1)
    assert "SECRET" not in str(caught.value) and caught.value.__context__ is None


def test_an_empty_table_is_not_an_error_that_tells() -> None:
    empty = wn.read_table(people(5).iloc[:0], schema=SCHEMA, relation="add-remove")
    assert wn.learn(empty, "rich", hypotheses="stumps", epsilon=1).value.bound is None
    public = wn.learn(empty.under("substitution"), "rich", hypotheses="stumps", epsilon=1)
    assert public.value.bound is None and public.value.rows is None


def test_the_classifier_has_the_interface_of_an_estimator() -> None:
    classifier = wn.PrivateClassifier(wn.stumps(cuts=CUTS), epsilon=5, seed=0)
    with pytest.raises(Exception, match="not fitted"):
        classifier.predict(X)
    assert classifier.fit(X, Y) is classifier
    assert classifier.rule_ == "1 if x0 >= 0.5, else 0"
    assert classifier.classes_.tolist() == [0, 1] and classifier.n_features_in_ == 3
    assert classifier.score(X, Y) > 0.9
    assert classifier.released_.guarantee.epsilon == 5
    assert classifier.receipt_.randomness == "seeded"
    copy = wn.PrivateClassifier(**classifier.get_params())
    assert copy.set_params(epsilon=1).epsilon == 1 and "epsilon=1" in repr(copy)
    with pytest.raises(wn.InputError, match="no parameter"):
        copy.set_params(depth=3)
    with pytest.raises(wn.InputError, match="public cut points"):
        wn.PrivateClassifier().fit(X, Y)
    with pytest.raises(wn.InputError, match="is a name"):
        classifier.fit(X, "rich")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert classifier.fit(frame, Y).feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(classifier.fit(X, Y), "feature_names_in_")


def test_predictions_may_be_lists_or_a_frame() -> None:
    labels = [0, 1, 1, 0, 1, 1] * 50
    rows = [[0] * 300, labels, [1] * 300]
    for predicted in (rows, tuple(map(tuple, rows)), pd.DataFrame(rows), np.array(rows)):
        found = wn.learn(np.zeros((300, 1)), labels, hypotheses=predicted, epsilon=20, seed=1)
        assert found.value.number == 1
    with pytest.raises(wn.InputError, match="differ in length"):
        wn.learn(np.zeros((300, 1)), labels, hypotheses=[[0], [0, 1]], epsilon=1)


def test_a_table_takes_no_predictions_and_two_classes_only() -> None:
    schema: Any = {"a": 2, "y": {"values": ["no", "yes", "maybe"]}}
    with pytest.raises(wn.InputError, match="one by one; name a class of rules"):
        wn.learn({"a": [0], "y": ["no"]}, "y", hypotheses=[[0]], epsilon=1, schema=schema)
    with pytest.raises(wn.InputError, match=r"3 labels .* one value and 'other'"):
        wn.learn(pd.DataFrame({"a": [0], "y": ["no"]}), "y", hypotheses="stumps", epsilon=1,
                 schema=schema)  # fmt: skip
    for how in ({}, {"classes": (0, 1, 2)}):
        with pytest.raises(wn.InputError, match="against the others"):
            wn.learn([[1.0]] * 3, [0, 1, 2], hypotheses=wn.stumps(cuts=[1]), epsilon=1, **how)
