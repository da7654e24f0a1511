"""``wn.release``: charged once, from public numbers, and as accurate as the noise allows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.mwem import mixture_rows
from reference.releasing import flat_release
from winnow.core.workloads.reductions import phi_of_rows
from winnow.privacy import Compose, Gaussian, Repeat, zcdp_cost

N = 3000
SHAPE = (2, 3, 2, 4)
SCHEMA = wn.Schema.parse({"a": 2, "b": 3, "c": 2, "d": {"values": ["n", "e", "s", "w"]}})
ROWS = mixture_rows(11, SHAPE, N)
FAST: dict[str, Any] = {
    "epsilon": 1.0, "delta": 1e-6, "accountant": "zcdp", "rounds": 8, "warm_start": 0,
}  # fmt: skip


def table(**options: Any) -> wn.SealedTable:
    import pandas as pd

    labels = np.array(["n", "e", "s", "w"])
    frame = pd.DataFrame({"a": ROWS[0], "b": ROWS[1], "c": ROWS[2], "d": labels[ROWS[3]]})
    if "person" in options:
        frame["who"] = np.arange(N) // 3
    return wn.read_table(frame, schema=SCHEMA, **options)


@pytest.fixture(scope="module")
def people() -> wn.SealedTable:
    return table()


def truth(workload: wn.Workload) -> np.ndarray:
    return workload.counts(ROWS, np.ones(N, np.int64)) / (N * workload.grids)


def test_a_release_carries_its_guarantee_plan_and_history(people: wn.SealedTable) -> None:
    released = flat_release(people, wn.marginals(2), seed=1, **FAST)
    assert released.guarantee.epsilon <= 1.0 and released.guarantee.delta == 1e-6
    assert released.guarantee.relation is wn.Relation.SUBSTITUTION
    event = released.receipt.event
    assert isinstance(event, Repeat) and event.count == 8
    assert "FastMWEM" in released.receipt.citation
    assert "update=gap" in released.receipt.mechanism
    assert "8 rounds as asked" in released.receipt.reason
    assert released.receipt.randomness == "seeded" and released.receipt.exact
    value = released.value
    assert value.total == N and len(value.measurements) == 8
    assert all("=" in measured.label for measured in value.measurements)
    assert value.workload.size == len(value.answers())
    json.loads(released.to_json())


def test_the_same_seed_gives_the_same_release_and_another_one_does_not(
    people: wn.SealedTable,
) -> None:
    one, two, other = (
        flat_release(people, wn.marginals(2), seed=seed, **FAST).value for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.weights(), two.weights())
    assert not np.array_equal(one.weights(), other.weights())


def test_a_great_epsilon_reproduces_the_answers(people: wn.SealedTable) -> None:
    workload = wn.marginals(2).over(SCHEMA)
    released = wn.release(
        people,
        workload,
        epsilon=2000,
        delta=1e-6,
        seed=1,
        accountant="zcdp",
        method=wn.MWEM(rounds=150),
    )
    assert np.abs(released.value.answers() - truth(workload)).max() < 0.002


def test_the_error_is_small_at_epsilon_one_on_a_thousand_cells() -> None:
    shape, n = (2,) * 10, 20_000
    rows = mixture_rows(1, shape, n)
    import polars as pl

    schema = wn.Schema.parse({f"c{i}": 2 for i in range(10)})
    private = wn.read_table(pl.DataFrame({f"c{i}": c for i, c in enumerate(rows)}), schema=schema)
    workload = wn.marginals(3).over(schema)
    released = wn.release(
        private,
        workload,
        epsilon=1,
        delta=1e-6,
        seed=5,
        accountant="zcdp",
        method=wn.MWEM(rounds=60),
    )
    errors = np.abs(released.value.answers() - workload.counts(rows, np.ones(n, np.int64)) / n)
    assert errors.max() < 0.03 and errors.mean() < 0.006  # measured: .018 and .0037
    uniform = np.abs(workload.answers(np.full(1024, 1 / 1024)) - workload.counts(
        rows, np.ones(n, np.int64)) / n)  # fmt: skip
    assert errors.max() < uniform.max() / 5
    assert released.value.errors is not None
    assert errors.max() < released.value.errors.bound(0.95)


@pytest.mark.parametrize("update", ["gap", "hardt", "sign"])
def test_every_update_is_offered(people: wn.SealedTable, update: str) -> None:
    released = flat_release(people, wn.marginals(1), seed=1, method=wn.MWEM(update=update), **FAST)
    assert f"update={update}" in released.receipt.mechanism
    assert released.value.weights().sum() == pytest.approx(1)


def test_pure_privacy_takes_laplace_noise(people: wn.SealedTable) -> None:
    released = wn.release(people, wn.marginals(1), epsilon=1.0, seed=1, method=wn.MWEM(rounds=4))
    assert (released.guarantee.epsilon, released.guarantee.delta) == (pytest.approx(1), 0)
    assert released.guarantee.epsilon <= 1
    assert "Laplace" in released.receipt.mechanism


@pytest.mark.parametrize("index", ["flat", "lsh", "p-stable"])
def test_an_index_over_the_queries_selects_the_bad_ones(people: wn.SealedTable, index: str) -> None:
    asked = wn.marginals(2).over(people.schema)
    released = wn.release(
        people,
        asked,
        epsilon=200,
        delta=1e-6,
        seed=3,
        method=wn.MWEM(rounds=30, index=index, slack=0.05),
    )
    assert f"over an index: {index}, slack 0.05" in released.receipt.mechanism
    assert "indexed" not in str(released.guarantee)
    assert "Alg 5" in released.receipt.citation
    found = np.abs(released.value.answers() - truth(asked)).max()
    plain = wn.release(
        people, asked, epsilon=200, delta=1e-6, seed=3, method=wn.MWEM(rounds=30, update="gap")
    )
    assert found < 1.5 * np.abs(plain.value.answers() - truth(asked)).max() + 0.002


def test_an_index_serves_groups_and_a_private_number_of_rows(people: wn.SealedTable) -> None:
    released = wn.release(
        people.under("add-remove"),
        wn.marginals(1),
        epsilon=50,
        seed=3,
        method=wn.MWEM(rounds=4, groups=[["a", "b"], ["c", "d"]], index="flat"),
    )
    assert len(released.value.measurements) == 8
    assert released.value.total != 1


def test_rounds_are_chosen_from_public_numbers(people: wn.SealedTable) -> None:
    released = wn.release(
        people, wn.marginals(2), epsilon=1, delta=1e-6, seed=1, accountant="zcdp", method="mwem"
    )
    assert "chosen from public numbers: 48 cells, 44 queries, 3,000 rows" in (
        released.receipt.reason
    )
    assert len(released.value.measurements) > 8


# -- the budget ------------------------------------------------------------------------------


def test_a_budget_is_charged_once_with_the_whole_plan(people: wn.SealedTable) -> None:
    budget = wn.Budget(2.0, 1e-6, "substitution", "zcdp")
    released = wn.release(
        people, wn.marginals(1), epsilon=1, delta=1e-6, budget=budget, method=wn.MWEM(rounds=5)
    )
    assert budget.events == (released.receipt.event,)
    assert budget.spent.amount == pytest.approx(float(zcdp_cost(released.receipt.event).rho))
    with pytest.raises(wn.BudgetExceeded):
        wn.release(
            people, wn.marginals(1), epsilon=2, delta=1e-6, budget=budget, method=wn.MWEM(rounds=5)
        )
    assert len(budget.events) == 1


def test_an_interrupt_leaves_the_charge_and_nothing_else(people: wn.SealedTable) -> None:
    budget = wn.Budget(1.0, 1e-6, "substitution")
    heard = []

    def stop(done: int, every: int) -> None:
        heard.append((done, every))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wn.release(
            people,
            wn.marginals(1),
            epsilon=1,
            delta=1e-6,
            budget=budget,
            method=wn.MWEM(rounds=5),
            run=wn.Run(progress=stop),
        )
    assert heard == [(1, 5), (2, 5), (3, 5)]
    assert len(budget.events) == 1
    assert budget.left.amount < 1e-3


def test_a_session_releases_its_own_table(people: wn.SealedTable) -> None:
    with wn.Session(people, epsilon=1.0, delta=1e-6) as session:
        released = session.release(wn.marginals(1), epsilon=0.5, seed=1)
        again = session.release(people, wn.marginals(1), epsilon=0.5, seed=1)
        assert released.value.measurements == again.value.measurements
        assert released.value.marginal([people.schema.names[0]]).sum() > 0
        assert repr(released.value).startswith("<") and len(repr(released.value)) < 200
    with wn.Session(epsilon=1.0) as session, pytest.raises(wn.InputError, match="without a table"):
        session.release(wn.marginals(1), epsilon=0.5)
    with wn.Session(people, epsilon=1.0) as session, pytest.raises(wn.InputError, match="workload"):
        session.release(people, epsilon=0.5)


def test_a_session_releases_under_its_own_budget(people: wn.SealedTable) -> None:
    with wn.Session(epsilon=1, delta=1e-6, relation="substitution", seed=1) as session:
        half = session.release(
            people, wn.marginals(1), epsilon=0.5, delta=1e-6, method=wn.MWEM(rounds=5)
        )
        assert half.guarantee.epsilon <= 0.5
        assert len(session.budget.events) == 1
        with pytest.raises(wn.InputError, match="accountant"):
            session.release(people, wn.marginals(1), epsilon=0.1, delta=1e-6, accountant="tight")
        pure = session.release(people, wn.marginals(1), epsilon=0.05, method=wn.MWEM(rounds=2))
        assert pure.guarantee.delta == 0 and pure.guarantee.epsilon <= 0.05
    with wn.Session(epsilon=1, relation="substitution", seed=1) as session:
        pure = session.release(
            people, wn.marginals(1), epsilon=1, delta=1e-6, method=wn.MWEM(rounds=5)
        )
        assert pure.guarantee.delta == 0 and "Laplace" in pure.receipt.mechanism


# -- who counts as a neighbour ---------------------------------------------------------------


def test_under_add_remove_the_number_of_rows_is_measured_and_charged(
    people: wn.SealedTable,
) -> None:
    released = flat_release(people.under("add-remove"), wn.marginals(1), seed=1, **FAST)
    event = released.receipt.event
    assert isinstance(event, Compose) and isinstance(event.events[0], Gaussian)
    assert event.relation is wn.Relation.ADD_REMOVE
    assert released.value.total != N and abs(released.value.total - N) < 300
    assert "2 % of the budget" in released.receipt.reason
    assert released.guarantee.epsilon <= 1
    more = flat_release(
        people.under("add-remove"), wn.marginals(1), seed=1, method=wn.MWEM(total_share=0.2), **FAST
    )
    assert isinstance(more.receipt.event, Compose)
    first = more.receipt.event.events[0]
    assert isinstance(first, Gaussian) and first.noise_multiplier < event.events[0].noise_multiplier


def test_a_public_number_of_rows_is_taken_instead(people: wn.SealedTable) -> None:
    released = flat_release(
        people.under("add-remove").stating(2900), wn.marginals(1), seed=1, **FAST
    )
    assert released.value.total == 2900
    assert isinstance(released.receipt.event, Repeat)


def test_several_rows_per_person_raise_the_noise() -> None:
    many = table(person="who", max_rows=3)
    assert many.n is None
    released = flat_release(many.stating(N), wn.marginals(1), seed=1, **FAST)
    one = flat_release(table(), wn.marginals(1), seed=1, **FAST)
    assert released.receipt.event == one.receipt.event  # noise is in units of the sensitivity
    assert released.value.errors is not None and one.value.errors is not None
    assert released.value.errors.noise == pytest.approx(3 * one.value.errors.noise)


# -- large domains ---------------------------------------------------------------------------


def test_groups_give_a_product_of_independent_fits(people: wn.SealedTable) -> None:
    heard = []
    released = flat_release(
        people,
        wn.marginals([1, 2]),
        seed=1,
        method=wn.MWEM(groups=[["a", "d"], ["b", "c"]]),
        run=wn.Run(progress=lambda done, every: heard.append((done, every))),
        **FAST,
    )
    value = released.value
    assert isinstance(released.receipt.event, Repeat) and released.receipt.event.count == 16
    assert [factor.columns for factor in value.factors] == [(0, 3), (1, 2)]
    assert heard == [(i, 16) for i in range(1, 17)]
    assert {measured.group for measured in value.measurements} == {0, 1}
    assert "independent" in value.rests_on and "across groups" in value.rests_on
    joint = value.marginal("a", "b")
    np.testing.assert_allclose(joint, np.outer(value.marginal("a"), value.marginal("b")))
    for measured in value.measurements:
        assert measured.label == value.workload.label(measured.query)
    assert len(value.error_estimates()) == value.workload.size
    parts = flat_release(
        people,
        wn.marginals(1),
        method=wn.MWEM(groups=[["a"], ["b", "c", "d"]]),
        **{**FAST, "rounds": [3, 9]},
    )
    assert [len(run.gaps) for run in parts.value.errors.runs] == [3, 9]  # type: ignore[union-attr]


def test_a_sampled_universe_says_what_accuracy_rests_on(people: wn.SealedTable) -> None:
    released = flat_release(people, wn.marginals(1), seed=1, method=wn.MWEM(universe=40), **FAST)
    value = released.value
    points = value.factors[0].points
    assert points is not None and len(points) < 48
    assert "PMW, Lemma V.2" in value.rests_on
    assert value.weights().sum() == pytest.approx(1)
    assert value.answers(wn.marginals(2)).sum() == pytest.approx(6)
    again = (
        flat_release(people, wn.marginals(1), seed=9, method=wn.MWEM(universe=40), **FAST)
        .value.factors[0]
        .points
    )
    np.testing.assert_array_equal(points, again)  # public: it does not follow the seed


def test_alpha_takes_the_fewest_rounds_that_promise_it(people: wn.SealedTable) -> None:
    asked = {"epsilon": 20.0, "delta": 1e-6, "accountant": "zcdp"}
    released = flat_release(people, wn.marginals(1), seed=1, method=wn.MWEM(alpha=0.3), **asked)
    plan = wn.plan.mwem_bounds(
        wn.plan.table(people.schema, rows=N), wn.marginals(1), alpha=0.3, epsilon=20.0, delta=1e-6
    )
    assert len(released.value.measurements) == plan.rounds
    assert "update=sign" in released.receipt.mechanism
    workload = wn.marginals(1).over(people.schema)
    assert np.abs(released.value.answers() - truth(workload)).max() < 0.3


def test_a_public_list_of_cells_is_a_universe_of_its_own(people: wn.SealedTable) -> None:
    schema = people.schema
    labels = [c.labels for c in schema.columns]
    cells = [[every[i % len(every)] for every in labels] for i in range(12)]
    listed = flat_release(people, wn.marginals(1), seed=2, method=wn.MWEM(universe=cells), **FAST)
    assert "cells of a public list" in listed.value.rests_on
    codes = np.array([[list(e).index(v) for e, v in zip(labels, c, strict=True)] for c in cells])
    coded = flat_release(people, wn.marginals(1), seed=2, method=wn.MWEM(universe=codes), **FAST)
    np.testing.assert_array_equal(coded.value.answers(), listed.value.answers())
    drawn = {tuple(row) for row in zip(*listed.value.sample(200, seed=1).values(), strict=True)}
    assert drawn <= {tuple(cell) for cell in cells}


def test_smoothness_and_rows_put_numbers_in_the_place_of_words(people: wn.SealedTable) -> None:
    def rests(**options: Any) -> str:
        asked = {"universe": 40, **options}
        return str(flat_release(people, wn.marginals(1), seed=2, **FAST, **asked).value.rests_on)

    plain, with_phi = rests(smoothness=0.1), rests(smoothness=0.1, phi=0.01)
    drawn = rests(smoothness=0.1, phi="rows")
    assert "if the data put at most 0.1 on any cell [PMW, Lemma V.2]" in plain
    assert "some distribution within 0.01 of the data puts at most 0.1" in with_phi
    assert "independent draws" in drawn and "Claim V.1" in drawn
    assert phi_of_rows(rows=10_000, queries=1000, beta=0.05) == pytest.approx(0.0230, abs=1e-4)
    generator = np.random.default_rng(4)  # the claim itself, false alarm below 1e-12
    queries = generator.random((50, 30))
    far = phi_of_rows(rows=400, queries=50, beta=1e-12)
    rows = np.bincount(generator.integers(0, 30, 400), minlength=30) / 400
    assert np.abs(queries @ (rows - 1 / 30)).max() < far


def test_a_domain_that_does_not_fit_is_refused_with_advice() -> None:
    import polars as pl

    wide = wn.Schema.parse({f"c{i}": 50 for i in range(8)})
    rows = {f"c{i}": np.zeros(5, np.int64) for i in range(8)}
    private = wn.read_table(pl.DataFrame(rows), schema=wide)
    with pytest.raises(wn.InputError, match=r"groups.*universe"):
        flat_release(private, wn.marginals(1), **FAST)
    released = flat_release(private, wn.marginals(1), seed=1, method=wn.MWEM(universe=500), **FAST)
    assert released.value.marginal("c3").shape == (50,)
    assert len(released.value.sample(20, seed=1)["c3"]) == 20


# -- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 2.5}, "rounds"),
        ({"rounds": [1, 2]}, "groups"),
        ({"update": "newton"}, "newton"),
        ({"measurement": "cauchy"}, "cauchy"),
        ({"accountant": "rdp"}, "rdp"),
        ({"share": 0}, "share"),
        ({"share": 1}, "share"),
        ({"rows": 5}, "rows=5"),
        ({"total_share": 0.1}, "total_share"),
        ({"groups": [["a"]]}, "no group"),
        ({"groups": [["a", "b"], ["b", "c", "d"]]}, "more than one group"),
        ({"groups": [["a", "zz"]]}, "zz"),
        ({"groups": [["a", "b", "c", "d"]], "universe": 10}, "not both"),
        ({"universe": 48}, "universe"),
        ({"universe": 0}, "universe"),
        ({"memory": "much"}, "memory"),
        ({"progress": 3}, "progress"),
        ({"seed": "x"}, "seed"),
        ({"relation": "swap"}, "swap"),
        ({"epsilon": 1e-18, "delta": 0, "accountant": "pure"}, "epsilon"),
        ({"epsilon": 1e14}, "epsilon"),
        ({"step": 1000}, "step"),
        ({"index": "tree"}, "tree"),
        ({"index": 3}, "index"),
        ({"index": "flat", "universe": 4}, "single queries"),
        ({"index": "flat", "memory": 1200}, "index"),
        ({"slack": 0.01}, "name one"),
        ({"alpha": 0.5}, "leave out update, rounds"),
        ({"alpha": 0.5, "rounds": None, "update": "gap"}, "leave out update"),
        ({"alpha": 0, "rounds": None}, "alpha"),
        ({"alpha": 0.01, "rounds": None}, "cannot be promised with 3,000 rows"),
        ({"alpha": 0.5, "rounds": None, "relation": "add-remove"}, "public number of rows"),
        ({"universe": "few"}, "universe"),
        ({"universe": []}, "universe"),
        ({"universe": [("x",)]}, "universe"),
        ({"universe": [("zz", "zz", "zz", "zz")]}, "zz"),
        ({"universe": np.full((2, 4), 99)}, "code"),
        ({"universe": [(0, 0, 0, 0)], "smoothness": 0.5}, "smoothness"),
        ({"universe": 10, "phi": 0.1}, "smoothness"),
        ({"universe": 10, "smoothness": 0.001}, "some cell"),
        ({"universe": 10, "smoothness": 0.5, "phi": "few"}, "phi"),
        ({"universe": 10, "smoothness": 0.5, "phi": -1}, "phi"),
        ({"index": "lsh", "slack": -0.1}, "slack"),
        ({"index": "lsh", "slack": 0.2}, "half the epsilon of one round"),
        ({"index": "lsh", "slack": float("nan")}, "slack"),
    ],
)
def test_what_is_impossible_is_refused_before_the_charge(
    people: wn.SealedTable, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(wn.InputError, match=named):
        flat_release(people, wn.marginals(1), **{**FAST, **options})


def test_noise_beyond_all_bounds_is_survived(people: wn.SealedTable) -> None:
    for update in ("gap", "hardt", "sign"):
        little = {**FAST, "epsilon": 1e-9}
        value = flat_release(people, wn.marginals(1), method=wn.MWEM(update=update), **little).value
        assert value.weights().sum() == pytest.approx(1)
        assert value.errors is not None and value.errors.bound() == 1


def test_gaussian_noise_without_a_delta_is_refused(people: wn.SealedTable) -> None:
    with pytest.raises(wn.WinnowError, match="delta"):
        wn.release(
            people, wn.marginals(1), epsilon=1, method=wn.MWEM(rounds=2, measurement="gaussian")
        )


def test_unsuitable_tables_and_workloads_are_refused(people: wn.SealedTable) -> None:
    with pytest.raises(wn.InputError, match="read_table"):
        flat_release({"a": [1]}, wn.marginals(1), **FAST)  # type: ignore[arg-type]
    with pytest.raises(wn.InputError, match="workload"):
        flat_release(people, [1, 2], **FAST)
    other = wn.Schema.parse({"a": 2})
    with pytest.raises(wn.InputError, match="different schema"):
        flat_release(people, wn.marginals(1).over(other), **FAST)
