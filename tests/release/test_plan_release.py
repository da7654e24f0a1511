"""Plans of a release: public numbers in, noise and bounds out."""

from __future__ import annotations

import json

import pytest

import winnow as wn
from winnow.release.plan import expected_error_bound


def test_a_plan_shows_the_noise_of_each_accountant() -> None:
    plan = wn.plan.mwem(1024, 1000, n=2000, epsilon=1, delta=1e-6, rounds=100)
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
    plan = wn.plan.mwem(table.schema, workload, n=150, epsilon=1, delta=1e-6)
    released = wn.release(table, workload, epsilon=1, delta=1e-6, method="mwem", seed=1)
    assert len(released.value.measurements) == plan.rounds
    assert released.value.errors is not None
    assert released.value.errors.noise == pytest.approx(plan.best().noise)
    assert (plan.cells, plan.queries) == (6, 11)
    assert plan.memory > 0


def test_without_a_delta_only_the_pure_accountant_plans() -> None:
    plan = wn.plan.mwem({"a": 2, "b": 3}, wn.marginals(1), n=1000, epsilon=1)
    assert [row.accountant for row in plan.rows] == ["pure"]
    assert plan.rows[0].measurement == "laplace"


def test_the_bound_falls_with_rows_and_never_exceeds_one() -> None:
    few, many = (
        wn.plan.mwem(1024, 960, n=n, epsilon=1, delta=1e-6, accountants=("zcdp",)).best().bound
        for n in (1000, 1_000_000)
    )
    assert many < few <= 1
    assert expected_error_bound(cells=2, queries=1, rounds=1, noise=9, selection=9) == 1


def test_the_noise_grows_with_the_rows_of_a_person() -> None:
    one, three = (
        wn.plan.mwem(64, 100, n=5000, epsilon=1, delta=1e-6, rounds=10, rows_per_person=each,
                        accountants=("zcdp",)).best().noise_rows
        for each in (1, 3)
    )  # fmt: skip
    assert three == pytest.approx(3 * one)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0}, {"epsilon": 0}, {"delta": 1}, {"rounds": 0}, {"rows_per_person": 0},
        {"relation": "swap"}, {"accountants": ("rdp",)},
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused(wrong: dict[str, object]) -> None:
    given = {"n": 100, "epsilon": 1, "delta": 1e-6, "rounds": 5} | wrong
    with pytest.raises(wn.InputError):
        wn.plan.mwem(64, 100, **given)  # type: ignore[arg-type]
    with pytest.raises(wn.InputError, match="schema"):
        wn.plan.mwem(64, wn.marginals(1), n=10, epsilon=1)
    with pytest.raises(wn.InputError):
        wn.plan.mwem(64, 2.5, n=10, epsilon=1)  # type: ignore[arg-type]
