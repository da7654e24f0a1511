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
from reference.learning import learned
from winnow.learn.crossing.rows import labelled_table, rule_scores
from winnow.learn.rules import rules_over

GENERATOR = np.random.default_rng(5)
X = GENERATOR.normal(size=(4000, 3))
Y = ((X[:, 0] > 0.5) & (X[:, 2] < 1)).astype(int)
CUTS = [-1, -0.5, 0, 0.5, 1]
SCHEMA: dict[str, Any] = {
    "age": {"edges": [0, 30, 50, 100]},
    "sex": {"values": ["f", "m"]},
    "rich": {"values": ["no", "yes"]},
}


STUMPS = wn.OneRule(of="stumps", cuts=CUTS)
PAIRS = wn.OneRule(of="conjunctions:2", cuts=CUTS)
FUNCTION = wn.OneRule(of=[lambda rows: np.zeros(len(rows), int)])
TWO = {"a": 2, "y": {"values": ["no", "yes"]}}


def people(n: int = 2000) -> pd.DataFrame:
    generator = np.random.default_rng(6)
    age, sex = generator.integers(0, 100, n), generator.choice(["f", "m"], n)
    rich = np.where((age >= 50) & (sex == "m"), "yes", "no")
    return pd.DataFrame({"age": age, "sex": sex, "rich": rich})


@pytest.mark.parametrize("mechanism", ["large-margin", "permute-and-flip", "exponential"])
def test_a_clear_rule_is_found_by_every_mechanism(mechanism: str) -> None:
    delta = 1e-6 if mechanism == "large-margin" else 0
    found = learned(
        X, Y, method=PAIRS, epsilon=2, delta=delta,
        selection=mechanism, seed=1,
    )  # fmt: skip
    assert found.value.text == "1 if x0 >= 0.5 and x2 < 1, else 0"
    assert found.value.score(X, Y) == 1.0
    assert found.receipt.mechanism.startswith(mechanism) and found.receipt.reason == ""
    assert found.guarantee.epsilon == 2 and found.guarantee.delta == delta


def test_the_default_is_permute_and_flip_and_leaves_a_delta_unspent() -> None:
    options: dict[str, Any] = {
        "method": STUMPS,
        "epsilon": 1,
        "seed": 0,
    }
    with_delta, without = learned(X, Y, delta=1e-6, **options), learned(X, Y, **options)
    assert with_delta.receipt.mechanism == without.receipt.mechanism == "permute-and-flip"
    assert with_delta.guarantee.delta == 0 and "least error" in with_delta.receipt.reason
    assert with_delta.value.number == without.value.number
    printed = learned(X, Y, delta=1e-6, thresholds="printed", **options)
    assert printed.receipt.mechanism == "large-margin (printed thresholds)"


