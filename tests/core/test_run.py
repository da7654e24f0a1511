"""Plans, runs and keys: nothing opens without a charge, and a plan is charged what it says."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

import winnow as wn
from reference.inside import Sealed, Tape
from reference.mechanisms import PermuteAndFlip
from reference.running import any_key, redeem
from winnow.core.key import Key
from winnow.core.plan import Plan, plan_of
from winnow.core.sealed import PublicFact
from winnow.core.unit import PERSON, Unit
from winnow.errors import ForeignError
from winnow.privacy import PureDP, single_use_grant

SECRET = 41_729
SCORES = wn.seal_scores({"a": SECRET, "b": 3}, wn.Utility.declare(1, monotone=True))


@dataclass(frozen=True)
class Number:
    """One private number."""

    value: Sealed[int]
    relation: wn.Relation = wn.Relation.ADD_REMOVE
    unit: Unit = PERSON


def looking(draw: Any, check: Any = lambda data: None) -> Plan[Number, Any]:
    mechanism = PermuteAndFlip(1)
    promised = mechanism.promise(wn.Relation.ADD_REMOVE)
    return Plan(
        mechanism=mechanism,
        relation=wn.Relation.ADD_REMOVE,
        guarantee=mechanism.guarantee(promised),
        draw=draw,
        check=check,
    )


NUMBER = Number(Sealed(SECRET, "a number"))


def test_a_key_is_not_made_by_hand_copied_or_pickled() -> None:
    with pytest.raises(wn.GrantError, match="run a plan"):
        Key(Tape.seeded(1))
    key = any_key()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(wn.GrantError, match="one draw"):
            attempt(key)
    assert str(SECRET) not in repr(key)


def test_a_key_opens_while_its_draw_lasts_and_nothing_afterwards() -> None:
    kept: list[Key] = []

    def draw(data: Number, key: Key) -> int:
        kept.append(key)
        return key.open(data.value)

    assert looking(draw).run(NUMBER, seed=1).value == SECRET
    for attempt in (lambda: kept[0].open(NUMBER.value), lambda: kept[0].tape):
        with pytest.raises(wn.GrantError, match="ended"):
            attempt()


def test_a_key_ends_with_a_draw_that_fails() -> None:
    kept: list[Key] = []

    def draw(data: Number, key: Key) -> int:
        kept.append(key)
        raise RuntimeError("it may quote the data")

    with pytest.raises(ForeignError, match="withheld"):
        looking(draw).run(NUMBER, seed=1)
    with pytest.raises(wn.GrantError, match="ended"):
        kept[0].open(NUMBER.value)


def test_a_check_that_refuses_costs_nothing_and_gets_no_key() -> None:
    def refuse(data: Number) -> None:
        raise wn.DataError("not this one")

    budget = wn.Budget(1.0)
    with pytest.raises(wn.DataError):
        looking(lambda data, key: pytest.fail("drawn"), refuse).run(NUMBER, budget=budget)
    assert budget.spent.amount == 0


def test_the_event_of_a_plan_is_what_is_charged() -> None:
    budget, plan = wn.Budget(5.0), plan_of(PermuteAndFlip(1), wn.Relation.ADD_REMOVE)
    released = plan.run(SCORES, budget=budget, seed=1)
    assert released.receipt.event == plan.event
    assert budget.spent.amount == 1
    other = single_use_grant(PureDP(0.5, wn.Relation.ADD_REMOVE))
    with pytest.raises(wn.GrantError, match="charge the event"):
        redeem(plan, SCORES, other, Tape.seeded(1))


def test_data_under_another_relation_are_refused_before_the_charge() -> None:
    budget = wn.Budget(5.0, relation="substitution")
    plan = plan_of(PermuteAndFlip(1), wn.Relation.SUBSTITUTION)
    with pytest.raises(wn.RelationMismatch, match="plan again"):
        plan.run(SCORES, budget=budget)
    assert budget.spent.amount == 0


def test_a_sealed_value_leaves_by_a_key_or_as_a_listed_fact_only() -> None:
    sealed = Sealed(SECRET, "a number")
    doubled = sealed.map(lambda number: 2 * number, "twice a number")
    assert isinstance(doubled, Sealed) and str(2 * SECRET) not in repr(doubled)
    pair = sealed.beside(doubled)
    assert any_key().open(pair) == (SECRET, 2 * SECRET)
    with pytest.raises(TypeError, match="PublicFact"):
        sealed.publish("because", lambda number: number)  # type: ignore[arg-type]
    told = sealed.publish(PublicFact.KIND_OF_CONTENT, lambda number: isinstance(number, int))
    assert told is True
