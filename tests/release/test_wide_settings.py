"""The plan of a wide release: all public, all refusals before anything is charged."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.tree_potentials import tree_tables
from winnow import InputError, Relation, Schema, WideSynthetic
from winnow.core.workloads.part import table_columns
from winnow.core.workloads.workload import bound_workload
from winnow.fit.junction_tree import junction_tree
from winnow.fit.tables import FitQuality, NoisyTable
from winnow.privacy import guarantee_of
from winnow.release.graphical.at_once import AtOnce
from winnow.release.graphical.rounds import ModelRoom
from winnow.release.graphical.settings import WideSettings, wide_settings
from winnow.release.graphical.synthetic import MeasuredMarginal, TreeFactor
from winnow.release.terms import ReleaseTerms

SCHEMA = Schema.parse({"a": 4, "b": 3, "c": 5, "d": 2})


OTHERS = ("rows_per_person", "accountant", "memory")
"""What is public besides."""


def planned(**changes: Any) -> WideSettings:
    """A plan of rounds: as many as are asked for."""
    found = settled(**({"rounds": 6} | changes))
    assert isinstance(found, WideSettings)
    return found


def settled(**changes: Any) -> WideSettings | AtOnce:
    """What the rules make of a request."""
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


def test_candidates_are_the_tables_inside_the_workload_weighted_by_overlap() -> None:
    plan = planned()
    sets = [part.columns for part in plan.candidates.parts]  # type: ignore[attr-defined]
    assert len(sets) == 6 + 4 and all(len(each) >= 2 for each in sets)
    assert set(plan.weights) == {2, 3}
    assert [w for s, w in zip(sets, plan.weights, strict=True) if len(s) == 3] == [3] * 4
    assert len(plan.first.parts) == 4


def test_the_plan_meets_its_budget_and_says_so() -> None:
    plan = planned(rounds=5)
    assert plan.mechanism.promise(Relation.SUBSTITUTION).event == plan.rounds.event
    assert plan.rounds.guarantee.epsilon <= 1.0 and plan.rounds.guarantee.delta <= 1e-6
    assert "5 rounds as asked" in plan.reason and "accountant" in plan.reason
    substituted, added = planned(), planned(relation=Relation.ADD_REMOVE)
    assert substituted.sigma > 1.3 * added.sigma


def test_tables_of_mere_noise_are_left_out() -> None:
    plan = planned()
    assert plan.worthwhile(10**9) == list(range(10))
    assert plan.worthwhile(1) == []
    with pytest.raises(InputError, match="noise of every table"):
        planned(rows=50)


def columns_of(plan: WideSettings) -> list[tuple[int, ...]]:
    return [table_columns(part) or () for part in plan.candidates.parts]


def test_the_junction_tree_stays_within_its_bound() -> None:
    plan = planned(model_cells=30)
    assert all(part.size <= 30 for part in plan.candidates.parts)
    zeros = NoisyTable((0, 2), np.zeros((4, 5), np.int64), 1.0)
    sets = columns_of(plan)
    allowed = ModelRoom(plan.schema.shape, plan.model_cells, sets).allowed([zeros])
    chosen = [sets[i] for i in allowed]
    assert (0, 2) in chosen and (1, 3) in chosen and (0, 1) not in chosen


def test_a_model_grows_from_round_to_round_and_never_beyond_its_bound() -> None:
    sets = [(0, 1), (0, 1, 2)]  # 12 and 60 cells, and the column that is left
    room = ModelRoom((4, 3, 5, 2), 70, sets)
    alone = [NoisyTable((c,), np.zeros(n, np.int64), 1.0) for c, n in enumerate((4, 3, 5, 2))]
    assert room.allowed(alone, 0.5).tolist() == [0]
    assert room.allowed(alone, 1.0).tolist() == [0, 1]
    assert room.allowed(alone, 0.01).tolist() == [0, 1]  # nothing fits: all of its cells are free
    noisy = np.array([False, True])
    assert room.allowed(alone, 0.5, noisy).tolist() == [1]
    assert room.allowed(alone, 1.0, np.zeros(2, np.bool_)).tolist() == [0, 1]


def test_a_bound_that_no_first_table_meets_is_refused_before_the_charge() -> None:
    """The columns alone take cells, too: b and d together with a and c make 15."""
    found = planned(model_cells=15)
    assert [part.size for part in found.candidates.parts] == [6]
    room = ModelRoom(found.schema.shape, found.model_cells, columns_of(found))
    assert room.allowed([]).tolist() == [0]
    with pytest.raises(InputError, match="model_cells=14"):
        planned(model_cells=14)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"workload": wn.prefixes("a")}, "marginal tables"),
        ({"workload": wn.marginals(2).over(SCHEMA.subset(["a", "b"]))}, "different schema"),
        ({"workload": wn.marginals(1)}, "two or more columns"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": 10**400}, "epsilon is above"),
        ({"epsilon": Fraction(1, 10**400)}, "epsilon is below"),
        ({"accountant": "loose"}, "accountant='loose' is unknown"),
        ({"share": 1.5}, "share"),
        ({"first_share": 0}, "first_share"),
        ({"first_share": 1}, "first_share"),
        ({"rounds": 0}, "rounds"),
        ({"model_cells": 0}, "model_cells"),
        ({"model_cells": 2**31}, "at most 2147483647"),
        ({"memory": "1kB"}, "memory"),
        ({"rows": 0}, "0 rows"),
    ],
)
def test_what_cannot_be_planned_is_refused(changes: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named):
        planned(**changes)


def test_without_a_delta_noise_is_laplace_and_epsilons_add_up() -> None:
    for changes in ({"delta": 0}, {"accountant": "pure"}):
        plan = planned(**changes)
        assert plan.mechanism.measurement == "laplace"
        assert plan.mechanism.promise(Relation.SUBSTITUTION).event == plan.rounds.event
        found = guarantee_of(plan.rounds.event)
        assert 0.99 < found.epsilon <= 1.0 and found.delta == 0
        spent = plan.mechanism.rounds * plan.rounds.selection_epsilon
        measured = plan.mechanism.rounds / plan.rounds.noise_multiplier
        assert spent / (spent + measured) == pytest.approx(0.1, rel=1e-3)  # the share of a round


def test_a_delta_is_left_alone_where_few_columns_have_less_noise_without_it() -> None:
    few = Schema.parse({"a": 40, "b": 40, "c": 30})
    plan = settled(schema=few, workload=wn.marginals(2), delta=1e-9)
    assert isinstance(plan, WideSettings) and plan.mechanism.measurement == "laplace"
    assert guarantee_of(plan.rounds.event).epsilon <= 1.0
    asked = planned(schema=few, workload=wn.marginals(2), delta=1e-9, rows=10**5)
    assert asked.mechanism.measurement == "gaussian"


def test_columns_that_no_table_speaks_of_are_measured_alone() -> None:
    some = wn.marginals(2, columns=["a", "b"])
    for plan in (planned(workload=some), settled(workload=some)):
        assert plan.terms.workload.size == 12
        if isinstance(plan, AtOnce):
            assert {part.columns for part in plan.tables.parts} >= {(2,), (3,), (0, 1)}
        else:
            assert len(plan.first.parts) == 4 and len(plan.candidates.parts) == 1


def test_what_is_no_budget_is_refused() -> None:
    rows = pd.DataFrame({"a": ["x", "y"], "b": ["x", "x"]})
    held = wn.read_table(rows, schema={"a": {"values": ["x", "y"]}, "b": {"values": ["x", "y"]}})
    wrong: Any = 3.0
    with pytest.raises(InputError, match="budget is a float"):
        wn.tabulate(held, wn.marginals(2), epsilon=1, budget=wrong)
    for method in ("auto", wn.Graphical()):
        with pytest.raises(InputError, match="budget is a float"):
            wn.release(held, wn.marginals(2), epsilon=1, budget=wrong, method=method)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="read_table"):
        wn.release([1], wn.marginals(2), epsilon=1, delta=1e-6, method=wn.Graphical())  # type: ignore[arg-type]


def small_model() -> WideSynthetic:
    generator = np.random.default_rng(3)
    sets = [(0, 1), (1, 2), (2, 3)]
    potentials = [(s, generator.normal(size=[SCHEMA.shape[i] for i in s])) for s in sets]
    factor = TreeFactor(tree_tables(junction_tree(SCHEMA.shape, sets), potentials))
    measured = MeasuredMarginal(("d", "a"), np.arange(8).reshape(2, 4), 2.5)
    quality = FitQuality(3.5, 2.5, 0.125, 100.0, 7)
    return WideSynthetic(SCHEMA, (factor,), 100, marginals=(measured,), fit=quality)  # type: ignore[arg-type]


def test_a_model_answers_every_workload_like_its_weights() -> None:
    model = small_model()
    cells = model.weights()
    where = wn.where(a=[0, 1], d=[1])
    for workload in (wn.marginals([1, 2, 3]), wn.prefixes("c"), where):
        bound = workload.over(SCHEMA)
        assert np.allclose(model.answers(workload), bound.answers(cells), atol=1e-12)
    assert model.marginal("d", "b").shape == (2, 3)
    assert "graphical model over 4 columns" in repr(model)


def test_a_model_is_kept_in_json_and_rows_are_repeatable(tmp_path: Path) -> None:
    model = small_model()
    model.save(tmp_path / "model.json")
    again = WideSynthetic.from_dict(json.loads((tmp_path / "model.json").read_text()))
    assert np.allclose(again.weights(), model.weights())
    assert again.marginals[0].counts.tolist() == model.marginals[0].counts.tolist()
    assert again.fit == model.fit == FitQuality(3.5, 2.5, 0.125, 100.0, 7)
    one, two = model.sample(50, seed=4), again.sample(50, seed=4)
    assert all((one[name] == two[name]).all() for name in SCHEMA.names)
    model.save(tmp_path / "rows.csv", rows=20, seed=1)
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 21
    for broken in ({}, {"factors": [{"cliques": []}]}, {"factors": [{}]}, {"fit": {"best": 1}}):
        with pytest.raises(InputError):
            WideSynthetic.from_dict({"schema": SCHEMA.to_dict(), "marginals": [], **broken})


def test_a_plan_names_no_error_above_all_rows() -> None:
    small = {"a": 4, "b": 5, "c": 6, "d": 3}
    few, many = (
        str(
            wn.plan.release(
                wn.plan.table(small, rows=n),
                wn.marginals(2),
                epsilon=0.1,
                delta=1e-6,
                method=wn.Graphical(),
            )
        )
        for n in (50, 10**5)
    )
    assert "expected largest error" not in few and "expected largest error" in many
