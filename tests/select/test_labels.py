"""``wn.labels``: labels that nobody listed, by method, their plans, and bad input."""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import winnow as wn
from reference.audited import chi_square_p_value
from reference.inside import open_sealed
from winnow.audit.numerics import gaussian_upper_tail
from winnow.cli.app import app
from winnow.core.relation import Relation
from winnow.core.run import single_run
from winnow.core.sealed import Sealed
from winnow.core.spread import GRID, weight
from winnow.core.tape import Tape
from winnow.core.utility import Utility
from winnow.read.weights import ItemWeights, WeighedItems, Weights
from winnow.select.audit.kept import ListedCounts
from winnow.select.audit.labels import labels_enumerated, labels_faithful, labels_twins, weighted
from winnow.select.audit.listed_people import ListedPeople, counts_of
from winnow.select.mechanisms.optimal_rule import chances
from winnow.select.mechanisms.truncated_laplace import TruncatedLaplace, least_edge, mass_at
from winnow.select.mechanisms.unknown_domain import StabilityThreshold
from winnow.select.mechanisms.weighted_gaussian import least_passing, tail, tail_from_below

COMMON = ("home", "news", "help")
LOG = pd.DataFrame(
    [(f"u{u}", page) for u in range(300) for page in COMMON]
    + [(f"u{u}", f"own {u}") for u in range(300)],
    columns=["who", "what"],
)
ASKED: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def counts() -> wn.SealedCounts:
    return wn.counts(LOG, item="what", person="who", reading=wn.Reading(salt="s"))


@pytest.mark.extras
def test_exact_laws_of_neighbours_hold_and_twins_are_caught() -> None:
    found = [*labels_enumerated(quick=True), *labels_faithful(seed=5), *labels_twins()]
    assert [each for each in found if not each.passed] == []


@pytest.mark.parametrize("method", ["auto", wn.WeightedGaussian(rounds=1)])
def test_what_many_people_have_is_found_and_what_one_has_is_not(
    counts: wn.SealedCounts, method: Any
) -> None:
    found = wn.labels(counts, **ASKED, method=method, seed=1)
    assert sorted(found.value) == sorted(COMMON)
    assert found.guarantee.delta <= 1e-6 and found.guarantee.epsilon <= 1.0


def test_weights_that_stay_in_the_engine_release_the_same_labels() -> None:
    kept = wn.counts(LOG, item="what", person="who", reading=wn.Reading(keep="engine"))
    assert sorted(wn.labels(kept, **ASKED).value) == sorted(COMMON)


class KeptPeople(ListedPeople):
    """The weights of a few people, as an engine keeps them."""

    def summed(self, most: int, within: Any = None) -> ItemWeights:
        found = super().summed(most, within)
        return ItemWeights((), ListedCounts(np.asarray(found.values), found.items))


@pytest.mark.parametrize("rounds", [1, 2])
def test_weights_in_classes_have_the_law_of_weights_in_memory(rounds: int) -> None:
    mechanism, relation = weighted(rounds), Relation.ADD_REMOVE
    people = (("a",), ("a", "b"), ("a", "b"), ("b",), ("a",))
    both = []
    for kind, seed in ((ListedPeople, 1), (KeptPeople, 2)):
        counted, root = mechanism.ready(counts_of(people, relation, kind)), Tape.seeded(seed)
        drawn: Counter[frozenset[str]] = Counter()
        for draw in range(250):
            key, _ = single_run(mechanism, relation, root.child(str(draw)))
            drawn[frozenset(mechanism.drawn(counted, key))] += 1
        both.append(drawn)
    sets = [frozenset(), frozenset("a"), frozenset("b"), frozenset("ab")]
    mean = np.array([(both[0][each] + both[1][each]) / 500 for each in sets])
    seen = np.array([*(both[1][each] for each in sets), 0])
    assert chi_square_p_value(seen, mean) > 1e-6


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("most", [1, 7, 100])
def test_a_threshold_is_at_most_one_above_the_least(most: int, spread: bool) -> None:
    variance, lost = 5000**2, 1e-6
    found = least_passing(variance, lost, most, spread=spread)
    labels = range(1, most + 1)
    each = [weight(t) if spread else weight(most) for t in labels]

    def worst(threshold: int) -> float:
        tails = gaussian_upper_tail(float(variance), np.array([threshold - w for w in each]))
        return float((tails * np.array(labels)).max())

    assert worst(found) <= lost < worst(found - 2)


