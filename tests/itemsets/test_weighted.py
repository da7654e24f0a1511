"""Weighted counts: what baskets add, what is released, and the choice that is paid for."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, isqrt, prod, sqrt
from typing import Any

import duckdb
import numpy as np
import pytest

import winnow as wn
from reference.inside import Tape
from reference.reading import as_options
from winnow import Relation
from winnow.core.baskets import Baskets
from winnow.core.utility import Utility
from winnow.itemsets.audit.weighted import (
    enumerate_counts,
    of_people,
    or_canonical,
    or_selected,
    weighted,
    weighted_enumerated,
    weighted_faithful,
    weighted_twins,
)
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.kernels.weights import (
    LONGEST,
    UNIT,
    item_counts,
    itemset_at,
    itemset_counts,
)
from winnow.itemsets.mechanisms.chosen import WeightedOrCanonical, WeightedOrSelected, long_scores
from winnow.itemsets.mechanisms.passing import least_threshold
from winnow.itemsets.mechanisms.support import noisy_support
from winnow.itemsets.mechanisms.weighted import (
    MOST_ITEMSETS,
    WeightedCounts,
    WeightedItemsets,
    _most_items,
)
from winnow.privacy import Truncated, guarantee_of

ADDED = Relation.ADD_REMOVE
ONE = of_people(1, ADDED)


def made_up(seed: int, baskets: int = 300, items: int = 9) -> list[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    likely = 1 / (1 + np.arange(items))
    return [tuple(np.flatnonzero(rng.random(items) < likely).tolist()) for _ in range(baskets)]


def packed(rows: list[tuple[int, ...]], items: int = 9) -> Baskets:
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return Baskets(starts, np.array([i for row in rows for i in row], np.int32), items)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("squares", [False, True])
def test_weights_are_those_of_a_slow_twin(size: int, squares: bool) -> None:
    rows, shares = made_up(size), 3
    keep = np.array([True] * 6 + [False, True, True])
    kept = np.flatnonzero(keep)
    likely = np.random.default_rng(5).uniform(0.05, 1.0, len(kept))
    expected = np.zeros(comb(len(kept), size), np.int64)
    order = sorted(combinations(range(len(kept)), size), key=lambda c: c[::-1])
    place = {itemset: number for number, itemset in enumerate(order)}
    assert [itemset_at(number, size) for number in range(len(order))] == order
    for row in rows:
        own = [int(np.searchsorted(kept, item)) for item in row if keep[item]]
        weights = {c: prod(likely[list(c)]) for c in combinations(own, size)}
        for itemset, weight in weights.items():
            share = min(1.0, shares * weight / sum(weights.values()))
            if len(weights) <= shares:
                share = 1.0
            expected[place[itemset]] += int(UNIT * (sqrt(share) if squares else share))
    found = itemset_counts(packed(rows), keep, likely, size, shares, squares)
    assert np.abs(found - expected).max() <= 1  # rounding at a whole number


@pytest.mark.parametrize("squares", [False, True])
def test_no_basket_weighs_more_than_it_may(squares: bool) -> None:
    rng = np.random.default_rng(1)
    for n in (2, 3, 5, 17, 40):
        one = packed([tuple(range(n))], n)
        items = item_counts(one, squares=squares).astype(object)
        assert sum(items**2 if squares else items) <= (UNIT**2 if squares else UNIT)
        for shares in (1, 2, 7):
            likely = np.exp(rng.normal(0, 4, n))
            counts = itemset_counts(one, np.ones(n, np.bool_), likely, 2, shares, squares)
            most = shares * (UNIT**2 if squares else UNIT)
            assert int((counts**2 if squares else counts).sum()) <= most
            assert counts.min() >= 0 and counts.max() <= UNIT


def test_long_baskets_say_nothing_about_items() -> None:
    long = packed([tuple(range(LONGEST + 1))], LONGEST + 1)
    assert not item_counts(long, squares=True).any()
    last = packed([tuple(range(LONGEST))], LONGEST)
    assert set(item_counts(last, squares=True)) == {isqrt(UNIT**2 // LONGEST)}


class Low(WeightedCounts):
    """A threshold that all noise passes."""

    def threshold(self, utility: Utility) -> int:
        """Far below."""
        return -(10**12)


def test_items_that_weigh_nothing_stay_inside_whatever_their_noise() -> None:
    """A basket that is too long has any number of items: no union bound holds for them."""
    baskets = packed([(0, 1), tuple(range(1, LONGEST + 2))], LONGEST + 2)
    keep, _ = Low(1.0, 0.1, 2, private=True).items(baskets, 2, ONE, Tape.seeded(1))
    assert np.flatnonzero(keep).tolist() == [0, 1]


def test_items_of_baskets_above_the_bound_stay_inside_whatever_their_noise() -> None:
    """The threshold is for baskets of so many items; no promise of the data is needed for it."""
    baskets = packed([(0, 1, 2), (3, 4, 5, 6), (0, 7)])
    for bound, kept in ((2, [0, 7]), (3, [0, 1, 2, 7]), (4, [*range(8)]), (None, [*range(8)])):
        made = Low(1.0, 0.1, 2, private=True, max_items=bound)
        keep, _ = made.items(baskets, 2, ONE, Tape.seeded(1))
        assert np.flatnonzero(keep).tolist() == kept
    assert Low(1.0, 0.1, 2, private=True, max_items=LONGEST + 1).longest == LONGEST


@pytest.mark.parametrize("method", ["auto", wn.Weighted()])
def test_a_plan_for_shorter_baskets_has_a_lower_threshold_and_the_same_event(method: Any) -> None:
    """At (1, 1e-6), one basket of a person; docs/evidence/itemsets.md has these figures."""
    found, events = {}, set()
    for bound in (None, 50, 8):
        about = wn.plan.baskets(max_items=bound)
        plan = wn.plan.itemsets(about, size=2, k=10, epsilon=1, delta=1e-6, method=method)
        made = plan.mechanism.selection
        counts = made.counts if isinstance(made, WeightedOrSelected) else made.counts()
        assert counts.max_items == bound
        found[bound] = round(counts.threshold(ONE) / UNIT, 1)
        events.add(counts.promise(ADDED).event)
        deviation = counts.deviation(0, 1, ONE) / UNIT
    assert found == {None: 61.1, 50: 56.2, 8: 53.2} and round(deviation, 1) == 10.0
    assert len(events) == 1
    of_twenty = [least_threshold(20 * UNIT**2, 5e-7, 1, n) / UNIT for n in (LONGEST, 8)]
    assert [round(least, 1) for least in of_twenty] == [27.4, 24.0]


@pytest.mark.parametrize("bound", [None, 8])
def test_sealed_baskets_bring_their_bound_to_the_draw(
    bound: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def watched(made: WeightedCounts, utility: Utility) -> int:
        asked.append(made.max_items)
        return least_threshold(int(made.size_of_noise(0, 1, utility)), 1e-7, 1, made.longest)

    monkeypatch.setattr(WeightedCounts, "threshold", watched)
    rows = [[f"i{item}" for item in row] for row in made_up(3)]
    sealed = wn.read_baskets(rows, unit="basket", max_items=bound)
    wn.itemsets(sealed, size=2, k=3, epsilon=1, delta=1e-6, method=wn.Weighted(), seed=1)
    assert asked == [bound]


@pytest.mark.parametrize("baskets", [1, 3])
@pytest.mark.parametrize("longest", [LONGEST, 8])
def test_half_of_delta_is_for_all_items_of_one_person(baskets: int, longest: int) -> None:
    bound = None if longest == LONGEST else longest
    made = weighted(Fraction(1, 1000), private=True, max_items=bound).counts()
    people = of_people(baskets, ADDED)
    charged = made.promise(ADDED).event
    assert charged == Truncated(charged.event, Fraction(1, 2000))
    assert guarantee_of(charged, Fraction(1, 1000)).epsilon <= made.epsilon
    variance = int(made.size_of_noise(0, 1, people))
    assert made.threshold(people) == least_threshold(variance, 1 / 2000, baskets, longest)


def test_every_audit_of_weighted_counts_holds_and_every_twin_is_caught() -> None:
    results = [*weighted_enumerated(), *weighted_faithful(seed=2), *weighted_twins()]
    assert [result for result in results if not result.passed] == []
    assert {result.relation for result in results} == set(map(str, Relation))


def test_the_sensitivities_are_attained() -> None:
    for delta in (Fraction(0), Fraction(1, 1000)):
        result = enumerate_counts(weighted(delta).counts(), ONE)
        assert result.measured == pytest.approx(result.claimed, rel=0.01)


SHOP = [["bread", "milk"]] * 900 + [["beer", "eggs", "milk"]] * 700 + [["tea"]] * 50
LISTED = ["beer", "bread", "eggs", "jam", "milk", "tea"]
BEST = [("beer", "eggs"), ("beer", "milk"), ("bread", "milk"), ("eggs", "milk")]


@pytest.mark.parametrize(
    ("items", "delta", "epsilon"), [(LISTED, 0.0, 2.0), (LISTED, 1e-6, 2.0), (None, 1e-6, 2.0)]
)
@pytest.mark.parametrize("relation", list(Relation))
def test_a_list_is_found_with_and_without_a_delta_and_of_private_items(
    items, delta, epsilon, relation
) -> None:
    sealed = wn.read_baskets(SHOP, unit="basket", items=items, relation=relation)
    found = wn.itemsets(
        sealed, size=2, k=4, epsilon=epsilon, delta=delta, method="weighted", seed=1
    )
    assert sorted(found.value) == BEST
    assert found.guarantee.epsilon <= epsilon and found.guarantee.delta <= delta
    assert found.receipt.mechanism.startswith("weighted, k=4, discrete")
    counted = wn.itemsets(
        sealed, size=3, k=1, epsilon=20, delta=delta, method="weighted", supports="winners", seed=1
    )
    assert abs(counted.value[0][1] - 700) < 30 and counted.guarantee.epsilon <= 20


def test_private_items_of_few_people_stay_inside() -> None:
    rows = [*SHOP, *[["a secret", "milk"]] * 3]
    sealed = wn.read_baskets(rows, unit="basket")
    found = wn.itemsets(sealed, size=2, k=50, epsilon=2, delta=1e-6, method="weighted", seed=1)
    assert "a secret" not in {item for itemset in found.value for item in itemset}
    few = wn.read_baskets([["bread", "milk"]] * 5, unit="basket")
    asked = {"size": 2, "k": 3, "epsilon": 1.0, "delta": 1e-6, "method": "weighted"}
    assert wn.itemsets(few, **asked, seed=1).value == []
    assert wn.itemsets(wn.read_baskets([], unit="basket"), **asked).value == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"items": None}, "private items need a delta"),
        ({"k": 30}, "exceeds 15"),
        ({"epsilon": 1e-30}, "epsilon is too small"),
    ],
)
def test_what_makes_no_sense_is_refused(options, named) -> None:
    given = {"k": 2, "epsilon": 1.0, "method": "weighted", **options}
    sealed = wn.read_baskets(SHOP, unit="basket", items=given.pop("items", LISTED))
    with pytest.raises(wn.InputError, match=named):
        wn.itemsets(sealed, size=2, **given)
    with pytest.raises(wn.InputError, match="adds up more than epsilons"):
        WeightedItemsets(1.0, 2, 1e-6, accountant="pure")


@pytest.mark.parametrize("keep", ["engine", "auto"])
def test_baskets_that_an_engine_may_keep_are_not_weighed(keep: str) -> None:
    """Under "auto" how many they are decides, which is private: so the choice must not follow."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT i AS b, unnest(['x', 'y']) AS i FROM range(9) r(i)"
    )
    how = {"unit": "basket", "basket": "b", "item": "i", "items": ["x", "y", "z"]}
    kept, memory = (
        wn.read_baskets((connection, "t"), **as_options(how, keep=k)) for k in (keep, "memory")
    )
    asked = {"size": 2, "k": 2, "epsilon": 1.0}
    with pytest.raises(wn.InputError, match="keep='memory'"):
        wn.itemsets(kept, **asked, method="weighted")
    wn.itemsets(memory, **asked, method="weighted")
    assert "weighted" not in wn.itemsets(kept, **asked, delta=0.1).receipt.mechanism
    assert "weighted" in wn.itemsets(memory, **asked, delta=0.1).receipt.mechanism