def test_a_person_moves_the_counts_natively_under_each_relation() -> None:
    table = wn.read_table(people(50), schema=SCHEMA)
    rules = rules_over("stumps", table.schema.subset(["age", "sex"]))
    assert rule_scores(labelled_table(table, "rich"), rules).utility.half_width == 1
    added = table.under("add-remove")
    utility = rule_scores(labelled_table(added, "rich"), rules).utility
    assert (utility.down, utility.up, utility.half_width) == (0, 1, wn.Utility.declare().up / 2)
    frame = people(50).assign(who=np.arange(50) // 3)
    several = wn.read_table(frame, schema=SCHEMA, person="who", max_rows=3)
    assert rule_scores(labelled_table(several, "rich"), rules).utility.half_width == 3


@pytest.mark.parametrize("source", ["table", "pandas", "polars", "file"])
def test_tables_are_read_from_everywhere(source: str, tmp_path: Path) -> None:
    frame = people()
    options: dict[str, Any] = {"method": "conjunctions:2", "epsilon": 3, "seed": 3}
    if source == "table":
        found = learned(wn.read_table(frame, schema=SCHEMA), "rich", **options)
    else:
        data: Any = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(source)
        if data is None:
            data = tmp_path / "people.csv"
            frame.to_csv(data, index=False)
        found = learned(data, "rich", schema=SCHEMA, **options)
    assert found.value.text == "yes if age >= 50 and sex = m, else no"
    assert set(found.value.predict(frame)) == {"yes", "no"}
    assert found.value.score(frame, frame["rich"]) == 1.0
    assert found.value.predict({"age": [70, 20], "sex": ["m", "m"]}).tolist() == ["yes", "no"]


def test_an_array_or_frame_with_a_schema_takes_labels_beside_it() -> None:
    frame = people()
    schema = {name: SCHEMA[name] for name in ("age", "sex")}
    found = learned(
        frame, frame["rich"], method="conjunctions:2", schema=schema, classes=("no", "yes"),
        epsilon=3, seed=0,
    )  # fmt: skip
    assert found.value.text == "yes if age >= 50 and sex = m, else no"
    assert found.value.predict([[70, "m"], [70, "f"]]).tolist() == ["yes", "no"]


def test_named_columns_take_cuts_by_name() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = learned(frame, Y, method=wn.OneRule(of="stumps", cuts={"a": CUTS}), epsilon=5, seed=0)
    assert found.value.text == "1 if a >= 0.5, else 0"
    assert found.value.predict(frame[["a"]]).tolist() == (X[:, 0] >= 0.5).astype(int).tolist()
    with pytest.raises(wn.InputError, match="no column 'a'"):
        found.value.predict(frame[["b"]])


def test_predictions_and_functions_serve_as_hypotheses() -> None:
    rows = np.stack([X[:, j] > c for j in range(3) for c in CUTS])
    found = learned(None, Y, predictions=rows, epsilon=5, seed=0)
    assert found.value.number == 3 and found.value.text == "hypothesis 3"
    assert found.value.predict(rows[:, :9]).tolist() == rows[3, :9].astype(int).tolist()
    with pytest.raises(wn.InputError, match="all 15 hypotheses"):
        found.value.predict(X)

    def above(data: Any) -> Any:
        return (data[:, 0] > 0.5).astype(int)

    functions = [lambda data: np.zeros(len(data), int), above]
    chosen = learned(X, Y, method=wn.OneRule(of=functions), epsilon=5, seed=0)
    assert chosen.value.text == "hypothesis 1 (above)"
    assert chosen.value.score(X, Y) == pytest.approx(np.mean(above(X) == Y))


def test_the_noisy_accuracy_costs_half_and_gives_a_bound_on_the_error() -> None:
    found = learned(
        X,
        Y,
        method=PAIRS,
        epsilon=2,
        with_accuracy=True,
        seed=2,
    )
    assert found.guarantee.epsilon == 2
    assert found.value.correct is not None and abs(found.value.correct - 4000) < 40
    bound = found.value.bound
    assert bound is not None and bound.error is not None
    assert 0 < bound.error < 0.1 and bound.excess == bound.estimation + bound.privacy
    assert str(bound).startswith("at 95 %, the error rate exceeds the best of the class by")


def test_the_rows_that_a_table_states_are_those_to_learn_from() -> None:
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "y": [0, 1, 1, 0]})
    for relation, stated in (("add-remove", 5), ("add-remove", None), ("substitution", None)):
        table = wn.read_table(frame, schema={"a": 2, "y": 2}, relation=relation, rows=stated)
        assert wn.labelled(table, "y").about.rows == (4 if relation == "substitution" else stated)
    assert wn.labelled(table.under("add-remove").stating(5), "y", rows=6).about.rows == 6


def test_the_bound_needs_a_public_number_of_rows() -> None:
    options: dict[str, Any] = {
        "method": STUMPS,
        "epsilon": 1,
        "seed": 2,
    }
    hidden = learned(X, Y, relation="add-remove", **options)
    assert hidden.value.bound is None and hidden.value.rows is None
    told = learned(X, Y, relation="add-remove", rows=4000, **options)
    assert told.value.bound is not None and told.value.bound.rows == 4000
    public = learned(X, Y, **options)
    assert public.value.bound is not None
    # half the sensitivity under add-remove
    assert told.value.bound.privacy == pytest.approx(public.value.bound.privacy / 2)
    with pytest.raises(wn.InputError, match="there are 4000 rows"):
        learned(X, Y, rows=4001, **options)


