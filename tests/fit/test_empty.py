"""Cells that nobody is in: found in released tables, and left empty by the fit."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import winnow.fit.tables as fit_tables
from winnow.fit.empty import empty_cells
from winnow.fit.tables import NoisyTable, TreeFit, fit, start_of

ROWS = 20_000


def one_table(truth: np.ndarray, sigma: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy counts of a table, and what its columns expect, in standard errors."""
    expected = np.outer(truth.sum(1), truth.sum(0)) / truth.sum()
    noise = np.random.default_rng(seed).normal(0, 1, truth.shape)
    return (truth / sigma + noise).ravel(), expected.ravel() / sigma


def test_cells_of_a_copy_are_found_to_be_empty() -> None:
    truth = np.diag(np.random.default_rng(1).dirichlet(np.ones(15)) * ROWS)
    wrong = []
    for seed in range(10):
        found = empty_cells(*one_table(truth, 10.0, seed)).reshape(truth.shape)
        assert not found[truth > 60].any()
        wrong.append(np.mean(~found[truth == 0]))
    assert np.mean(wrong) < 0.05


@pytest.mark.parametrize("sigma", [1.0, 10.0, 100.0])
def test_cells_of_independent_columns_are_not_taken_to_be_empty(sigma: float) -> None:
    generator = np.random.default_rng(2)
    for seed in range(10):
        columns = generator.dirichlet(np.ones(12)), generator.dirichlet(np.ones(9))
        truth = generator.multinomial(ROWS, np.outer(*columns).ravel()).reshape(12, 9)
        found = empty_cells(*one_table(truth, sigma, seed)).reshape(truth.shape)
        assert truth[found].sum() <= 0.001 * ROWS


def test_cells_that_are_nearly_empty_and_together_are_not_are_kept() -> None:
    """One row in twenty lies anywhere: two in a cell, below the noise of three."""
    generator = np.random.default_rng(3)
    first = generator.choice(20, ROWS, p=generator.dirichlet(np.full(20, 5.0)))
    other = np.where(generator.random(ROWS) < 0.05, generator.integers(0, 20, ROWS), first)
    truth = np.bincount(20 * first + other, minlength=400).reshape(20, 20).astype(float)
    for seed in range(10):
        assert not empty_cells(*one_table(truth, 3.0, seed)).any()


def test_numbers_at_the_ends_of_what_is_possible_are_taken() -> None:
    counts = np.array([-1e9, -50.0, 0.0, 50.0, 1e9, 1e12])
    for expected in (0.0, 1e-12, 1.0, 1e12):
        with np.errstate(all="raise", under="ignore"):
            found = empty_cells(counts, np.full(6, expected))
        assert not found[3:].any()
    assert not empty_cells(np.array([5.0]), np.array([5.0])).any()


def copies(sigma: float, seed: int) -> tuple[list[NoisyTable], dict[tuple[int, ...], np.ndarray]]:
    """Tables of three columns that are copies of each other, and one beside them."""
    generator = np.random.default_rng(4)
    first = generator.choice(12, ROWS, p=generator.dirichlet(np.ones(12)))
    codes = np.stack([first, first, first // 3, generator.integers(0, 3, ROWS)], 1)
    sizes, noise, truth, tables = (12, 12, 4, 3), np.random.default_rng(seed), {}, []
    for columns in [*combinations(range(4), 1), *combinations(range(4), 2)]:
        shape = [sizes[c] for c in columns]
        places = np.ravel_multi_index(tuple(codes[:, columns].T), shape)
        truth[columns] = np.bincount(places, minlength=np.prod(shape)).reshape(shape)
        counts = truth[columns] + np.rint(noise.normal(0, sigma, shape))
        tables.append(NoisyTable(columns, counts, sigma))
    return tables, truth


def fitted(tables: list[NoisyTable]) -> TreeFit:
    return fit((12, 12, 4, 3), tables, ROWS, start=start_of(tables, ROWS))


@pytest.mark.parametrize("sigma", [30.0, 3.0])
def test_what_nobody_is_in_is_left_empty(sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With empty cells found, the error is at most two thirds of that without: three draws."""

    def error() -> float:
        apart = []
        for seed in range(3):
            tables, truth = copies(sigma, seed)
            found = fitted(tables)
            assert found.quality.ended
            apart += [
                np.abs(found.model.marginal(c) - t / ROWS).sum()
                for c, t in truth.items()
                if len(c) == 2
            ]
        return float(np.mean(apart))

    ours = error()
    monkeypatch.setattr(fit_tables, "empty_cells", lambda counts, _: np.zeros(counts.shape, bool))
    assert ours < 2 / 3 * error()


def test_the_loss_is_that_of_the_released_tables_with_cells_taken_to_be_empty() -> None:
    tables, _ = copies(10.0, 1)
    found = fitted(tables)
    loss = sum(
        0.5 * float(np.sum((ROWS * found.model.marginal(t.columns) - t.counts) ** 2)) / t.sigma**2
        for t in tables
    )
    assert found.quality.loss == pytest.approx(loss, rel=1e-9)


def test_people_whom_other_tables_count_are_not_lost_to_cells_taken_to_be_empty() -> None:
    """A pair says that a code has no rows, and the column alone, more precisely, that it has."""
    counts = np.full((6, 6), 500.0)
    counts[2] = 0.0
    column = np.full(6, 3_000.0)
    tables = [NoisyTable((0,), column, 1.0), NoisyTable((1,), column, 1.0)]
    tables.append(NoisyTable((0, 1), counts, 40.0))
    found = fit((6, 6), tables, 18_000, start=start_of(tables, 18_000))
    assert 18_000 * found.model.marginal((0,))[2] == pytest.approx(3_000, abs=30)
