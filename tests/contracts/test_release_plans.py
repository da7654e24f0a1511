"""What a plan of a release promises is what the release is charged, whatever its method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
import pytest

import winnow as wn
from winnow.core.relation import Relation
from winnow.errors import RelationMismatch
from winnow.privacy import Event
from winnow.privacy.budget import Budget
from winnow.release.drawn import MethodPlan
from winnow.release.methods import METHODS, ReleaseMethod
from winnow.release.terms import ReleaseTerms

SCHEMA = {"a": 3, "b": 4}
ROUNDS = {"adaptive", "mwem", "graphical"}


def table(relation: str = "substitution", rows: int = 300) -> wn.SealedTable:
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, size, rows) for name, size in SCHEMA.items()}
    return wn.read_table(codes, schema=SCHEMA, relation=relation)


def asked(method: Any) -> dict[str, Any]:
    word = method if isinstance(method, str) else method.word()
    by = wn.prefixes("b") if word == "toeplitz" else wn.marginals(2)
    return {"workload": by, "epsilon": 1.0, "delta": 1e-6, "method": method}


EVERY = ["auto", *(each.word() for each in METHODS)]
EVERY += [each(rounds=2) for each in METHODS if each.word() in ROUNDS]  # type: ignore[call-arg]


@pytest.mark.slow
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("method", EVERY, ids=str)
def test_the_event_of_the_plan_is_what_is_charged(method: Any, relation: Relation) -> None:
    people = table(relation)
    budget = Budget(1.0, 1e-6, relation)
    plan = wn.plan.release(people, budget=budget, **asked(method))
    released = wn.release(people, budget=budget, seed=1, **asked(method))
    assert budget.events == (plan.event,) == (released.receipt.event,)
    assert (released.guarantee.epsilon, released.guarantee.delta) == (
        plan.guarantee.epsilon, plan.guarantee.delta
    )  # fmt: skip
    assert released.receipt.reason == plan.reason and released.receipt.mechanism == plan.name
    again = plan.run(people, seed=1)
    np.testing.assert_array_equal(again.value.answers(), released.value.answers())
    assert plan.compared[0].method == plan.method.word() and plan.seconds > 0


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_a_plan_without_a_table_is_that_of_the_table(method: Any) -> None:
    people = table()
    known = wn.plan.release(wn.plan.table(SCHEMA, rows=300), **asked(method))
    assert known.event == wn.plan.release(people, **asked(method)).event
    assert isinstance(known.event, Event) and str(known) and known.to_dict()
    np.testing.assert_array_equal(
        known.run(people, seed=3).value.answers(),
        wn.release(people, seed=3, **asked(method)).value.answers(),
    )


def test_a_plan_runs_on_tables_like_its_own_only() -> None:
    plan = wn.plan.release(table(), **asked("tables"))
    with pytest.raises(RelationMismatch):
        plan.run(table("add-remove").stating(300))
    with pytest.raises(wn.ParameterError, match="other rows"):
        plan.run(table(rows=299))
    with pytest.raises(wn.ParameterError, match="other cells"):
        plan.run(table().restrict(["a"]))


def test_no_signature_has_more_than_ten_parameters() -> None:
    for verb in (wn.release, wn.plan.release, wn.plan.mwem_bounds):
        assert len(signature(verb).parameters) <= 10


@dataclass(frozen=True, kw_only=True)
class Halved(ReleaseMethod):
    """A method of somebody else: tables with half of the budget."""

    def plan(self, terms: ReleaseTerms, progress: Any = None) -> MethodPlan:
        return wn.Tables().plan(replace(terms, epsilon=terms.epsilon / 2))


def test_a_method_of_ones_own_is_planned_charged_and_run() -> None:
    released = wn.release(table(), wn.marginals(2), epsilon=1.0, method=Halved(), seed=1)
    assert released.guarantee.epsilon == 0.5
    plan = wn.plan.release(table(), wn.marginals(2), epsilon=1.0, method=Halved())
    assert plan.error is None and plan.compared[0].method == "halved"