def test_a_saved_predictor_predicts_the_same(tmp_path: Path) -> None:
    frame = people()
    found = learned(
        frame, "rich", schema=SCHEMA, method="conjunctions:2", epsilon=1, seed=3,
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
    learned(X, Y, method=STUMPS, epsilon=0.75, budget=budget)
    with pytest.raises(wn.BudgetExceeded):
        learned(X, Y, method=STUMPS, epsilon=0.75, budget=budget)
    with pytest.raises(wn.RelationMismatch):
        learned(
            X, Y, method=STUMPS, epsilon=0.1, budget=budget,
            relation="add-remove",
        )  # fmt: skip
    table = wn.read_table(people(), schema=SCHEMA)
    session = wn.Session(table, epsilon=1)
    found = session.learn(table, "rich", method="stumps", epsilon=0.5)
    assert found.guarantee.relation == wn.Relation.SUBSTITUTION


NAN = X.copy()
NAN[7, 1] = np.nan
PREDICTED = np.zeros((2, 4000), bool)
ONE_FAILING = wn.OneRule(of=[lambda x: 1 / 0])


@pytest.mark.parametrize(
    "asked",
    [
        {"X": np.zeros((0, 1)), "method": wn.OneRule(of="stumps", cuts=[0.5])},
        {"X": None, "predictions": [[], []]},
        {"X": None, "predictions": np.zeros((2, 0), bool)},
        {"X": np.zeros((0, 1)), "method": wn.OneRule(of=[lambda x: np.zeros(len(x), int)])},
    ],
    ids=["cut points", "lists", "an array", "functions"],
)
def test_nobody_at_all_is_learned_from_where_that_is_private(asked: Any) -> None:
    """Under add-remove an error would tell it; under substitution it is public."""
    nobody = {"y": [], "epsilon": 1, "seed": 4, **asked}
    released = learned(**nobody, relation="add-remove")
    assert released.guarantee.epsilon == 1
    with pytest.raises(wn.InputError, match="no rows"):
        learned(**nobody, relation="substitution")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "stumps"}, "public cut points"),
        ({"method": "trees"}, "unknown"),
        ({"method": []}, "not a method"),
        ({"method": np.zeros((2, 4000), bool)}, "not a method"),
        ({"X": None, "predictions": np.zeros((3, 5), bool)}, "one column for each label"),
        ({"X": None, "predictions": np.zeros((0, 4000), bool)}, "one row for each hypothesis"),
        ({"X": None, "predictions": np.zeros((2, 4000))}, "float64"),
        ({"X": None, "predictions": np.full((2, 4000), 2)}, "neither 0 nor 1"),
        ({"X": None, "predictions": np.zeros((2, 4000), bool)}, "come with predictions"),
        ({"predictions": np.zeros((2, 4000), bool)}, "leave out X"),
        ({"X": None, "predictions": PREDICTED, "schema": {"x": 2}}, "leave out X and schema"),
        ({"X": None, "predictions": PREDICTED, "method": "boosted"}, "come with predictions"),
        ({"X": None, "predictions": PREDICTED, "method": ONE_FAILING}, "come with predictions"),
        ({"X": None, "predictions": 7, "method": "auto"}, "predictions are a int"),
        ({"method": ONE_FAILING}, "hypothesis 0 failed with ZeroDivisionError"),
        ({"method": ONE_FAILING, "schema": {"x": 2}}, "without a schema"),
        ({"method": wn.OneRule(of=[lambda x: x[:, 0]])}, "hypothesis 0 does not return one of"),
        ({"method": wn.OneRule(of=[lambda x: np.zeros(3)])}, "one class for each row"),
        ({"y": None}, "no labels"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 1e-6, "selection": "exponential"}, "leave out delta"),
        ({"selection": "noisy-max"}, "choose one of"),
        ({"selection": "large-margin"}, "needs delta"),
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
        ({"y": "target", "method": "stumps"}, "public schema"),
        ({"X": NAN}, "column 2 of X holds a value that was not declared, or a missing one"),
        ({"X": X[:, 0]}, "dimensions"),
        ({"X": [[1, 2, 3], [1]]}, "ragged"),
        ({"X": np.full((4000, 3), "a")}, "does not hold numbers"),
        ({"schema": {"x": 2}}, "leave out cuts"),
    ],
)
def test_bad_input_is_refused_before_anything_is_charged(
    change: dict[str, Any], message: str
) -> None:
    budget = wn.Budget(epsilon=1, delta=1e-5, relation="substitution", accountant="pure")
    options: dict[str, Any] = {
        "X": X, "y": Y, "method": STUMPS, "epsilon": 0.5, "budget": budget,
    }  # fmt: skip
    with pytest.raises(wn.InputError, match=message):
        learned(**(options | change))
    assert str(budget) == str(
        wn.Budget(epsilon=1, delta=1e-5, relation="substitution", accountant="pure")
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": "age"}, "3 classes"),
        ({"y": "height"}, "no column 'height'"),
        ({"classes": (0, 1)}, "leave out classes"),
        ({"method": wn.OneRule(of="stumps", cuts=[1])}, "leave out cuts"),
        ({"schema": SCHEMA}, "its schema already"),
        ({"method": FUNCTION}, "name a class of rules"),
        ({"y": [0, 1]}, "name their column"),
    ],
)
def test_bad_requests_about_a_table_are_refused(change: dict[str, Any], message: str) -> None:
    table = wn.read_table(people(20), schema=SCHEMA)
    options: dict[str, Any] = {"X": table, "y": "rich", "method": "stumps", "epsilon": 1}
    with pytest.raises(wn.InputError, match=message):
        learned(**(options | change))
    alone = table.restrict(["rich"])
    with pytest.raises(wn.InputError, match="no column besides"):
        learned(alone, "rich", method="stumps", epsilon=1)


