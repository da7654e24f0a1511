"""A method from outside the package, as its page writes one, passes the contract of all."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from contracts import test_mechanisms as contract
from contracts.mechanisms import Subject, of_a_method
from winnow.core.noisy_top.count_classes import CountClasses
from winnow.core.noisy_top.in_memory import InMemory
from winnow.core.options import options
from winnow.core.tape import Tape
from winnow.privacy import PureDP
from winnow.select.mechanisms.unknown_domain import StabilityThreshold
from winnow.select.methods import CLASSES, SCORES, SelectMethod, Sizes
from winnow.select.top_k_methods import PrivateLabelsMethod, TopKMethod

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own-method.md"
VOTES = {"a": 900, "b": 700, "c": 650, "d": 20}
NOT_FOR_USERS = "test_it_is_enumerated_and_a_broken_twin_is_caught"
"""Audits are registered inside the package."""


@cache
def page() -> dict[str, Any]:
    """What the first code block of the page defines."""
    module = sys.modules["own_method"] = ModuleType("own_method")
    names = vars(module)
    source = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    exec(compile(source, str(PAGE), "exec"), names)
    return names


def head_first(**said: Any) -> TopKMethod:
    made: TopKMethod = page()["HeadFirst"](**said)
    return made


CONTRACT = [
    name
    for name, _ in inspect.getmembers(contract.TestMechanism, inspect.isfunction)
    if name.startswith("test_") and name != NOT_FOR_USERS
]


@pytest.mark.parametrize("name", CONTRACT)
def test_the_mechanism_of_the_page_keeps_the_contract(name: str) -> None:
    subject: Subject = of_a_method(head_first(), looks=True)
    test = getattr(contract.TestMechanism(), name)
    if "relation" in inspect.signature(test).parameters:
        for relation in contract.RELATIONS:
            test(subject, relation=relation)
    else:
        test(subject)


@pytest.mark.parametrize("relation", contract.RELATIONS)
@pytest.mark.parametrize("with_counts", [False, True])
def test_its_plan_is_what_is_charged_and_run(relation: wn.Relation, with_counts: bool) -> None:
    asked: dict[str, Any] = {
        "k": 2, "epsilon": 1, "method": head_first(share=0.6), "with_counts": with_counts,
    }  # fmt: skip
    counts = wn.seal_counts(VOTES, relation=relation)
    plan = wn.plan.top_k(wn.plan.counts(4, relation=relation), **asked)
    released = wn.top_k(counts, seed=3, **asked)
    assert plan.event == released.receipt.event and plan.guarantee == released.guarantee
    budget = wn.Budget(epsilon=1, relation=relation)
    assert plan.run(counts, budget=budget, seed=3).value == released.value
    with pytest.raises(wn.BudgetExceeded):
        plan.run(counts, budget=budget)
    assert released.guarantee.epsilon <= 1 and "head-first" in released.receipt.mechanism


def test_its_options_are_checked_as_those_of_all_methods() -> None:
    (share,) = options(type(head_first()))
    assert share.name == "share"
    with pytest.raises(wn.ParameterError, match="share=2 is not below 1"):
        head_first(share=2)


def test_a_method_that_spends_more_than_it_was_given_is_refused_before_the_charge() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Greedy(TopKMethod):
        def mechanism(self, about: Any, sizes: Sizes) -> Any:
            return page()["HeadFirstPeeling"](2 * sizes.epsilon, sizes.k)

    budget = wn.Budget(epsilon=9)
    with pytest.raises(wn.GuaranteeError, match="more than epsilon=1"):
        wn.top_k(VOTES, k=2, epsilon=1, method=Greedy(), budget=budget)
    assert budget.events == ()


def test_what_builds_no_mechanism_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Nothing(TopKMethod):
        def mechanism(self, about: Any, sizes: Sizes) -> Any:
            return PureDP(1, wn.Relation.ADD_REMOVE)

    with pytest.raises(wn.ParameterError, match=r"Nothing.mechanism\(\) returned a PureDP"):
        wn.top_k(VOTES, k=2, epsilon=1, method=Nothing())
    with pytest.raises(wn.ParameterError, match=r"is not for winnow\.select"):
        wn.select(VOTES, epsilon=1, method=Nothing())


def test_select_takes_a_method_of_its_own_kind() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mine(SelectMethod):
        def mechanism(self, about: Any, sizes: Sizes) -> Any:
            return page()["HeadFirstPeeling"](sizes.epsilon, sizes.k)

    assert wn.select(VOTES, epsilon=5, method=Mine(), seed=1).value == "a"
    assert wn.plan.select(wn.plan.scores(4), epsilon=5, method=Mine()).error is None


def test_one_draw_serves_counts_in_an_engine_and_given_classes() -> None:
    """The page writes no second draw: scores in memory, classes of counts and classes of a user."""
    made = head_first(share=0.9).mechanism(wn.plan.counts(4), Sizes(epsilon=4, k=3))
    utility = wn.Utility.declare(1, monotone=True)
    for universe in (InMemory(np.array([90, 70, 2, 0])), CountClasses({90: 1, 70: 1, 2: 1, 0: 1})):
        drawn = made._draw(universe, utility, Tape.seeded(3))
        assert [count for count, _ in drawn.found][:2] == [90, 70] and len(drawn.found) == 3
    given = wn.classes([(900, ["a"]), (700, ["b", "c"]), (0, 97, below_97)], total=100, lowest=0)
    method = on_classes(share=0.9)
    released = wn.top_k(given, k=3, epsilon=4, method=method, seed=3)
    assert released.value[0] == "a" and set(released.value[1:]) == {"b", "c"}
    assert released.receipt.mechanism == "head-first, k=3; from classes"
    assert released.receipt.event == PureDP(4, wn.Relation.ADD_REMOVE)
    with pytest.raises(wn.ParameterError, match="these are classes"):
        wn.top_k(given, k=3, epsilon=4, method=head_first())


def below_97(uniform: Any) -> int:
    return int(uniform.below(97))


def on_classes(**said: Any) -> TopKMethod:
    """The method of the page, declared to pick from classes, too."""
    kind = page()["HeadFirst"]
    wider = dataclass(frozen=True, kw_only=True)(
        type("HeadFirstOnClasses", (kind,), {"picks_from": (SCORES, CLASSES)})
    )
    return wider(**said)


@dataclass(frozen=True, kw_only=True)
class Frequent(PrivateLabelsMethod):
    """Labels whose noisy count reaches the stability threshold, with a share of epsilon."""

    times: int = 1

    def among_private(self, about: Any, sizes: Sizes) -> Any:
        epsilon = self.times * sizes.epsilon
        return StabilityThreshold(epsilon, sizes.delta, sizes.k, about.max_items)


def test_labels_and_private_top_lists_take_a_method_of_ones_own() -> None:
    log = {"person": [f"p{n}" for n in range(300)], "page": ["a"] * 200 + ["b"] * 99 + ["rare"]}
    counts = wn.counts(pd.DataFrame(log), item="page", person="person", max_items=1)
    said: dict[str, Any] = {"epsilon": 2, "delta": 1e-6, "seed": 1}
    found = wn.labels(counts, method=Frequent(), **said)
    assert set(found.value) == {"a", "b"} and "stability, all" in found.receipt.mechanism
    assert wn.top_k(counts, k=1, method=Frequent(), **said).value == ["a"]
    budget = wn.Budget(epsilon=9, delta=1e-3)
    for verb in (wn.labels, wn.top_k):
        asked = said if verb is wn.labels else said | {"k": 1}
        with pytest.raises(wn.GuaranteeError, match="more than epsilon=2"):
            verb(counts, method=Frequent(times=2), budget=budget, **asked)
    assert budget.events == ()


def test_nearly_all_draws_of_the_page_have_the_first_place_right() -> None:
    """The first pick has nine tenths of epsilon: on gaps of one it is right more often (seed 0)."""
    scores, utility = np.array([4, 3, 2, 1, 0]), wn.Utility.declare(1, monotone=True)
    first = [
        head_first(share=share)
        .mechanism(wn.plan.counts(5), Sizes(epsilon=2, k=4))
        .simulate(scores, utility, 1500, 0)[:, 0]
        for share in (0.25, 0.9)
    ]
    right = [float((each == 0).mean()) for each in first]
    assert right[1] > right[0] + 0.1  # about 0.39 and 0.80; five deviations are 0.06
