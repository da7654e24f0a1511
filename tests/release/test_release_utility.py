"""Error bounds of a release hold on generated tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.mwem import mixture_rows
from reference.releasing import flat_release

SHAPE = (2, 2, 2, 2, 2, 2)
SCHEMA = wn.Schema.parse({f"c{i}": 2 for i in range(6)})
WORKLOAD = wn.marginals(3).over(SCHEMA)
SEEDS = range(6)


def errors_of(n: int, **options: Any) -> tuple[np.ndarray, list[wn.SyntheticDistribution]]:
    import polars as pl

    rows = mixture_rows(21, SHAPE, n)
    table = wn.read_table(pl.DataFrame({f"c{i}": c for i, c in enumerate(rows)}), schema=SCHEMA)
    truth = WORKLOAD.counts(rows, np.ones(n, np.int64)) / n
    options = {"accountant": "zcdp", "epsilon": 1, "method": "mwem", **options}
    made = [flat_release(table, WORKLOAD, seed=seed, **options).value for seed in SEEDS]
    return np.array([np.abs(value.answers() - truth).max() for value in made]), made


@pytest.mark.parametrize(
    "options",
    [
        {"delta": 1e-6},
        {"delta": 1e-6, "update": "sign"},
        {"delta": 1e-6, "update": "hardt", "result": "average"},
        {"delta": 0.0, "accountant": "pure"},
    ],
    ids=str,
)
def test_the_stated_bound_holds_in_every_run(options: dict[str, Any]) -> None:
    """At 95 % each; that it fails in more than 2 of 6 runs has a chance below 0.3 %, were it
    sharp; it is not, and the seeds are fixed."""
    worst, made = errors_of(5000, rounds=20, **options)
    bounds = np.array([value.errors.bound(0.95) for value in made])  # type: ignore[union-attr]
    assert np.sum(worst > bounds) <= 2
    assert bounds.min() > 0


def test_the_planned_bound_covers_the_mean_error_of_algorithm_1() -> None:
    worst, _ = errors_of(20_000, delta=1e-6, rounds=60, update="sign")
    plan = wn.plan.mwem_bounds(
        wn.plan.table(SCHEMA, rows=20000),
        WORKLOAD,
        epsilon=1,
        delta=1e-6,
        rounds=60,
        accountants=("zcdp",),
    )
    assert worst.mean() < plan.best().bound < 1


def test_the_default_update_is_no_worse_than_the_papers() -> None:
    """Mean largest error over six seeds; the margin is wide: a third, measured."""
    gap, _ = errors_of(20_000, delta=1e-6, rounds=40)
    sign, _ = errors_of(20_000, delta=1e-6, rounds=40, update="sign")
    assert gap.mean() < 0.5 * sign.mean()


@pytest.mark.slow
def test_errors_fall_with_the_number_of_rows() -> None:
    few, _ = errors_of(1000, delta=1e-6)
    many, _ = errors_of(30_000, delta=1e-6)
    assert many.mean() < 0.3 * few.mean()
