"""The automatic choice among itemset mechanisms: by public numbers, and what the receipt says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import winnow as wn
from winnow.itemsets.table import WantedItemsets, choose, itemset_mechanism, needed_support

ITEMS = [f"i{n:02}" for n in range(40)]
BASKETS = [[ITEMS[i], ITEMS[i + 1]] for i in range(20) for _ in range(900 - 30 * i)]
PEOPLE = wn.Utility.declare(1, monotone=True)


def run(*, public: bool, **options) -> wn.Released:
    sealed = wn.read_baskets(BASKETS, unit="basket", items=ITEMS if public else None)
    return wn.itemsets(sealed, size=2, epsilon=1.0, seed=3, **options)


@pytest.mark.parametrize(
    ("public", "delta", "k", "mechanism"),
    [
        (False, 1e-6, 1, "limited-domain"),
        (True, 0.0, 1, "permute-and-flip"),
        (True, 1e-6, 1, "permute-and-flip"),
        (True, 0.0, 5, "permute-and-flip"),
    ],
)
def test_what_is_chosen_by_default_and_that_the_receipt_says_why(
    public, delta, k, mechanism
) -> None:
    found = run(public=public, delta=delta, k=k)
    assert found.receipt.mechanism.startswith(mechanism)
    assert ("private" in found.receipt.reason) is not public
    assert found.guarantee.epsilon <= 1.0
    assert (found.guarantee.delta > 0) is (mechanism in ("limited-domain", "exponential"))
    named = run(public=public, delta=found.guarantee.delta and delta, k=k, method=mechanism)
    assert named.value == found.value and named.receipt.reason == ""


@pytest.mark.parametrize(
    ("public", "delta", "named"),
    [
        (False, 1e-6, "where the noisy support is 538 or more: limited-domain"),
        (True, 1e-6, "exponential, 50 times"),
        (True, 0.0, "weighted or canonical-adaptive"),
    ],
)
def test_a_list_pays_for_a_look_and_the_receipt_says_at_what(public, delta, named) -> None:
    found = run(public=public, delta=delta, k=50)
    assert named in found.receipt.mechanism and "weighted counts" in found.receipt.reason
    assert ("private" in found.receipt.reason) is not public
    assert found.guarantee.epsilon <= 1.0 and found.guarantee.delta <= delta
    assert len(set(found.value)) == len(found.value) <= 50


def test_one_itemset_single_items_and_baskets_in_an_engine_are_selected_as_before() -> None:
    sealed = wn.read_baskets(BASKETS, unit="basket", items=ITEMS)
    single = wn.itemsets(sealed, size=1, k=9, epsilon=1.0, delta=1e-6)
    assert "weighted" not in single.receipt.mechanism
    pure = WantedItemsets(1.0, 0, 50, PEOPLE, 780)
    assert "weighted" in choose("auto", pure).selection.name
    for wanted in (pure, replace(pure, delta=1e-6)):
        kept = choose("auto", replace(wanted, weighted=False))
        assert "weighted" not in kept.selection.name
    summed = replace(pure, delta=1e-6, accountant="pure")
    assert "weighted" not in choose("auto", summed).selection.name
    tiny = replace(pure, epsilon=1e-60)  # its noise would not fit 64 bits
    assert "weighted" not in choose("auto", tiny).selection.name


@pytest.mark.slow
def test_the_default_finds_a_list_where_rounds_of_the_large_margin_find_nothing() -> None:
    top = {(ITEMS[i], ITEMS[i + 1]) for i in range(10)}
    found = run(public=False, delta=1e-6, k=10).value
    assert len(top & set(found)) >= 8
    assert len(run(public=False, delta=1e-6, k=10, method="large-margin").value) < 3


def test_no_data_enter_the_choice() -> None:
    few = wn.read_baskets([], unit="basket", items=ITEMS)
    many = wn.read_baskets(BASKETS, unit="basket", items=ITEMS)
    one, other = (wn.itemsets(b, size=2, k=9, epsilon=1.0, delta=1e-6).receipt for b in (few, many))
    assert one.reason == other.reason and one.mechanism == other.mechanism


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"public": False}, "private items need a delta"),
        ({"public": True, "delta": 2.0}, "delta"),
        ({"public": True, "k": 2000}, "exceeds 780"),
    ],
)
def test_what_makes_no_sense_is_refused(how, message) -> None:
    with pytest.raises(wn.InputError, match=message):
        run(**how)


def test_predictions_follow_what_is_asked() -> None:
    pure = ("permute-and-flip", "canonical", "canonical-adaptive")

    def needed(word: str, k: int, epsilon: float, total: int | None = 10_000) -> float:
        delta = 0 if word in (*pure, "joint") else 1e-6
        wanted = WantedItemsets(epsilon, delta, k, PEOPLE, total, moved=100)
        return needed_support(itemset_mechanism(word, wanted), PEOPLE, total)

    for word in ("limited-domain", "exponential", *pure):
        assert needed(word, 10, 2.0) < needed(word, 10, 1.0) < needed(word, 40, 1.0)
    assert needed("limited-domain", 5, 1.0, None) == needed("limited-domain", 5, 1.0)
    assert needed("exponential", 5, 1.0) < needed("exponential", 5, 1.0, 10**12)
    with pytest.raises(TypeError):
        needed("joint", 5, 1.0)


def test_a_universe_too_large_for_sets_is_drawn_otherwise() -> None:
    found = choose("auto", WantedItemsets(1.0, 0, 5, PEOPLE, 2**60))
    assert found.selection.name.startswith("permute-and-flip")


def test_a_plan_says_what_the_automatic_choice_will_take() -> None:
    about = wn.plan.baskets(items=500)
    plan = wn.plan.itemsets(about, size=2, k=20, epsilon=1, delta=1e-6)
    assert plan.itemsets == 124_750 and plan.compared[0].support == min(
        row.support for row in plan.compared
    )
    assert {row.mechanism for row in plan.compared} >= {"exponential", "limited-domain"}
    halved = wn.plan.itemsets(about, size=2, k=20, epsilon=2, delta=1e-6, supports="winners")
    assert halved.compared[0].support == pytest.approx(plan.compared[0].support, rel=0.02)
    several = wn.plan.itemsets(
        wn.plan.baskets(items=500, max_baskets=3, relation="substitution"),
        size=2, k=20, epsilon=1,
    )  # fmt: skip
    assert several.compared[0].support > 3 * plan.compared[0].support
    private = wn.plan.itemsets(wn.plan.baskets(max_items=10), size=3, k=5, epsilon=1, delta=1e-6)
    assert [row.mechanism for row in private.compared] == ["limited-domain"]
    pure = wn.plan.itemsets(wn.plan.baskets(items=50), size=2, k=5, epsilon=0.1)
    needed = f"{math.ceil(pure.compared[-1].support):,}"
    assert any(line.split() == ["canonical-adaptive", needed] for line in str(pure).splitlines())
    assert "items are private" in str(private) and private.to_dict()["itemsets"] is None


@pytest.mark.parametrize(
    ("about", "options", "named"),
    [
        ({}, {"size": 5}, "size=5"),
        ({}, {"k": 0}, "k"),
        ({"items": 2}, {"k": 5}, "lower k"),
        ({"items": 2}, {"size": 3}, "have no itemsets"),
        ({"max_items": 2}, {"size": 3}, "hold no itemset of 3"),
        ({}, {"delta": 0}, "private items need a delta"),
        ({}, {"epsilon": 0}, "epsilon"),
        ({"max_items": 0}, {}, "max_items"),
        ({"items": 0}, {}, "items"),
        ({"max_baskets": 0}, {}, "max_baskets"),
        ({}, {"supports": "all"}, "winners, subsets"),
        ({"relation": "swap"}, {}, "swap"),
    ],
)
def test_a_plan_of_nothing_is_refused(
    about: dict[str, Any], options: dict[str, Any], named: str
) -> None:
    given = {"size": 2, "epsilon": 1, "delta": 1e-6, **options}
    with pytest.raises(wn.InputError, match=named):
        wn.plan.itemsets(wn.plan.baskets(**about), **given)