def test_of_many_items_the_most_frequent_take_part() -> None:
    most = _most_items(4)
    assert comb(most, 4) <= MOST_ITEMSETS < comb(most + 1, 4)
    rows = [tuple(range(5)) for _ in range(2000)] + [(5 + i,) for i in range(most + 20)]
    baskets = packed(rows, most + 40)
    counts = WeightedCounts(8.0, 0, 5)
    keep, likely = counts.items(baskets, 4, ONE, Tape.seeded(1))
    assert keep.sum() == most == len(likely) and keep[:5].all()
    ranked = ItemsetRanks(baskets, 4, known_items=True)
    found = counts.drawn(ranked, 2000, ONE, Tape.seeded(2))
    assert set(found.members) == set(combinations(range(5), 4))
    assert [support for support, _ in found.found] == [2000] * 5


def test_more_weight_where_supports_are_large() -> None:
    for counts in (WeightedCounts(1.0, 0, 5), WeightedCounts(1.0, 1e-6, 5)):
        shares = [counts.shares_for(support, ONE) for support in (-50, 0, 100, 1000, 10**9)]
        assert shares == sorted(shares) and shares[0] == 1 < shares[3] and shares[4] == 1024


def test_a_noisy_support_decides_between_two_ways() -> None:
    ranked = ItemsetRanks(packed([(0, 1)] * 100 + [(0, 2)] * 40), 2, known_items=True)
    high = noisy_support(ranked, 1, 100.0, ONE, Tape.seeded(1))
    assert abs(high - 100) <= 3
    made = or_selected()
    below, above = (type(made)(200, made.selection, made.counts, needed) for needed in (20, 10**6))
    rows = {m._draw(ranked, ONE, Tape.seeded(3)).members[0] for m in (below, above)}
    assert rows == {(0, 1)}


