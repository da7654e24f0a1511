"""All tables at once, columns alone, or rounds: public numbers decide, and the budget is met."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.inside import open_sealed
from reference.releasing import flat_release
from reference.running import paid_key
from winnow import Relation, Schema
from winnow.core.workloads.workload import bound_workload
from winnow.fit.tables import NoisyTable
from winnow.privacy import guarantee_of
from winnow.release.graphical.at_once import AtOnce, closure, distances_of
from winnow.release.graphical.rules import (
    MODEL_CELLS,
    MOST_MODEL_CELLS,
    distance,
    mean_distance,
    model_cells,
    pair_noise,
    schedule,
)
from winnow.release.graphical.settings import WideSettings, wide_settings
from winnow.release.graphical.synthetic import _towards
from winnow.release.rounds.warm_start import first_parts
from winnow.release.tables.estimates import layer_of
from winnow.release.tables.white import white_tables
from winnow.release.terms import ReleaseTerms

SHAPE = {"a": 4, "b": 3, "c": 5, "d": 2}
SCHEMA = Schema.parse(SHAPE)
NINE = Schema.parse({f"c{i}": 12 for i in range(9)})


OTHERS = ("rows_per_person", "accountant", "memory")
"""What is public besides."""


def settled(**changes: Any) -> WideSettings | AtOnce:
    public: dict[str, Any] = {
        "workload": wn.marginals(3),
        "schema": SCHEMA,
        "epsilon": 1.0,
        "delta": 1e-6,
        "relation": Relation.SUBSTITUTION,
        "rows": 10_000,
    }
    options = {name: value for name, value in changes.items() if name not in (*public, *OTHERS)}
    public |= {name: value for name, value in changes.items() if name not in options}
    workload, schema = public.pop("workload"), public.pop("schema")
    terms = ReleaseTerms(
        bound_workload(workload, schema, "4GB"), total=public.pop("rows"), **public
    )
    return wide_settings(wn.Graphical(**options), terms)


def people(rows: int = 20_000) -> wn.SealedTable:
    generator = np.random.default_rng(1)
    frame = {name: generator.integers(0, size, rows) for name, size in SHAPE.items()}
    frame["b"] = np.where(generator.random(rows) < 0.8, frame["a"] % 3, frame["b"])
    return wn.read_table(pd.DataFrame(frame), schema=SHAPE)


def test_what_noise_spares_is_measured_at_once_and_what_it_drowns_not_at_all() -> None:
    """What a fit to all tables leaves is compared with what rounds, or columns alone, leave."""
    many, few = settled(rows=10**6), settled(rows=20)
    assert isinstance(many, AtOnce) and "measured at once" in many.reason
    assert len(many.tables.parts) == 4 + 6 + 4
    assert isinstance(few, AtOnce) and "each column alone" in few.reason
    assert [len(part.columns) for part in few.tables.parts] == [1] * 4
    between = settled(schema=NINE, rows=20_000)
    assert isinstance(between, WideSettings) and "in a pair" in between.reason
    unheard = settled(rows=15)  # rounds would not hear a single pair
    assert isinstance(unheard, AtOnce) and "each column alone" in unheard.reason


def test_who_asks_for_rounds_gets_them() -> None:
    for asked in ({"rounds": 3}, {"first_share": 0.3}):
        assert isinstance(settled(rows=10**6, **asked), WideSettings)


def test_a_model_that_cannot_hold_all_tables_is_made_in_rounds() -> None:
    assert isinstance(settled(schema=NINE, rows=20_000, model_cells=5000), WideSettings)
    assert getattr(settled(rows=10**6, model_cells=119), "some", None) == 119
    assert isinstance(settled(rows=10**6, model_cells=120), AtOnce)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [10**6, 20])
@pytest.mark.parametrize("per_person", [1, 3])
def test_one_event_meets_the_budget(relation: Relation, rows: int, per_person: int) -> None:
    plan = settled(relation=relation, rows=rows, rows_per_person=per_person)
    assert isinstance(plan, AtOnce)
    mechanism = plan.tables.strategy.mechanism
    assert mechanism.rows_per_person == per_person
    found = guarantee_of(mechanism.promise(relation).event, 1e-6)
    assert found.epsilon <= 1.0
    assert plan.tables.guarantee.epsilon <= 1.0 and plan.tables.guarantee.delta <= 1e-6


def test_rounds_follow_the_noise_of_a_pair() -> None:
    found = [schedule(10, nu) for nu in (0.001, 0.03, 0.1, 0.4, 1.0, 1.1)]
    rounds = [each.rounds for each in found]
    assert rounds == sorted(rounds, reverse=True) and rounds[0] == 40 and rounds[-1] == 0
    assert all(each.rounds >= 10 for each in found[:-1])
    assert [each.stages for each in found] == [5, 1, 1, 1, 1, 1]
    shares = [each.first_share for each in found]
    assert shares == sorted(shares) and shares[0] == 0.1 and shares[-1] == 1.0

    def noise(rows: int, rho: float | None = 0.1) -> float:
        return pair_noise(
            (4, 3, 5), [(0, 1), (1, 2)], epsilon=1, rho=rho, people=1, rows_per_person=1, rows=rows
        )

    assert noise(2000) == pytest.approx(noise(1000) / 2)
    assert noise(1000) == pytest.approx(0.4 * 13.5 * math.sqrt(15) / 1000)
    assert noise(1000, None) == pytest.approx(0.5 * 13.5 * 3 / 1000)
    pure = [schedule(10, nu, pure=True).rounds for nu in (1e-4, 0.03, 0.3, 4.9, 5.1)]
    assert pure == [20, 10, 3, 2, 0]


@pytest.mark.slow
def test_long_columns_get_more_of_the_first_budget() -> None:
    shape = (100, 8, 2)
    for pure in (False, True):
        best = first_parts(shape, pure=pure)
        assert sum(best) == pytest.approx(1) and best == sorted(best, reverse=True)

        def error(parts: list[float], pure: bool = pure) -> float:
            noise = [1 / part if pure else part**-0.5 for part in parts]
            return sum(size * each for size, each in zip(shape, noise, strict=True))

        for place in range(3):  # no other parts are better
            moved = [part + (0.01 if i == place else -0.005) for i, part in enumerate(best)]
            assert min(moved) <= 0 or error(moved) >= error(best)
        assert error(best) < error([1 / 3] * 3)


def test_models_grow_and_errors_fall_with_the_noise_of_a_pair() -> None:
    noises = (1.0, 0.01, 0.002, 0.001, 1e-6)
    cells = [model_cells(nu) for nu in noises]
    assert cells[0] == cells[1] == MODEL_CELLS and cells == sorted(cells)
    assert MODEL_CELLS < cells[2] < cells[-1] == MOST_MODEL_CELLS
    assert [distance(nu, 2) for nu in (0.01, 1e4)] == [pytest.approx(0.02), 1.0]
    assert mean_distance(0.01, [2, 3]) == pytest.approx(0.032)
    few, many = (settled(schema=NINE, rows=rows) for rows in (20_000, 10**7))
    assert isinstance(few, WideSettings) and few.model_cells == MODEL_CELLS
    assert isinstance(many, AtOnce) and many.some == MOST_MODEL_CELLS
    asked = settled(schema=NINE, rows=20_000, model_cells=5000)
    assert isinstance(asked, WideSettings) and asked.model_cells == 5000


def test_white_tables_tell_what_the_subspaces_tell() -> None:
    """The weighted squares agree for random distributions; so the fit is that of the release."""
    plan = settled(rows=20_000, epsilon=3.0)
    assert isinstance(plan, AtOnce)
    strategy, table = plan.tables.strategy, people()
    numbers = strategy.mechanism.drawn(table, paid_key(strategy.mechanism, table.relation, 3))
    layer = layer_of(strategy.geometry, strategy.mechanism, numbers, total=20_000)
    tables = white_tables(layer, SCHEMA)
    held = {each.columns for each in tables}
    assert held == {c for ways in (1, 2, 3) for c in combinations(range(4), ways)}
    generator = np.random.default_rng(4)
    for _ in range(3):
        joint = 20_000 * generator.dirichlet(np.ones(120)).reshape(SCHEMA.shape)

        def summed(columns: tuple[int, ...], joint: np.ndarray = joint) -> np.ndarray:
            return np.einsum(joint, [0, 1, 2, 3], list(columns))

        white = sum(float(np.sum((summed(t.columns) - t.counts) ** 2)) / t.sigma**2 for t in tables)
        spaces = 0.0
        for space, details in layer.details.items():
            if space:
                apart = summed(tuple(column for column, _ in space))
                for axis in range(apart.ndim):
                    apart = apart - apart.mean(axis=axis, keepdims=True)
                spaces += layer.precision[space] * float(np.sum((apart - details) ** 2))
        assert white == pytest.approx(spaces, rel=1e-9)


def test_a_release_at_once_is_accurate_and_says_what_it_did() -> None:
    table = people()
    released = wn.release(
        table, wn.marginals(3), epsilon=3, delta=1e-6, seed=2, method=wn.Graphical()
    )
    assert released.receipt.mechanism.startswith("graphical model; measure-tables")
    assert "measured at once" in (released.receipt.reason or "")
    assert released.guarantee.epsilon <= 3 and released.value.total == 20_000
    asked = wn.release(
        table, wn.marginals(3), epsilon=3, delta=1e-6, seed=2, method=wn.Graphical(rounds=1)
    )
    assert released.guarantee.unit == asked.guarantee.unit == table.unit
    model = released.value
    again = wn.release(
        table, wn.marginals(3), epsilon=3, delta=1e-6, seed=2, method=wn.Graphical()
    ).value
    assert model.to_dict() == again.to_dict()
    joined = model.marginal("a", "b")
    assert joined[0, 0] > 3 * joined[0, 1]
    assert wn.WideSynthetic.from_dict(model.to_dict()).marginals[5].sigma > 0


def test_a_private_number_of_rows_is_measured_with_the_tables() -> None:
    table = people().under("add-remove")
    found = wn.release(table, wn.marginals(2), epsilon=3, delta=1e-6, seed=2, method=wn.Graphical())
    assert 19_800 < found.value.total < 20_200
    assert found.guarantee.relation is Relation.ADD_REMOVE


def test_noise_of_a_plan_falls_with_rows_and_counts_the_workload_only() -> None:
    plan = settled(rows=10**6)
    assert isinstance(plan, AtOnce)
    threes, ones = wn.marginals(3).over(SCHEMA), wn.marginals(1).over(SCHEMA)
    (near, fitted), (far, _) = (distances_of(plan.tables, threes, n) for n in (100_000, 10_000))
    assert far == pytest.approx(10 * near) and fitted < near
    assert distances_of(plan.tables, ones, 10_000)[0] < far
    assert len(closure(SCHEMA, [(0, 1, 2), (1, 3, 2)]).parts) == 11


LONG = {f"c{i}": 30 for i in range(6)}


def long_people(rows: int = 40_000) -> wn.read.SealedTable:
    """c1 follows c0; the other columns are their own."""
    generator = np.random.default_rng(4)
    codes = {name: np.minimum(generator.geometric(0.1, rows) - 1, 29) for name in LONG}
    codes["c1"] = np.where(generator.random(rows) < 0.8, codes["c0"], codes["c1"])
    return wn.read_table(codes, schema=LONG)


def test_pairs_that_no_model_can_hold_are_answered_by_their_tables() -> None:
    people, pairs = long_people(), wn.marginals(2)
    released = wn.release(
        people, pairs, epsilon=100, delta=1e-6, seed=1, method=wn.Graphical(model_cells=4000)
    )
    value = released.value
    assert "a model of some" in released.receipt.reason and value.tables is not None
    assert ("c0", "c1") in value.cliques  # the strongest pair
    assert sum(np.prod([LONG[c] for c in each]) for each in value.cliques) <= 4_000
    truth = pairs.over(people.schema).counts(*open_sealed(people.rows))
    errors = np.abs(value.counts() - truth)
    expected = [table.standard_error.mean() for table in value.tables.tables]
    assert errors.mean() < np.mean(expected)  # 0.8 standard errors in the mean
    assert errors.mean() < 0.5 * np.abs(40_000 * value.fitted() - truth).mean()
    assert value.fit is not None and value.fit.distance > 2 * value.fit.noise
    assert "too small for all tables" in value.fit_note  # and a person is told
    again = value.counts(wn.marginals(2))  # another workload of the same tables
    assert again.min() >= 0 and np.array_equal(again, value.counts())
    plan = wn.plan.release(
        wn.plan.table(LONG, rows=40000),
        pairs,
        epsilon=100,
        delta=1e-6,
        method=wn.Graphical(model_cells=4000),
    )
    expected: Any = plan.expected
    assert expected.strategy == "all at once, a model of some" and expected.tables == 15


def test_answers_lie_within_two_standard_errors_of_the_tables() -> None:
    people = long_people()
    options = {"epsilon": 30, "delta": 1e-6, "model_cells": 4_000, "seed": 2}
    value = flat_release(people, wn.marginals(2), method=wn.Graphical(), **options).value
    assert value.tables is not None
    for table in value.tables.tables:
        said = table.estimate
        answer = value.counts(wn.marginals(2, columns=table.columns)).reshape(said.shape)
        reach = 2 * table.standard_error.mean()
        certain = said > 3 * reach  # cells that are not cut at 0, but share what that adds
        assert (np.abs(answer - said)[certain] <= 1.5 * reach).all()


def test_a_release_tells_what_a_fit_leaves_where_all_tables_are_measured() -> None:
    plan = wn.plan.release(wn.plan.table(LONG, rows=10**7), wn.marginals(2), epsilon=10, delta=1e-6)
    best: Any = plan.taken
    assert best.method == "graphical" and "all tables at once" in best.note
    assert best.mean < plan.plain.mean and best.largest < plan.plain.largest


def test_a_plan_says_what_will_happen() -> None:
    def planned(n: int | None, **more: Any) -> wn.plan.ReleasePlan:
        method = wn.Graphical(**more)
        about = wn.plan.table(SHAPE, rows=n)
        return wn.plan.release(about, wn.marginals(2), epsilon=1, delta=1e-6, method=method)

    def plan(n: int | None, **more: Any) -> wn.plan.WideExpected:
        found = planned(n, **more).expected
        assert isinstance(found, wn.plan.WideExpected)
        return found

    known = [plan(n).strategy for n in (10**6, 10)]
    assert known == ["all at once", "columns alone"]
    assert plan(10**6, model_cells=30, rounds=4).strategy == "rounds"
    asked = plan(10**6, rounds=5)
    assert asked.rounds == 5 and asked.tables == 9 and asked.seconds > 0
    distances = [plan(n).distance for n in (10**6, 10)]
    assert distances == sorted(distances) and distances[0] < 0.01 and "thumb" in str(asked)
    assert "5 rounds as asked" in str(asked) and asked.to_dict()["strategy"] == "rounds"
    assert plan(None).noise > 0
    whole = planned(10**6, rounds=5)
    assert str(asked) in str(whole) and whole.to_dict()["expected"] == asked.to_dict()
    with pytest.raises(wn.InputError, match="rows=0"):
        plan(0)


def test_a_table_is_drawn_to_the_model_where_noise_explains_their_difference() -> None:
    model, total = np.full(4, 0.25), 1000
    near = NoisyTable((0,), np.array([255.0, 245.0, 260.0, 240.0]), 10.0)
    assert np.allclose(_towards(model, near, total), model)
    far = NoisyTable((0,), np.array([700.0, 100.0, 150.0, 50.0]), 10.0)
    answer = total * _towards(model, far, total)
    assert np.abs(answer - far.counts).max() < 2.0 and answer[0] < 700
    alone = NoisyTable((0,), np.array([620.0, 220.0, 80.0, 80.0]), 80.0)  # noise, and one cell
    assert np.abs(total * _towards(model, alone, total) - alone.counts).max() <= 2 * 80.0 + 1
    assert _towards(model, NoisyTable((0,), np.full(4, -5.0), 1.0), total).min() >= 0
