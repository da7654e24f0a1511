"""Which method a session takes: errors of one kind are compared, on generated tables.

Seeds are fixed; 200 questions leave an error of some six percent in a mean.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.asking import opened as asking
from reference.asking import planned
from winnow.ask.sizes import laplace_within, normal_within

SHAPES = {"wide": (12, 10, 6, 2), "binary": (2,) * 10, "threes": (3,) * 6}


def mixed(shape: tuple[int, ...], n: int) -> pd.DataFrame:
    """People of five classes, in each of which the columns are independent."""
    rng = np.random.default_rng(len(shape))
    classes = rng.choice(5, n, p=rng.dirichlet(np.ones(5)))
    columns = {}
    for place, size in enumerate(shape):
        chances = np.array([rng.dirichlet(np.full(size, 0.5)) for _ in range(5)])
        columns[f"c{place}"] = (chances[classes].cumsum(1) > rng.random((n, 1))).argmax(1)
    return pd.DataFrame(columns)


def mean_error(frame: pd.DataFrame, shape: tuple[int, ...], method: str, k: int) -> tuple:
    """What 200 random questions about three columns err by, and what the plan expects."""
    schema = {f"c{place}": size for place, size in enumerate(shape)}
    table = wn.read_table(frame, schema=schema)
    session = asking(table, epsilon=1.0, delta=1e-6, method=method, max_queries=k, seed=1)
    rng, errors = np.random.default_rng(3), []
    for _ in range(200):
        asked, held = {}, np.ones(len(frame), bool)
        for place in rng.choice(len(shape), 3, replace=False):
            codes = np.flatnonzero(rng.random(shape[place]) < 0.5)
            codes = codes if len(codes) else np.array([0])
            asked[f"c{place}"] = codes.tolist()
            held &= np.isin(frame[f"c{place}"], codes)
        errors.append(abs(session.ask(wn.where(**asked)).value - held.mean()))
    return float(np.mean(errors)), session.sizes.typical, session.method


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("k", [300, 5_000])
def test_the_recommended_method_is_near_the_better_one(shape: tuple[int, ...], k: int) -> None:
    frame = mixed(shape, 20_000)
    both = {
        method: mean_error(frame, shape, method, k)
        for method in ("multiplicative-weights", "independent")
    }
    schema = {f"c{place}": size for place, size in enumerate(shape)}
    plan = planned(schema, n=20_000, epsilon=1.0, delta=1e-6, max_queries=k)
    taken = both[plan.method][0]
    # these tables are mixtures, of which pairs of columns tell less than a plan can know
    assert taken <= 1.25 * min(error for error, _, _ in both.values())
    for error, expected, _ in both.values():
        assert 0.4 <= error / expected <= 2.25
    assert mean_error(frame, shape, "auto", k)[2] == plan.method


def test_five_thousand_questions_are_not_answered_with_independent_noise() -> None:
    """Independent noise errs four times as much; its bound is smaller than what is usual there."""
    frame = mixed(SHAPES["wide"], 20_000)
    error, _, method = mean_error(frame, SHAPES["wide"], "auto", 5_000)
    single, _, _ = mean_error(frame, SHAPES["wide"], "independent", 5_000)
    assert method == "multiplicative-weights" and error < 0.4 * single


def test_errors_of_one_kind_are_compared_and_shown() -> None:
    few = planned({"a": 5, "b": 4}, n=1_000, epsilon=1, delta=1e-6, max_queries=10)
    weights, single = few.compared
    assert few.method == "independent" and few.error == single.error
    assert single.error == normal_within(single.deviation) < 0.798 * single.deviation
    assert single.error < weights.error <= 1
    assert "mean error" in str(few)


@pytest.mark.parametrize("size", [1e-7, 1e-3, 0.05, 0.4, 3.0])
def test_the_mean_error_is_that_of_an_answer_cut_off_at_nothing_and_at_all_rows(size) -> None:
    rng, draws = np.random.default_rng(1), 400_000
    true = rng.random(draws)
    for noise, expected in (
        (rng.normal(0, size, draws), normal_within(size)),
        (rng.laplace(0, size, draws), laplace_within(size)),
    ):
        off = np.abs(np.clip(true + noise, 0, 1) - true)
        assert expected == pytest.approx(off.mean(), abs=5 * off.std() / math.sqrt(draws))


def test_a_method_without_a_bound_below_all_rows_is_not_taken() -> None:
    found = planned({"a": 2, "b": 2, "c": 2}, n=900, epsilon=1.0, delta=1e-6, max_queries=10**6)
    assert found.compared[1].bound >= 1
    assert found.method == "multiplicative-weights"


def test_the_cut_of_small_noise_is_the_same_on_both_sides_of_its_border() -> None:
    below, above = normal_within(0.9999e-6) / 0.9999e-6, normal_within(1.0001e-6) / 1.0001e-6
    assert 0 < below - above < 1e-6
