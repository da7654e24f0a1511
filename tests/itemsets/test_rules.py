"""Association rules: which supports are measured, with how much noise, and what follows."""

from __future__ import annotations

import json
import math
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.commands import invoke
from winnow.core.baskets import Baskets
from winnow.itemsets.crossing import FrequentItemsets
from winnow.itemsets.kernels.mine import ItemsetRanks
from winnow.itemsets.rules import ItemsetSupports, subsets_of
from winnow.privacy import pure_cost
from winnow.select.mechanisms.lipschitz import LipschitzMechanism

BASKETS = [["bread", "cheese"]] * 3000 + [["ale", "eggs"]] * 1200 + [["bread", "figs"]] * 1000
RELATION = wn.Relation.ADD_REMOVE


def released(**options) -> wn.Released:
    how = {"size": 2, "k": 2, "epsilon": 4.0, "delta": 1e-6, "seed": 1} | options
    return wn.itemsets(wn.read_baskets(BASKETS, unit="basket"), supports="subsets", **how)


def test_supports_of_winners_subsets_and_baskets_are_released_under_one_charge() -> None:
    found = released()
    assert isinstance(found.value, wn.ItemsetSupports)
    assert set(found.value.itemsets) == {("bread", "cheese"), ("ale", "eggs")}
    truth = {("bread",): 4000, ("cheese",): 3000, ("ale",): 1200, ("eggs",): 1200, (): 5200,
             ("bread", "cheese"): 3000, ("ale", "eggs"): 1200}  # fmt: skip
    assert set(found.value.supports) == set(truth)
    far = found.value.reach(1 - 1e-9)
    assert all(abs(found.value.supports[items] - n) <= far for items, n in truth.items())
    assert found.guarantee.epsilon <= 4.0 and found.guarantee.delta <= 1e-6
    assert found.value.scale == 7 / 2.0  # seven supports, half of epsilon
    plain = wn.itemsets(
        wn.read_baskets(BASKETS, unit="basket"), size=2, k=2, epsilon=4.0, delta=1e-6,
        supports="winners",
    )  # fmt: skip
    assert pure_cost(found.receipt.event.events[1]) == pure_cost(plain.receipt.event.events[1])


def test_rules_are_what_the_released_supports_say() -> None:
    supports = {(): 1000, ("a",): 400, ("b",): 200, ("a", "b"): 150}
    held = ItemsetSupports((("a", "b"),), supports, 2.0)
    rules = held.rules(0.3)
    assert [str(rule) for rule in rules] == ["b -> a", "a -> b"]
    first = rules[0]
    assert (first.support, first.confidence, first.lift) == (0.15, 0.75, 0.75 / 0.4)
    low, high = first.confidence_interval
    far = held.reach(1 - 0.05 / 2)
    assert (low, high) == ((150 - far) / (200 + far), (150 + far) / (200 - far))
    assert len(held.rules(0.7)) == 1 and len(held.rules(1.0)) == 0
    frame = rules.to_pandas()
    assert (
        list(frame["items"]) == ["b", "a"] and frame["lift_low"][0] < 1.875 < frame["lift_high"][0]
    )
    assert list(held.rules(1.0).to_pandas().columns) == list(frame.columns)


