"""Universes that users give in classes: the laws are those of all candidates one by one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import winnow as wn
from reference.inside import Tape
from winnow.core.noisy_top.given import ClassSource, GivenRanks, Steps, Uniform
from winnow.core.noisy_top.grid import Grid
from winnow.core.noisy_top.universe import ExplicitRanks, Left
from winnow.mechanisms import CLASSES, row_named, words

SCORES = {"a": 6, "b": 4, "c": 4, "d": 3, "e": 3, "f": 3}
"""Six candidates in three classes."""
FALSE_ALARM = 1e-6
"""Of every statistical test here; the seeds are fixed."""


def given(lazy: bool = False):
    """The same as a list, with functions that draw, or as an iterator."""
    entries = [
        (3, 2, lambda uniform: uniform.choice("de")),
        (3, ["f"]),
        (6, ["a"]),
        (4, 2, lambda uniform: "bc"[uniform.below(2)]),
    ]
    return iter(sorted(entries, key=lambda entry: -entry[0])) if lazy else entries


def universe(lazy: bool = False, **options):
    return wn.classes(given(lazy), total=6, monotone=True, **options)


def p_value(found: Counter, expected: dict, draws: int) -> float:
    assert set(found) <= set(expected)
    kept = {key: p * draws for key, p in expected.items() if p > 0}
    statistic = sum((found.get(key, 0) - mean) ** 2 / mean for key, mean in kept.items())
    return float(chi2.sf(statistic, len(kept) - 1))


@pytest.mark.parametrize("lazy", [False, True])
def test_one_candidate_has_the_law_of_the_exponential_mechanism(lazy) -> None:
    """And not that of the broken twin, which forgets the monotone halving."""
    draws, epsilon = 400, 1.0
    found = Counter(
        wn.select(universe(lazy), epsilon=epsilon, method="exponential", seed=s).value
        for s in range(draws)
    )
    for half_width, fits in ((0.5, True), (1.0, False)):
        rate = epsilon / (2 * half_width)
        weights = {key: np.exp(rate * score) for key, score in SCORES.items()}
        law = {key: weight / sum(weights.values()) for key, weight in weights.items()}
        assert (p_value(found, law, draws) > FALSE_ALARM) is fits


@pytest.mark.parametrize("mechanism", ["joint", "canonical"])
def test_lists_and_sets_have_the_law_of_the_explicit_mechanism(mechanism) -> None:
    draws, epsilon = 150, 2.0

    def outcome(value):
        return tuple(value) if mechanism == "joint" else frozenset(value)

    from_classes = Counter(
        outcome(wn.top_k(universe(), k=2, epsilon=epsilon, method=mechanism, seed=s).value)
        for s in range(draws)
    )
    from_scores = Counter(
        outcome(wn.top_k(SCORES, k=2, epsilon=epsilon, method=mechanism, seed=s + draws).value)
        for s in range(draws)
    )
    keys = set(from_classes) | set(from_scores)
    statistic = sum(
        (from_classes[key] - from_scores[key]) ** 2 / (from_classes[key] + from_scores[key])
        for key in keys
    )
    assert chi2.sf(statistic, len(keys) - 1) > FALSE_ALARM


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("endless", [False, True])
def test_given_classes_are_the_explicit_universe(lazy, endless) -> None:
    """Floors, classes, members: exactly, for many small universes."""
    for seed in range(40):
        uniform = Uniform(Tape.seeded(seed).stream())
        counts = [uniform.below(5) for _ in range(1 + uniform.below(6))]
        explicit = ExplicitRanks(counts, endless=endless)
        entries = sorted(((c, [i]) for i, c in enumerate(counts)), key=lambda entry: -entry[0])
        utility = wn.Utility.declare(1, monotone=True)
        steps = Steps(Grid.of(utility, np.zeros(1, np.int64)), Fraction(0))
        total = None if endless else len(counts)
        ranks = GivenRanks(
            ClassSource(iter(entries) if lazy else entries), total, steps, Tape.seeded(1).stream()
        )
        assert ranks.top() == explicit.top()
        for floor in (4, 2, 1):
            ranks.lower(floor)
            assert ranks.floor <= floor
            listed, sizes = ranks.classes()
            whole, of = explicit.classes()
            kept = int((whole >= ranks.floor).sum())
            assert listed.tolist() == whole[:kept].tolist() and sizes == of[:kept]
        everything = Left(ranks)
        stream = Tape.seeded(2).stream()
        order = [c for c in sorted(counts, reverse=True) if c > 0 or not endless]
        labels = [ranks.label(everything.taken(count, stream)) for count in order]
        assert [counts[label] for label in labels] == order
        assert len(set(labels)) == len(order)


def test_an_iterator_is_asked_only_as_far_as_the_draw_goes() -> None:
    asked = []

    def search():
        for score in range(100_000, 0, -1):
            asked.append(score)
            yield score, [f"candidate {score}"]

    sealed = wn.classes(search(), total=None, monotone=True)
    found = wn.select(sealed, epsilon=1, delta=1e-6, method="large-margin", seed=3)
    assert found.value.startswith("candidate") and len(asked) < 5_000


def test_real_scores_are_told_apart_on_a_grid_of_the_sensitivity() -> None:
    scores = {"x": 0.75, "y": 0.5, "z": -9.0}
    sealed = wn.classes(
        [(score, [key]) for key, score in scores.items()], total=3, lowest=-1, sensitivity=0.25
    )
    draws, rate = 300, 1.0 / (2 * 0.25)
    found = Counter(
        wn.select(sealed, epsilon=1, method="exponential", seed=s).value for s in range(draws)
    )
    weights = {key: np.exp(rate * max(score, -1)) for key, score in scores.items()}
    law = {key: weight / sum(weights.values()) for key, weight in weights.items()}
    assert p_value(found, law, draws) > FALSE_ALARM


def test_members_that_a_function_draws_are_uniform_and_distinct() -> None:
    sealed = wn.classes([(1, 5, lambda uniform: uniform.below(5))], total=5)
    draws = 300
    pairs = Counter(
        tuple(wn.top_k(sealed, k=2, epsilon=1, method="exponential", seed=s).value)
        for s in range(draws)
    )
    every = {(i, j): 1 / 20 for i in range(5) for j in range(5) if i != j}
    assert p_value(pairs, every, draws) > FALSE_ALARM


@pytest.mark.parametrize(
    ("entries", "options", "match"),
    [
        ([(3, ["a"])], {"total": 2}, "add up"),
        ([(3, ["a"])], {"total": None, "lowest": 1}, "unknown universe"),
        ({"a": 3}, {"total": 1}, "a dict"),
        ([("3", ["a"])], {"total": 1}, "integer or a float"),
        ([(float("nan"), ["a"])], {"total": 1}, "NaN"),
        ([(True, ["a"])], {"total": 1}, "integer or a float"),
        ([(3, 1, "a")], {"total": 1}, "function"),
        ([(3, -1, str)], {"total": 1}, "number of candidates"),
        ([(3, 5)], {"total": 1}, "sequence"),
        ([3], {"total": 1}, "a class has another form"),
        ([(3, ["a"])], {"total": 0}, "total"),
        ([(2**70, ["a"])], {"total": 1}, "larger units"),
    ],
)
def test_what_is_no_universe_is_refused(entries, options, match) -> None:
    with pytest.raises(wn.InputError, match=match):
        wn.classes(entries, **options)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda c: wn.select(c, epsilon=1, k=2), "top_k"),
        (lambda c: wn.select(c, epsilon=1, method=wn.Joint()), "choose one of: permute-and-flip"),
        (lambda c: wn.select(wn.seal_scores(c, monotone=True), epsilon=1), "sealed already"),
        (lambda c: wn.top_k(wn.seal_counts(c), k=1, epsilon=1), "sealed already"),
        (lambda c: wn.select(c, epsilon=1, delta=0.1, method="choosing"), "max_items"),
        (lambda c: wn.select({"a": 1}, epsilon=1, delta=0.1, method="choosing"), "is for classes"),
        (lambda c: wn.top_k(c, k=2, epsilon=1, delta=0.1, method="choosing"), "max_items"),
        (lambda c: wn.top_k(c, k=9, epsilon=1), "exceeds"),
        (lambda c: wn.top_k(c, k=2, epsilon=1, with_counts=True), "not for classes"),
        (lambda c: wn.top_k(c, k=2, epsilon=1, method="canonical", ordered=True), "a set"),
        (lambda c: wn.top_k(c, k=2, epsilon=1, method=wn.Canonical(rounded=True)), "rounded"),
    ],
)
def test_what_does_not_fit_is_refused(call, match) -> None:
    with pytest.raises(wn.WinnowError, match=match):
        call(universe())


def test_what_is_promised_and_charged_has_the_relation_that_was_declared() -> None:
    relation = "substitution"
    classed = wn.classes([(9, ["a"]), (1, ["b", "c"])], total=3, relation=relation)
    frame = pd.DataFrame({"who": ["u", "v"], "item": ["a", "b"]})
    counted = wn.counts(frame, item="item", person="who", relation=relation, items=["a", "b", "c"])
    for data in (classed, counted):
        for call in (partial(wn.select, data), partial(wn.top_k, data, k=2)):
            budget = wn.Budget(1.0, relation=relation)
            short = call(epsilon=1, seed=4, budget=budget)
            assert str(short.guarantee.relation) == relation
            assert budget.spent.amount == 1
            with pytest.raises(wn.RelationMismatch):
                call(epsilon=1, budget=wn.Budget(1.0))
    assert str(wn.select({"a": 1}, epsilon=1, seed=1).guarantee.relation) == "add-remove"


def test_a_declared_growth_is_what_choosing_uses_and_at_least_the_bound_of_the_classes() -> None:
    entries, how = [(90, ["a"]), (1, ["b", "c"])], {"epsilon": 2, "delta": 0.1, "seed": 1}
    without = wn.classes(entries, total=3, monotone=True)
    bounded = wn.classes(entries, total=3, monotone=True, max_items=2)
    two, three = wn.Choosing(growth=2), wn.Choosing(growth=3)
    for verb in (wn.select, partial(wn.top_k, k=1)):
        usual = verb(bounded, method="choosing", **how)
        assert "growth 2" in usual.receipt.mechanism
        for data in (without, bounded):
            declared = verb(data, method=two, **how)
            assert declared.receipt.mechanism == usual.receipt.mechanism
            assert declared.receipt.event == usual.receipt.event
            assert declared.value == usual.value
            assert "growth 3" in verb(data, method=three, **how).receipt.mechanism
        with pytest.raises(wn.ParameterError, match="may have 2 candidates"):
            verb(bounded, method=wn.Choosing(growth=1), **how)


def test_counts_of_people_have_no_other_zero() -> None:
    sealed = wn.classes([(3, ["a"]), (-1, ["b"])], total=2, lowest=-1, max_items=1)
    with pytest.raises(wn.ParameterError, match="for counts"):
        wn.select(sealed, epsilon=1, delta=0.1, method="choosing")


def test_a_wrong_function_ends_with_an_error_and_shows_nothing() -> None:
    same = wn.classes([(1, 5, lambda uniform: 41_729)], total=5)
    with pytest.raises(wn.DataError, match="same members") as caught:
        wn.top_k(same, k=2, epsilon=1, method="exponential", seed=1)
    assert "41" not in str(caught.value)
    broken = wn.classes([(1, 5, lambda uniform: 1 / 0)], total=5)
    with pytest.raises(wn.ForeignError, match="withheld"):
        wn.select(broken, epsilon=1)
    with pytest.raises(wn.DataError, match="hashable"):
        wn.select(wn.classes([(1, 1, lambda uniform: [])], total=1), epsilon=1)
    backwards = wn.classes(iter([(1, ["a"]), (2, ["b"])]), total=2)
    with pytest.raises(wn.DataError, match="decreasing"):
        wn.select(backwards, epsilon=1)


@pytest.mark.parametrize("mechanism", words(CLASSES))
def test_every_word_runs_on_a_universe_of_2_to_the_40(mechanism) -> None:
    row = row_named(CLASSES, mechanism)
    size = 2**40
    entries = [(9_000, ["best"]), (0, size - 1, lambda uniform: uniform.below(size))]
    sealed = wn.classes(entries, total=size, monotone=True, max_items=3)
    options = {"delta": 1e-6} if row.needs_delta else {}
    method = wn.Lipschitz(noise="logistic") if mechanism == "lipschitz" else mechanism
    many = wn.top_k(sealed, k=2, epsilon=3, method=method, **options)
    assert "best" in many.value
    if "k" not in row.takes:
        assert wn.select(sealed, epsilon=3, method=method, **options).value == "best"
