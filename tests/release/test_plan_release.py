"""Plans of a release: public numbers in, noise and bounds out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.releasing import flat_release
from winnow.release.rounds.prediction import expected_error_bound, noisy_error


def test_a_plan_shows_the_noise_of_each_accountant() -> None:
    plan = wn.plan.mwem_bounds(
        wn.plan.table(1024, rows=2000), 1000, epsilon=1, delta=1e-6, rounds=100
    )
    rows = {row.accountant: row for row in plan.rows}
    assert list(rows) == ["pure", "zcdp", "tight"]
    assert rows["zcdp"].selection_epsilon == pytest.approx(0.0312, abs=1e-4)
    assert rows["zcdp"].noise_rows == pytest.approx(64.1, abs=0.1)
    assert rows["tight"].noise < rows["zcdp"].noise < rows["pure"].noise
    assert plan.best() is rows["tight"]
    assert plan.recommended_rounds < 100
    json.dumps(plan.to_dict())
    assert "recommended: 42" in str(plan) and "tight" in str(plan)


def test_a_plan_is_what_a_release_runs() -> None:
    import polars as pl

    table = wn.read_table(pl.DataFrame({"a": [0, 1, 1] * 50, "b": [2, 0, 1] * 50}),
                          schema={"a": 2, "b": 3})  # fmt: skip
    workload = wn.marginals([1, 2])
    plan = wn.plan.mwem_bounds(
        wn.plan.table(table.schema, rows=150), workload, epsilon=1, delta=1e-6
    )
    told = {"epsilon": 1, "delta": 1e-6, "seed": 1}
    released = flat_release(table, workload, method=wn.MWEM(warm_start=0), **told)
    assert len(released.value.measurements) == plan.rounds
    assert released.value.errors is not None
    assert released.value.errors.noise == pytest.approx(plan.best().noise)
    warm = flat_release(table, workload, method=wn.MWEM(warm_start=0.1), **told)
    assert warm.value.errors is not None
    assert 1.03 < warm.value.errors.noise / plan.best().noise < 1.07  # a tenth of rho is gone
    assert (plan.cells, plan.queries) == (6, 11)
    assert plan.memory > 0


def test_without_a_delta_only_the_pure_accountant_plans() -> None:
    plan = wn.plan.mwem_bounds(
        wn.plan.table({"a": 2, "b": 3}, rows=1000), wn.marginals(1), epsilon=1
    )
    assert [row.accountant for row in plan.rows] == ["pure"]
    assert plan.rows[0].measurement == "laplace"


def test_the_bound_falls_with_rows_and_never_exceeds_one() -> None:
    few, many = (
        wn.plan.mwem_bounds(
            wn.plan.table(1024, rows=n), 960, epsilon=1, delta=1e-6, accountants=("zcdp",)
        )
        .best()
        .bound
        for n in (1000, 1_000_000)
    )
    assert many < few <= 1
    assert expected_error_bound(cells=2, queries=1, rounds=1, noise=9, selection=9) == 1


@pytest.mark.slow
def test_an_error_that_is_wished_for_gives_rows_and_rounds() -> None:
    wish = {"epsilon": 1, "delta": 1e-6, "alpha": 0.1}
    found = wn.plan.mwem_bounds(wn.plan.table(4096), 1000, **wish)
    (summed,) = (row for row in found.rows if row.accountant == "zcdp")
    assert summed.confident <= 0.1 < 1.001 * summed.confident
    assert summed.bound < summed.confident
    more = wn.plan.mwem_bounds(wn.plan.table(4096, rows=3 * found.n), 1000, **wish)
    assert more.rounds < found.rounds and more.best().confident <= 0.1
    fewer = wn.plan.mwem_bounds(wn.plan.table(4096), 1000, **wish | {"alpha": 0.2})
    assert fewer.n < found.n / 3  # about alpha^-2
    sure = wn.plan.mwem_bounds(wn.plan.table(4096), 1000, **wish, beta=1e-6)
    assert sure.n > found.n
    with pytest.raises(wn.ParameterError, match="it needs"):
        wn.plan.mwem_bounds(wn.plan.table(4096, rows=100), 1000, **wish)
    with pytest.raises(wn.ParameterError, match="leave out one"):
        wn.plan.mwem_bounds(wn.plan.table(4096), 1000, rounds=7, **wish)
    with pytest.raises(wn.ParameterError, match="number of rows is missing"):
        wn.plan.mwem_bounds(wn.plan.table(4096), 1000, epsilon=1)


def test_the_confident_bound_is_that_of_simulated_noise() -> None:
    """Means of 400 rounds of noise stay below it in 500 trials, as 1 - beta asks (seed 1)."""
    rng, rounds, beta = np.random.default_rng(1), 400, 0.05
    for law, noise in (("gaussian", rng.normal), ("laplace", rng.laplace)):
        sizes = np.abs(noise(size=(500, rounds))).mean(axis=1)
        missed = np.log(2 * 100) + rng.exponential(size=(500, rounds)).mean(axis=1)
        bound = noisy_error(law, rounds, 1.0, 1.0, 100, beta)
        assert np.mean(2 * sizes + missed > bound) <= beta


def test_the_noise_grows_with_the_rows_of_a_person() -> None:
    one, three = (
        wn.plan.mwem_bounds(
            wn.plan.table(64, rows=5000, max_rows=each),
            100,
            epsilon=1,
            delta=1e-6,
            rounds=10,
            accountants=("zcdp",),
        )
        .best()
        .noise_rows
        for each in (1, 3)
    )
    assert three == pytest.approx(3 * one)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0}, {"epsilon": 0}, {"delta": 1}, {"rounds": 0}, {"max_rows": 0},
        {"relation": "swap"}, {"accountants": ("rdp",)},
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused(wrong: dict[str, object]) -> None:
    given: dict[str, Any] = {"rows": 100, "epsilon": 1, "delta": 1e-6, "rounds": 5} | wrong
    said = {n: given.pop(n) for n in ("rows", "max_rows", "relation") if n in given}
    with pytest.raises(wn.InputError):
        wn.plan.mwem_bounds(wn.plan.table(64, **said), 100, **given)
    with pytest.raises(wn.InputError, match="schema"):
        wn.plan.mwem_bounds(wn.plan.table(64, rows=10), wn.marginals(1), epsilon=1)
    with pytest.raises(wn.InputError):
        wn.plan.mwem_bounds(wn.plan.table(64, rows=10), 2.5, epsilon=1)  # type: ignore[arg-type]


def test_noise_above_all_rows_is_a_dash_in_the_table() -> None:
    small = {"a": 4, "b": 5}
    few = wn.plan.mwem_bounds(wn.plan.table(small, rows=20), wn.marginals(2), epsilon=0.1)
    assert [line[4] for line in few.table()] == ["noise/n", "-"] and few.rows[0].noise > 1
    many = wn.plan.mwem_bounds(wn.plan.table(small, rows=10**6), wn.marginals(2), epsilon=0.1)
    assert 0 < float(many.table()[1][4]) < 1
