"""Selections and top k: a plan is what is charged and what runs, for every method and option."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
import pytest

import winnow as wn
from reference.choosing import chooser
from winnow.core.options import Methods, options
from winnow.select.request import Select, TopK

VOTES = {"a": 900, "b": 700, "c": 650, "d": 20, "e": 3}
PICKS: dict[str, dict[str, Any]] = {
    "default": {},
    "a word": {"method": "exponential"},
    "exponential": {"method": wn.Exponential(), "k": 2},
    "permute-and-flip": {"method": wn.PermuteAndFlip(), "k": 2},
    "noisy max": {"method": wn.NoisyMax()},
    "leads": {"method": wn.NoisyMax(), "k": 2, "with_leads": True},
    "lipschitz": {"method": wn.Lipschitz(noise="logistic")},
    "large margin": {"method": wn.LargeMargin(), "delta": 1e-6},
    "printed": {"method": wn.LargeMargin(thresholds="printed"), "delta": 1e-6},
}
TOPS: dict[str, dict[str, Any]] = {
    "auto": {},
    "a set": {"ordered": False},
    "a list": {"ordered": True},
    "auto, delta": {"delta": 1e-6},
    "joint": {"method": wn.Joint()},
    "canonical": {"method": wn.Canonical()},
    "gamma of canonical": {"method": wn.Canonical(gamma=0.25)},
    "noise of canonical": {"method": wn.Canonical(noise="gumbel")},
    "rounded": {"method": wn.Canonical(rounded=True)},
    "oneshot": {"method": wn.Oneshot(noise="laplace")},
    "oneshot in order": {"method": wn.Oneshot(), "ordered": True},
    "peel": {"method": wn.PeelPermuteAndFlip()},
    "peel-gumbel": {"method": wn.PeelGumbel(), "delta": 1e-6},
    "gamma": {"method": wn.Gamma()},
    "laplace": {"method": wn.Laplace()},
    "gaussian": {"method": wn.Gaussian(), "delta": 1e-6},
    "approximate": {"method": wn.OneshotApproximate(), "delta": 1e-6, "epsilon": 0.1},
}
HIDDEN: dict[str, dict[str, Any]] = {
    "auto": {},
    "limited-domain": {"method": wn.LimitedDomain()},
    "reach": {"method": wn.LimitedDomain(reach=9)},
    "stability": {"method": wn.Stability()},
    "truncated": {"method": wn.TruncatedLaplace()},
}
LOGGED: dict[str, dict[str, Any]] = {
    "auto": {},
    "weighted": {"method": wn.WeightedGaussian()},
    "cap": {"method": wn.WeightedGaussian(cap=3)},
    "rounds": {"method": wn.WeightedGaussian(rounds=2)},
    "peel": {"method": wn.WeightedGaussian(peel=0.5)},
}
LOG = pd.DataFrame(
    [(f"p{person}", f"i{item}") for person in range(300) for item in {person % 7, person % 3, 9}],
    columns=["person", "item"],
)
RELATIONS = list(wn.Relation)


def same(plan: Any, released: Any, data: Any, seed: int) -> None:
    """A plan is what a verb charged and released, and a budget pays for it once."""
    assert plan.event == released.receipt.event and plan.guarantee == released.guarantee
    assert plan.name == released.receipt.mechanism and plan.reason == released.receipt.reason
    budget = wn.Budget(epsilon=50, delta=1e-5, relation=plan.relation, delta_for_events=1e-6)
    again = plan.run(data, budget=budget, seed=seed)
    assert again.value == released.value and budget.events == (plan.event,)
    assert str(plan) and plan.to_dict()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("case", PICKS)
def test_the_plan_of_a_selection_is_what_is_charged_and_run(
    case: str, relation: wn.Relation
) -> None:
    asked = {"epsilon": 1, **PICKS[case]}
    scores = wn.seal_scores(VOTES, sensitivity=2, relation=relation)
    plan = wn.plan.select(wn.plan.scores(5, sensitivity=2, relation=relation), **asked)
    same(plan, wn.select(scores, seed=3, **asked), scores, 3)
    assert plan.error is not None and plan.error > 0
    assert "permute-and-flip" in plan.compared


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("with_counts", [False, True])
@pytest.mark.parametrize("case", TOPS)
def test_the_plan_of_a_top_k_is_what_is_charged_and_run(
    case: str, with_counts: bool, relation: wn.Relation
) -> None:
    asked = {"k": 2, "epsilon": 1, "with_counts": with_counts, **TOPS[case]}
    counts = wn.seal_counts(VOTES, max_items=2, relation=relation)
    plan = wn.plan.top_k(wn.plan.counts(5, max_items=2, relation=relation), **asked)
    same(plan, wn.top_k(counts, seed=3, **asked), counts, 3)
    assert (plan.expected.counts_margin is not None) == with_counts
    assert plan.expected.method in {row.method for row in plan.compared}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("case", HIDDEN)
def test_the_plan_for_private_labels_is_what_is_charged_and_run(
    case: str, relation: wn.Relation
) -> None:
    asked = {"k": 2, "epsilon": 1, "delta": 1e-6, **HIDDEN[case]}
    counts = wn.seal_counts(VOTES, labels="private", max_items=2, relation=relation)
    about = wn.plan.counts(labels="private", max_items=2, relation=relation)
    same(wn.plan.top_k(about, **asked), wn.top_k(counts, seed=3, **asked), counts, 3)


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("case", LOGGED)
def test_the_plan_for_labels_of_a_log_is_what_is_charged_and_run(
    case: str, relation: wn.Relation
) -> None:
    asked = {"k": 2, "epsilon": 1, "delta": 1e-6, **LOGGED[case]}
    counts = wn.counts(LOG, item="item", person="person", relation=relation)
    about = wn.plan.counts(labels="log", relation=relation)
    same(wn.plan.top_k(about, **asked), wn.top_k(counts, seed=3, **asked), counts, 3)


def test_the_plan_of_a_sparse_vector_is_what_is_charged_and_run() -> None:
    values = wn.seal_scores(VOTES, monotone=True)
    plan = wn.plan.above(wn.plan.scores(monotone=True), threshold=100, epsilon=1, cutoff=2)
    released = wn.above(values, threshold=100, epsilon=1, cutoff=2, seed=3)
    assert plan.event == released.receipt.event
    assert plan.run(values, seed=3).value == released.value


def test_every_option_of_every_method_stands_in_a_case() -> None:
    for record, cases in ((Select, [PICKS]), (TopK, [TOPS, HIDDEN, LOGGED])):
        used = [asked["method"] for each in cases for asked in each.values() if "method" in asked]
        field = chooser(record)
        assert field is not None and isinstance(field.option, Methods)
        for made in field.option.of:
            own = [method for method in used if isinstance(method, made)]
            assert own, made.word()
            for option in options(made):
                assert any(getattr(each, option.name) != option.default for each in own), made


@pytest.mark.parametrize(
    "verb",
    [wn.select, wn.top_k, wn.above, wn.open_above, wn.open_selection, wn.plan.select, wn.plan.top_k,
     wn.plan.above, wn.Session.select, wn.Session.top_k, wn.seal_scores, wn.seal_counts],
    ids=lambda verb: verb.__qualname__,
)  # fmt: skip
def test_no_verb_has_more_than_ten_parameters(verb: Any) -> None:
    assert len(set(signature(verb).parameters) - {"self"}) <= 10


OTHERS: dict[str, Any] = {
    "another sensitivity": lambda: wn.seal_counts(VOTES, max_items=2, sensitivity=3),
    "another bound": lambda: wn.seal_counts(VOTES, max_items=3),
    "5 candidates, and there are 4": lambda: wn.seal_counts([4, 3, 2, 1], max_items=2),
    "labels of another kind": lambda: wn.seal_counts(VOTES, max_items=2, labels="private"),
    "under add-remove": lambda: wn.seal_counts(VOTES, max_items=2, relation="substitution"),
    "classes": lambda: wn.classes([(1, ["a"])], total=1),
}


@pytest.mark.parametrize("message", OTHERS)
def test_a_plan_refuses_data_that_it_was_not_made_for_before_the_charge(message: str) -> None:
    plan = wn.plan.top_k(wn.plan.counts(5, max_items=2), k=2, epsilon=1)
    budget = wn.Budget(epsilon=9)
    with pytest.raises(wn.WinnowError, match=message):
        plan.run(OTHERS[message](), budget=budget)
    assert budget.events == ()
    assert len(plan.run(VOTES, budget=budget).value) == 2  # plain data are read as planned


def test_an_error_in_the_place_of_epsilon_is_met_and_no_more_is_spent() -> None:
    about = wn.plan.counts(1000)
    for wanted in (20, 300):
        plan = wn.plan.top_k(about, k=5, error=wanted, with_counts=True)
        assert plan.error is not None and plan.error <= wanted
        less = wn.plan.top_k(about, k=5, epsilon=0.999 * plan.epsilon, with_counts=True)
        assert less.error is not None and less.error > wanted
    plan = wn.plan.select(wn.plan.scores(1000), error=20)
    assert plan.error == pytest.approx(20)
    with pytest.raises(wn.ParameterError, match="both given"):
        wn.plan.top_k(about, k=5, error=20, epsilon=1)
    with pytest.raises(wn.ParameterError, match="cannot be predicted"):
        wn.plan.top_k(wn.plan.counts(labels="private", max_items=1), k=5, delta=1e-6, error=9)


@pytest.mark.parametrize("method", [wn.Joint(), wn.Canonical(), wn.Laplace(), wn.Oneshot()])
def test_the_bound_of_a_plan_holds_in_simulations(method: Any) -> None:
    """0.99 for any data; a count of equal items is the worst case of most (300 draws, seed 0)."""
    scores = np.r_[np.full(3, 60), np.zeros(40, np.int64)]
    plan = wn.plan.top_k(wn.plan.counts(43, max_items=1), k=3, epsilon=0.5, method=method)
    (row,) = plan.simulate(scores, draws=300, confidence=0.95).rows
    assert row.simulated is not None and plan.error is not None
    assert row.simulated["k_relative"].upper <= plan.error


def test_plans_on_equal_public_numbers_keep_what_was_assumed_apart() -> None:
    """Plans are kept for a loop: neither gaps nor how a number is written is mixed up."""
    first = wn.plan.select(wn.plan.scores(4, gaps=40), epsilon=0.1)
    bare = wn.plan.select(wn.plan.scores(4), epsilon=0.1)
    other = wn.plan.select(wn.plan.scores(4, gaps=4), epsilon=0.1)
    assert bare.chance is None and first.chance is not None and other.chance is not None
    assert first.chance > other.chance
    about = wn.plan.counts(9)
    for gamma in (1, 1.0, 1, 1.0):
        plan = wn.plan.top_k(about, k=2, epsilon=1, method=wn.Canonical(gamma=gamma))
        assert type(plan.mechanism.gamma) is type(gamma)  # type: ignore[attr-defined]
