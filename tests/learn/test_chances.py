"""Chances of classes: what models say, calibrated by noisy counts, saved and read back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.learn.chances import BINS, ChanceCurve, bins_of, fitted, odds_of
from winnow.learn.crossing.calibrated import CalibratedModel
from winnow.privacy import pure_cost

ROWS = 40_000


def people(classes: int = 2, rare: bool = False, seed: int = 1) -> tuple[pd.DataFrame, Any]:
    """The class follows from many columns, never for certain."""
    rng = np.random.default_rng(seed)
    held = {f"c{place}": rng.integers(0, 4, ROWS) for place in range(6)}
    score = sum(np.array([0, 3, 1, 2])[column] for column in held.values()) + rng.normal(0, 2, ROWS)
    cuts = [14.0] if rare else np.quantile(score, np.arange(1, classes) / classes)
    frame = pd.DataFrame(held | {"y": np.digitize(score, cuts)})
    return frame, dict.fromkeys(held, 4) | {"y": classes}


def gap(chances: Any, truth: Any) -> float:
    """The expected calibration error over ten bins of the chance of the likeliest class."""
    chances = np.asarray(chances)
    top, right = chances.max(axis=1), chances.argmax(axis=1) == truth
    bins = np.minimum((10 * top).astype(int), 9)
    return float(
        sum(abs(top[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean()
            for b in np.unique(bins))
    )  # fmt: skip


@pytest.mark.parametrize("method", ["auto", "boosted", "additive", "conjunctions:2"])
@pytest.mark.parametrize("rare", [False, True])
def test_calibrated_chances_are_the_shares_that_are_seen(method: str, rare: bool) -> None:
    """Within three points on new rows, also where classes are balanced; seeds are fixed."""
    frame, schema = people(rare=rare)
    table = wn.read_table(frame, schema=schema)
    weights = "balanced" if rare else None
    found = wn.learn(
        table, "y", epsilon=2.0, method=method, class_weights=weights, calibrated=True, seed=1
    )
    new, _ = people(rare=rare, seed=2)
    chances = np.asarray(found.value.predict_proba(new))
    assert gap(chances, new["y"].to_numpy()) < 0.03
    assert abs(chances[:, 1].mean() - new["y"].mean()) < 0.03
    assert found.guarantee.epsilon <= 2.0 + 1e-12


def test_more_than_two_classes_are_calibrated_by_how_often_the_likeliest_is_right() -> None:
    frame, schema = people(4)
    table = wn.read_table(frame, schema=schema)
    new, _ = people(4, seed=2)
    found = wn.learn(table, "y", epsilon=2.0, calibrated=True, seed=1).value
    chances = np.asarray(found.predict_proba(new))
    assert chances.shape == (ROWS, 4) and np.allclose(chances.sum(axis=1), 1)
    assert gap(chances, new["y"].to_numpy()) < 0.05


def test_calibration_mends_a_model_that_is_too_sure() -> None:
    """Copies of a column make a vote or points too sure; a twin without calibration shows it."""
    frame, schema = people()
    for copy in range(4):
        frame[f"c0 {copy}"], schema[f"c0 {copy}"] = frame["c0"], 4
    rng = np.random.default_rng(3)
    frame["y"] = (rng.random(ROWS) < np.array([0.3, 0.7, 0.45, 0.55])[frame["c0"]]).astype(int)
    table = wn.read_table(frame, schema=schema)
    own, mended = (
        wn.learn(table, "y", method=wn.Boosted(rounds=12), epsilon=4.0, calibrated=said, seed=1)
        for said in (False, True)
    )
    truth = frame["y"].to_numpy()
    assert gap(mended.value.predict_proba(frame), truth) < 0.02
    assert gap(own.value.predict_proba(frame), truth) > 0.05


def test_chances_keep_an_index_and_are_saved(tmp_path: Path) -> None:
    frame, schema = people()
    schema["y"] = {"values": ["no", "yes"]}
    frame["y"] = np.where(frame["y"] == 1, "yes", "no")
    frame.index = pd.Index([f"r{place}" for place in range(ROWS)])
    table = wn.read_table(frame, schema=schema)
    for method in ("auto", "boosted", "additive", "stumps"):
        found = wn.learn(table, "y", epsilon=1.0, method=method, calibrated=True, seed=1)
        path = tmp_path / f"{method}.json"
        path.write_text(found.to_json())
        chances = found.value.predict_proba(frame.head(50))
        assert list(chances.columns) == ["no", "yes"] and list(chances.index) == list(
            frame.index[:50]
        )
        again = wn.load_predictor(path)
        pd.testing.assert_frame_equal(again.predict_proba(frame.head(50)), chances)
        assert isinstance(again.predict_proba(dict(frame.head(5))), np.ndarray)
        broken = json.loads(path.read_text())
        broken["value"]["calibration"]["slope"] = "steep"
        path.write_text(json.dumps(broken))
        with pytest.raises(wn.DataError, match="not a saved model"):
            wn.load_predictor(path)


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(wn.Relation))
def test_what_calibration_is_charged(relation: wn.Relation) -> None:
    _, schema = people()
    about = wn.plan.labelled(schema, "y", rows=ROWS, relation=relation)
    for delta in (0.0, 1e-6):
        plan = wn.plan.learn(about, epsilon=1.0, delta=delta, calibrated=True)
        assert isinstance(plan.mechanism, CalibratedModel)
        assert plan.guarantee.epsilon <= 1.0 + 1e-12 and plan.guarantee.delta <= delta
    plan = wn.plan.learn(about, epsilon=1.0, calibrated=True)
    assert float(pure_cost(plan.event).epsilon) == pytest.approx(1.0, abs=1e-12)
    assert "calibrated on noisy counts of 24 bins" in plan.name


def test_without_calibration_a_rule_says_no_chances() -> None:
    frame, schema = people()
    table = wn.read_table(frame, schema=schema)
    rule = wn.learn(table, "y", epsilon=1.0, method="stumps", seed=1).value
    with pytest.raises(wn.ParameterError, match="calibrated=True"):
        rule.predict_proba(frame)
    own = wn.OneRule(of=[lambda X: X[:, 0]])
    with pytest.raises(wn.ParameterError, match="functions of your own"):
        wn.learn(np.zeros((4, 1)), [0, 1, 0, 1], method=own, epsilon=1.0, calibrated=True)


def test_an_estimator_says_chances_where_its_model_does() -> None:
    frame, _ = people()
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    model = wn.PrivateClassifier(wn.Boosted(cuts=[1, 2, 3]), calibrated=True, epsilon=2.0, seed=1)
    chances = model.fit(X, y).predict_proba(X)
    assert chances.shape == (ROWS, 2) and np.allclose(chances.sum(axis=1), 1)
    listed = wn.PrivateClassifier(wn.OneRule(of=[lambda X: X[:, 0] > 1]), epsilon=2.0, seed=1)
    assert not hasattr(listed.fit(X, y), "predict_proba")


def test_a_curve_is_found_again_and_few_rows_change_nothing() -> None:
    """By exact counts of 10^6 rows; and by noise alone on both sides of what is trusted."""
    middle = (np.arange(BINS) + 0.5) / 2 - 6
    chance = 1 / (1 + np.exp(-(0.5 * middle - 1)))
    rows = 10**6 // BINS
    counts = np.stack([rows * (1 - chance), rows * chance], axis=1).round().astype(np.int64)
    found = fitted(counts, 40.0)
    assert found.slope == pytest.approx(0.5, abs=0.01) and found.offset == pytest.approx(
        -1, abs=0.02
    )
    quiet = np.full((BINS, 2), 39, np.int64)
    assert fitted(quiet, 40.0) == ChanceCurve(1.0, 0.0)
    assert fitted(quiet + 1, 40.0) != ChanceCurve(1.0, 0.0)
    assert fitted(counts[:, ::-1], 40.0).slope >= 0


def test_bins_reach_from_end_to_end() -> None:
    odds = np.array([-math.inf, -6.0, -5.51, -5.49, 0.0, 5.99, 6.0, 50.0])
    assert bins_of(odds).tolist() == [0, 0, 0, 1, 12, 23, 23, 23]
    scores = np.array([[0.0, 2.0], [1.0, 0.0]])
    assert odds_of(scores).tolist() == [2.0, -1.0]
    three = np.array([[0.0, 0.0, math.log(4)]])
    assert odds_of(three)[0] == pytest.approx(math.log(2))