def test_a_quotient_by_noise_is_left_out_and_shares_stay_shares() -> None:
    drowned = ItemsetSupports((("a", "b"),), {(): 900, ("a",): 3, ("b",): 500, ("a", "b"): 2}, 5.0)
    assert len(drowned.rules(0)) == 0
    odd = ItemsetSupports((("a", "b"),), {(): 900, ("a",): 100, ("b",): 500, ("a", "b"): 120}, 5.0)
    rule = odd.rules(0)[0]
    assert rule.confidence == 1.0 and rule.confidence_interval[1] == 1.0
    negative = ItemsetSupports((("a", "b"),), {(): 90, ("a",): 50, ("b",): 50, ("a", "b"): -3}, 2.0)
    assert negative.rules(0)[0].confidence == 0.0 and negative.rules(0)[0].confidence_error > 0


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Binomial(400, at least .9 each): below 330 of 400 with probability under 1e-5."""
    truth = {(): 5000, ("a",): 900, ("b",): 700, ("a", "b"): 300}
    rng, b = np.random.default_rng(5), 20.0
    p = 1 - math.exp(-1 / b)
    good = 0
    for _ in range(400):
        noise = rng.geometric(p, 4) - rng.geometric(p, 4)
        noisy = {items: n + int(z) for (items, n), z in zip(truth.items(), noise, strict=True)}
        held = ItemsetSupports((("a", "b"),), noisy, b)
        rule = next(r for r in held.rules(0, level=0.9) if r.items == ("a",))
        lift = 300 * 5000 / (900 * 700)
        good += (rule.confidence_interval[0] <= 1 / 3 <= rule.confidence_interval[1]) and (
            rule.lift_interval[0] <= lift <= rule.lift_interval[1]
        )
    assert good >= 330


def test_the_reach_is_that_of_the_discrete_laplace_law() -> None:
    for scale in (0.3, 2.0, 30.0):
        held, q = ItemsetSupports((), {(): 0}, scale), math.exp(-1 / scale)
        far = held.reach(0.95)
        assert 2 * q ** (far + 1) / (1 + q) <= 0.05 + 1e-12
        assert far == 0 or 2 * q**far / (1 + q) > 0.05


@pytest.mark.parametrize("relation", list(wn.Relation))
@pytest.mark.parametrize("bounded", [False, True])
def test_no_neighbour_moves_the_supports_further_than_the_noise_is_scaled_to(relation, bounded):
    """All baskets of three items in place of each other, all sets of winners; a twin that
    scales the noise to the winners alone is caught."""
    items = (0, 1, 2)
    kinds = [kind for size in range(4) for kind in combinations(items, size)]
    pairs = list(combinations(items, 2))
    mechanism = FrequentItemsets(LipschitzMechanism(1.0, "gumbel"), 2, 3, 1.0, subsets=True)
    caught = False
    for gone in kinds if relation is wn.Relation.SUBSTITUTION else [None]:
        for new in kinds:
            one = [(0, 1), (1, 2), *([] if gone is None else [gone])]
            other = [(0, 1), (1, 2), new]
            for count in range(4):
                for winners in combinations(pairs, count):
                    asked = subsets_of(winners)
                    first, second = (_supports(side, asked) for side in (one, other))
                    moved = sum(abs(a - b) for a, b in zip(first, second, strict=True))
                    sealed = wn.read_baskets(
                        [["a"]], unit="basket", items=["a", "b", "c"], relation=relation,
                        max_items=3 if bounded else None,
                    )  # fmt: skip
                    assert moved <= mechanism.noise_scale(sealed, len(asked))
                    caught |= moved > max(1, len(winners))
    assert caught


@pytest.mark.parametrize("relation", list(wn.Relation))
@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("subsets", [False, True])
def test_a_person_with_several_bounded_baskets_moves_supports_as_far_as_the_noise(
    relation: wn.Relation, people: int, subsets: bool
) -> None:
    """All pairs of five items are winners; a person's baskets hold two items each, at most."""
    pairs = list(combinations(range(5), 2))
    asked = subsets_of(pairs) if subsets else pairs
    kinds = [*combinations(range(5), 2), (0,), ()]
    held = [list(each) for each in combinations_with_replacement(kinds, people)]
    gone = held if relation is wn.Relation.SUBSTITUTION else [[]]
    moves = [
        [abs(sum(set(s) <= set(b) for b in new) - sum(set(s) <= set(b) for b in old))
         for s in asked]
        for old, new in product(gone, held)
    ]  # fmt: skip
    far = max(map(sum, moves))
    table = pd.DataFrame({"basket": ["1"], "item": ["a"], "who": ["p"]})
    sealed = wn.read_baskets(
        table, layout=wn.Pairs(basket="basket", item="item"), person="who", max_baskets=people,
        items=list("abcde"), max_items=2, relation=relation,
    )  # fmt: skip
    mechanism = FrequentItemsets(LipschitzMechanism(1.0, "gumbel"), 2, 10, 1.0, subsets=subsets)
    scale = mechanism.noise_scale(sealed, len(asked))
    assert far <= scale
    if not subsets:
        assert far == scale  # a replaced basket shares no pair with the new one
    for few in (1, 2, 4, 10):  # of so many winners the first ones
        made = FrequentItemsets(LipschitzMechanism(1.0, "gumbel"), 2, few, 1.0, subsets=subsets)
        parts, whole = made.moved_alike(sealed), made.noise_scale(sealed, few)
        if subsets:
            assert parts == 1
            continue
        shares = [sorted(vector[:few], reverse=True) for vector in moves]
        one = parts == 1 or max(vector[0] for vector in shares) * parts <= whole
        assert one and (parts == 1 or max(sum(map(bool, vector)) for vector in shares) <= parts)
        assert parts > 1 or few == 1 or whole < few * people


def _supports(rows: list[tuple[int, ...]], asked: list[tuple[int, ...]]) -> list[int]:
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    baskets = Baskets(starts, np.array([i for row in rows for i in row], np.int32), 3)
    ranks = ItemsetRanks(baskets, 2, known_items=True)
    return [ranks.support(itemset) for itemset in asked]


def test_the_command_writes_rules_and_refuses_before_it_charges(tmp_path) -> None:
    file, rules = tmp_path / "b.csv", tmp_path / "rules.csv"
    file.write_text("".join(",".join(row) + "\n" for row in BASKETS))
    asked = ["itemsets", str(file), "--one-basket-per-person",
             "--size", "2", "-k", "2", "--epsilon", "4", "--delta", "1e-6",
             "--seed", "1"]  # fmt: skip
    done = invoke([*asked, "--rules", str(rules)])
    assert done.exit_code == 0 and "noisy support" in done.output, done.output
    lines = rules.read_text().strip().split("\n")
    assert lines[0].startswith("items,then,support,") and len(lines) == 5
    as_json = tmp_path / "rules.json"
    assert invoke([*asked, "--rules", str(as_json), "--min-confidence", "0.9"]).exit_code == 0
    document = json.loads(as_json.read_text())
    assert {row["then"] for row in document["rules"]} == {"bread", "ale", "eggs"}
    for wrong in (["--rules", str(tmp_path / "r.gif")], ["--rules", str(file)],
                  ["--rules", str(rules), "--min-confidence", "2"]):  # fmt: skip
        refused = invoke([*asked, *wrong])
        assert refused.exit_code == 2 and "Traceback" not in refused.output


@pytest.mark.parametrize("wrong", [-0.1, 1.5, "high"])
def test_a_confidence_that_is_no_share_is_refused(wrong) -> None:
    with pytest.raises(wn.InputError, match="min_confidence"):
        ItemsetSupports((), {(): 1}, 1.0).rules(wrong)
