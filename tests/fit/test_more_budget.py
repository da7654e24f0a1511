"""More epsilon, or more rows: a model nearer to the truth, and one answer, whatever the data.

The families span what a fit meets: skewed and independent columns, functions of others,
combinations that do not occur or hardly, one code, few rows. Seeds are fixed, so nothing is left to
chance; the extras go through more draws, more epsilons and larger tables.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn

Codes = tuple[np.ndarray, tuple[int, ...]]
Family = Callable[[np.random.Generator, int], Codes]


def skewed(generator: np.random.Generator, rows: int) -> Codes:
    sizes, size = (12, 9, 6, 4), generator.gamma(1, 1, rows)
    codes = [np.minimum(k - 1, (size * generator.gamma(0.5, 1, rows) * k / 3)) for k in sizes]
    return np.stack(codes, 1).astype(int), sizes


def independent(generator: np.random.Generator, rows: int) -> Codes:
    sizes = (10, 7, 5, 2)
    codes = [generator.choice(k, rows, p=generator.dirichlet(np.ones(k))) for k in sizes]
    return np.stack(codes, 1), sizes


def functions(generator: np.random.Generator, rows: int) -> Codes:
    """All columns are functions of the first."""
    sizes = (16, 16, 8, 4)
    first = generator.choice(16, rows, p=generator.dirichlet(np.ones(16)))
    return np.stack([first, (5 * first) % 16, first // 2, first % 4], 1), sizes


def structural_zeros(generator: np.random.Generator, rows: int) -> Codes:
    age = generator.choice(12, rows, p=generator.dirichlet(np.full(12, 2.0)))
    school = np.where(age < 3, 0, 1 + generator.integers(0, 7, rows) * (age > 5))
    work = np.where(school == 0, 0, generator.integers(0, 5, rows) * (age < 10))
    return np.stack([age, school, work, work > 2, age // 3], 1).astype(int), (12, 8, 5, 2, 4)


def leaks(generator: np.random.Generator, rows: int) -> Codes:
    """A copy, but for one row in twenty: cells that are nearly empty."""
    first = generator.choice(15, rows, p=generator.dirichlet(np.ones(15)))
    other = np.where(generator.random(rows) < 0.05, generator.integers(0, 15, rows), first)
    return np.stack([first, other, first % 3], 1), (15, 15, 3)


def one_code(generator: np.random.Generator, rows: int) -> Codes:
    first = generator.integers(0, 6, rows)
    near = (first + generator.integers(0, 2, rows)) % 6
    return np.stack([np.zeros(rows, int), first, near], 1), (1, 6, 6)


FAMILIES: list[Family] = [skewed, independent, functions, structural_zeros, leaks, one_code]


def released(codes: np.ndarray, sizes: tuple[int, ...], epsilon: float, seed: int) -> Any:
    names = [f"c{i}" for i in range(len(sizes))]
    table = wn.read_table(
        pd.DataFrame(codes, columns=names), schema=dict(zip(names, sizes, strict=True))
    )
    asked = {"epsilon": epsilon, "delta": 1e-9, "method": "graphical", "seed": seed}
    return wn.release(table, wn.marginals(2), **asked).value


def far(value: Any, codes: np.ndarray, sizes: tuple[int, ...]) -> tuple[float, float]:
    """The mean total variation distance of pairs from the truth: of the model, of the answers."""
    model, answers = [], []
    for i, j in combinations(range(len(sizes)), 2):
        truth = np.zeros((sizes[i], sizes[j]))
        np.add.at(truth, (codes[:, i], codes[:, j]), 1 / len(codes))
        model.append(0.5 * np.abs(value.factors[0].marginal((i, j)) - truth).sum())
        answers.append(0.5 * np.abs(value.marginal(f"c{i}", f"c{j}") - truth).sum())
    return float(np.mean(model)), float(np.mean(answers))


def distances(family: Family, epsilon: float, rows: int, seeds: int) -> np.ndarray:
    codes, sizes = family(np.random.default_rng(5), rows)
    values = [released(codes, sizes, epsilon, seed) for seed in range(seeds)]
    assert all(value.fit.ended for value in values)
    return np.mean([far(value, codes, sizes) for value in values], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_more_epsilon_brings_model_and_answers_nearer_to_the_truth(family: Family) -> None:
    """Each ten or hundred times as much leaves at most three quarters of the distance, or less than
    half a row of it."""
    found = [distances(family, epsilon, 5_000, 2) for epsilon in (1.0, 10.0, 1000.0)]
    for less, more in pairwise(found):
        assert ((more < 0.75 * less) | (more < 1e-4)).all()
    assert (found[-1] < 1e-3).all()  # noise below one row


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_more_rows_bring_model_and_answers_nearer_to_the_truth(family: Family) -> None:
    few, many = (distances(family, 3.0, rows, 2) for rows in (500, 10_000))
    assert (many < 0.5 * few).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_question_has_one_answer_whatever_the_data(family: Family) -> None:
    codes, sizes = family(np.random.default_rng(6), 3_000)
    value = released(codes, sizes, 3.0, 1)
    first, asked = value.answers(), wn.marginals(2).over(value.schema)
    np.testing.assert_array_equal(value.answers(asked), first)
    np.testing.assert_allclose(value.counts(asked), value.total * first)
    np.testing.assert_allclose(value.to_columns()["estimate"], value.total * first)
    pairs = combinations(value.schema.names, 2)
    np.testing.assert_allclose(np.concatenate([value.marginal(*c).ravel() for c in pairs]), first)


@pytest.mark.extras
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rows", [300, 3_000, 100_000])
def test_the_distance_falls_at_every_step_of_epsilon(family: Family, rows: int) -> None:
    """Each tripling leaves at most what there was, and a tenth more for chance: ten draws."""
    before = np.full(2, np.inf)
    for epsilon in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0):
        found = distances(family, epsilon, rows, 10)
        assert (found < 1.1 * before + 0.5 / rows).all(), epsilon
        before = found