@pytest.mark.parametrize("variance", [1, 7, 5000**2])
def test_tails_are_bounded_from_both_sides(variance: int) -> None:
    some = [1, 2, 3, math.isqrt(variance), 4 * math.isqrt(variance) + 1]
    exact = gaussian_upper_tail(float(variance), np.array(some))
    for least, mass in zip(some, exact.tolist(), strict=True):
        assert tail_from_below(least, variance) <= mass * (1 + 1e-9)
        assert mass <= tail(least, variance) * (1 + 1e-9)
    assert tail_from_below(0, variance) == tail_from_below(-3, variance) == 0.5


def test_weight_goes_from_labels_that_nearly_nobody_has_to_those_of_many() -> None:
    rows = [(f"u{u}", f"own {u} {i}") for u in range(300) for i in range(99)]
    rows += [(f"u{u}", f"common {u % 2}") for u in range(300)]
    log = pd.DataFrame(rows, columns=["who", "what"])
    counted = wn.counts(log, item="what", person="who", reading=wn.Reading(salt="s"))
    one, two = (
        [len(wn.labels(counted, epsilon=1.5, delta=1e-6, seed=seed,
                       method=wn.WeightedGaussian(rounds=rounds)).value) for seed in range(5)]
        for rounds in (1, 2)
    )  # fmt: skip
    assert sum(one) < 8 <= sum(two)


def test_the_second_round_brings_no_label_that_a_person_did_not_have_in_the_first() -> None:
    rows = [("one", "rare"), *((f"u{u}", "rare") for u in range(40))]
    rows += [(f"u{u}", f"own {u} {i}") for u in range(40) for i in range(50)]
    log = pd.DataFrame(rows, columns=["who", "what"])
    counted = wn.counts(log, item="what", person="who", reading=wn.Reading(salt="s"))
    people = open_sealed(counted.weighed.people) if counted.weighed else None
    assert people is not None
    first, second = people.summed(1), people.summed(1, ["rare"])
    assert second.items == ["rare"]  # which one person brought there, and few others chose
    assert second.values[0] == first.values[list(first.items).index("rare")] < 10 * GRID


def test_names_that_stay_in_an_engine_have_one_round() -> None:
    kept = wn.counts(LOG, item="what", person="who", reading=wn.Reading(keep="engine"))
    budget = wn.Budget(epsilon=9, delta=0.1)
    with pytest.raises(wn.ParameterError, match="use rounds=1"):
        wn.labels(kept, **ASKED, method=wn.WeightedGaussian(rounds=2), budget=budget)
    assert budget.spent.amount == 0
    assert "two rounds" not in wn.plan.labels(kept, **ASKED).name
    assert "two rounds" in wn.plan.labels(wn.plan.counts(labels="log"), **ASKED).name
    assert "two rounds" not in wn.plan.top_k(kept, k=20, **ASKED).name


def test_spread_weights_of_a_person_never_add_up_to_more_than_one() -> None:
    assert all(d * weight(d) ** 2 <= GRID**2 for d in range(1, 2001))
    assert all(weight(d) / GRID > 0.99 / d**0.5 for d in range(1, 101))


@pytest.mark.parametrize(
    ("scale", "allowed"), [(1.0, 1e-3), (5.0, 2e-7), (100.0, 1e-8), (0.1, 0.4)]
)
def test_the_bound_on_laplace_noise_is_the_least_that_is_allowed(
    scale: float, allowed: float
) -> None:
    edge = least_edge(scale, allowed)
    z = np.arange(-edge, edge + 1)
    mass = np.exp(-np.abs(z) / scale)
    assert mass_at(edge, scale) == pytest.approx(mass[-1] / mass.sum(), rel=1e-9)
    assert mass_at(edge, scale) <= allowed
    assert edge == 1 or mass_at(edge - 1, scale) > allowed * (1 - 1e-9)


@pytest.mark.parametrize("most", [2, 5, 20])
@pytest.mark.parametrize("relation", list(Relation))
def test_truncated_noise_has_a_lower_threshold_for_the_same_charge(
    most: int, relation: Relation
) -> None:
    utility = Utility.declare(1, monotone=True, relation=relation)
    one, other = (kind(1.0, 1e-6, 3, most) for kind in (TruncatedLaplace, StabilityThreshold))
    assert one.threshold(utility) < other.threshold(utility)
    assert one.promise(relation).event == other.promise(relation).event


