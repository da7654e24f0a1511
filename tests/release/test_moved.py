"""Answers lie between unbiased estimates and a fitted distribution, by a rule that sees noise."""

import json
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.release.tables.moved import REACHES, SPARE, _risks, moved, reaches

SIZE, TABLES = 200, 40


def made_up(law: str, off: float = 0.0, seed: int = 1) -> tuple[Any, Any, Any]:
    """Errors of estimates, what a fit says (``off`` standard errors away), standard errors."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=SIZE * TABLES)
    if law == "laplace":
        drawn = rng.laplace(scale=np.sqrt(0.5), size=SIZE * TABLES)
    errors = np.full(SIZE * TABLES, 1e-3)
    wrong = np.arange(SIZE * TABLES) < SIZE * TABLES // 2
    return errors * drawn, np.where(wrong, off, 0.0) * errors, errors


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_risks_are_unbiased_where_the_fit_is_right(law: str) -> None:
    """The mean over 8,000 answers; five standard errors of it are below 0.1."""
    found, fit, errors = made_up(law)
    risks = _risks(np.abs(found - fit) / errors, law) / len(found)
    seen = [np.mean((moved(found, fit, c * errors) / errors) ** 2) for c in REACHES]
    assert np.allclose(risks, seen, atol=0.1)


def test_gaussian_risks_are_unbiased_where_the_fit_is_wrong() -> None:
    found, fit, errors = made_up("gaussian", off=3.0)
    risks = _risks(np.abs(found - fit) / errors, "gaussian") / len(found)
    seen = [np.mean((moved(found, fit, c * errors) / errors) ** 2) for c in REACHES]
    assert np.allclose(risks, seen, atol=0.15)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_tables_that_a_fit_gets_wrong_keep_their_estimates(law: str) -> None:
    found, fit, errors = made_up(law, off=20.0)
    reach = reaches(fit - found, errors, [SIZE] * TABLES, law, 0.99)
    half = len(reach) // 2
    assert (reach[:half] < 0.3 * errors[:half]).all() and (reach[half:] > 0.7 * errors[half:]).all()
    answers = moved(found, fit, reach)
    assert np.abs(answers[half:]).mean() < 0.3 * np.abs(found[half:]).mean()
    assert np.abs(answers).max() < 1.1 * np.abs(found).max()


def test_no_answer_is_moved_past_what_plain_noise_may_do() -> None:
    found, fit, errors = made_up("gaussian")
    reach = reaches(fit - found, errors, [SIZE] * TABLES, "gaussian", 4e-3)
    assert np.median(reach) > 1e-3 and (reach + SPARE * errors).max() <= 4e-3 + 1e-12
    assert not reaches(fit - found, errors, [SIZE] * TABLES, "gaussian", 2e-3).any()


def test_where_plain_noise_is_all_rows_the_distribution_answers() -> None:
    """On both sides of the border: all rows, and nearly."""
    found, fit, errors = made_up("gaussian", off=20.0)
    sizes = [SIZE] * TABLES
    below = moved(found, fit, reaches(fit - found, errors, sizes, "gaussian", 0.999))
    assert not np.allclose(below, fit)
    for largest in (1.0, 7.0):
        reach = reaches(fit - found, errors, sizes, "gaussian", largest)
        assert np.allclose(moved(found, fit, reach), fit) and np.isfinite(reach).all()


def test_estimates_without_noise_are_the_answers() -> None:
    found, fit, errors = made_up("gaussian")
    exact = np.zeros(len(errors))
    assert not reaches(fit - found, exact, [SIZE] * TABLES, "gaussian", 1.0).any()


@pytest.fixture(scope="module")
def wide() -> tuple[Any, Any]:
    """Eight columns of 8 codes, 5,000 rows, neighbours alike: 10^7.2 cells."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 8, 5_000)]
    for _ in range(7):
        other = rng.integers(0, 8, 5_000)
        columns.append(np.where(rng.random(5_000) < 0.6, columns[-1], other))
    named = {f"c{i}": each for i, each in enumerate(columns)}
    schema = wn.Schema.parse(dict.fromkeys(named, 8))
    queries = wn.marginals(2).over(schema)
    truth = queries.counts(tuple(columns), np.ones(5_000, np.int64))
    import pandas as pd

    return wn.read_table(pd.DataFrame(named), schema=schema), truth


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_tables_of_a_wide_domain_have_errors_below_those_of_the_estimates(
    wide: tuple[Any, Any], delta: float
) -> None:
    table, truth = wide
    released = wn.release(table, wn.marginals(2), epsilon=1, delta=delta, method="tables", seed=1)
    value: Any = released.value
    assert value.schema.cells > 10**7 and value.reach.any() and value.rests_on
    before = np.abs(5_000 * value.estimates - truth)
    after = np.abs(value.counts() - truth)
    assert after.mean() < 0.8 * before.mean() and after.max() < 1.1 * before.max()
    assert (np.abs(value.answers() - value.estimates) <= value.reach + 1e-12).all()
    frame = value.to_pandas()
    assert np.allclose(frame.unbiased, 5_000 * value.estimates)
    assert (frame.low <= frame.estimate).all() and (frame.estimate <= frame.high).all()
    assert ((frame.low <= truth) & (truth <= frame.high)).mean() > 0.93
    assert after.max() <= 5_000 * value.errors.bound(0.95)
    assert "unbiased estimate" in released.receipt.reason
    assert len(value.sample(10, seed=1)["c7"]) == 10


def test_a_wide_answer_is_written_and_read_as_a_graphical_model(wide: tuple[Any, Any]) -> None:
    released = wn.release(wide[0], wn.marginals(2), epsilon=1, delta=1e-6, method="tables", seed=1)
    held = json.loads(json.dumps(released.value.to_dict()))
    again = wn.WideSynthetic.from_dict(held)
    assert np.allclose(again.marginal("c0", "c1"), released.value.marginal("c0", "c1"))
    assert np.allclose(held["answers"], released.value.answers())