@pytest.mark.parametrize("needed", [1, 60, 10**6])
def test_a_set_or_weighted_counts_each_way(needed: int) -> None:
    """From the support on, in between, and far below it."""
    ranked = ItemsetRanks(packed([(0, 1)] * 100 + [(0, 2)] * 40), 2, known_items=True)
    made = WeightedOrCanonical(60, 2, needed)
    found = made._draw(ranked, ONE, Tape.seeded(4))
    assert set(found.members) == {(0, 1), (0, 2)}
    assert not made.ordered and guarantee_of(made.promise(Relation.ADD_REMOVE).event).epsilon <= 60


def test_weighted_counts_should_find_more_where_baskets_are_short() -> None:
    made = or_canonical()
    one, other = (made.expected(500, long, 2, ONE) for long in (4, 64))
    assert made.k >= one > other >= 0
    scores = long_scores(np.array([1, 1, 2, 3, 3, 4, 8, 8, 9, 40]), 2)
    assert scores.argmax() == 5 and scores.max() == -abs(20 * 7 - 17 * 8)  # up to 11 items: 7 of 8


@pytest.mark.parametrize("longest", [LONGEST, 8])
@pytest.mark.parametrize("baskets", [1, 2, 3])
def test_new_items_of_one_person_seldom_reach_the_threshold_and_one_less_would_be_passed(
    baskets: int, longest: int
) -> None:
    """Exact tails of the noise; baskets that share some of their items, none, or all."""
    variance, lost, rng = 9_000_000, 5e-7, np.random.default_rng(1)
    least = least_threshold(variance, lost, baskets, longest)
    z = np.arange(0, 40_000, dtype=float)
    tails = np.exp(-(z**2) / (2 * variance))[::-1].cumsum()[::-1] / np.sqrt(2 * np.pi * variance)

    def passing(at: int, lengths: list[int], shared: int) -> float:
        held = np.zeros(sum(lengths) + 1, np.int64)
        for place, length in enumerate(lengths):
            start = 0 if shared else sum(lengths[:place])
            held[start : start + length] += isqrt(UNIT**2 // length)
        return float(tails[at - held[held > 0]].sum())

    tried = [[int(n) for n in rng.integers(1, longest + 1, baskets)] for _ in range(40)]
    tried += [[n] * baskets for n in (1, 2, 10, 100, longest) if n <= longest]
    reached = [passing(least, each, shared) for each in tried for shared in (0, 1)]
    assert max(reached) <= lost
    if baskets == 1:  # of several baskets the bound is a mean, which nothing reaches
        assert max(reached) > 0.99 * lost
        assert max(passing(least - 3, each, 0) for each in tried) > lost
    # by the sub-Gaussian tail alone, as before, it would be this much higher
    before = baskets * UNIT + np.sqrt(2 * variance * np.log(baskets * longest / lost))
    assert baskets * UNIT < least < 0.95 * before