def test_the_optimal_rule_meets_its_constraints_with_equality_and_ends() -> None:
    found, bits = chances(Fraction(1), Fraction(1, 100))
    p = np.array(found, np.float64) / 2.0**bits
    up = np.minimum(np.e * p[:-1] + 0.01, 1 - (1 - p[:-1] - 0.01) / np.e)
    assert np.allclose(p[1:], np.minimum(up, 1), rtol=1e-9)
    assert p[0] == 0 and p[-1] == 1 and (np.diff(p) > 0).all()


def test_no_charge_is_needed_to_say_how_many_people_a_label_needs() -> None:
    plan = wn.plan.labels(
        wn.plan.counts(labels="log"), **ASKED, method=wn.WeightedGaussian(rounds=1)
    )
    few, ten, hundred = plan.expected.people
    assert few is not None and ten is not None and hundred is not None
    assert 20 < few < 30 < ten < 100 < hundred < 300
    assert "people with 10" in str(plan) and plan.to_dict()["method"] == "weighted-gaussian"


@pytest.mark.parametrize(
    ("about", "word"),
    [
        ({"labels": "log"}, "weighted-gaussian"),
        ({"labels": "log", "max_items": 20}, "weighted-gaussian"),
        ({"labels": "log", "max_items": 1}, "optimal-rule"),
        ({"labels": "private", "max_items": 1}, "optimal-rule"),
        ({"labels": "private", "max_items": 2}, "truncated-laplace"),
        ({"labels": "private", "max_items": 50}, "weighted-gaussian"),
    ],
)
def test_auto_goes_by_public_numbers(about: dict[str, Any], word: str) -> None:
    plan = wn.plan.labels(wn.plan.counts(**about), **ASKED)
    assert plan.method.word() == word and plan.reason


def test_a_budget_of_epsilons_alone_is_given_laplace_noise() -> None:
    budget = wn.Budget(epsilon=3.0, delta=1e-5, accountant="pure")
    sealed = wn.seal_counts({"a": 900, "b": 1}, labels="private", max_items=50)
    found = wn.labels(sealed, **ASKED, budget=budget, seed=1)
    assert found.value == ["a"] and found.receipt.mechanism.startswith("truncated-laplace")


def test_labels_of_the_optimal_rule_are_sorted_by_text() -> None:
    log = pd.DataFrame({"what": ["b"] * 90 + ["a"] * 50 + ["c"] * 70, "who": range(210)})
    for keep in ("memory", "engine"):
        one = wn.counts(log, item="what", person="who", max_items=1, reading=wn.Reading(keep=keep))
        assert wn.labels(one, **ASKED).value == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("data", "asked", "says"),
    [
        (lambda: wn.seal_counts({"a": 5}), {}, "list of these labels is public"),
        (lambda: wn.seal_counts({"a": 5}, labels="private"), {}, "count the log"),
        (lambda: wn.seal_counts({"a": 5}, labels="private", max_items=2), {"delta": 0}, "delta"),
        (
            lambda: wn.seal_counts({"a": 5}, labels="private", max_items=2),
            {"method": "optimal-rule"},
            "one label each",
        ),
        (
            lambda: wn.seal_counts({"a": 5}, labels="private", max_items=5),
            {"method": wn.WeightedGaussian(cap=2)},
            "leave out cap=",
        ),
        (
            lambda: wn.seal_counts({"a": 5}, labels="private", max_items=5),
            {"method": wn.WeightedGaussian(rounds=2)},
            "log is at hand",
        ),
        (lambda: wn.counts(LOG, item="what", person="who"), {"method": "joint"}, "unknown"),
        (
            lambda: wn.counts(LOG, item="what", person="who"),
            {"method": "truncated-laplace"},
            "max_items=",
        ),
        (
            lambda: wn.counts(LOG, item="what", person="who", max_items=1),
            {"method": "optimal-rule", "epsilon": 1e-12, "delta": 1e-12},
            "allow more",
        ),
    ],
)
def test_bad_input_costs_nothing_and_says_how_to_mend_it(
    data: Any, asked: dict[str, Any], says: str
) -> None:
    budget = wn.Budget(epsilon=9, delta=0.1)
    with pytest.raises(wn.WinnowError, match=says):
        wn.labels(data(), **{**ASKED, **asked}, budget=budget)
    assert budget.spent.amount == 0