def test_nothing_private_is_shown() -> None:
    table = wn.read_table(people(1234), schema=SCHEMA, relation="add-remove")
    sealed = labelled_table(table, "rich")
    scores = rule_scores(sealed, rules_over("stumps", table.schema.subset(["age", "sex"])))
    best = str(int(open_sealed(scores.values).max()))
    found = learned(table, "rich", method="stumps", epsilon=1, seed=1)
    shown = [repr(sealed), repr(scores), repr(found), str(found), found.to_json()]
    assert not any("1234" in text or best in text for text in shown)
    assert sealed.n is None
    secret = X.copy().astype(object)
    secret[3, 1] = "SECRET"
    with pytest.raises(wn.InputError) as caught:
        learned(secret, Y, method=STUMPS, epsilon=1)
    assert "SECRET" not in str(caught.value) and caught.value.__context__ is None

    def leaking(data: Any) -> Any:
        raise ValueError("SECRET")

    with pytest.raises(wn.InputError) as caught:
        learned(X, Y, method=wn.OneRule(of=[leaking]), epsilon=1)
    assert "SECRET" not in str(caught.value) and caught.value.__context__ is None


def test_an_empty_table_is_not_an_error_that_tells() -> None:
    empty = wn.read_table(people(5).iloc[:0], schema=SCHEMA, relation="add-remove")
    assert learned(empty, "rich", method="stumps", epsilon=1).value.bound is None
    public = learned(empty.under("substitution"), "rich", method="stumps", epsilon=1)
    assert public.value.bound is None and public.value.rows is None


def test_the_classifier_has_the_interface_of_an_estimator() -> None:
    classifier = wn.PrivateClassifier(STUMPS, epsilon=5, seed=0)
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
        found = learned(None, labels, predictions=predicted, epsilon=20, seed=1)
        assert found.value.number == 1
    with pytest.raises(wn.InputError, match="differ in length"):
        learned(None, labels, predictions=[[0], [0, 1]], epsilon=1)


def test_a_table_takes_no_predictions_and_two_classes_only() -> None:
    schema: Any = {"a": 2, "y": {"values": ["no", "yes", "maybe"]}}
    table = wn.read_table(pd.DataFrame({"a": [0], "y": ["no"]}), schema=TWO)
    with pytest.raises(wn.InputError, match="name a class of rules"):
        learned(table, "y", method=FUNCTION, epsilon=1)
    with pytest.raises(wn.InputError, match="their labels as y="):
        learned(table, "y", predictions=[[0]], epsilon=1)
    with pytest.raises(wn.InputError, match=r"3 classes.* one value and 'other'"):
        learned(pd.DataFrame({"a": [0], "y": ["no"]}), "y", method="stumps", epsilon=1,
                 schema=schema)  # fmt: skip
    for how in ({}, {"classes": (0, 1, 2)}):
        with pytest.raises(wn.InputError, match="against the others"):
            learned(
                [[1.0]] * 3, [0, 1, 2], method=wn.OneRule(of="stumps", cuts=[1]), epsilon=1, **how
            )
