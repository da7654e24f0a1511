"""Public classes of rules: what is in them, how they read, and how they are counted."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow as wn
from reference.inside import open_sealed
from reference.rule_counts import correct_by_running, predictions
from winnow.learn.about import AboutRows
from winnow.learn.features import Feature
from winnow.learn.kernels.rule_counts import MANY_ROWS, correct_by_row, correct_by_rule
from winnow.learn.rules import RuleClass, rule_class, rules_over

SCHEMA = wn.Schema.parse(
    {
        "sex": {"values": ["Female", "Male"]},
        "job": {"values": ["a", "b", "c"], "other": True},
        "age": {"edges": [0, 20, 40, 60], "clip": True},
        "pay": {"edges": [0, 1, 2], "other": "unknown"},
        "grade": 4,
    }
)
KINDS = ("thresholds", "intervals", "stumps", "conjunctions:2", "conjunctions:3")


def cut(kind: str, names: list[str], cuts: Any) -> RuleClass:
    method = wn.OneRule(of=kind, cuts=cuts)
    about = AboutRows(classes=(0, 1), relation=wn.Relation.SUBSTITUTION, names=tuple(names))
    return rule_class(kind, about.features(method.cuts))


def texts(rules: RuleClass) -> list[str]:
    return [rules.rule(i).text(rules.features, ("no", "yes")) for i in range(len(rules))]


@pytest.mark.parametrize("kind", KINDS)
def test_no_rule_stands_twice_and_the_opposite_of_a_stump_or_interval_is_there(kind: str) -> None:
    columns = ["sex", "job", "pay", "grade"][: 3 if kind == "conjunctions:3" else 4]
    rules = rules_over(kind, SCHEMA.subset(columns))
    rows = list(product(*(range(f.cardinality) for f in rules.features)))
    functions = np.array([predictions(rules, row) for row in rows]).T
    assert len({row.tobytes() for row in functions}) == len(rules)
    if kind != "thresholds":
        opposite = {row.tobytes() for row in ~functions}
        assert opposite == {row.tobytes() for row in functions}


def test_rules_read_like_sentences() -> None:
    found = texts(rules_over("stumps", SCHEMA))
    for text in (
        "always yes",
        "always no",
        "yes if sex = Female, else no",
        "yes if job != b, else no",
        "yes if job = other, else no",
        "yes if age >= 20, else no",
        "yes if age < 40, else no",
        "yes if not pay >= 1, else no",
        "yes if pay = unknown, else no",
        "yes if grade >= 2, else no",
        "yes if grade = 3, else no",
    ):
        assert text in found
    assert "yes if sex != Female, else no" not in found  # it is 'sex = Male'
    assert "yes if 20 <= age < 40, else no" in texts(rules_over("intervals", SCHEMA))
    pairs = texts(rules_over("conjunctions:2", SCHEMA))
    assert "no if sex = Male and age < 20, else yes" in pairs
    assert len(pairs) == len(set(pairs))


def test_texts_say_what_the_codes_say_on_raw_values() -> None:
    age = Feature.of_column(SCHEMA.column("age"))
    values = np.array([-5.0, 0, 19.9, 20, 39, 40, 60, 99])
    codes = age.encode(values)
    tests = age.tests()
    assert [age.text(tests[i]) for i in range(len(tests))] == [
        "age >= 20", "age < 20", "age >= 40", "age < 40",
    ]  # fmt: skip
    low, high, outside = tests[0]
    held = (codes >= low) & (codes < high)
    assert not outside and held.tolist() == (values >= 20).tolist()


def test_values_that_were_not_declared_are_other_or_unknown() -> None:
    job, sex = (Feature.of_column(SCHEMA.column(name)) for name in ("job", "sex"))
    assert job.encode(["a", "z", None, 7]).tolist() == [0, 3, 3, 3]
    assert sex.encode(["Male", "male", float("nan")]).tolist() == [1, -1, -1]
    grade = Feature.of_column(SCHEMA.column("grade"))
    assert grade.encode([0, 3, 4, -1, 1.5, float("nan")]).tolist() == [0, 3, -1, -1, -1, -1]
    cut = Feature.cut_at("x", [0.5, 2])
    assert cut.encode([0.4, 0.5, 1.9, 2, float("nan")]).tolist() == [0, 1, 1, 2, -1]
    one = Feature.of_column(wn.Schema.parse({"b": {"values": [True, False]}}).columns[0])
    assert one.encode(np.array([1, 0])).tolist() == [-1, -1]  # 1 is not True


def test_numbers_beyond_the_edges_are_placed_as_the_training_table_places_them() -> None:
    values = [-1.0, 0.0, 1.5, 2.0, 3.0]
    for form, expected in (
        ({"edges": [0, 1, 2], "other": True}, [2, 0, 1, 1, 2]),
        ({"edges": [0, 1, 2], "other": True, "clip": True}, [0, 0, 1, 1, 1]),
        ({"edges": [0, 1, 2], "clip": True}, [0, 0, 1, 1, 1]),
    ):
        schema = wn.Schema.parse({"x": form})
        feature = Feature.of_column(schema.columns[0])
        assert feature.encode(values).tolist() == expected
        assert Feature.from_dict(feature.to_dict()) == feature
        table = wn.read_table(pd.DataFrame({"x": values}), schema=schema)
        (codes,), weights = open_sealed(table.rows)
        assert np.repeat(codes, weights).tolist() == sorted(expected)


def test_true_and_missing_are_values_of_their_own() -> None:
    feature = Feature.of_column(wn.Schema.parse({"b": {"values": [None, "x"]}}).columns[0])
    assert feature.encode(np.array([None, "x", float("nan")], object)).tolist() == [0, 1, 0]


def test_features_survive_json() -> None:
    for feature in rules_over("stumps", SCHEMA).features:
        assert Feature.from_dict(feature.to_dict()) == feature


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_counting_by_tables_agrees_with_running_every_rule(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 3))
    shape = {}
    for i in range(columns):
        kind = data.draw(st.sampled_from(["codes", "values", "edges"]))
        size = data.draw(st.integers(1, 4))
        form = {"codes": size, "values": list("abcd"[:size]), "edges": list(range(size + 1))}
        shape[f"c{i}"] = {kind: form[kind], "other": data.draw(st.booleans())}
    schema = wn.Schema.parse(shape)
    rules = rules_over(data.draw(st.sampled_from(KINDS)), schema)
    n = data.draw(st.integers(0, 6))
    codes = [
        np.array(data.draw(st.lists(st.integers(0, c - 1), min_size=n, max_size=n)), np.int32)
        for c in schema.shape
    ]
    positive = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    large = st.sampled_from([0, 1, 5, 2**40])
    weights = np.array(data.draw(st.lists(large, min_size=n, max_size=n)), np.int64)
    found = correct_by_rule(rules, codes, positive, weights)
    assert found.tolist() == correct_by_running(rules, codes, positive, weights)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_tables_are_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = rules_over(kind, SCHEMA)
    generator = np.random.default_rng(2)
    codes = [generator.integers(0, f.cardinality, 500, np.int32) for f in rules.features]
    positive, weights = generator.random(500) < 0.4, generator.integers(0, 9, 500)
    plain = correct_by_rule(rules, codes, positive, weights)
    monkeypatch.setattr(MANY_ROWS, "_at", 0)
    assert (correct_by_rule(rules, codes, positive, weights) == plain).all()


def test_weights_beyond_the_exact_floats_are_added_exactly() -> None:
    rules = rules_over("stumps", wn.Schema.parse({"a": 2}))
    codes = [np.array([0, 0, 1], np.int32)]
    weights = np.array([2**53 + 1, 2**53, 3], np.int64)
    positive = np.array([True, False, True])
    expected = correct_by_running(rules, codes, positive, weights)
    assert correct_by_rule(rules, codes, positive, weights).tolist() == expected
    with pytest.raises(wn.InputError, match="2\\^62"):
        correct_by_rule(rules, codes, positive, np.array([2**62, 2**62, 2**62]))


def test_predictions_are_compared_bit_by_bit() -> None:
    generator = np.random.default_rng(1)
    predicted = generator.random((50, 133)) < 0.5
    positive = generator.random(133) < 0.3
    expected = (predicted == positive).sum(axis=1)
    assert correct_by_row(predicted, positive).tolist() == expected.tolist()
    assert correct_by_row(predicted.astype(np.int8), positive).tolist() == expected.tolist()


def test_a_million_rules_are_numbered_without_being_listed() -> None:
    rules = cut("intervals", ["x"], np.arange(1000))
    assert len(rules) == 2 + 2 * 1000 + 1000 * 999
    assert (
        rules.rule(len(rules) - 1).text(rules.features, (0, 1)) == "1 if not 998 <= x < 999, else 0"
    )
    x, y = np.arange(-1, 1000), np.arange(-1, 1000) % 7 == 0
    codes = [rules.features[0].encode(x)]
    scores = correct_by_rule(rules, codes, y, np.ones(len(y), np.int64))
    for number in (0, 1, 2, 777, 500_000, len(rules) - 1):
        said = rules.rule(number).positive(codes, len(y))
        assert scores[number] == np.count_nonzero(said == y)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("trees", "unknown"),
        ("stumps:2", "unknown"),
        ("conjunctions", "unknown"),
        ("conjunctions:x", "unknown"),
        ("conjunctions:0", "below 1"),
        ("conjunctions:5", "above 4"),
        (7, "int"),
    ],
)
def test_a_class_that_does_not_exist_is_refused(words: object, message: str) -> None:
    with pytest.raises(wn.InputError, match=message):
        wn.OneRule(of=words)


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        (5, "int"),
        ([], "at least one"),
        ([[1], [2], [3]], "3 lists of cuts for 2 columns"),
        (["a"], "not a number"),
        ([True], "not a number"),
        ([1, 1], "do not increase"),
        ([float("inf")], "not finite"),
        ({"x0": [1]}, "has no names"),
        (None, "public cut points"),
    ],
)
def test_cuts_that_make_no_sense_are_refused(cuts: object, message: str) -> None:
    with pytest.raises(wn.InputError, match=message):
        cut("stumps", ["x0", "x1"], cuts)


def test_a_column_without_cuts_is_not_used() -> None:
    rules = cut("stumps", ["x0", "x1"], [[], [5]])
    assert texts(rules)[2:] == ["yes if x1 >= 5, else no", "yes if x1 < 5, else no"]
    assert len(cut("stumps", ["x0", "x1"], [[], []])) == 2  # the constants


def test_a_class_that_does_not_fit_memory_is_refused_before_it_is_made() -> None:
    with pytest.raises(wn.InputError, match="at most 100,000,000"):
        cut("intervals", ["x"], np.arange(20_000))
    wide = wn.Schema.parse({f"c{i}": 100 for i in range(30)})
    with pytest.raises(wn.InputError, match="conjunctions:3 over these features"):
        rules_over("conjunctions:3", wide)


def test_a_class_shows_what_it_is() -> None:
    assert repr(wn.Additive(cuts=[1])) == "Additive(cuts=[1])"
    assert repr(rules_over("stumps", wn.Schema.parse({"a": 2}))) == "<4 stumps over 1 features>"
