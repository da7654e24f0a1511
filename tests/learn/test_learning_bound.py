"""The bound on new rows holds as often as it says, and its constants are the written ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import winnow as wn
from reference.learning import learned
from winnow.learn.bound import error_bound, estimation_error, margin_in_rows, privacy_error


def test_the_constants_are_those_of_the_docstring() -> None:
    size, n, eta, epsilon = 1000, 5000, 0.06, 0.5
    assert estimation_error(size, n, eta) == pytest.approx(
        math.sqrt(math.log(3 * size / eta) / (2 * n)) + math.sqrt(math.log(3 / eta) / (2 * n))
    )
    assert privacy_error("exponential", size, 1.0, epsilon, eta) == pytest.approx(
        2 * math.log(size / 0.02) / epsilon
    )
    assert privacy_error("large-margin", size, 0.5, epsilon, eta) == pytest.approx(
        3 * math.log(2 * size / 0.02) / epsilon
    )
    assert error_bound(4500, 2.0, size, n, eta) == pytest.approx(
        1 - 4500 / n + 2 * math.log(2 / eta) / n + math.sqrt(math.log(2 * size / eta) / (2 * n))
    )


@pytest.mark.parametrize("mechanism", ["large-margin", "permute-and-flip", "exponential"])
def test_the_bound_holds_on_drawn_rows(mechanism: str) -> None:
    """60 trials at confidence 0.8; a valid bound fails more than 22 with chance below 1e-3."""
    noise, broken, broken_error = 0.2, 0, 0
    generator = np.random.default_rng(8)
    cuts = np.linspace(0.05, 0.95, 19)
    for seed in range(60):
        x = generator.random((150, 1))
        y = ((x[:, 0] >= 0.5) ^ (generator.random(150) < noise)).astype(int)
        found = learned(
            x, y, method=wn.OneRule(of="thresholds", cuts=cuts), epsilon=2, seed=seed,
            delta=1e-3 if mechanism == "large-margin" else 0, selection=mechanism,
            with_accuracy=True, confidence=0.8,
        ).value  # fmt: skip
        said = found.predict(np.linspace(0, 1, 2001)[:, None])
        wrong = np.mean(said != (np.linspace(0, 1, 2001) >= 0.5))
        error = noise + (1 - 2 * noise) * wrong  # the true error rate, up to the grid
        assert found.bound is not None and found.bound.error is not None
        broken += error - noise > found.bound.excess + 1e-3
        broken_error += error > found.bound.error + 1e-3
    assert broken <= 22 and broken_error <= 22


def test_a_margin_lets_the_large_margin_mechanism_stop_in_time() -> None:
    """[LMM, Thm 3] at eta' = miss/3: candidates behind the margin hardly ever win.

    200 draws; each is beyond the bound with chance at most 0.05: more than 22 in 1e-3 of cases.
    """
    from reference.mechanisms import LargeMargin

    miss, epsilon, delta, near = 0.15, 1.0, 1e-3, 3
    margin = margin_in_rows(near, 1.0, epsilon, delta, "tight", miss)
    scores = np.array([1000] * near + [1000 - math.ceil(margin + 1)] * 3000)
    utility = wn.Utility.declare(1, relation="substitution")
    drawn = LargeMargin(epsilon, delta).simulate(scores, utility, 200, 1)[:, 0]
    assert np.count_nonzero(drawn >= near) <= 22


def test_a_plan_lists_the_same_numbers_as_a_release() -> None:
    x, y = np.arange(1000.0)[:, None], np.arange(1000) % 2
    found = learned(
        x,
        y,
        method=wn.OneRule(of="stumps", cuts=range(1, 100)),
        epsilon=0.7,
        delta=1e-6,
        seed=0,
        selection="large-margin",
    ).value
    plan = wn.plan.learning_bound(found.hypotheses, rows=1000, epsilon=0.7, delta=1e-6, near=5)
    rows = {(row.mechanism, row.margin is None): row for row in plan.table}
    assert found.bound is not None
    assert rows["large-margin", True].excess == pytest.approx(found.bound.excess)
    assert rows["large-margin", False].excess < rows["large-margin", True].excess
    assert plan.best.mechanism in ("permute-and-flip", "exponential")
    assert "rows behind" in str(plan) and plan.to_dict()["table"][0]["mechanism"] == "large-margin"
    for wrong in ({"near": 5, "delta": 0}, {"near": 10**6, "delta": 1e-6}, {"rows": 0}):
        with pytest.raises(wn.InputError):
            wn.plan.learning_bound(**({"hypotheses": 100, "rows": 10, "epsilon": 1} | wrong))


def test_no_error_rate_above_one_is_promised_or_printed() -> None:
    plan = wn.plan.learning_bound(5000, rows=50, epsilon=0.1, delta=1e-6, near=3)
    assert plan.estimation <= 1
    assert all(row.excess == row.privacy == 1 for row in plan.table)
    assert str(plan).count("nothing is promised") == len(plan.table) == 4
    assert plan.best.mechanism == "permute-and-flip"
    rows = np.linspace(0, 1, 20)[:, None]
    found = learned(
        rows,
        rows[:, 0] > 0.5,
        method=wn.OneRule(of="thresholds", cuts=[0.3, 0.5]),
        epsilon=0.1,
        seed=1,
    ).value
    assert found.bound is not None and found.bound.excess == found.bound.to_dict()["excess"] == 1