def test_a_plan_for_a_log_refuses_ready_counts_before_the_charge() -> None:
    plan = wn.plan.labels(wn.plan.counts(labels="log"), **ASKED)
    budget = wn.Budget(epsilon=9, delta=0.1)
    with pytest.raises(wn.ParameterError, match="count the log itself"):
        plan.run(wn.seal_counts({"a": 5}, labels="private"), budget=budget)
    assert budget.spent.amount == 0


class Gone(Weights):
    """A log that was deleted."""

    def summed(self, most: int, within: Any = None) -> ItemWeights:
        raise wn.DataError("the log is gone")


def test_a_log_that_is_gone_costs_nothing(counts: wn.SealedCounts) -> None:
    budget = wn.Budget(epsilon=9, delta=0.1)
    gone = replace(counts, weighed=WeighedItems(Sealed(Gone(), "weights")))
    with pytest.raises(wn.DataError, match="gone"):
        wn.labels(gone, **ASKED, budget=budget)
    assert budget.spent.amount == 0


def test_a_row_is_a_person_where_nobody_is_named() -> None:
    found = wn.labels(wn.counts(LOG, item="what", unit="row"), **ASKED)
    assert set(COMMON) <= set(found.value)
    assert str(found.guarantee).endswith("protects each row (add or remove one)")


def test_the_command_writes_labels_and_refuses_with_code_two(tmp_path: Path) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "labels.json"
    LOG.to_csv(log, index=False)
    words = ["labels", str(log), "--item", "what", "--person", "who", "--epsilon", "1"]
    done = CliRunner().invoke(app, [*words, "--delta", "1e-6", "--out", str(out)])
    assert done.exit_code == 0 and "3 labels, the largest noisy weight first" in done.output
    assert sorted(json.loads(out.read_text())["value"]) == sorted(COMMON)
    refused = CliRunner().invoke(app, [*words, "--delta", "0"])
    assert refused.exit_code == 2 and "Traceback" not in refused.output


def test_no_key_shows_what_a_log_holds(counts: wn.SealedCounts) -> None:
    shown = repr(counts) + repr(counts.weighed) + repr(wn.plan.labels(counts, **ASKED))
    assert not any(page in shown for page in (*COMMON, "own"))


@pytest.mark.parametrize(("k", "word"), [(1, "limited-domain"), (100, "weighted-gaussian")])
def test_a_top_k_of_a_log_goes_by_expected_lists(k: int, word: str) -> None:
    plan = wn.plan.top_k(wn.plan.counts(labels="log"), k=k, **ASKED)
    assert plan.method.word() == word and "generated logs" in plan.reason


@pytest.mark.parametrize("keep", ["memory", "engine"])
@pytest.mark.parametrize("peel", [0, 0.5])
def test_a_long_list_of_a_log_has_what_many_people_have(keep: str, peel: float) -> None:
    counted = wn.counts(LOG, item="what", person="who", reading=wn.Reading(keep=keep))
    top = wn.top_k(counted, k=50, **ASKED, method=wn.WeightedGaussian(peel=peel), seed=3)
    assert sorted(top.value) == sorted(COMMON)


def test_peeling_orders_by_people_what_weights_found() -> None:
    rows = [(f"a{u}", "rare") for u in range(400)]
    rows += [
        (f"b{u}", page) for u in range(900) for page in ("common", *(f"x{i}" for i in range(8)))
    ]
    counted = wn.counts(pd.DataFrame(rows, columns=["who", "what"]), item="what", person="who")
    asked = {"k": 1, "epsilon": 3.0, "delta": 1e-6}
    alone = wn.top_k(counted, **asked, method=wn.WeightedGaussian(peel=0), seed=1)
    peeled = wn.top_k(counted, **asked, method=wn.WeightedGaussian(peel=0.5), seed=1)
    assert alone.value == ["rare"] and peeled.value != ["rare"]


def test_a_share_for_peeling_is_for_lists_of_k(counts: wn.SealedCounts) -> None:
    with pytest.raises(wn.ParameterError, match="peel= is for the k"):
        wn.labels(counts, **ASKED, method=wn.WeightedGaussian(peel=0.5))


def test_a_top_k_of_a_log_without_a_delta_is_told_what_it_needs(counts: wn.SealedCounts) -> None:
    with pytest.raises(wn.ParameterError, match="needs delta"):
        wn.top_k(counts, k=2, epsilon=1.0)


def test_a_plan_at_a_tiny_epsilon_is_refused_in_words() -> None:
    with pytest.raises(wn.ParameterError, match="epsilon"):
        wn.plan.labels(wn.plan.counts(labels="log", max_items=3), epsilon=1e-300, delta=1e-6)
