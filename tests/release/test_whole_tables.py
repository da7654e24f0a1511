"""MWEM over whole tables: what it costs, what it refuses, and how good it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import winnow as wn
from reference.releasing import flat_release
from winnow.privacy import BoundedRange, Compose, DiscreteLaplace, Gaussian, Repeat
from winnow.release.rounds.mwem import default_tables

SHAPE = {"a": 3, "b": 4, "c": 2, "d": 2}
N = 3000
HOW: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "accountant": "zcdp", "method": "adaptive"}


@pytest.fixture(scope="module")
def codes() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 3, N)
    held = {"a": kind, "b": (kind + rng.integers(0, 2, N)) % 4}
    return held | {"c": kind // 2, "d": rng.integers(0, 2, N) | (held["b"] == 1)}


@pytest.fixture(scope="module")
def people(codes: dict[str, Any]) -> wn.SealedTable:
    import polars as pl

    return wn.read_table(pl.DataFrame(codes), schema=SHAPE)


def true_answers(codes: dict[str, Any], workload: wn.Workload) -> Any:
    return workload.counts(list(codes.values()), np.ones(N, np.int64)) / N


def test_a_table_is_charged_like_one_count(people: wn.SealedTable) -> None:
    budget = wn.Budget(1.0, 1e-6, "substitution")
    given = {name: value for name, value in HOW.items() if name != "accountant"}
    released = flat_release(people, wn.marginals(2), budget=budget, rounds=4, **given)
    event = released.receipt.event
    assert isinstance(event, Repeat) and event.count == 4
    assert [type(each) for each in event.event.events] == [BoundedRange, Gaussian]  # type: ignore[union-attr]
    assert budget.events == (event,)
    assert released.guarantee.epsilon <= 1 and released.guarantee.delta == 1e-6
    assert "over whole tables" in released.receipt.mechanism
    sizes = {part.size for part in released.value.workload.parts}
    assert len(released.value.measurements) >= 4 * min(sizes)


def test_pure_privacy_has_laplace_noise(people: wn.SealedTable) -> None:
    released = wn.release(people, wn.marginals(2), epsilon=1, seed=1, method=wn.Adaptive(rounds=3))
    event = released.receipt.event
    assert released.guarantee.delta == 0 and released.guarantee.epsilon <= 1
    assert isinstance(event, Repeat)
    assert isinstance(event.event.events[1], DiscreteLaplace)  # type: ignore[union-attr]


def test_a_private_number_of_rows_is_measured_first(people: wn.SealedTable) -> None:
    released = flat_release(people.under("add-remove"), wn.marginals(1), seed=1, **HOW)
    assert isinstance(released.receipt.event, Compose)
    assert abs(released.value.total - N) < 300
    assert "as if there were 20,000 rows" in released.receipt.reason
    named = flat_release(people.under("add-remove").stating(N), wn.marginals(1), **HOW)
    assert named.value.total == N and isinstance(named.receipt.event, Repeat)


def test_a_great_epsilon_reproduces_the_tables(
    people: wn.SealedTable, codes: dict[str, Any]
) -> None:
    workload = wn.marginals(2).over(people.schema)
    found = flat_release(people, workload, seed=1, rounds=20, **{**HOW, "epsilon": 2000}).value
    assert np.abs(found.answers(workload) - true_answers(codes, workload)).max() < 0.003


def test_whole_tables_are_more_accurate_than_single_queries(
    people: wn.SealedTable, codes: dict[str, Any]
) -> None:
    workload = wn.marginals(3).over(people.schema)
    truth = true_answers(codes, workload)

    def errors(method: str) -> float:
        given = {**HOW, "method": method}
        found = [flat_release(people, workload, seed=s, **given).value for s in range(3)]
        return float(np.mean([np.abs(each.answers(workload) - truth).mean() for each in found]))

    assert errors("adaptive") < 0.7 * errors("mwem")


def test_groups_share_the_rounds(people: wn.SealedTable) -> None:
    heard = []
    released = flat_release(
        people,
        wn.marginals([1, 2]),
        seed=1,
        rounds=9,
        groups=[["d", "a"], ["b", "c"]],
        run=wn.Run(progress=lambda done, every: heard.append((done, every))),
        **HOW,
    )
    value = released.value
    assert heard == [(i, 9) for i in range(1, 10)]
    assert isinstance(released.receipt.event, Repeat) and released.receipt.event.count == 9
    joint = value.marginal("a", "b")
    np.testing.assert_allclose(joint, np.outer(value.marginal("a"), value.marginal("b")))
    for measured in value.measurements:
        assert measured.label == value.workload.label(measured.query)
    assert len(value.error_estimates()) == value.workload.size


def test_what_is_no_table_is_refused(people: wn.SealedTable) -> None:
    for workload, options, named in (
        (wn.prefixes("b"), {}, "whole tables"),
        (wn.marginals(1) + wn.where(a=1), {}, "whole tables"),
        (wn.marginals(1), {"groups": [["a", "b"], ["c", "d"]], "rounds": [1, 2]}, "whole number"),
        (wn.marginals(1), {"rounds": 0}, "rounds"),
        (wn.marginals(1), {"epsilon": 1e-18, "delta": 0, "accountant": "pure"}, "epsilon"),
    ):
        with pytest.raises(wn.InputError, match=named):
            flat_release(people, workload, **{**HOW, **options})


def test_a_small_budget_is_survived(people: wn.SealedTable) -> None:
    value = flat_release(people, wn.marginals(2), **{**HOW, "epsilon": 1e-6}).value
    assert np.isfinite(value.answers()).all()


def test_the_number_of_tables_follows_public_numbers() -> None:
    def chosen(**changed: Any) -> int:
        given = {"cells": 900, "tables": 30, "total": 10_000, "rows_per_person": 1, "noise": 8.0}
        return default_tables(**{**given, "pure": False, **changed})

    assert 1 <= chosen(total=10) < chosen() < chosen(total=100_000) <= 45
    assert chosen(pure=True) < chosen() and chosen(rows_per_person=4) < chosen()
