"""The automatic choice among itemset mechanisms: by public numbers, and what the receipt says."""

from __future__ import annotations

import math
from typing import Any

import pytest

import winnow as wn
from winnow.itemsets.table import choose, itemset_mechanism, needed_support
from winnow.topk.classes import RankedOptions

ITEMS = [f"i{n:02}" for n in range(40)]
BASKETS = [[ITEMS[i], ITEMS[i + 1]] for i in range(20) for _ in range(900 - 30 * i)]
PEOPLE = wn.Utility.declare(1, monotone=True)


def run(*, public: bool, **options) -> wn.Released:
    sealed = wn.read_baskets(BASKETS, unit="basket", items=ITEMS if public else None)
    return wn.frequent_itemsets(sealed, size=2, epsilon=1.0, seed=3, **options)


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
    named = run(public=public, delta=found.guarantee.delta and delta, k=k, mechanism=mechanism)
    assert named.value == found.value and named.receipt.reason == ""


@pytest.mark.parametrize(
    ("public", "delta", "named"),
    [
        (False, 1e-6, "from a noisy support of 461 on limited-domain"),
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
    single = wn.frequent_itemsets(sealed, size=1, k=9, epsilon=1.0, delta=1e-6)
    assert "weighted" not in single.receipt.mechanism
    asked = {"epsilon": 1.0, "options": RankedOptions(), "utility": PEOPLE, "total": 780}
    for delta in (0, 1e-6):
        kept = choose("auto", delta=delta, k=50, weighted=False, **asked)
        assert "weighted" not in kept.selection.name
    summed = {**asked, "options": RankedOptions(accountant="pure")}
    assert "weighted" not in choose("auto", delta=1e-6, k=50, **summed).selection.name
    tiny = {**asked, "epsilon": 1e-60}  # its noise would not fit 64 bits
    assert "weighted" not in choose("auto", delta=0, k=50, **tiny).selection.name


@pytest.mark.slow
def test_the_default_finds_a_list_where_rounds_of_the_large_margin_find_nothing() -> None:
    top = {(ITEMS[i], ITEMS[i + 1]) for i in range(10)}
    found = run(public=False, delta=1e-6, k=10).value
    assert len(top & set(found)) >= 8
    assert len(run(public=False, delta=1e-6, k=10, mechanism="large-margin").value) < 3


def test_no_data_enter_the_choice() -> None:
    few = wn.read_baskets([], unit="basket", items=ITEMS)
    many = wn.read_baskets(BASKETS, unit="basket", items=ITEMS)
    one, other = (
        wn.frequent_itemsets(b, size=2, k=9, epsilon=1.0, delta=1e-6).receipt for b in (few, many)
    )
    assert one.reason == other.reason and one.mechanism == other.mechanism


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"public": False}, "needs delta"),
        ({"public": True, "delta": 2.0}, "delta"),
        ({"public": True, "reach": 5}, "for limited-domain"),
        ({"public": False, "delta": 1e-6, "growth": 5}, "for choosing"),
        ({"public": True, "k": 2000}, "exceeds the 780"),
    ],
)
def test_what_makes_no_sense_is_refused(how, message) -> None:
    with pytest.raises(wn.InputError, match=message):
        run(**how)


def test_predictions_follow_what_is_asked() -> None:
    pure = ("permute-and-flip", "canonical", "canonical-adaptive")

    def needed(word: str, k: int, epsilon: float, total: int | None = 10_000) -> float:
        delta = 0 if word in (*pure, "joint") else 1e-6
        options = RankedOptions(moved=100)
        built = itemset_mechanism(word, epsilon=epsilon, delta=delta, k=k, options=options)
        return needed_support(built, PEOPLE, total)

    for word in ("limited-domain", "exponential", *pure):
        assert needed(word, 10, 2.0) < needed(word, 10, 1.0) < needed(word, 40, 1.0)
    assert needed("limited-domain", 5, 1.0, None) == needed("limited-domain", 5, 1.0)
    assert needed("exponential", 5, 1.0) < needed("exponential", 5, 1.0, 10**12)
    with pytest.raises(TypeError):
        needed("joint", 5, 1.0)


def test_a_universe_too_large_for_sets_is_drawn_otherwise() -> None:
    found = choose(
        "auto", epsilon=1.0, delta=0, k=5, options=RankedOptions(), utility=PEOPLE, total=2**60
    )
    assert found.selection.name.startswith("permute-and-flip")


def test_a_plan_says_what_the_automatic_choice_will_take() -> None:
    plan = wn.plan.frequent_itemsets(size=2, k=20, items=500, epsilon=1, delta=1e-6)
    assert plan.itemsets == 124_750 and plan.best is plan.table[0]
    assert {row.mechanism for row in plan.table} >= {"exponential", "limited-domain"}
    halved = wn.plan.frequent_itemsets(
        size=2, k=20, items=500, epsilon=2, delta=1e-6, with_counts=True
    )
    assert halved.best.support == pytest.approx(plan.best.support, rel=0.02)
    several = wn.plan.frequent_itemsets(
        size=2, k=20, items=500, epsilon=1, max_baskets=3, relation="substitution"
    )
    assert several.best.support > 3 * plan.best.support
    private = wn.plan.frequent_itemsets(size=3, k=5, epsilon=1, delta=1e-6, max_items=10)
    assert [row.mechanism for row in private.table] == ["limited-domain"]
    pure = wn.plan.frequent_itemsets(size=2, k=5, items=50, epsilon=0.1)
    assert f"canonical-adaptive  {math.ceil(pure.table[-1].support):,} baskets" in str(pure)
    assert "items are private" in str(private) and private.to_dict()["itemsets"] is None


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"size": 5}, "size=5"),
        ({"k": 0}, "k"),
        ({"items": 2, "k": 5}, "lower k"),
        ({"delta": 0}, "private items need a delta"),
        ({"epsilon": 0}, "epsilon"),
        ({"max_items": 0}, "max_items"),
        ({"with_counts": 1}, "with_counts"),
        ({"relation": "swap"}, "swap"),
    ],
)
def test_a_plan_of_nothing_is_refused(options: dict[str, Any], named: str) -> None:
    with pytest.raises(wn.InputError, match=named):
        wn.plan.frequent_itemsets(**{"size": 2, "epsilon": 1, "delta": 1e-6, **options})
