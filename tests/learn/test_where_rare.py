"""Without class_weights= every class counts the same where the noisy sizes say that one is rare."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.learning import learned
from winnow.learn.additive import RARE, balanced, balanced_where_rare


def table(share: float, classes: int = 2, rows: int = 6_000) -> tuple[pd.DataFrame, dict[str, int]]:
    """The last class has this share; three columns tell the classes apart for most of the rows."""
    rng = np.random.default_rng(1)
    shares = [*[(1 - share) / (classes - 1)] * (classes - 1), share]
    y = rng.choice(classes, rows, p=shares)
    columns = {
        f"c{place}": np.where(rng.random(rows) < 0.75, y, rng.integers(0, classes, rows))
        for place in range(3)
    }
    schema = dict.fromkeys([*columns, "y"], classes)
    return pd.DataFrame(columns | {"y": y}), schema


def balanced_accuracy(frame: pd.DataFrame, predictor: object) -> float:
    said = np.asarray(predictor.predict(frame.drop(columns="y")))
    truth = frame["y"].to_numpy()
    return float(np.mean([(said[truth == c] == c).mean() for c in np.unique(truth)]))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_default_finds_a_rare_class(classes: int) -> None:
    """A vote, and an additive model."""
    frame, schema = table(0.03, classes)
    options = {"schema": schema, "epsilon": 3.0, "seed": 2}
    shares = {
        weights: balanced_accuracy(
            frame, learned(frame, "y", class_weights=weights, **options).value
        )
        for weights in ("auto", None, "balanced")
    }
    assert shares["auto"] >= shares["balanced"] - 0.02
    assert shares["auto"] >= shares[None] + 0.04


def test_where_no_class_is_rare_every_row_counts_the_same() -> None:
    frame, schema = table(0.4)
    options = {"schema": schema, "epsilon": 3.0, "seed": 2}
    auto, plain = (
        learned(frame, "y", class_weights=weights, **options).value for weights in ("auto", None)
    )
    truth = frame["y"].to_numpy()
    rows = frame.drop(columns="y")
    right = [float((np.asarray(each.predict(rows)) == truth).mean()) for each in (auto, plain)]
    assert right[0] >= right[1] - 0.02


def test_half_of_an_even_share_is_the_border() -> None:
    even = 1_000
    for classes in (2, 3, 5):
        rare = RARE * classes
        # x rows of one class are few where x times this is less than all rows
        border = (classes - 1) * even / (rare - 1)
        below = (int(np.ceil(border)) - 1, *[even] * (classes - 1))
        above = (int(np.floor(border)) + 1, *[even] * (classes - 1))
        assert balanced_where_rare(below) == balanced(below) != (1000,) * classes
        assert balanced_where_rare(above) == (1000,) * classes


def test_a_method_that_was_named_counts_rows_unless_it_is_told() -> None:
    _, schema = table(0.05)
    for method in ("stumps", "boosted", "additive", wn.OneRule(with_accuracy=True)):
        named = wn.plan.learn(wn.plan.labelled(schema, "y", rows=6_000), epsilon=1, method=method)
        assert "balanced" not in named.name
    chosen = wn.plan.learn(wn.plan.labelled(schema, "y", rows=6_000), epsilon=1)
    assert "classes balanced where one is rare" in chosen.name
    plain = wn.plan.learn(wn.plan.labelled(schema, "y", rows=6_000), epsilon=1, class_weights=None)
    assert "balanced" not in plain.name


@pytest.mark.extras
def test_the_sizes_are_charged_with_the_rules() -> None:
    """With both models, and with one rule where the rows are too few for a vote."""
    for size, delta in ((60, 0), (60, 1e-6), (2_000, 0), (2_000, 1e-6)):
        frame, schema = table(0.05, rows=size)
        rows = wn.plan.labelled(schema, "y", rows=size)
        found = learned(frame, "y", schema=schema, epsilon=1.0, delta=delta, seed=1)
        plan = wn.plan.learn(rows, epsilon=1.0, delta=delta)
        assert found.receipt.event == plan.event
        assert found.guarantee.epsilon <= 1.0 + 1e-9
        assert "classes balanced where one is rare" in found.receipt.mechanism
