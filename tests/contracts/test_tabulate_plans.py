"""What a plan of tables promises is what the tables are charged, of rows and of counts."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from winnow.core.relation import Relation
from winnow.errors import RelationMismatch
from winnow.privacy.budget import Budget
from winnow.release.tables.plan import TabulatePlan
from winnow.release.tables.request import PlannedTabulate, Tabulate
from winnow.serve.orders import Pricing

SCHEMA = {"a": 3, "b": 4}
ITEMS = [0, 1, 2, 3]


def frame(rows: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, size, rows) for name, size in SCHEMA.items()}
    return pd.DataFrame(codes | {"who": np.arange(rows) // 3})


def table(relation: Any = "substitution", rows: int = 300, **more: Any) -> wn.SealedTable:
    return wn.read_table(frame(rows), schema=SCHEMA, relation=relation, **more)


def bounded(relation: Any) -> wn.SealedTable:
    return table(relation, person="who", max_rows=2)


def public_items(relation: Any) -> wn.SealedCounts:
    return wn.counts(
        frame(), item="b", person="who", max_items=2, items=ITEMS, relation=str(relation)
    )


def private_items(relation: Any) -> wn.SealedCounts:
    return wn.counts(frame(), item="b", person="who", max_items=2, relation=str(relation))


BY: dict[str, dict[str, Any]] = {
    "one table": {"by": ["a", "b"]},
    "tables": {"by": wn.marginals([1, 2]) + wn.prefixes("b")},
    "sums": {"by": ["a"], "values": ["b"]},
    "the largest": {"by": wn.marginals(2), "objective": "max"},
    "the mean": {"by": wn.marginals(1), "objective": "mean"},
}
DATA: dict[str, Any] = {
    "rows": (table, BY),
    "a stated number of rows": (lambda relation: table(relation).stating(300), BY),
    "rows of people": (bounded, BY | {"cut": {"by": ["a"], "with_cut": 0.25}}),
    "public items": (public_items, {"counts": {}, "cut": {"with_cut": 0.25}}),
    "private items": (private_items, {"counts": {}, "cut": {"with_cut": 0.25}}),
}
CASES = [
    pytest.param(made, asked, relation, delta, id=f"{name}, {what}, {relation}, {delta:g}")
    for name, (made, several) in DATA.items()
    for what, asked in several.items()
    for relation in Relation
    for delta in (0.0, 1e-6)
    if delta or name != "private items"
]


def numbers(released: Any) -> list[np.ndarray]:
    return [each.estimate for each in released.value]


@pytest.mark.slow
@pytest.mark.parametrize(("made", "asked", "relation", "delta"), CASES)
def test_the_event_of_the_plan_is_what_is_charged(
    made: Any, asked: dict[str, Any], relation: Relation, delta: float
) -> None:
    data, sized = made(relation), {"epsilon": 1.0, "delta": delta, **asked}
    budget = Budget(2.0, 1e-5, relation)
    plan = wn.plan.tabulate(data, budget=budget, **sized)
    released = wn.tabulate(data, budget=budget, seed=1, **sized)
    assert budget.events == (plan.event,) == (released.receipt.event,)
    assert (released.guarantee.epsilon, released.guarantee.delta) == (
        plan.guarantee.epsilon, plan.guarantee.delta
    )  # fmt: skip
    assert released.receipt.reason == plan.reason and released.receipt.mechanism == plan.name
    assert plan.guarantee.epsilon <= 1 and plan.guarantee.delta <= delta
    again = plan.run(data, seed=1)
    assert again.cut == released.cut and (again.cut is None) is ("with_cut" not in asked)
    for one, other in zip(numbers(again), numbers(released), strict=True):
        np.testing.assert_array_equal(one, other)
    priced = Tabulate(**sized, budget=Pricing(budget.accountant)).plan(data)
    assert priced.event == plan.event  # a server's
    assert str(plan) and plan.to_dict()["error"] == plan.error and plan.seconds > 0
    if plan.compared:
        assert plan.error == plan.compared[0].largest
        assert sum(row.answers for row in plan.rows) == plan.answers
    else:
        assert plan.error is None and plan.answers is None


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("rows", [None, 300])
def test_a_plan_without_a_table_is_that_of_the_table(relation: Relation, rows: int | None) -> None:
    about = wn.plan.table(SCHEMA, rows=rows, relation=relation)
    people = table(relation).stating(rows)
    known = wn.plan.tabulate(about, wn.marginals(2), epsilon=1.0)
    assert known.event == wn.plan.tabulate(people, wn.marginals(2), epsilon=1.0).event
    planned = known.run(people, seed=3)
    asked = wn.tabulate(people, wn.marginals(2), epsilon=1.0, seed=3)
    np.testing.assert_array_equal(numbers(planned)[0], numbers(asked)[0])
    one, other = planned.value.total, asked.value.total
    assert (one.estimate, one.standard_error) == (other.estimate, other.standard_error)
    measured = relation is Relation.ADD_REMOVE and rows is None
    assert bool(one.standard_error > 0) is measured


def test_a_plan_without_counts_is_that_of_the_counts() -> None:
    for about, counted in (
        (wn.plan.counts(4, max_items=2), public_items("add-remove")),
        (wn.plan.counts(labels="private", max_items=2), private_items("add-remove")),
    ):
        known = wn.plan.tabulate(about, epsilon=1.0, delta=1e-6)
        assert known.event == wn.plan.tabulate(counted, epsilon=1.0, delta=1e-6).event
        released = wn.tabulate(counted, epsilon=1.0, delta=1e-6, seed=3)
        np.testing.assert_array_equal(numbers(known.run(counted, seed=3))[0], numbers(released)[0])


def test_the_errors_of_public_items_are_those_of_the_released_table() -> None:
    counted = public_items("add-remove")
    plan = wn.plan.tabulate(counted, epsilon=1.0)
    (found,) = wn.tabulate(counted, epsilon=1.0, seed=1).value
    assert found.standard_error == pytest.approx(plan.rows[0].standard_error)
    wanted = wn.plan.tabulate(counted, error=20)
    assert wanted.error <= 20 < wn.plan.tabulate(counted, epsilon=wanted.epsilon * 0.99).error
    with pytest.raises(wn.ParameterError, match="this error cannot be predicted"):
        wn.plan.tabulate(private_items("add-remove"), delta=1e-6, error=20)


def test_a_wanted_error_is_that_of_the_tables_beside_the_estimate() -> None:
    asked = {"by": ["a"], "with_cut": 0.5}
    plan = wn.plan.tabulate(bounded("add-remove"), error=20, **asked)
    alone = wn.plan.tabulate(bounded("add-remove"), ["a"], error=20)
    assert plan.error <= 20 and plan.epsilon == pytest.approx(2 * alone.epsilon, rel=1e-3)


def test_a_plan_runs_on_data_like_its_own_only() -> None:
    budget = Budget(9.0, relation="substitution")
    plan = wn.plan.tabulate(table(), ["a"], epsilon=1.0)
    for other, message in (
        (table(rows=299), "other rows"),
        (table().restrict(["a"]), "other cells"),
        (bounded("substitution"), "other rows per person"),
        (public_items("substitution"), "read it with"),
        (frame(), "read it with"),
    ):
        with pytest.raises(wn.ParameterError, match=message):
            plan.run(other, budget=budget)
    with pytest.raises(RelationMismatch):
        plan.run(table("add-remove").stating(300), budget=budget)
    of_items = wn.plan.tabulate(public_items("substitution"), epsilon=1.0)
    with pytest.raises(wn.ParameterError, match="the plan is for counts"):
        of_items.run(table(), budget=budget)
    with pytest.raises(wn.ParameterError, match="labels of another kind"):
        of_items.run(private_items("substitution"), budget=budget)
    of_cut = wn.plan.tabulate(bounded("substitution"), ["a"], epsilon=1.0, with_cut=0.1)
    unbounded = wn.SealedTable(of_cut.about.schema, table().rows, 2)
    with pytest.raises(wn.ParameterError, match="here is none"):
        of_cut.run(unbounded, budget=budget)
    assert budget.events == ()


@pytest.mark.parametrize(
    ("given", "asked", "message"),
    [
        (SCHEMA, {"by": ["a"]}, "wn.plan.table"),
        (wn.plan.table(12), {"by": ["a"]}, "columns"),
        (wn.plan.table(SCHEMA), {}, "by"),
        (wn.plan.table(SCHEMA), {"by": ["a"], "with_cut": 0.1}, "here is none"),
        (wn.plan.counts(4), {}, "max_items="),
        (wn.plan.counts(max_items=2), {}, "candidates="),
        (wn.plan.counts(4, max_items=2), {"by": ["a"]}, "leave out by="),
        (wn.plan.counts(4, max_items=2), {"values": ["a"]}, "leave out by="),
    ],
)
def test_what_cannot_be_planned_is_said(given: Any, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(wn.ParameterError, match=message):
        wn.plan.tabulate(given, epsilon=1.0, **asked)


def test_a_result_is_held_back_with_and_without_an_estimate() -> None:
    for asked in ({}, {"with_cut": 0.5}):
        for pad_to in (0.05, "plan"):
            released = wn.tabulate(
                bounded("add-remove"), ["a"], epsilon=1.0, run=wn.Run(pad_to=pad_to), **asked
            )
            assert "s after the call" in released.receipt.held or "late" in released.receipt.held
    assert wn.tabulate(table(), ["a"], epsilon=1.0).receipt.held == ""


def test_no_signature_has_more_than_ten_parameters() -> None:
    for verb in (wn.tabulate, wn.plan.tabulate):
        assert len(signature(verb).parameters) <= 10
    assert isinstance(PlannedTabulate(["a"], epsilon=1).plan(table()), TabulatePlan)
